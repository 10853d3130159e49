// SPDX-License-Identifier: GPL-2.0-or-later
// The lines above a traffic test's table of flows.
#pragma once

#include "user/report/traffic_report.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bondtrace {

// A label and what stands behind it, which may need several lines.
struct TrafficLine {
    std::string label, text;
};

// "12 tcp flows to 10.0.0.2 port 5477, up, 10 s, ports balanced".
std::string traffic_heading(const TrafficReport& report);

// Goodput of each direction, CPU, fairness, course, sockets; with -v the features in use.
std::vector<TrafficLine> traffic_lines(const TrafficReport& report);

// Failures of flows, the same words counted once: "37 flows: nobody listens on ...", the most frequent first.
std::vector<std::string> failure_lines(const traffic::TrafficSummary& summary);

// What the reader must know beyond the numbers: each once.
std::vector<std::string> traffic_notes(const TrafficReport& report);

} // namespace bondtrace
