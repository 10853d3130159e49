// SPDX-License-Identifier: GPL-2.0-or-later
// Why many different flows hash to the same slave: what is regular about them.
#pragma once

#include "user/audit/placement.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

enum class PatternKind : std::uint8_t {
    step,      // a field advances in steps that never reach the bits the slave depends on
    cancel,    // fields differ, but their differences cancel in the hash
    polarized, // no field is regular, yet only one residue class is there: someone chose these flows by the
               // same hash
};

struct Pattern {
    PatternKind kind = PatternKind::step;
    std::string text;        // "64 source ports in steps of 4 (40000, 40004, ...)"
    double luck = 1;         // probability that random values look so
    bool low_bit = false;    // step: even ports, on a kernel whose hash keeps the lowest bit (before 4.15)
    std::uint64_t flows = 0; // different hashes that were looked at
};

// nullopt when the flows that carry most bytes do not crowd on one slave, or when the model of the hash does
// not explain where they went, or nothing is regular.
std::optional<Pattern> find_pattern(const BondView& view, const std::vector<PlacedFlow>& sent);

} // namespace bondtrace
