// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/live_model.h"

#include "user/audit/placement.h"
#include "user/bond/usable.h"
#include "user/report/flow_words.h"
#include "user/report/flows_build.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace bondtrace {
namespace {

double grown(std::uint64_t later, std::uint64_t earlier) {
    return later > earlier ? static_cast<double>(later - earlier) : 0;
}

Rate rate_between(const Counts& later, const Counts& earlier, double seconds) {
    if (seconds <= 0) return {};
    return {grown(later.wire_packets, earlier.wire_packets) / seconds,
            grown(later.wire_bytes, earlier.wire_bytes) / seconds};
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
    return a > b ? a - b : b - a;
}

std::uint64_t untracked(const BondReport& bond) {
    std::uint64_t packets = 0;
    for (const SlaveReport& slave : bond.slaves)
        packets += slave.tx.untracked.packets + slave.rx.untracked.packets;
    return packets;
}

std::uint64_t packets_of(const FlowsReport& report) {
    std::uint64_t packets = 0;
    for (const BondReport& bond : report.bonds)
        for (const SlaveReport& slave : bond.slaves)
            packets += slave.tx.traced.packets + slave.rx.traced.packets;
    return packets;
}

// New bonds come behind the others, and none is ever left out.
bool has_same_bonds(const LiveReading& now, const LiveReading& before) {
    return now.report.bonds.size() >= before.report.bonds.size() &&
           std::equal(
               before.report.bonds.begin(), before.report.bonds.end(), now.report.bonds.begin(),
               [](const BondReport& left, const BondReport& right) { return left.ifindex == right.ifindex; });
}

// Weights fade for ever; less than a byte is nothing.
constexpr double least_weight = 1;

// Frames of one direction: traced, and counted by the kernel.
struct Covered {
    std::uint64_t traced = 0, counted = 0;
    void operator+=(const Covered& other) {
        traced += other.traced;
        counted += other.counted;
    }
};

Covered covered(const BondReport& bond, bool received) {
    const CountUnit unit = bond.counter_unit(received);
    Covered sum;
    for (const SlaveReport& slave : bond.slaves) {
        const SlaveDirection& direction = received ? slave.rx : slave.tx;
        sum.traced += packets_in(direction.traced, unit) + packets_in(direction.control, unit);
        sum.counted += direction.counter_packets;
    }
    return sum;
}

// Counters and hooks are not read at the same instant: what passed meanwhile is no gap.
std::optional<double> coverage_of(const Covered& sum, std::uint64_t skew) {
    if (sum.counted == 0) return std::nullopt;
    if (distance(sum.traced, sum.counted) <= skew) return 1.0;
    return static_cast<double>(sum.traced) / static_cast<double>(sum.counted);
}

} // namespace

void LiveModel::update(LiveReading reading) {
    // Live, bonds stay and time does not go back; recordings may be of anything.
    if (readings_ > 0 && (reading.time_ns < reading_.time_ns || !has_same_bonds(reading, reading_)))
        *this = LiveModel(std::move(judge_));
    const bool has_interval = readings_ > 0 && reading.time_ns > reading_.time_ns;
    interval_seconds_ = has_interval ? static_cast<double>(reading.time_ns - reading_.time_ns) / 1e9 : 0;
    const LiveReading before = std::exchange(reading_, std::move(reading));

    std::vector<BondMode> modes;
    for (const LiveBond& bond : reading_.bonds)
        modes.push_back(bond.state.mode);
    flows_.update(reading_.entries, modes, reading_.time_ns, interval_seconds_);
    reading_.entries = {};
    update_slaves(before);
    update_predictions();
    update_hashes(before);
    if (has_interval) note_changes(before);
    update_flow_counts();
    for (std::size_t bond = 0; bond < bonds_.size(); ++bond)
        update_balance(bond);
    update_coverage();
    if (has_interval) {
        update_cost(before);
        log_changes(before);
        log_moves();
    }
    ++readings_;
}

