// SPDX-License-Identifier: GPL-2.0-or-later
// Findings about what packets meet on their way beside the bonding driver: programs of others, VLANs that
// lose them, and slaves whose own counters tell of errors. Pure.
#pragma once

#include "user/audit/finding.h"
#include "user/audit/input.h"
#include "user/audit/state_window.h"

#include <string>
#include <vector>

namespace bondtrace {

// `window` is nullptr when nobody looked twice.
std::vector<Finding> path_findings(const BondView& view, const StateWindow* window);

// The programs and offloads by which packets can pass a slave, or the bond, unseen by the driver: "XDP driver
// (program 12) on eth0; tc rules run in the hardware of eth0"; empty without any.
std::string ways_around(const Bond& bond, const Slave& slave);

} // namespace bondtrace
