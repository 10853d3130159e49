// SPDX-License-Identifier: GPL-2.0-or-later
// The whole audit: from state and traffic to findings, verdicts and an exit status. Pure.
#pragma once

#include "user/audit/balance.h"
#include "user/audit/finding.h"
#include "user/audit/input.h"
#include "user/base/exit_status.h"

#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

struct BondAudit {
    std::string name;
    bool watched = false; // its traffic was: otherwise the balances say nothing
    Balance tx, rx;
};

struct AuditResult {
    std::vector<BondAudit> bonds;  // in the input's order
    std::vector<Finding> findings; // most severe first
    ExitStatus status = ExitStatus::cannot_tell;
    // "BONDTRACE WARNING - bond0: policy layer2 ...; 1 more finding | 'bond0_tx_eth0'=100%;;;0;100 ...": the
    // first line of a monitoring plug-in (Nagios Plugin Development Guidelines, "Plugin Output for Nagios").
    std::string line;
};

// All findings about bonds, traffic and tracing, together with `others`, such as bonds that are missing. The
// status is that of the most severe finding; with none above info it is "cannot tell" when there is no bond,
// when traffic was watched and neither direction of some balancing bond could be judged, or when something
// stood in the way of watching.
AuditResult audit(const AuditInput& input, std::vector<Finding> others);

// "OK", "WARNING", "CRITICAL", "UNKNOWN": the plug-ins' words.
std::string_view plugin_word(ExitStatus status);
// The line of an audit that came to nothing: "BONDTRACE UNKNOWN - WHAT".
std::string unknown_line(std::string_view what);

} // namespace bondtrace