void LiveModel::update_slaves(const LiveReading& before) {
    bonds_.resize(reading_.report.bonds.size());
    const double fading = std::exp(-interval_seconds_ / LiveFlows::weight_seconds);
    for (std::size_t i = 0; i < bonds_.size(); ++i) {
        const BondReport& report = reading_.report.bonds[i];
        const BondReport* old_report = i < before.report.bonds.size() ? &before.report.bonds[i] : nullptr;
        std::vector<LiveSlave> slaves;
        for (std::size_t place = 0; place < report.slaves.size(); ++place) {
            const SlaveReport& is = report.slaves[place];
            LiveSlave slave;
            const auto known =
                std::find_if(bonds_[i].slaves.begin(), bonds_[i].slaves.end(),
                             [&](const LiveSlave& other) { return other.ifindex == is.ifindex; });
            if (known != bonds_[i].slaves.end()) slave = *known;
            slave.ifindex = is.ifindex;
            slave.usable = is.index.has_value();
            if (place < reading_.bonds[i].counters.size()) {
                const LinkCounters& counters = reading_.bonds[i].counters[place];
                slave.errors = counters.rx_errors + counters.tx_errors;
                slave.drops = counters.rx_dropped + counters.tx_dropped;
            }
            const SlaveReport* was = old_report ? old_report->find_slave(is.ifindex) : nullptr;
            const SlaveReport nothing;
            if (!was) was = &nothing;
            slave.tx = rate_between(is.tx.traced, was->tx.traced, interval_seconds_);
            slave.rx = rate_between(is.rx.traced, was->rx.traced, interval_seconds_);
            const double sent = slave.tx.bytes * interval_seconds_;
            const double received = slave.rx.bytes * interval_seconds_;
            slave.tx_weight = slave.tx_weight * fading + sent;
            slave.rx_weight = slave.rx_weight * fading + received;
            if (interval_seconds_ > 0) {
                slave.tx_history.add(before.time_ns, reading_.time_ns, sent);
                slave.rx_history.add(before.time_ns, reading_.time_ns, received);
            }
            slaves.push_back(slave);
        }
        bonds_[i].slaves = std::move(slaves);
        bonds_[i].lacp = judge_lacp(reading_.bonds[i].state);
    }
}

// What is predicted follows from the first frame on each slave, so that only conversations with a new use
// need a new prediction.
void LiveModel::update_predictions() {
    for (RecordedPrediction& recorded : reading_.predictions)
        if (const auto row = flows_.find(recorded.bond, recorded.key))
            flows_.row(*row).flow.prediction = predictions_.share(std::move(recorded.prediction));
    reading_.predictions = {};
    if (!reading_.report.era || flows_.changed().empty()) return;
    std::vector<PredictionBond> contexts;
    for (std::size_t i = 0; i < reading_.bonds.size(); ++i)
        contexts.push_back(
            prediction_context(reading_.bonds[i].state, reading_.report.bonds[i], reading_.flow_dissector));
    std::vector<Conversation> conversations;
    conversations.reserve(flows_.changed().size());
    for (const std::uint32_t row : flows_.changed())
        conversations.push_back(std::move(flows_.row(row).flow));
    predict(conversations, contexts, reading_.report.era->era, predictions_);
    for (std::size_t i = 0; i < conversations.size(); ++i)
        flows_.row(flows_.changed()[i]).flow = std::move(conversations[i]);
}

// What the hash cannot tell apart was decided by one throw.
void LiveModel::update_hashes(const LiveReading& before) {
    const auto update_row = [&](FlowRow& row) {
        row.tx_hash.reset();
        if (row.flow.bond >= reading_.bonds.size() || row.flow.tx.empty()) return;
        const Bond& bond = reading_.bonds[row.flow.bond].state;
        if (!uses_hash_policy(bond)) return;
        row.tx_hash = hash_of_tuple(sent_tuple(row.flow.key, row.flow.tx.front().origin), bond.policy, era());
    };
    bool policy_changed = false;
    for (std::size_t i = 0; i < std::min(before.bonds.size(), reading_.bonds.size()); ++i)
        policy_changed |= before.bonds[i].state.policy != reading_.bonds[i].state.policy ||
                          before.bonds[i].state.mode != reading_.bonds[i].state.mode;
    if (!policy_changed) {
        for (const std::uint32_t row : flows_.changed())
            update_row(flows_.row(row));
        return;
    }
    for (std::uint32_t row = 0; row < flows_.rows().size(); ++row)
        update_row(flows_.row(row));
}

