// SPDX-License-Identifier: GPL-2.0-or-later
// From what was observed to the flows report: pure.
#pragma once

#include "user/report/flows_report.h"
#include "user/trace/observed.h"

namespace bondtrace {

// The position of a slave among those that the driver's hash chooses from, as far as the state shown to user
// space tells (bond_update_slave_arr() in drivers/net/bonding/bond_main.c): up, with carrier, active, and in
// 802.3ad a member of the active aggregator, counted in enslave order. nullopt: it is not among them.
std::optional<unsigned> usable_index(const Bond& bond, int slave_ifindex);

// True when the mode chooses slaves by the hash policy at all.
bool uses_hash_policy(const Bond& bond);

// The report with all flows, unsorted; `netns` is the namespace as the user named it.
FlowsReport build_flows_report(const Observed& observed, ReportHeader header, const std::string& netns);

} // namespace bondtrace
