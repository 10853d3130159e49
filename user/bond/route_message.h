// SPDX-License-Identifier: GPL-2.0-or-later
// What rtnetlink says about the way to a destination: routes, neighbours and the device a packet is handed
// to. Pure: bytes in, values out.
#pragma once

#include "user/base/address.h"
#include "user/base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace bondtrace {

// The kernel's answer to "which way to ...?" (RTM_NEWROUTE).
struct Route {
    std::uint8_t type = 0; // RTN_UNICAST, RTN_LOCAL, RTN_BROADCAST, RTN_MULTICAST, ...
    int out_ifindex = 0;
    std::optional<IpAddress> gateway; // may be of the other family
    std::optional<IpAddress> source;  // that packets get when their sender names none
};

// One entry of a neighbour table (RTM_NEWNEIGH).
struct Neighbour {
    int ifindex = 0;
    IpAddress address;
    std::uint16_t state = 0;       // NUD_*
    std::optional<MacAddress> mac; // nullopt: none known, or not an Ethernet one
};

// A device that packets are handed to, as far as it may stand on a bond (RTM_NEWLINK).
struct Egress {
    int ifindex = 0;
    std::string name, kind;
    int parent = 0; // IFLA_LINK
    int master = 0;
    MacAddress mac{};
    std::optional<std::uint16_t> vlan_id;
    bool egress_priorities = false; // a VLAN's: packets' priorities go into the tag
};

// Fail (internal) when the message is of another type, or its attributes do not fit.
Result<Route> parse_route_message(std::span<const std::byte> message);
Result<Neighbour> parse_neighbour_message(std::span<const std::byte> message);
Result<Egress> parse_egress_message(std::span<const std::byte> message);

// The MAC address that IP multicast goes to (RFC 1112, RFC 2464); nullopt for what is no multicast.
std::optional<MacAddress> multicast_mac(const IpAddress& address);

} // namespace bondtrace
