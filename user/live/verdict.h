// SPDX-License-Identifier: GPL-2.0-or-later
// A bond's state in a word: its LACP, and how its load is spread. Pure.
#pragma once

#include "user/bond/model.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace bondtrace {

// How much a word should be seen.
enum class Weight : std::uint8_t { quiet, good, bad };

struct Verdict {
    std::string word; // "up", "1 of 2 up", "no partner"; empty: nothing to say
    Weight weight = Weight::quiet;
};

// Of an 802.3ad bond: whether every slave is aggregated and carries traffic with one partner (IEEE 802.1AX
// port states; a slave carries when aggregation, synchronization, collecting and distributing are set).
Verdict judge_lacp(const Bond& bond);

// What keeps an 802.3ad slave from carrying: "not synchronized", "not distributing", "defaulted", "other
// aggregator", ...; empty when nothing does, and for other modes.
std::string lacp_trouble(const Bond& bond, const Slave& slave);

enum class BalanceWord : std::uint8_t {
    even,         // the largest share is at most a fifth above the mean
    chance,       // uneven, as chance may have it with these flows
    uneven,       // uneven beyond chance
    few_flows,    // not enough flows to expect balance
    no_traffic,   // nothing in the last seconds
    not_expected, // one slave carries all by design, or there is but one
};
// "even", "uneven by chance", "uneven", "few flows", "no traffic", "".
std::string_view to_text(BalanceWord word);

// One direction of a bond over the last seconds. Bytes are weighted: the older, the less.
struct BalanceInput {
    BondMode mode = BondMode::lacp;
    std::span<const double> slaves; // bytes of each slave that should carry
    // Of the flows: how many, their bytes, and the sum of the squares of their bytes.
    std::size_t flows = 0;
    double flow_bytes = 0, flow_squares = 0;
};

struct BalanceVerdict {
    BalanceWord word = BalanceWord::no_traffic;
    double largest = 0;            // share, 0 to 1
    std::size_t largest_slave = 0; // index into BalanceInput::slaves
    double low = 0, high = 1;      // the share that a slave should have: in 95 % of cases, were it chance
};

// Anything that judges balance; judge_balance() is what is used unless told otherwise.
using BalanceJudge = std::function<BalanceVerdict(const BalanceInput&)>;

// By the spread that flows of these sizes have when each is thrown at a slave at random: mean 1/n, variance
// (1/n)(1 - 1/n) sum(s^2) / (sum s)^2. The band is 1.96 standard deviations wide on either side; "uneven"
// takes more than 3.5 and a share that is more than a fifth above the mean (the normal shape is an
// approximation, so that the word is used late rather than early). Fewer flows than eight a slave, by their
// effective number (sum s)^2 / sum(s^2), are too few to expect anything.
BalanceVerdict judge_balance(const BalanceInput& input);

} // namespace bondtrace
