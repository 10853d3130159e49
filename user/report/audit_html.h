// SPDX-License-Identifier: GPL-2.0-or-later
// An audit as a page to send to somebody.
#pragma once

#include "user/report/audit_report.h"

#include <string>

namespace bondtrace {

// One self-contained HTML document: no scripts, nothing fetched, light and dark, readable on a phone and on
// paper. Its content is that of audit_text(), and plots.
std::string audit_html(const AuditReport& report);

} // namespace bondtrace
