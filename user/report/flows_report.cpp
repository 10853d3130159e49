// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/flows_report.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace bondtrace {
namespace {

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
    return a > b ? a - b : b - a;
}

CountUnit closer_unit(std::uint64_t skb, std::uint64_t wire, std::uint64_t counter) {
    return distance(skb, counter) < distance(wire, counter) ? CountUnit::skb : CountUnit::wire;
}

const SlaveDirection& direction_of(const SlaveReport& slave, bool received) {
    return received ? slave.rx : slave.tx;
}

// Counts each slave once for each conversation, however many uses (active and inactive) it has.
void count_flows(BondReport& bond, const std::vector<SlaveUse>& uses, bool received) {
    for (auto use = uses.begin(); use != uses.end(); ++use) {
        const auto same_slave = [&](const SlaveUse& other) {
            return other.slave_ifindex == use->slave_ifindex;
        };
        if (std::any_of(uses.begin(), use, same_slave)) continue;
        for (SlaveReport& slave : bond.slaves)
            if (slave.ifindex == use->slave_ifindex) ++(received ? slave.rx : slave.tx).flows;
    }
}

} // namespace

std::uint64_t packets_in(const Counts& counts, CountUnit unit) {
    return unit == CountUnit::wire ? counts.wire_packets : counts.packets;
}

std::uint64_t bytes_in(const Counts& counts, CountUnit unit) {
    return unit == CountUnit::wire ? counts.wire_bytes : counts.bytes;
}

CountUnit SlaveDirection::counter_unit() const {
    return closer_unit(traced.packets + control.packets, traced.wire_packets + control.wire_packets,
                       counter_packets);
}

std::uint64_t SlaveDirection::covered_packets() const {
    const CountUnit unit = counter_unit();
    return packets_in(traced, unit) + packets_in(control, unit);
}

std::optional<double> SlaveDirection::coverage() const {
    if (counter_packets == 0) return std::nullopt;
    return static_cast<double>(covered_packets()) / static_cast<double>(counter_packets);
}

const SlaveReport* BondReport::find_slave(int slave_ifindex) const {
    for (const SlaveReport& slave : slaves)
        if (slave.ifindex == slave_ifindex) return &slave;
    return nullptr;
}

CountUnit BondReport::counter_unit(bool received) const {
    SlaveDirection sum;
    for (const SlaveReport& slave : slaves) {
        const SlaveDirection& direction = direction_of(slave, received);
        sum.traced += direction.traced;
        sum.control += direction.control;
        sum.counter_packets += direction.counter_packets;
    }
    return sum.counter_unit();
}

std::optional<double> BondReport::share(const SlaveReport& slave, bool received) const {
    std::uint64_t total = 0;
    for (const SlaveReport& other : slaves)
        total += direction_of(other, received).traced.wire_bytes;
    if (total == 0) return std::nullopt;
    return static_cast<double>(direction_of(slave, received).traced.wire_bytes) / static_cast<double>(total);
}

void count_slave_flows(std::vector<BondReport>& bonds, const std::vector<Conversation>& conversations) {
    for (BondReport& bond : bonds)
        for (SlaveReport& slave : bond.slaves)
            slave.tx.flows = slave.rx.flows = 0;
    for (const Conversation& conversation : conversations) {
        if (conversation.bond >= bonds.size()) continue;
        count_flows(bonds[conversation.bond], conversation.tx, false);
        count_flows(bonds[conversation.bond], conversation.rx, true);
    }
}

void count_agreement(std::vector<BondReport>& bonds, const std::vector<Conversation>& conversations) {
    std::vector<std::map<std::string_view, std::uint64_t>> reasons(bonds.size());
    for (BondReport& bond : bonds)
        bond.agreement = {};
    for (const Conversation& conversation : conversations) {
        if (conversation.bond >= bonds.size() || conversation.tx.empty() || !conversation.prediction)
            continue;
        Agreement& agreement = bonds[conversation.bond].agreement;
        const Prediction& prediction = *conversation.prediction;
        if (!prediction.agrees) {
            ++reasons[conversation.bond][prediction.why];
            continue;
        }
        ++agreement.checked;
        if (*prediction.agrees)
            ++agreement.agree;
        else if (agreement.disagreements.size() < Agreement::max_disagreements)
            agreement.disagreements.push_back(conversation);
    }
    for (std::size_t i = 0; i < bonds.size(); ++i) {
        const auto most = std::max_element(reasons[i].begin(), reasons[i].end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most != reasons[i].end()) bonds[i].agreement.unchecked_why = most->first;
    }
}

std::string_view mode_words(const BondReport& bond) {
    return bond.group ? "group of links" : to_text(bond.mode);
}

std::string slave_name(const BondReport& bond, int slave_ifindex) {
    const SlaveReport* slave = bond.find_slave(slave_ifindex);
    return slave ? slave->name : fmt::format("if{}", slave_ifindex);
}

Names FlowsReport::names() const {
    return {[this](std::size_t bond, int slave_ifindex) -> std::string_view {
                const SlaveReport* slave =
                    bond < bonds.size() ? bonds[bond].find_slave(slave_ifindex) : nullptr;
                return slave ? std::string_view(slave->name) : std::string_view{};
            },
            [this](std::size_t bond) -> std::string_view {
                return bond < bonds.size() ? std::string_view(bonds[bond].name) : std::string_view{};
            }};
}

} // namespace bondtrace
