// SPDX-License-Identifier: GPL-2.0-or-later
// What the live table is fed with: one reading after the other, from the kernel or from a recording. Plain
// data; everything in it counts since the start.
#pragma once

#include "user/bond/model.h"
#include "user/flow/join.h"
#include "user/report/flows_report.h"
#include "user/trace/observed.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

// What a FlowsReport does not have of a bond.
struct LiveBond {
    Bond state;
    // The slaves' own counters, in the order of the report's slaves.
    std::vector<LinkCounters> counters;
};

// How long the programs ran, measured by the kernel.
struct RunCost {
    std::uint64_t runs = 0, ns = 0;
};

// What a recording says of a conversation, since what it was concluded from is not recorded.
struct RecordedPrediction {
    std::size_t bond = 0;
    ConversationKey key;
    Prediction prediction;
};

struct LiveReading {
    std::string host;
    std::uint64_t time_ns = 0; // CLOCK_MONOTONIC
    FlowsReport report;        // without flows: header, bonds, losses
    std::vector<LiveBond> bonds;
    std::vector<FlowEntry> entries;
    std::optional<RunCost> cost; // nullopt: not measured
    // A BPF flow dissector may be attached: encap policies are not predictable.
    bool flow_dissector = false;
    // Of recordings; otherwise predictions are made when report.era is known.
    std::optional<EraFinding> recorded_era;
    std::vector<RecordedPrediction> predictions;
};

// `netns` is the namespace as the user named it.
LiveReading make_reading(Observed observed, ReportHeader header, const std::string& netns,
                         const std::string& host);

} // namespace bondtrace
