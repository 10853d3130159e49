// SPDX-License-Identifier: GPL-2.0-or-later
// How one direction of a bond's load has been spread over its slaves in the last seconds, in the words of the
// audit (user/audit/balance.h). Pure.
#pragma once

#include "user/audit/balance.h"
#include "user/bond/model.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace bondtrace {

// A flow, or several that the hash cannot tell apart, for which chance decided once.
struct LiveThrow {
    std::size_t slave = 0; // position among the slaves
    std::uint64_t bytes = 0;
};

struct BalanceInput {
    BondMode mode = BondMode::lacp;
    bool policy_used = true; // the mode consults the hash policy
    bool received = false;
    bool changed = false;           // slaves came or went, or the policy changed, in these seconds
    std::span<const double> slaves; // bytes of each slave that should carry
    std::span<const LiveThrow> throws;
};

struct LiveBalance {
    BalanceWord word = BalanceWord::no_traffic;
    double largest = 0;            // share of the bytes, 0 to 1
    std::size_t largest_slave = 0; // position among the slaves
    double low = 0, high = 1;      // where a slave's share lies in 95 % of cases, were it chance
    std::size_t throws = 0;
};

// Anything that judges balance; judge_live_balance() is what is used unless told otherwise.
using BalanceJudge = std::function<LiveBalance(const BalanceInput&)>;

// With the audit's statistics and limits: too few throws are not judged, a share that is even enough is
// balanced, and uneven is what has a probability below luck_ends, by flows or by bytes. Probabilities are
// computed only when it is uneven: they are what costs time.
LiveBalance judge_live_balance(const BalanceInput& input);

// to_text(), but empty for what needs no word.
std::string_view short_word(BalanceWord word);

} // namespace bondtrace
