// SPDX-License-Identifier: GPL-2.0-or-later
// What was seen of some bonds during a window: plain data, from which reports are made.
#pragma once

#include "bpf/abi.h"
#include "user/bond/model.h"
#include "user/flow/join.h"
#include "user/trace/reading.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bondtrace {

// A slave that belonged to the bond during the window, or a part of it.
struct ObservedSlave {
    Slave slave;              // as it was last
    bool gone = false;        // it is no slave of this bond any more
    LinkCounters counters;    // the kernel's own, of the time it was one
    bt_slave_totals totals{}; // what the hooks saw
};

struct ObservedBond {
    Bond bond;         // as it is at the end; its slaves vector holds those that are left
    bool gone = false; // it was removed; the state is the last known
    std::vector<ObservedSlave> slaves;
};

struct Observed {
    std::string attachment;               // "fentry"
    std::vector<std::string> passed_over; // better ones, and why they do not work: a line each
    double seconds = 0;
    std::uint64_t ended_ns = 0; // CLOCK_MONOTONIC
    std::uint32_t max_flows = 0;
    std::vector<ObservedBond> bonds;  // new ones are added behind
    std::vector<std::string> no_room; // bonds that came later and are not counted: no room, or no probes
    std::vector<FlowEntry> flows;     // FlowEntry::bond is an index into bonds
    bt_stats stats{};
    ProgramStats programs;
    // Frames that the kernel counted while the window was opened or closed. Counters and hooks cannot be read
    // at the same instant: this is how far they may disagree for that reason alone.
    std::uint64_t reading_skew = 0;
};

} // namespace bondtrace
