// SPDX-License-Identifier: GPL-2.0-or-later
// From what a tracer saw of a bond to the flows of a test. Pure.
#pragma once

#include "user/report/flows_report.h"
#include "user/traffic/end_trace.h"

#include <cstddef>
#include <vector>

namespace bondtrace {

// Of each flow the positions of its conversations in FlowsReport::flows: one as a rule, none when it was not
// seen, several when its packets bore different tags. Addresses are of the end that traced: `local` is its
// own.
std::vector<std::vector<std::size_t>> match_flows(const FlowsReport& report, std::size_t bond,
                                                  traffic::Transport transport,
                                                  const std::vector<traffic::FlowAddress>& flows);

// What that bond of the report carried of the flows that `matches` finds.
traffic::EndTrace trace_of(const FlowsReport& report, std::size_t bond,
                           const std::vector<std::vector<std::size_t>>& matches);

} // namespace bondtrace
