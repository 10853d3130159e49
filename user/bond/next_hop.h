// SPDX-License-Identifier: GPL-2.0-or-later
// The Ethernet header that the kernel would put before a packet, as its routes and neighbour tables are now.
// Needs no privilege in the caller's own namespace, CAP_SYS_ADMIN for another one.
#pragma once

#include "user/base/address.h"
#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/bond/model.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bondtrace {

struct NextHop {
    bool local_source = false; // the source is an address of this namespace
    std::optional<MacAddress> src_mac, dst_mac;
    std::optional<std::uint16_t> tci; // of a VLAN device on the bond
    bool tci_known = true;            // false: the tag's priority depends on the packet
    // Why one of them is missing, and what to do; empty when all are there.
    std::string problem, advice;
};

// The way from `src` to `dst` through `bond`: through the bond itself, a VLAN on it, or a bridge that has it
// as a port. What cannot be found is left out and named in `problem`; fails only when the kernel does not
// answer.
Result<NextHop> find_next_hop(const NetNs& netns, const Bond& bond, const IpAddress& src,
                              const IpAddress& dst);

} // namespace bondtrace
