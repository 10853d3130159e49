// SPDX-License-Identifier: GPL-2.0-or-later
// Findings about single slaves that only their traffic shows.
#pragma once

#include "user/audit/finding.h"
#include "user/audit/placement.h"

#include <vector>

namespace bondtrace {

// slave.blackhole, when it is proved: connections that were sent through the slave got no answer at all,
// while others to the same hosts and ports, sent through another slave, did.
std::vector<Finding> slave_findings(const BondView& view, const std::vector<PlacedFlow>& sent);

} // namespace bondtrace
