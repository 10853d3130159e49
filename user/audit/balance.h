// SPDX-License-Identifier: GPL-2.0-or-later
// Whether one direction of a bond's traffic is spread over its slaves as evenly as chance lets expect.
#pragma once

#include "user/audit/placement.h"
#include "user/audit/statistics.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

// Fewer flows than this for each slave, and balance is not judged (cases 05 and 08).
inline constexpr std::uint64_t flows_per_slave_to_judge = 8;
// Probabilities below this are no luck.
inline constexpr double luck_ends = 1e-3;
// A largest share up to this multiple of the mean is even enough, however significant: 60 % of two slaves, 40
// % of three.
inline constexpr double even_enough = 1.2;

enum class BalanceWord : std::uint8_t {
    balanced,     // the largest share is at most even_enough times the mean
    chance,       // uneven, as chance may be with these flows
    uneven,       // uneven, and not by chance
    too_few,      // not enough flows to tell
    no_traffic,   // nothing in the window
    changed,      // slaves came or went in the window: flows were thrown among another number of them
    not_seen,     // the hooks saw too little of what the counters counted
    not_expected, // this mode, or fewer than two usable slaves: nothing to balance
};
// "balanced", "uneven by chance", "uneven", "too few flows", "no traffic", "slaves changed", "not seen", "not
// balanced here".
std::string_view to_text(BalanceWord word);

struct SlaveShare {
    std::string name;
    std::uint64_t flows = 0; // that it carried most of
    std::uint64_t throws = 0;
    std::uint64_t packets = 0, bytes = 0; // on the wire, traced
    double share = 0;                     // of the bytes
};

struct Balance {
    Direction direction = Direction::tx;
    BalanceWord word = BalanceWord::no_traffic;
    std::string reason;             // of not_expected, in words
    std::vector<SlaveShare> slaves; // the usable ones, in order
    std::uint64_t flows = 0;
    // What chance decided about: flows that the policy cannot tell apart (equal hash) are thrown together.
    // For RX, and where the hash is not known, each flow by itself.
    std::uint64_t throws = 0;
    double largest = 0; // share of bytes
    std::size_t largest_slave = 0;
    Probability by_flows;                // that the throws split at least so unevenly
    Probability by_bytes;                // that bytes do, given the sizes
    double jain = 1;                     // of bytes
    double chi_square = 1;               // probability, of throws
    Band flow_band, byte_band;           // where one slave's share lies in 95 % of cases
    double effective = 0;                // flows of equal size that would vary as much
    std::optional<std::uint64_t> needed; // flows until the largest share is even enough with 95 % probability

    // The probability that the verdict turns on: by flows when they cannot be luck, else whichever is
    // smaller.
    [[nodiscard]] const Probability& decisive() const;
    // Largest share that is even enough.
    [[nodiscard]] double even_share() const;
};

Balance judge_balance(const BondView& view, Direction direction, const std::vector<PlacedFlow>& flows);

// "balanced: 52 % of 1.2 GB on eth0, 64 flows, p = 0.71": the verdict with its numbers.
std::string describe(const Balance& balance);

// "p = 0.29", "p at most 7.8e-13" when it is a bound, "p below 1e-300".
std::string format_probability(const Probability& probability);
// "62 %".
std::string format_share(double share);

} // namespace bondtrace
