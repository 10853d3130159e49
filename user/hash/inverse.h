// SPDX-License-Identifier: GPL-2.0-or-later
// The hash backwards: source ports that send a flow through a wanted slave.
#pragma once

#include "user/base/result.h"
#include "user/bond/model.h"
#include "user/hash/era.h"
#include "user/hash/tuple.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace bondtrace {

struct ReachQuery {
    FlowTuple tuple; // its source port does not matter
    HashPolicy policy = HashPolicy::layer34;
    Era era = newest_era;
    std::uint32_t usable = 0; // usable slaves
    std::uint32_t index = 0;  // the wanted one among them
    std::uint16_t low = 1024; // source ports to look at, both ends included
    std::uint16_t high = 65535;
    std::size_t count = 1;    // stop after as many
    bool socket_hash = false; // the packets will carry their socket's hash (local TCP and connected UDP):
                              // encap3+4 takes that
};

// Ports that are not to be given, such as those in use; an empty function allows all.
using PortFilter = std::function<bool(std::uint16_t)>;

// Up to `count` source ports in ascending order whose flow takes the wanted slave, without those for which
// `avoid` is true; empty when the range holds none. Usage error, with the reason, when the source port does
// not decide: the policy does not hash ports (the message names the slave that every port gets, if it can),
// the protocol has none, the query makes no sense.
Result<std::vector<std::uint16_t>> ports_reaching(const ReachQuery& query, const PortFilter& avoid = {});

} // namespace bondtrace
