// SPDX-License-Identifier: GPL-2.0-or-later
// The sockets of a network namespace, as /proc/net/tcp and its like list them: readable by everyone, on every
// kernel, without a module.
#pragma once

#include "user/base/address.h"
#include "user/base/netns.h"
#include "user/base/result.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace bondtrace {

// enum in net/tcp_states.h; UDP sockets use these two.
namespace socket_state {
inline constexpr std::uint8_t established = 1; // UDP: connected
inline constexpr std::uint8_t closed = 7;      // UDP: not connected
inline constexpr std::uint8_t listening = 10;
} // namespace socket_state

struct HostSocket {
    IpAddress local, remote; // IPv4 also where a socket of IPv6 speaks it (::ffff:10.0.0.1)
    std::uint16_t local_port = 0, remote_port = 0;
    std::uint8_t state = 0; // 0: not given

    bool operator==(const HostSocket&) const = default;
};

// Calls `use` for every socket of a table. Lines that do not fit are passed over. Pure.
void for_each_socket(std::string_view table, const std::function<void(const HostSocket&)>& use);

// All sockets of this IP protocol: TCP, UDP or UDP-Lite; none for others. Time-wait and half-open connections
// are among them.
Result<std::vector<HostSocket>> read_sockets(const NetNs& netns, std::uint8_t protocol);

} // namespace bondtrace
