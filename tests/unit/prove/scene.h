// SPDX-License-Identifier: GPL-2.0-or-later
// Traces of tests, flow by flow, for the tests of proofs.
#pragma once

#include "user/traffic/end_trace.h"

#include <string>
#include <utility>
#include <vector>

namespace bondtrace::test {

inline traffic::EndTrace trace(const std::string& prefix, unsigned slaves,
                               std::uint32_t speed_mbps = 25'000) {
    traffic::EndTrace end;
    end.bond = "bond0";
    end.mode = "802.3ad";
    end.policy = "layer3+4";
    end.attach = "fentry";
    for (unsigned i = 0; i < slaves; ++i) {
        traffic::TracedSlave slave;
        slave.name = prefix + std::to_string(i);
        slave.usable = true;
        slave.speed_mbps = speed_mbps;
        slave.tx_coverage = slave.rx_coverage = 1.0;
        end.slaves.push_back(slave);
    }
    return end;
}

inline constexpr std::uint64_t frames = 1'000, frame_bytes = 1'514;

inline traffic::TracedUse use(std::uint32_t slave, std::uint64_t packets = frames) {
    return {slave, packets, packets * frame_bytes};
}

// Adds a flow that goes out through one slave and comes in through another.
inline void add_flow(traffic::EndTrace& end, std::uint32_t tx, std::uint32_t rx, std::uint64_t sent = frames,
                     std::uint64_t received = frames) {
    end.flows.push_back({{use(tx, sent)}, {use(rx, received)}});
}

} // namespace bondtrace::test
