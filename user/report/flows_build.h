// SPDX-License-Identifier: GPL-2.0-or-later
// From what was observed to the flows report: pure.
#pragma once

#include "user/bond/usable.h"
#include "user/flow/agreement.h"
#include "user/report/flows_report.h"
#include "user/trace/observed.h"

namespace bondtrace {

// The report with all flows, unsorted; `netns` is the namespace as the user named it.
FlowsReport build_flows_report(const Observed& observed, ReportHeader header, const std::string& netns);

// What predictions for a bond need beside its flows. Refers to `report`.
PredictionBond prediction_context(const Bond& bond, const BondReport& report, bool flow_dissector);

// Predicts every flow of the report, which must be of `observed` and hold all flows, and counts who agrees.
// `flow_dissector`: a BPF flow dissector may be attached to the namespace, so that encap policies are not
// predictable.
void add_predictions(FlowsReport& report, const Observed& observed, EraFinding era, bool flow_dissector);

} // namespace bondtrace
