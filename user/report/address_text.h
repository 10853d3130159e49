// SPDX-License-Identifier: GPL-2.0-or-later
// One end of a conversation as text of limited width.
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

} // namespace bondtrace
