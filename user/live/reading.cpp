// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/reading.h"

#include "user/report/flows_build.h"

#include <utility>

namespace bondtrace {

LiveReading make_reading(Observed observed, ReportHeader header, const std::string& netns,
                         const std::string& host) {
    LiveReading reading;
    reading.host = host;
    reading.time_ns = observed.ended_ns;
    // The live table joins what is new only, so the report is built without the flows.
    reading.entries = std::exchange(observed.flows, {});
    if (observed.programs.runs > 0) reading.cost = RunCost{observed.programs.runs, observed.programs.run_ns};
    reading.report = build_flows_report(observed, std::move(header), netns);
    for (ObservedBond& seen : observed.bonds) {
        LiveBond& bond = reading.bonds.emplace_back();
        for (const ObservedSlave& slave : seen.slaves)
            bond.counters.push_back(slave.counters);
        bond.state = std::move(seen.bond);
    }
    return reading;
}

} // namespace bondtrace
