// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/balance.h"

#include "user/base/units.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// Why a mode does not balance that direction by flows; empty when it does.
std::string_view not_by_flows(const BondReport& bond, Direction direction) {
    switch (bond.mode) {
    case BondMode::active_backup:
        return "active-backup uses one slave at a time";
    case BondMode::broadcast:
        return "broadcast sends everything on every slave";
    case BondMode::balance_rr:
        return direction == Direction::tx ? "balance-rr deals out packets, not flows" : "";
    case BondMode::balance_tlb:
        if (direction == Direction::rx) return "balance-tlb receives on the active slave";
        return bond.policy_used ? "" : "balance-tlb chooses slaves by their load";
    case BondMode::balance_alb:
        if (direction == Direction::rx) return "balance-alb assigns slaves to peers by ARP";
        return bond.policy_used ? "" : "balance-alb chooses slaves by their load";
    default:
        return "";
    }
}

// One entry for each throw: the slave it fell on, and its bytes.
struct Throws {
    std::vector<std::uint64_t> counts; // by slave
    std::vector<std::uint64_t> bytes;  // by slave
    std::vector<std::uint64_t> sizes;
};

Throws throws_of(const std::vector<PlacedFlow>& flows, std::size_t slaves) {
    Throws throws;
    throws.counts.assign(slaves, 0);
    throws.bytes.assign(slaves, 0);
    std::unordered_map<std::uint64_t, std::size_t> known; // hash and slave -> index into sizes
    for (const PlacedFlow& flow : flows) {
        if (!flow.whole) continue; // sprayed: nothing chose a slave for it
        throws.bytes[flow.slave] += flow.bytes;
        if (flow.hash) {
            // The slave belongs to the key: if the kernel did not follow the model, these are two throws.
            const std::uint64_t key = std::uint64_t{*flow.hash} << 16U | flow.slave;
            const auto [at, added] = known.try_emplace(key, throws.sizes.size());
            if (!added) {
                throws.sizes[at->second] += flow.bytes;
                continue;
            }
        }
        throws.sizes.push_back(flow.bytes);
        ++throws.counts[flow.slave];
    }
    return throws;
}

void add_shares(Balance& balance, const BondView& view, const std::vector<PlacedFlow>& flows,
                const Throws& throws) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < view.usable.size(); ++i) {
        const SlaveReport& slave = *view.usable[i];
        const SlaveDirection& seen = balance.direction == Direction::tx ? slave.tx : slave.rx;
        SlaveShare& share = balance.slaves.emplace_back();
        share.name = slave.name;
        share.packets = seen.traced.wire_packets;
        share.bytes = seen.traced.wire_bytes;
        share.throws = throws.counts[i];
        total += share.bytes;
    }
    for (const PlacedFlow& flow : flows)
        ++balance.slaves[flow.slave].flows;
    for (std::size_t i = 0; i < balance.slaves.size() && total > 0; ++i) {
        SlaveShare& share = balance.slaves[i];
        share.share = static_cast<double>(share.bytes) / static_cast<double>(total);
        if (share.share > balance.largest) {
            balance.largest = share.share;
            balance.largest_slave = i;
        }
    }
}

// Too much of what the kernel's counters counted went past the hooks for a verdict about all of it.
bool mostly_unseen(const Balance& balance, const BondView& view) {
    constexpr std::uint64_t worth_a_word = 100; // packets
    std::uint64_t counted = 0, traced = 0;
    for (const SlaveReport* slave : view.usable) {
        const SlaveDirection& seen = balance.direction == Direction::tx ? slave->tx : slave->rx;
        counted += seen.counter_packets;
        traced += seen.covered_packets();
    }
    return counted > 2 * traced + view.traffic->losses.reading_skew + worth_a_word;
}

void add_statistics(Balance& balance, const Throws& throws) {
    const auto slaves = static_cast<unsigned>(balance.slaves.size());
    std::vector<std::uint64_t> bytes;
    for (const SlaveShare& share : balance.slaves)
        bytes.push_back(share.bytes);
    balance.throws = throws.sizes.size();
    balance.by_flows = split_probability(throws.counts);
    balance.by_bytes =
        bytes_at_least(throws.sizes, slaves, *std::max_element(throws.bytes.begin(), throws.bytes.end()));
    balance.chi_square = chi_square_probability(throws.counts);
    balance.jain = jain_index(bytes);
    balance.effective = effective_flows(throws.sizes);
    balance.flow_band = flow_band(balance.throws, slaves, 0.95);
    balance.byte_band = byte_band(throws.sizes, slaves, 0.95);
    balance.needed =
        flows_needed(slaves, static_cast<unsigned>(std::lround(even_enough * 1000 / slaves)), 0.95);
}

