// SPDX-License-Identifier: GPL-2.0-or-later
// What a proof finds beyond the audit of this end: the switch as the far end sees it, and the health of each
// slave. Pure.
#pragma once

#include "user/prove/proof.h"

#include <vector>

namespace bondtrace {

// Of a proof whose splits and losses are there. switch.rx-one-port and switch.rx-imbalanced of the far end,
// slave.lossy, slave.blackhole.
std::vector<Finding> proof_findings(const ProofInput& input, const Proof& proof);

} // namespace bondtrace
