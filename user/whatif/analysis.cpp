// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/whatif/analysis.h"

#include <algorithm>
#include <unordered_set>

namespace bondtrace {
namespace {

constexpr double confidence = 0.95;

// What a policy makes of the units, whatever the number of slaves.
struct Known {
    std::vector<const Unit*> units;
    std::vector<std::uint64_t> sizes;
    SlaveLoad unknown;
    std::uint64_t hashes = 0;
};

Known known_under(const WhatifUnits& source, HashPolicy policy) {
    Known known;
    std::unordered_set<std::uint32_t> hashes;
    for (const Unit& unit : source.units) {
        if (!unit.knows(policy)) {
            ++known.unknown.flows;
            known.unknown.bytes += unit.bytes;
            continue;
        }
        known.units.push_back(&unit);
        known.sizes.push_back(unit.bytes);
        hashes.insert(unit.hash[policy_index(policy)]);
    }
    known.hashes = hashes.size();
    return known;
}

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

WhatifRow row_of(const Known& known, HashPolicy policy, unsigned slaves) {
    WhatifRow row;
    row.policy = policy;
    row.slaves = slaves;
    row.loads.resize(slaves);
    row.unknown = known.unknown;
    row.hashes = known.hashes;
    std::uint64_t flows = 0, bytes = 0;
    for (const Unit* unit : known.units) {
        SlaveLoad& load = row.loads[unit->hash[policy_index(policy)] % slaves];
        ++load.flows;
        load.bytes += unit->bytes;
        ++flows;
        bytes += unit->bytes;
    }
    for (const SlaveLoad& load : row.loads) {
        row.largest_flow_share = std::max(row.largest_flow_share, share(load.flows, flows));
        row.largest_byte_share = std::max(row.largest_byte_share, share(load.bytes, bytes));
    }
    if (row.largest_byte_share > 0) row.bandwidth = 1 / row.largest_byte_share;
    row.expected_flows = flow_band(flows, slaves, confidence);
    row.expected_bytes = byte_band(known.sizes, slaves, confidence);
    return row;
}

// Bytes on the busiest slave if all that is unknown were there as well.
double worst_share(const WhatifRow& row) {
    std::uint64_t known = 0, largest = 0;
    for (const SlaveLoad& load : row.loads) {
        known += load.bytes;
        largest = std::max(largest, load.bytes);
    }
    return share(largest + row.unknown.bytes, known + row.unknown.bytes);
}

} // namespace

std::vector<unsigned> neighbouring_counts(unsigned slaves) {
    std::vector<unsigned> counts{slaves};
    if (slaves > 1) counts.push_back(slaves - 1);
    counts.push_back(slaves + 1);
    return counts;
}

std::vector<WhatifRow> analyse(const WhatifUnits& units, const std::vector<unsigned>& slave_counts,
                               const WhatifCurrent& current) {
    std::vector<WhatifRow> rows;
    std::vector<std::vector<WhatifRow>> groups(slave_counts.size());
    for (const HashPolicy policy : all_policies) {
        const Known known = known_under(units, policy);
        for (std::size_t i = 0; i < slave_counts.size(); ++i) {
            if (slave_counts[i] == 0) continue;
            groups[i].push_back(row_of(known, policy, slave_counts[i]));
            groups[i].back().current = current.policy == policy && current.slaves == slave_counts[i];
        }
    }
    for (std::vector<WhatifRow>& group : groups) {
        std::stable_sort(group.begin(), group.end(), [](const WhatifRow& a, const WhatifRow& b) {
            return worst_share(a) < worst_share(b);
        });
        rows.insert(rows.end(), group.begin(), group.end());
    }
    return rows;
}

} // namespace bondtrace
