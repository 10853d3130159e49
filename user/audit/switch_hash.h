// SPDX-License-Identifier: GPL-2.0-or-later
// Which header fields the switch seems to choose ports by, from where it put the flows it sent to this bond.
#pragma once

#include "user/audit/fields.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bondtrace {

// "The port is a function of these fields", held against the flows.
struct FieldHypothesis {
    FieldSet fields = 0;
    std::uint64_t values = 0;     // distinct values of these fields together
    std::uint64_t agreements = 0; // flows beyond the first of each value, which all took that value's port
};

struct SwitchHash {
    std::uint64_t flows = 0; // looked at
    bool one_port = false;   // all of them came in on one slave
    // The smallest sets of fields that explain every flow and that luck does not: were ports independent of
    // them, so many agreements would have a probability below luck_ends.
    std::vector<FieldHypothesis> supported;
    // With one port only: fields that vary so much that a hash of them would have used the other ports as
    // well.
    std::vector<Field> not_used;
};

// At most 4096 flows are looked at, the largest. Each of the 127 sets of fields is tried.
SwitchHash infer_switch_hash(const std::vector<PlacedFlow>& received, std::size_t slaves);

// In words, with the evidence; says so when nothing can be concluded.
std::string describe(const SwitchHash& hash);

} // namespace bondtrace
