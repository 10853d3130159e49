// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of a traffic test that several JSON documents have.
#pragma once

#include "user/report/json_parts.h"
#include "user/report/traffic_report.h"

namespace bondtrace {

// A document with everything of the test but its flows, findings and notes.
Json traffic_document(const char* schema, const TrafficReport& report);

// One flow, as docs/schema/traffic.schema.json has it.
Json traffic_flow_json(const TrafficReport& report, const traffic::FlowRow& row);

} // namespace bondtrace
