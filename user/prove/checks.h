// SPDX-License-Identifier: GPL-2.0-or-later
// What a proof checks, each with its numbers. Pure.
#pragma once

#include "user/prove/proof.h"

#include <vector>

namespace bondtrace {

// Of a proof whose flows, splits, losses and capacities are there.
std::vector<Check> proof_checks(const ProofInput& input, const Proof& proof);

// Whether it is about how flows are spread, not only about whether they get through.
bool proves_spreading(const Check& check);

} // namespace bondtrace
