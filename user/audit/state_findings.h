// SPDX-License-Identifier: GPL-2.0-or-later
// Findings about the state of a bond and its slaves: bond.*, slave.*. Pure.
#pragma once

#include "user/audit/finding.h"
#include "user/audit/state_window.h"
#include "user/bond/model.h"

#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

// What the bond's own state shows, and with `window` (may be null) what happened meanwhile. What the source
// does not tell leads to no finding.
std::vector<Finding> state_findings(const Bond& bond, const StateWindow* window);

// bond.missing: a bond that should be there is not; `why` is what is known about that.
Finding missing_bond(std::string name, std::string why);

// For the families: "a", "a and b", "a, b and c".
std::string list_names(const std::vector<std::string>& names);
// The driver considers the link up; false when it does not say.
bool is_up(const Slave& slave);

} // namespace bondtrace