// Bytes that were spread over other slaves, or by another policy, say nothing about those of now.
void LiveModel::note_changes(const LiveReading& before) {
    const auto usable = [](const Bond& bond) {
        std::vector<int> ifindexes;
        for (const Slave* slave : usable_slaves(bond))
            ifindexes.push_back(slave->ifindex);
        return ifindexes;
    };
    for (std::size_t i = 0; i < std::min(before.bonds.size(), reading_.bonds.size()); ++i) {
        const Bond &was = before.bonds[i].state, &is = reading_.bonds[i].state;
        if (usable(was) != usable(is) || was.policy != is.policy || was.mode != is.mode)
            bonds_[i].changed_ns = reading_.time_ns;
    }
}

void LiveModel::update_flow_counts() {
    for (LiveBondState& bond : bonds_) {
        bond.predicted = bond.as_predicted = 0;
        for (LiveSlave& slave : bond.slaves)
            slave.tx_flows = slave.rx_flows = 0;
    }
    for (const FlowRow& row : flows_.rows()) {
        if (row.flow.bond >= bonds_.size() || is_idle(row)) continue;
        LiveBondState& bond = bonds_[row.flow.bond];
        if (row.flow.prediction && row.flow.prediction->agrees) {
            ++bond.predicted;
            bond.as_predicted += *row.flow.prediction->agrees ? 1 : 0;
        }
        for (LiveSlave& slave : bond.slaves) {
            if (slave.ifindex == row.tx_slave) ++slave.tx_flows;
            if (slave.ifindex == row.rx_slave) ++slave.rx_flows;
        }
    }
}

std::vector<LiveThrow> LiveModel::throws_of(std::size_t bond, bool received) const {
    const LiveBondState& state = bonds_[bond];
    std::vector<LiveThrow> throws;
    std::unordered_map<std::uint64_t, std::size_t> known; // hash and slave -> index into throws
    for (const FlowRow& row : flows_.rows()) {
        const double weight = received ? row.rx_weight : row.tx_weight;
        if (row.flow.bond != bond || weight < least_weight) continue;
        if (!received && row.sprayed) continue; // nothing chose a slave for it
        const int ifindex = received ? row.rx_slave : row.tx_slave;
        const auto slave = std::find_if(state.balanced.begin(), state.balanced.end(), [&](std::size_t place) {
            return state.slaves[place].ifindex == ifindex;
        });
        if (slave == state.balanced.end()) continue;
        const auto place = static_cast<std::size_t>(slave - state.balanced.begin());
        const auto bytes = static_cast<std::uint64_t>(weight);
        if (!received && row.tx_hash) {
            const auto [at, added] =
                known.try_emplace(std::uint64_t{*row.tx_hash} << 16U | place, throws.size());
            if (!added) {
                throws[at->second].bytes += bytes;
                continue;
            }
        }
        throws.push_back({place, bytes});
    }
    return throws;
}

void LiveModel::update_balance(std::size_t index) {
    LiveBondState& bond = bonds_[index];
    const BondReport& report = reading_.report.bonds[index];
    bond.balanced.clear();
    std::vector<double> tx, rx;
    double tx_total = 0, rx_total = 0;
    for (std::size_t place = 0; place < bond.slaves.size(); ++place) {
        const LiveSlave& slave = bond.slaves[place];
        tx_total += slave.tx_weight;
        rx_total += slave.rx_weight;
        if (!slave.usable) continue;
        bond.balanced.push_back(place);
        tx.push_back(slave.tx_weight);
        rx.push_back(slave.rx_weight);
    }
    for (LiveSlave& slave : bond.slaves) {
        slave.tx_share = tx_total >= least_weight ? std::optional(slave.tx_weight / tx_total) : std::nullopt;
        slave.rx_share = rx_total >= least_weight ? std::optional(slave.rx_weight / rx_total) : std::nullopt;
    }
    const bool changed = bond.changed_ns != 0 && reading_.time_ns < bond.changed_ns + settling_ns;
    for (const bool received : {false, true}) {
        const std::vector<LiveThrow> throws = throws_of(index, received);
        const LiveBalance balance = judge_({.mode = report.mode,
                                            .policy_used = report.policy_used,
                                            .received = received,
                                            .changed = changed,
                                            .slaves = received ? rx : tx,
                                            .throws = throws});
        (received ? bond.rx_balance : bond.tx_balance) = balance;
    }
}

