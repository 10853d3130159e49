// SPDX-License-Identifier: GPL-2.0-or-later
// Audits for the tests of the writers and for looking at.
#pragma once

#include "user/report/audit_report.h"

#include <string>
#include <string_view>

namespace bondtrace::test {

// "live": 802.3ad with layer2 and one peer, a slave that left, one that churned, a bond that is missing;
// "healthy": 64 flows; "unwatched": the same state, nothing could be attached; "empty": no bond at all.
AuditReport sample_audit(std::string_view which);

// Of a saved text in tests/fixtures, by path.
AuditReport saved_audit(const std::string& path);

} // namespace bondtrace::test
