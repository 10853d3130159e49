// SPDX-License-Identifier: GPL-2.0-or-later
// Findings about what the other end sends to the bond: the family switch.*.
#pragma once

#include "user/audit/balance.h"
#include "user/audit/finding.h"

#include <vector>

namespace bondtrace {

// `received`, `rx` and `tx` are this view's.
std::vector<Finding> switch_findings(const BondView& view, const std::vector<PlacedFlow>& received,
                                     const Balance& rx, const Balance& tx);

} // namespace bondtrace
