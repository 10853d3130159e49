// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/finding.h"

namespace bondtrace {

std::string_view to_text(Severity severity) {
    switch (severity) {
    case Severity::critical:
        return "critical";
    case Severity::warning:
        return "warning";
    case Severity::info:
        break;
    }
    return "info";
}

} // namespace bondtrace
