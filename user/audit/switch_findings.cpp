// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/switch_findings.h"

#include "user/audit/advice.h"
#include "user/audit/hash_findings.h"
#include "user/audit/switch_hash.h"
#include "user/base/units.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// One port that has this much of the bytes has all.
constexpr double all_on_one = 0.99;
// With fewer flows than are judged: uneven enough for a word, never for more.
constexpr double remarkable = 0.05;

Finding make(std::string id, Severity severity, const BondView& view, std::string summary) {
    return {std::move(id), severity, view.state->name, std::nullopt, std::move(summary), {}, {}, {}};
}

std::string shares_text(const Balance& balance) {
    std::string text;
    for (const SlaveShare& slave : balance.slaves)
        text += fmt::format("{}{} {} ({} flows)", text.empty() ? "" : ", ", slave.name,
                            format_share(slave.share), slave.flows);
    return text;
}

// Does everything that a hash of addresses and ports could use vary a lot? Then one port for all needs
// another reason.
bool tuples_vary(const std::vector<PlacedFlow>& received, std::size_t slaves) {
    const FieldTable fields(received, Direction::rx);
    const std::uint64_t many = flows_per_slave_to_judge * slaves;
    return std::max(fields.distinct(Field::src_ip), fields.distinct(Field::dst_ip)) >= many &&
           std::max(fields.distinct(Field::src_port), fields.distinct(Field::dst_port)) >= many;
}

// Frames of ours that came back: the sources that sent through this bond, seen as sources of what it
// received.
std::vector<Finding> echo_findings(const BondView& view) {
    constexpr std::uint64_t surely_a_loop = 10; // frames
    std::set<MacAddress> own{view.state->mac};
    for (const Slave& slave : view.state->slaves) {
        own.insert(slave.mac);
        if (slave.perm_mac) own.insert(*slave.perm_mac);
    }
    for (const Conversation* flow : view.flows)
        for (const SlaveUse& use : flow->tx)
            own.insert(use.origin.local_mac);
    own.erase(MacAddress{});

    struct Echo {
        std::uint64_t frames = 0;
        MacAddress mac{};
    };
    std::map<int, Echo> echoes; // by slave
    for (const Conversation* flow : view.flows)
        for (const SlaveUse& use : flow->rx) {
            // A standby slave hears the bond's own broadcasts through the switch, as it hears all broadcasts.
            if (use.inactive || !own.contains(use.origin.remote_mac)) continue;
            Echo& echo = echoes[use.slave_ifindex];
            echo.frames += use.counts.wire_packets;
            echo.mac = use.origin.remote_mac;
        }
    std::vector<Finding> findings;
    for (const auto& [ifindex, echo] : echoes) {
        Finding finding =
            make("switch.loop", echo.frames >= surely_a_loop ? Severity::critical : Severity::warning, view,
                 "frames with this host's own source MAC address come back in");
        finding.slave = slave_name(*view.report, ifindex);
        finding.seen = fmt::format("{} frames received on {}, the last from {}", echo.frames, *finding.slave,
                                   to_text(echo.mac));
        finding.why =
            "The network sends this bond its own frames: a loop, or ports that the switch does not treat as "
            "one link; bridges then learn local addresses on the uplink.";
        finding.fixes = switch_fixes(SwitchChange::same_lag);
        findings.push_back(std::move(finding));
    }
    return findings;
}

void add_imbalance(std::vector<Finding>& findings, const BondView& view,
                   const std::vector<PlacedFlow>& received, const Balance& rx, const Balance& tx) {
    const bool few = rx.word == BalanceWord::too_few;
    const bool one_port = rx.largest >= all_on_one;
    const SlaveShare& slave = rx.slaves[rx.largest_slave];
    Finding finding = make(
        one_port ? "switch.rx-one-port" : "switch.rx-imbalanced", few ? Severity::info : Severity::warning,
        view,
        one_port ? fmt::format("everything is received on {}: the other end chooses the port", slave.name)
                 : fmt::format("{} receives {}: the other end chooses the port", slave.name,
                               format_share(rx.largest)));
    finding.slave = slave.name;
    const SwitchHash hash = infer_switch_hash(received, rx.slaves.size());
    finding.seen = fmt::format("RX {}; {} flows, {}; {}", shares_text(rx), rx.flows,
                               format_probability(rx.decisive()), describe(hash));
    if (tx.word == BalanceWord::balanced) finding.seen += fmt::format("; TX is {}", to_text(tx.word));
    finding.why = "The switch (or the peer) picks the slave of what it sends here; xmit_hash_policy on this "
                  "host cannot "
                  "change it.";
    if (one_port && !few && tuples_vary(received, rx.slaves.size()))
        finding.why +=
            " With so many different addresses and ports it either hashes on MAC addresses, does not use the "
            "other ports at all, or gets only flows that an upstream router with the same hash has already "
            "sorted (polarization).";
    finding.fixes = switch_fixes(SwitchChange::hash_layer4);
    findings.push_back(std::move(finding));
}

} // namespace

std::vector<Finding> switch_findings(const BondView& view, const std::vector<PlacedFlow>& received,
                                     const Balance& rx, const Balance& tx) {
    if (!view.report) return {};
    std::vector<Finding> findings = echo_findings(view);
    const bool few = rx.word == BalanceWord::too_few;
    if (rx.word == BalanceWord::uneven || (few && rx.by_flows.bound < remarkable))
        add_imbalance(findings, view, received, rx, tx);
    if (few) {
        Finding finding = make("hash.too-few-flows", Severity::info, view,
                               fmt::format("RX: {} flow{} {} too few to judge balance", rx.flows,
                                           rx.flows == 1 ? "" : "s", rx.flows == 1 ? "is" : "are"));
        finding.seen = too_few_text(rx);
        finding.why = "Which slave a flow takes is chance: few flows are rarely even, and that is no fault.";
        findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace bondtrace
