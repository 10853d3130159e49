// SPDX-License-Identifier: GPL-2.0-or-later
// What `bondtrace audit` found out, ready to be written in any format.
#pragma once

#include "user/audit/audit.h"
#include "user/hash/era.h"
#include "user/report/flows_report.h"

#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

struct AuditReport {
    ReportHeader header;           // `kernel` is empty for a saved state: it is another machine's
    std::string netns;             // as the user named it; empty: the caller's own
    std::optional<double> seconds; // length of the window; nullopt: there was none (a saved state)
    bool interrupted = false;
    bool verbose = false;           // also ways to mend it for other network managers than the bond's own
    std::optional<EraFinding> era;  // of the hash that the flows were held against; nullopt: no traffic
    std::vector<std::string> notes; // what people should know of a saved state's files
    AuditInput input;
    AuditResult result;
};

// A slave's state beside its traffic; either may be absent: nobody watched, or it has left the bond.
struct SlaveView {
    const Slave* state = nullptr;
    const SlaveReport* traffic = nullptr;

    [[nodiscard]] const std::string& name() const { return state ? state->name : traffic->name; }
};

// One bond of the report with all that belongs to it. Points into the report, which must stay where it is.
struct AuditedBond {
    const Bond* state = nullptr;
    const BondAudit* audit = nullptr;
    const BondReport* traffic = nullptr; // nullptr: nobody watched
    std::vector<SlaveView> slaves;       // in enslave order, then those that have left
};
std::vector<AuditedBond> audited_bonds(const AuditReport& report);

// "active", "backup", "up" (which of both is not told), "going back", "down", "gone"; empty: unknown.
std::string slave_state(const SlaveView& slave);

// Where chance puts a slave's share of the bytes in 95 % of cases, given these flows; nullopt where flows are
// not what decides, or this slave is not among those to choose from.
std::optional<Band> expected_share(const Balance& balance, const std::string& slave);

} // namespace bondtrace
