// SPDX-License-Identifier: GPL-2.0-or-later
// What `bondtrace traffic client` found out, ready to be written as text and as JSON.
#pragma once

#include "user/audit/finding.h"
#include "user/report/flows_report.h"
#include "user/report/text_style.h"
#include "user/traffic/port_plan.h"
#include "user/traffic/results.h"
#include "user/traffic/summary.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

struct TrafficReport {
    ReportHeader header; // `attach` is "none" unless flows were traced
    std::string title;   // --title
    std::string host;    // the server, as the user named it
    std::uint16_t port = traffic::default_port;
    traffic::TestOptions options;
    traffic::PortChoice ports;
    std::uint64_t seed = 0;
    traffic::PortPlan plan; // flows at the same positions as in the results
    traffic::EndResult client;
    std::optional<traffic::EndResult> server; // absent when it has not reported
    traffic::TrafficSummary summary;          // of these two
    std::vector<Finding> findings;
    std::vector<std::string> notes; // warnings, such as of a pacing congestion control
    bool interrupted = false;       // by the user
    std::string stopped_by_server;  // why; empty: it was not
    std::string broken;             // how the control connection ended; empty: well
    bool verbose = false;           // text: the features in use, and all ways to mend
};

// The summary, and each flow; of many flows the fastest and the slowest. Findings and failures at the end.
std::string traffic_text(const TrafficReport& report, const TextOptions& options);

// The document, as docs/schema/traffic.schema.json describes it; with every flow.
std::string traffic_json(const TrafficReport& report);

} // namespace bondtrace
