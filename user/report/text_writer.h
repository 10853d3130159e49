// SPDX-License-Identifier: GPL-2.0-or-later
// A flows report for people.
#pragma once

#include "user/report/flows_report.h"
#include "user/report/text_style.h"

#include <string>

namespace bondtrace {

// Everything that `bondtrace flows` prints: for each bond a heading, the slave summary, the conversations and
// what is not among them; then the losses of the run.
std::string flows_text(const FlowsReport& report, const TextOptions& options);

} // namespace bondtrace
