// SPDX-License-Identifier: GPL-2.0-or-later
// What this host knows about the way to another: the route, and whether the next hop answers. Needs no
// privilege in the caller's own namespace, CAP_SYS_ADMIN for another one.
#pragma once

#include "user/base/address.h"
#include "user/base/netns.h"
#include "user/base/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bondtrace {

struct PeerPath {
    enum class Way : std::uint8_t {
        none,    // no route
        refused, // a route of type unreachable, prohibit or blackhole
        local,   // an address of this host
        out,     // through `device`
    };
    // What the neighbour table says of the next hop.
    enum class Neighbour : std::uint8_t {
        unknown, // not there: nothing was sent to it of late
        asking,  // INCOMPLETE: no answer yet
        failed,  // it did not answer
        answers, // REACHABLE, STALE, DELAY, PROBE: it has answered
        assumed, // PERMANENT, NOARP: nobody asks
    };

    Way way = Way::none;
    std::string device;
    IpAddress next_hop; // the peer itself, or a gateway
    bool gateway = false;
    std::optional<IpAddress> source; // of packets whose sender names none
    Neighbour neighbour = Neighbour::unknown;
    std::string neighbour_state; // as ip(8) prints it: "REACHABLE"; empty when unknown
    std::optional<MacAddress> mac;
};

// The way to `peer` from this namespace, as it is now; nothing is sent. Fails only when the kernel does not
// answer.
Result<PeerPath> read_peer_path(const NetNs& netns, const IpAddress& peer);

} // namespace bondtrace
