// SPDX-License-Identifier: GPL-2.0-or-later
// Findings about LACP: lacp.*. Pure.
#pragma once

#include "user/audit/finding.h"
#include "user/audit/state_window.h"
#include "user/bond/model.h"

#include <vector>

namespace bondtrace {

// Why an 802.3ad bond does not carry on all its slaves, as far as its state shows; nothing for other modes. A
// slave that is down has its finding elsewhere (slave.down) and none here. `window` may be null.
std::vector<Finding> lacp_findings(const Bond& bond, const StateWindow* window);

} // namespace bondtrace
