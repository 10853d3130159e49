// SPDX-License-Identifier: GPL-2.0-or-later
// Findings about a mode that does not suit what it is connected to: mode.*. Pure.
#pragma once

#include "user/audit/finding.h"
#include "user/audit/state_window.h"
#include "user/bond/model.h"

#include <vector>

namespace bondtrace {

// What the mode asks of switch and bridge, and what the frames received on inactive slaves (`window`, may be
// null) tell of the switch.
std::vector<Finding> mode_findings(const Bond& bond, const StateWindow* window);

} // namespace bondtrace