void LiveModel::update_coverage() {
    const std::uint64_t skew = reading_.report.losses.reading_skew;
    Covered all;
    for (std::size_t i = 0; i < bonds_.size(); ++i) {
        const Covered tx = covered(reading_.report.bonds[i], false);
        const Covered rx = covered(reading_.report.bonds[i], true);
        bonds_[i].tx_coverage = coverage_of(tx, skew);
        bonds_[i].rx_coverage = coverage_of(rx, skew);
        all += tx;
        all += rx;
    }
    coverage_ = coverage_of(all, skew);
}

void LiveModel::update_cost(const LiveReading& before) {
    cost_.reset();
    if (!reading_.cost || !before.cost) return;
    const double ns = grown(reading_.cost->ns, before.cost->ns);
    const double packets = grown(packets_of(reading_.report), packets_of(before.report));
    LiveCost cost;
    if (packets > 0) cost.ns_per_packet = ns / packets;
    cost.cpu = ns / (interval_seconds_ * 1e9);
    cost_ = cost;
}

std::uint64_t LiveModel::lost() const {
    const Losses& losses = reading_.report.losses;
    return losses.untracked_packets + losses.recursion_misses + losses.slots_full + losses.consumed_unknown;
}

void LiveModel::log(EventKind kind, const std::string& bond, std::string text) {
    events_.add({reading_.time_ns, reading_.report.header.time, kind, bond, std::move(text)});
}

void LiveModel::log_changes(const LiveReading& before) {
    for (std::size_t i = 0; i < reading_.bonds.size(); ++i) {
        const LiveBond& is = reading_.bonds[i];
        if (i >= before.bonds.size()) {
            log(EventKind::change, is.state.name, "made meanwhile: counted from now on");
            continue;
        }
        if (reading_.report.bonds[i].removed) {
            if (!before.report.bonds[i].removed) log(EventKind::bad, is.state.name, "the bond was removed");
            continue;
        }
        for (Event& change : bond_changes(before.bonds[i].state, is.state))
            log(change.kind, is.state.name, std::move(change.text));
        const std::uint64_t full_before = untracked(before.report.bonds[i]);
        const std::uint64_t full_now = untracked(reading_.report.bonds[i]);
        if (full_before == 0 && full_now > 0)
            log(EventKind::bad, is.state.name,
                fmt::format("the flow table of {} entries is full: new flows are counted in the slaves' sums "
                            "only (--max-flows)",
                            reading_.report.max_flows));
    }
    if (const std::uint64_t left = reading_.report.losses.uncounted_bonds;
        left > before.report.losses.uncounted_bonds)
        log(EventKind::bad, "bondtrace",
            fmt::format(
                "{} bond{} made meanwhile and not counted: no room, or the module is another; start again",
                left, left == 1 ? " was" : "s were"));
}

// Flows that move together, as when a slave goes down, are one event.
void LiveModel::log_moves() {
    struct Together {
        std::size_t count = 0;
        std::uint32_t first = 0;
    };
    std::map<std::tuple<std::size_t, int, int>, Together> moves;
    for (const FlowMove& move : flows_.moves()) {
        Together& together = moves[{flows_.rows()[move.row].flow.bond, move.from, move.to}];
        if (together.count++ == 0) together.first = move.row;
    }
    for (const auto& [way, together] : moves) {
        const auto [bond, from, to] = way;
        if (bond >= reading_.report.bonds.size()) continue;
        const BondReport& report = reading_.report.bonds[bond];
        const std::string what = together.count == 1 ? flow_words(flows_.rows()[together.first].flow.key)
                                                     : fmt::format("{} flows", together.count);
        log(EventKind::change, report.name,
            fmt::format("{} moved from {} to {}", what, slave_name(report, from), slave_name(report, to)));
    }
}

} // namespace bondtrace
