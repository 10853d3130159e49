// SPDX-License-Identifier: GPL-2.0-or-later
// What the server's end saw of a test on a bond of its own, when it traces one: plain data, and what makes
// it.
#pragma once

#include "user/base/result.h"
#include "user/traffic/options.h"
#include "user/traffic/results.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace::traffic {

inline constexpr std::size_t max_traced_slaves = 64;
inline constexpr std::size_t max_traced_uses = 16; // slaves of one direction of one flow; the others are few

// What one slave carried of one direction of a flow, in frames on the wire.
struct TracedUse {
    std::uint32_t slave = 0; // position in EndTrace::slaves
    std::uint64_t packets = 0, bytes = 0;
    auto operator<=>(const TracedUse&) const = default;
};

// A flow of the test, seen from that end: `tx` is what it sent. Most bytes first.
struct TracedFlow {
    std::vector<TracedUse> tx, rx;
};

struct TracedSlave {
    std::string name;
    bool usable = false;                                      // at the end; flows are spread over these
    std::optional<std::uint32_t> speed_mbps;                  // nullopt: unknown
    std::uint64_t tx_bytes = 0, rx_bytes = 0;                 // traced, all traffic, on the wire
    std::uint64_t tx_counter_bytes = 0, rx_counter_bytes = 0; // the kernel's own over the same window
    std::optional<double> tx_coverage, rx_coverage; // traced / counted packets; nullopt: nothing counted
};

struct EndTrace {
    std::string bond, mode, policy, attach;
    std::vector<TracedSlave> slaves;
    std::vector<TracedFlow> flows;  // at the same positions as in the results; empty of those not seen
    std::vector<std::string> notes; // what makes the numbers incomplete
};

// Traces from when it is made until finish().
class TestTracer {
  public:
    TestTracer() = default;
    virtual ~TestTracer() = default;
    TestTracer(const TestTracer&) = delete;
    TestTracer& operator=(const TestTracer&) = delete;

    // `flows` are the server's results: their addresses tell which traffic is which flow.
    virtual Result<EndTrace> finish(Transport transport, const std::vector<FlowResult>& flows) = 0;
};
// For a test of so many flows.
using TracerFactory = std::function<Result<std::unique_ptr<TestTracer>>(std::size_t flows)>;

} // namespace bondtrace::traffic
