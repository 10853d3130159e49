// SPDX-License-Identifier: GPL-2.0-or-later
// An audit as JSON: docs/schema/audit.schema.json.
#pragma once

#include "user/report/audit_report.h"

#include <string>

namespace bondtrace {

// The document "bondtrace.audit/1", ending in a newline. What the source does not tell is null. Bytes of
// names that are not UTF-8 become U+FFFD.
std::string audit_json(const AuditReport& report);

} // namespace bondtrace
