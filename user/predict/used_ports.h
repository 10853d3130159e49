// SPDX-License-Identifier: GPL-2.0-or-later
// Local ports that sockets of a network namespace hold, so that nobody is given one of them.
#pragma once

#include "user/base/netns.h"
#include "user/base/result.h"

#include <bitset>
#include <cstdint>
#include <string_view>
#include <utility>

namespace bondtrace {

using PortSet = std::bitset<65536>;

// Adds the ports of a list like net.ipv4.ip_local_reserved_ports: "8080,9000-9010". Pure.
void add_reserved_ports(std::string_view list, PortSet& ports);

// Those in use by TCP or UDP (or UDP-Lite) sockets, and those that the administrator reserved; none for other
// protocols.
Result<PortSet> used_ports(const NetNs& netns, std::uint8_t protocol);

// net.ipv4.ip_local_port_range of the namespace; the kernel's default where it cannot be read.
std::pair<std::uint16_t, std::uint16_t> ephemeral_ports(const NetNs& netns);

} // namespace bondtrace
