// SPDX-License-Identifier: GPL-2.0-or-later
// One rtnetlink message about an interface, taken apart. Pure: bytes in, values out.
#pragma once

#include "user/base/result.h"
#include "user/bond/model.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace bondtrace {

// What an RTM_NEWLINK or RTM_DELLINK says about one interface.
struct Link {
    int ifindex = 0;
    std::string name;
    bool deleted = false; // it has left this network namespace: removed, or moved to another one
    // The message is news about one aspect (a bridge port's, a wireless event) and describes nothing else:
    // only ifindex and name may be used.
    bool partial = false;
    bool admin_up = false; // IFF_UP
    bool carrier = false;  // IFF_LOWER_UP
    bool ethernet = true;  // ARPHRD_ETHER: frames have an Ethernet header
    std::string kind;      // IFLA_INFO_KIND: "bond", "vlan", "bridge"; empty for hardware
    int master = 0;        // ifindex; 0 for none
    int parent = 0; // IFLA_LINK: the interface a VLAN or macvlan stands on; 0 for none or one elsewhere
    MacAddress mac{};
    std::optional<LinkCounters> counters;
    std::optional<std::uint16_t> vlan_id; // of a VLAN interface with an 802.1Q tag
    // XDP programs; nullopt: the message does not say.
    std::optional<std::vector<AttachedProgram>> xdp;
    std::optional<Bond> bond;   // for a bond: everything but slaves and netns
    std::optional<Slave> slave; // for the slave of a bond: everything but the speed
    // For a bond whose own data cannot be used (an unknown mode): why. `bond` is then empty.
    std::string problem;
};

// Takes apart one message, header included (struct nlmsghdr, struct ifinfomsg, attributes; linux/if_link.h).
// Unknown attributes, and known ones of an unexpected size, are passed over. Fails (internal) when the
// message is no link message, is cut short, has no name, or when its attributes do not fit in it.
Result<Link> parse_link_message(std::span<const std::byte> message);

// Counters out of an attribute that holds a struct rtnl_link_stats64 of any kernel's; nullopt when it is too
// short.
std::optional<LinkCounters> parse_counters(std::span<const std::byte> payload);

} // namespace bondtrace
