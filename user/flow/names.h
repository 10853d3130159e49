// SPDX-License-Identifier: GPL-2.0-or-later
// How a conversation's bond and slaves, numbers in the flow table, get their names.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace bondtrace {

// Both must be set, and what they return must outlive the call they are used in; empty for an unknown one.
struct Names {
    std::function<std::string_view(std::size_t bond, int slave_ifindex)> slave;
    std::function<std::string_view(std::size_t bond)> bond;
};

} // namespace bondtrace
