// SPDX-License-Identifier: GPL-2.0-or-later
// An audit for people, and for monitoring: the first line is a plug-in's.
#pragma once

#include "user/report/audit_report.h"
#include "user/report/text_style.h"

#include <string>

namespace bondtrace {

// Everything that `bondtrace audit` prints: AuditResult::line as it is, then for each bond its state, its
// slaves with their shares against what chance lets expect, the findings with what mends them, and what was
// not seen.
std::string audit_text(const AuditReport& report, const TextOptions& options);

// The findings alone, in their order; "no findings" when there are none.
std::string findings_text(const std::vector<Finding>& findings, const TextStyle& style,
                          bool all_managers = false);

} // namespace bondtrace
