// SPDX-License-Identifier: GPL-2.0-or-later
// From the interfaces of a network namespace to its bonds, and from the names a user gave to the bonds meant.
// Pure: netlink_reader.h fetches what is put together here.
#pragma once

#include "user/base/result.h"
#include "user/bond/link_message.h"
#include "user/bond/model.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bondtrace {

// What was read of one network namespace at one moment.
struct NetnsSnapshot {
    std::uint32_t netns = 0; // inode number
    std::string description; // for messages: NetNs::description()
    std::vector<Link> links;
    // By bond name: what /proc/net/bonding tells (dump_parser.h); a bond without entry could not be read
    // there.
    std::map<std::string, Bond> proc;
    bool driver_loaded = false;           // the bonding driver is in the kernel
    std::vector<std::string> other_names; // named network namespaces, for advice
};

// True when both sources name the same slaves for every bond that /proc lists: the snapshot is of one moment.
bool is_consistent(const NetnsSnapshot& snapshot);

// The bonds, by ifindex, each with its slaves in enslave order: those /proc lists, then the rest by ifindex.
// Fails (unavailable) when a bond's own data cannot be used; with `only` not empty just the bonds of these
// names count.
Result<std::vector<Bond>> assemble_bonds(const NetnsSnapshot& snapshot,
                                         const std::vector<std::string>& only = {});

// The bonds of these names, in this order, repeated names once; all bonds when there are no names. Fails with
// kind usage for a name that is no bond here, saying what it is and which bonds there are, and with kind
// unavailable when no name was given and there is no bond.
Result<std::vector<Bond>> select_bonds(const NetnsSnapshot& snapshot, const std::vector<std::string>& names);

} // namespace bondtrace
