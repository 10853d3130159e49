// SPDX-License-Identifier: GPL-2.0-or-later
// Packets for the tc programs that this process has attached to a link, from several CPUs at once and faster
// than any link brings them.
#pragma once

#include "tools/bench/lane.h"
#include "user/base/netns.h"
#include "user/base/result.h"

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace bondtrace::bench {

// The other end's packet: MAC and IPv4 addresses exchanged; of an untagged IPv4 packet.
Packet answer_to(Packet packet);

struct Stream {
    unsigned cpu = 0;
    bool received = false; // otherwise sent
    LaneFlows flows;
};

// Sends TCP packets of the streams' flows through the programs on interface `ifindex` of `netns`, each stream
// on its CPU, all at once: `packets` at a time, and again until `stop` is set, but at least once. Gives how
// many packets each sent.
Result<std::vector<std::uint64_t>> run_streams(const NetNs& netns, int ifindex,
                                               std::span<const Stream> streams, std::uint32_t packets,
                                               const std::atomic<bool>& stop);

} // namespace bondtrace::bench
