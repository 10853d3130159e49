// SPDX-License-Identifier: GPL-2.0-or-later
// What one reading of the BPF maps gives: plain data.
#pragma once

#include "bpf/abi.h"
#include "user/flow/join.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bondtrace {

// Totals of one slave, added up over CPUs.
struct TotalsEntry {
    std::size_t bond = 0; // in the order of Tracer::count_bond
    int slave_ifindex = 0;
    bt_slave_totals totals{};
};

struct TraceReading {
    std::vector<FlowEntry> flows;
    std::vector<TotalsEntry> totals;
    bt_stats stats{};
    std::uint64_t recursion_misses =
        0; // runs that the kernel skipped since the program was active on that CPU
};

} // namespace bondtrace
