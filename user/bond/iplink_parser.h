// SPDX-License-Identifier: GPL-2.0-or-later
// What iproute2 prints of links, as JSON (`ip -d -j link`, with or without -s) and as text (`ip -d link`,
// which is what support archives hold). Pure: text in, bonds out.
#pragma once

#include "user/base/result.h"
#include "user/bond/model.h"

#include <string_view>
#include <vector>

namespace bondtrace {

// The bonds in the JSON of `ip -d -j link` (or of `ip -d -j addr`), by their order; may be empty. Slaves are
// in the order of the interfaces, which is not the order in which they joined (Bond::order_known). `source`
// names the text in errors. Fails (unavailable) when it is no JSON (with line), no list of links, when a bond
// lacks what -d prints, and for a mode or policy that this version does not know, saying which member is
// wrong.
Result<std::vector<Bond>> parse_ip_json(std::string_view json, std::string_view source);

// The same for the text of `ip -d link`, with or without -s.
Result<std::vector<Bond>> parse_ip_text(std::string_view text, std::string_view source);

// True when `text` begins as one of these does.
bool looks_like_ip_json(std::string_view text);
bool looks_like_ip_text(std::string_view text);

} // namespace bondtrace
