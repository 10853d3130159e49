// SPDX-License-Identifier: GPL-2.0-or-later
// The commands that findings about traffic recommend.
#pragma once

#include "user/audit/finding.h"
#include "user/bond/model.h"

#include <string>
#include <vector>

namespace bondtrace {

// Sets the hash policy of a bond: takes effect at once, without taking it down.
std::vector<Fix> policy_fixes(const std::string& bond, HashPolicy wanted);

// Makes the switch hash on addresses and ports.
std::vector<Fix> switch_hash_fixes();

} // namespace bondtrace
