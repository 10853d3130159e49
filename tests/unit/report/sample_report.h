// SPDX-License-Identifier: GPL-2.0-or-later
// A report with something of everything, for the tests of the writers and for looking at.
#pragma once

#include "user/report/flows_report.h"

namespace bondtrace::test {

// Bond "bond0" (802.3ad, two slaves, one LACPDU each way a second) with TCP over IPv4 and IPv6, ICMP, ARP,
// VLANs, a fragmented flow, ESP, one that moved and one cut short; "bond1" (balance-rr, five slaves) with a
// sprayed flow; and "bond2" (active-backup) with frames on its inactive slave. The slaves' sums are those of
// the flows.
FlowsReport sample_report();

// The same header and bonds, and nothing seen.
FlowsReport empty_report();

} // namespace bondtrace::test
