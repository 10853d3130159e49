// SPDX-License-Identifier: GPL-2.0-or-later
// A flows report as JSON: docs/schema/flows.schema.json.
#pragma once

#include "user/base/text_pieces.h"
#include "user/report/flows_report.h"

#include <string>

namespace bondtrace {

// The document "bondtrace.flows/1", ending in a newline. Bytes of names that are not UTF-8 become U+FFFD.
std::string flows_json(const FlowsReport& report);
// The same in pieces, so that a report of a million conversations is never in memory as text. False when the
// sink did not want the rest.
bool write_flows_json(const FlowsReport& report, const TextSink& sink);

} // namespace bondtrace
