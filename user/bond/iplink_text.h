// SPDX-License-Identifier: GPL-2.0-or-later
// The text of `ip -d link` in the shape of its JSON, as far as bonds are concerned, so that one reader serves
// both.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace bondtrace {

// A list of link objects as `ip -d -j link` prints them: names, flags, masters, addresses, counters, and what
// is said of bonds and their slaves. Lines that fit nowhere are passed over.
nlohmann::json ip_text_to_json(std::string_view text);

} // namespace bondtrace
