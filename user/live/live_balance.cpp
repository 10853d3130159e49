// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/live_balance.h"

#include <algorithm>
#include <numeric>

namespace bondtrace {
namespace {

// Whether the mode spreads that direction by flows at all; see balance.cpp of the audit, which says why not.
bool spreads_flows(const BalanceInput& input) {
    switch (input.mode) {
    case BondMode::active_backup:
    case BondMode::broadcast:
        return false;
    case BondMode::balance_rr:
        return input.received;
    case BondMode::balance_tlb:
    case BondMode::balance_alb:
        return !input.received && input.policy_used;
    default:
        return true;
    }
}

bool may_be_luck(const BalanceInput& input) {
    std::vector<std::uint64_t> counts(input.slaves.size()), bytes(input.slaves.size()), sizes;
    sizes.reserve(input.throws.size());
    for (const LiveThrow& one : input.throws) {
        ++counts[one.slave];
        bytes[one.slave] += one.bytes;
        sizes.push_back(one.bytes);
    }
    if (split_probability(counts).bound < luck_ends) return false;
    const auto slaves = static_cast<unsigned>(input.slaves.size());
    return bytes_at_least(sizes, slaves, *std::max_element(bytes.begin(), bytes.end())).bound >= luck_ends;
}

} // namespace

LiveBalance judge_live_balance(const BalanceInput& input) {
    // Less than this in the last seconds is nothing: weights fade for ever.
    constexpr double least_bytes = 100;
    LiveBalance balance;
    balance.throws = input.throws.size();
    if (input.slaves.size() < 2 || !spreads_flows(input)) {
        balance.word = BalanceWord::not_expected;
        return balance;
    }
    const double total = std::accumulate(input.slaves.begin(), input.slaves.end(), 0.0);
    if (total < least_bytes) return balance;
    const auto [smallest, largest] = std::minmax_element(input.slaves.begin(), input.slaves.end());
    balance.largest = *largest / total;
    balance.largest_slave = static_cast<std::size_t>(largest - input.slaves.begin());
    const auto slaves = static_cast<double>(input.slaves.size());
    std::vector<std::uint64_t> sizes;
    sizes.reserve(input.throws.size());
    for (const LiveThrow& one : input.throws)
        sizes.push_back(one.bytes);
    constexpr double confidence = 0.95;
    const Band band = byte_band(sizes, static_cast<unsigned>(input.slaves.size()), confidence);
    balance.low = band.low;
    balance.high = band.high;
    if (input.changed)
        balance.word = BalanceWord::changed;
    else if (static_cast<double>(input.throws.size()) <
             static_cast<double>(flows_per_slave_to_judge) * slaves)
        balance.word = BalanceWord::too_few;
    else if (balance.largest <= even_enough / slaves && *smallest / total >= 0.5 / slaves)
        balance.word = BalanceWord::balanced;
    else
        balance.word = may_be_luck(input) ? BalanceWord::chance : BalanceWord::uneven;
    return balance;
}

std::string_view short_word(BalanceWord word) {
    return word == BalanceWord::not_expected ? std::string_view{} : to_text(word);
}

} // namespace bondtrace
