// SPDX-License-Identifier: GPL-2.0-or-later
// The identity of a conversation as text: one end of limited width, and what else there is.
#pragma once

#include "user/flow/conversation.h"

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace bondtrace {

inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

// "10.77.0.1:443", "[fd77::1]:443", "fd77::1", "02:00:00:00:0a:01". What is wider than `width` columns loses
// whole groups in the middle of the address ("[fd77:…:1]:443"), never digits of a group nor the port; only
// when the port and the last group alone are too wide is the result wider than `width`.
std::string end_text(const ConversationKey& key, bool local, std::size_t width, std::string_view ellipsis);

// What stands in the place of ports: "echo id 4711", "spi 0xc0ffee01", "fragments", "cut"; empty where there
// are ports, or nothing.
std::string detail_text(const ConversationKey& key);

// "100", "100.7" for two tags, "" for none.
std::string vlan_text(const ConversationKey& key);

} // namespace bondtrace
