// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/prove/proof_findings.h"

#include "user/audit/advice.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace bondtrace {
namespace {

using namespace traffic;

std::string far_name(const ProofInput& input) {
    return fmt::format("{} of {}", input.far->bond, input.host);
}

// Where the switch puts what this end sends, as the far end sees it.
void add_switch(std::vector<Finding>& findings, const ProofInput& input, const Proof& proof) {
    if (!input.far || !proof.far_rx || judge_split(*input.far, *proof.far_rx) != SplitWord::uneven) return;
    const Split& split = *proof.far_rx;
    const auto largest = static_cast<std::size_t>(std::max_element(split.flows.begin(), split.flows.end()) -
                                                  split.flows.begin());
    const bool one_port = split.flows[largest] == split.whole() && split.spread == 0;
    const std::string& slave = input.far->slaves[largest].name;
    Finding finding;
    finding.id = one_port ? "switch.rx-one-port" : "switch.rx-imbalanced";
    finding.severity = Severity::warning;
    finding.bond = far_name(input);
    finding.slave = slave;
    finding.summary =
        one_port ? fmt::format("the far end receives every flow on {}: the switch chooses the port", slave)
                 : fmt::format("the far end receives {} of {} flows on {}: the switch chooses the port",
                               split.flows[largest], split.whole(), slave);
    finding.seen = fmt::format("sent: {}; received there: {}", describe(input.near, proof.near_tx),
                               describe(*input.far, split));
    finding.why =
        "The switch picks the port of what it forwards; xmit_hash_policy of neither host can change "
        "it, and the total cannot exceed the slaves that the far end receives on.";
    finding.fixes = switch_fixes(SwitchChange::hash_layer4);
    findings.push_back(std::move(finding));
}

std::string rates_text(const std::vector<SlaveLoss>& slaves) {
    std::string text;
    for (const SlaveLoss& slave : slaves)
        if (slave.sent != 0)
            text += fmt::format("{}{} {} of {} ({:.2g} %)", text.empty() ? "" : ", ", slave.slave, slave.lost,
                                slave.sent, slave.rate() * 100);
    return text;
}

std::vector<Fix> cable_fixes(const std::string& slave) {
    return {
        {"iproute2", fmt::format("ip -s -s link show {}", slave), false},
        {"ethtool", fmt::format("ethtool -S {0} | grep -iE 'err|drop|crc'; ethtool -m {0}", slave), false},
        {"switch (any)",
         fmt::format("look at the errors and the VLANs of the port that {} is plugged into", slave), false}};
}

Finding lossy_finding(const ProofInput& input, const SideLoss& side, const LossySlave& lossy) {
    const SlaveLoss& slave = side.slaves[lossy.slave];
    const bool sends = side.side == bondtrace::Direction::tx;
    Finding finding;
    finding.id = "slave.lossy";
    finding.severity = lossy.full ? Severity::info : Severity::warning;
    finding.bond = side.near ? input.near.bond : far_name(input);
    finding.slave = slave.slave;
    finding.summary =
        lossy.full
            ? fmt::format("{} is full: what is {} on it is lost", slave.slave, sends ? "sent" : "received")
            : fmt::format("{} loses {:.2g} % of what is {} on it, the other slaves do not", slave.slave,
                          slave.rate() * 100, sends ? "sent" : "received");
    finding.seen = fmt::format("{}; {}", rates_text(side.slaves),
                               format_probability({lossy.probability, lossy.probability, true}));
    finding.why =
        lossy.full ? "Flows that share a full slave lose packets in its queue; that is no fault of the cable."
                   : "Every flow that the hash puts on this slave suffers, and the others do not: a bad "
                     "cable, optic or port.";
    finding.fixes = cable_fixes(slave.slave);
    return finding;
}

Finding hole_finding(const ProofInput& input, const SideLoss& side, std::size_t position) {
    const SlaveLoss& slave = side.slaves[position];
    Finding finding;
    finding.id = "slave.blackhole";
    finding.severity = Severity::critical;
    finding.bond = side.near ? input.near.bond : far_name(input);
    finding.slave = slave.slave;
    finding.summary = fmt::format("nothing that goes through {} arrives", slave.slave);
    std::uint64_t others = 0;
    for (const SlaveLoss& other : side.slaves)
        if (&other != &slave) others += other.flows;
    finding.seen = fmt::format("none of {} flows on {} came about, all {} on the other slaves did",
                               slave.flows, slave.slave, others);
    finding.why =
        "The link is up, so the bond goes on using it: every flow that the hash puts there fails. The "
        "port at the other side lets nothing through, or not this VLAN.";
    finding.fixes = cable_fixes(slave.slave);
    finding.fixes.push_back(
        {"iproute2", fmt::format("ip link set {} down    # until it is mended", slave.slave), false});
    return finding;
}

// The end and side that show it best: a fault between two ends is seen from both.
void add_health(std::vector<Finding>& findings, const ProofInput& input, const Proof& proof) {
    for (const bool up : {true, false}) {
        const SideLoss* best = nullptr;
        LossySlave worst;
        for (const SideLoss& side : proof.losses) {
            if ((side.near == (side.side == bondtrace::Direction::tx)) != up) continue;
            for (const LossySlave& lossy : lossy_slaves(side.slaves))
                if (!best || lossy.probability < worst.probability) {
                    best = &side;
                    worst = lossy;
                }
        }
        if (best) findings.push_back(lossy_finding(input, *best, worst));
    }
    std::set<std::string> told;
    for (const SideLoss& side : proof.losses)
        for (const std::size_t hole : black_holes(side.slaves)) {
            Finding finding = hole_finding(input, side, hole);
            if (told.insert(finding.bond + finding.slave.value_or("")).second)
                findings.push_back(std::move(finding));
        }
}

} // namespace

std::vector<Finding> proof_findings(const ProofInput& input, const Proof& proof) {
    std::vector<Finding> findings;
    add_switch(findings, input, proof);
    add_health(findings, input, proof);
    return findings;
}

} // namespace bondtrace
