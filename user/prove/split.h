// SPDX-License-Identifier: GPL-2.0-or-later
// How the flows of a test are split over the slaves of one end, in one direction. Pure.
#pragma once

#include "user/audit/placement.h"
#include "user/audit/statistics.h"
#include "user/traffic/end_trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

struct Split {
    std::vector<std::uint64_t> flows; // of each slave of the trace, those that it carried nine tenths of
    std::vector<std::uint64_t> bytes; // on the wire, of the test's flows
    std::uint64_t seen = 0;           // flows that anything was seen of
    std::uint64_t spread = 0;         // of these, flows that no slave carried nine tenths of
    // Over the usable slaves, when flows are not spread over several: that chance splits them at least so
    // unevenly, and where one slave's share of the flows lies in 95 % of cases.
    std::optional<Probability> luck;
    Band expected;

    [[nodiscard]] std::uint64_t whole() const { return seen - spread; }
};

Split split_of(const traffic::EndTrace& trace, bondtrace::Direction side);

// The slave that carried nine tenths of these bytes; nullopt: none did, or there are none.
std::optional<std::uint32_t> carrier_of(const std::vector<traffic::TracedUse>& uses);

// How uneven a split is, with the limits of an audit: too few flows, balanced, uneven by chance, uneven.
enum class SplitWord : std::uint8_t { nothing, spread, one_slave, too_few, balanced, chance, uneven };
SplitWord judge_split(const traffic::EndTrace& trace, const Split& split);

// "p0 31 flows, p1 33 flows; p = 0.9".
std::string describe(const traffic::EndTrace& trace, const Split& split);

} // namespace bondtrace
