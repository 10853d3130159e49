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

// What the kernel says of the programs themselves, added up over them.
struct ProgramStats {
    std::uint64_t recursion_misses = 0; // runs that were skipped: the program was active on that CPU already
    // Since they were loaded, while Tracer::measure_cost() is in effect.
    std::uint64_t runs = 0, run_ns = 0;
};

struct TraceReading {
    std::vector<FlowEntry> flows;
    std::vector<TotalsEntry> totals;
    bt_stats stats{};
    ProgramStats programs;
};

} // namespace bondtrace
