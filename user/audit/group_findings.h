// SPDX-License-Identifier: GPL-2.0-or-later
// Findings about links that are no kernel bond's (--links): what places their flows is not known here, how
// evenly it does is.
#pragma once

#include "user/audit/balance.h"
#include "user/audit/finding.h"

#include <vector>

namespace bondtrace {

// hash.imbalanced for an uneven split of what is sent that luck does not explain, or hash.too-few-flows.
std::vector<Finding> group_findings(const BondView& view, const Balance& tx);

} // namespace bondtrace