// Did flows find another number of usable slaves than there is at the end? What a flow met is known for sent
// ones, and holds for both directions.
bool slaves_changed(const BondView& view) {
    constexpr double tolerated = 0.01; // of the bytes
    std::uint64_t all = 0, other = 0;
    for (const Conversation* flow : view.flows)
        for (const SlaveUse& use : flow->tx) {
            all += use.counts.wire_bytes;
            const auto met = use.origin.usable_count;
            if (met && *met != view.usable.size()) other += use.counts.wire_bytes;
        }
    for (const SlaveReport& slave : view.report->slaves) {
        const std::uint64_t packets = slave.tx.traced.wire_packets + slave.rx.traced.wire_packets;
        if (slave.state == "gone" && packets > 0) return true;
    }
    return static_cast<double>(other) > tolerated * static_cast<double>(all);
}

BalanceWord word_of(const Balance& balance) {
    const std::size_t slaves = balance.slaves.size();
    if (balance.throws < flows_per_slave_to_judge * slaves) return BalanceWord::too_few;
    double smallest = 1;
    for (const SlaveShare& slave : balance.slaves)
        smallest = std::min(smallest, slave.share);
    if (balance.largest <= balance.even_share() && smallest >= 0.5 / static_cast<double>(slaves))
        return BalanceWord::balanced;
    const bool luck = balance.by_flows.bound >= luck_ends && balance.by_bytes.bound >= luck_ends;
    return luck ? BalanceWord::chance : BalanceWord::uneven;
}

std::string flow_words(const Balance& balance) {
    if (balance.throws == balance.flows) return fmt::format("{} flows", balance.flows);
    return fmt::format("{} flows that the hash sees as {}", balance.flows, balance.throws);
}

} // namespace

std::string_view to_text(BalanceWord word) {
    switch (word) {
    case BalanceWord::balanced:
        return "balanced";
    case BalanceWord::chance:
        return "uneven by chance";
    case BalanceWord::uneven:
        return "uneven";
    case BalanceWord::too_few:
        return "too few flows";
    case BalanceWord::no_traffic:
        return "no traffic";
    case BalanceWord::changed:
        return "slaves changed";
    case BalanceWord::not_seen:
        return "not seen";
    case BalanceWord::not_expected:
        break;
    }
    return "not balanced here";
}

const Probability& Balance::decisive() const {
    return by_flows.bound < luck_ends || by_flows.bound <= by_bytes.bound ? by_flows : by_bytes;
}

double Balance::even_share() const {
    return slaves.empty() ? 1 : even_enough / static_cast<double>(slaves.size());
}

Balance judge_balance(const BondView& view, Direction direction, const std::vector<PlacedFlow>& flows) {
    Balance balance;
    balance.direction = direction;
    if (!view.report) return balance;
    const Throws throws = throws_of(flows, view.usable.size());
    balance.flows = flows.size();
    add_shares(balance, view, flows, throws);
    const std::string_view other = not_by_flows(*view.report, direction);
    if (!other.empty() || view.usable.size() < 2) {
        balance.word = BalanceWord::not_expected;
        balance.reason = !other.empty()        ? std::string(other)
                         : view.usable.empty() ? "no slave is usable"
                                               : "only one slave is usable";
        return balance;
    }
    if (mostly_unseen(balance, view)) {
        balance.word = BalanceWord::not_seen;
        return balance;
    }
    if (balance.largest <= 0) return balance;
    add_statistics(balance, throws);
    balance.word = slaves_changed(view) ? BalanceWord::changed : word_of(balance);
    return balance;
}

std::string describe(const Balance& balance) {
    const std::string_view word = to_text(balance.word);
    switch (balance.word) {
    case BalanceWord::not_expected:
        return fmt::format("{}: {}", word, balance.reason);
    case BalanceWord::no_traffic:
        return std::string(word);
    case BalanceWord::not_seen:
        return fmt::format("{}: most of the traffic did not pass the hooks", word);
    default:
        break;
    }
    std::uint64_t bytes = 0;
    for (const SlaveShare& slave : balance.slaves)
        bytes += slave.bytes;
    return fmt::format("{}: {} of {} on {}, {}, {}", word, format_share(balance.largest), format_bytes(bytes),
                       balance.slaves[balance.largest_slave].name, flow_words(balance),
                       format_probability(balance.decisive()));
}

std::string format_probability(const Probability& probability) {
    if (probability.bound < 1e-300) return "p below 1e-300";
    return fmt::format("p {} {:.2g}", probability.exact ? "=" : "at most", probability.bound);
}

std::string format_share(double share) {
    return fmt::format("{:.3g} %", share * 100);
}

} // namespace bondtrace
