// SPDX-License-Identifier: GPL-2.0-or-later
// How traffic would spread under each policy and for other numbers of slaves. Pure.
#pragma once

#include "user/audit/statistics.h"
#include "user/bond/model.h"
#include "user/whatif/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

struct SlaveLoad {
    std::uint64_t flows = 0, bytes = 0;
};

// One policy with one number of slaves.
struct WhatifRow {
    HashPolicy policy = HashPolicy::layer2;
    unsigned slaves = 0;
    bool current = false;
    std::vector<SlaveLoad> loads; // by index among the usable slaves
    SlaveLoad unknown;            // whose hash under this policy the source does not determine
    std::uint64_t hashes = 0;     // different ones: what the policy can spread at all
    // Of what is known; 0 when that is nothing.
    double largest_flow_share = 0, largest_byte_share = 0;
    double bandwidth = 0; // total before the busiest slave is full, in slaves: 1 / largest_byte_share
    // Where one slave's share lies in 95 % of cases when chance spreads that many flows, of these sizes.
    Band expected_flows, expected_bytes;
};

struct WhatifCurrent {
    std::optional<HashPolicy> policy; // nullopt: not known, or the mode does not use it
    unsigned slaves = 0;              // 0: not known
};

// For each number of slaves in the order given all policies, the best first: the smallest share of bytes on
// one slave, counting what is unknown as if it were on that one too.
std::vector<WhatifRow> analyse(const WhatifUnits& units, const std::vector<unsigned>& slave_counts,
                               const WhatifCurrent& current);

// The current number, one less and one more, without 0.
std::vector<unsigned> neighbouring_counts(unsigned slaves);

// What the numbers alone do not say, most important first: flows that no policy splits, tunnels, fragments,
// traffic that is not IP, what a policy costs. Each is a sentence. `slaves` of the first group of rows.
std::vector<std::string> whatif_notes(const WhatifUnits& units, const std::vector<WhatifRow>& rows);

} // namespace bondtrace
