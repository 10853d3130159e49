// SPDX-License-Identifier: GPL-2.0-or-later
// What `bondtrace prove` found out, ready to be written as text and as JSON.
#pragma once

#include "user/prove/proof.h"
#include "user/report/text_style.h"
#include "user/report/traffic_report.h"

#include <string>

namespace bondtrace {

struct ProveReport {
    TrafficReport test; // its findings are in the proof
    ProofInput input;
    Proof proof;
};

// The verdict, what it rests on, the slaves of both ends, each flow (of many those that stand out), findings.
std::string prove_text(const ProveReport& report, const TextOptions& options);

// The document, as docs/schema/prove.schema.json describes it; with every flow.
std::string prove_json(const ProveReport& report);

} // namespace bondtrace
