// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/slave_findings.h"

#include "user/audit/statistics.h"
#include "user/hash/wire.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// Connections on each side of the comparison.
constexpr std::uint64_t connections_to_prove = 8;
// Packets of a connection that may go unanswered because the window ended just then.
constexpr std::uint64_t packets_to_expect_an_answer = 2;

using Service = std::pair<Host, std::uint16_t>; // who is asked: address and port

struct Answers {
    std::uint64_t answered = 0, unanswered = 0;
};

bool answered(const Conversation& flow) {
    return flow.rx_total().packets > 0;
}

} // namespace

std::vector<Finding> slave_findings(const BondView& view, const std::vector<PlacedFlow>& sent) {
    std::vector<Finding> findings;
    if (std::all_of(sent.begin(), sent.end(), [](const PlacedFlow& flow) { return answered(*flow.flow); }))
        return findings;
    // TCP always answers, if only to refuse.
    std::map<Service, std::map<std::size_t, Answers>> services;
    for (const PlacedFlow& flow : sent) {
        const auto* ports = std::get_if<Ports>(&flow.flow->key.detail);
        if (!ports || flow.flow->key.protocol != ipproto::tcp || !flow.whole ||
            flow.packets < packets_to_expect_an_answer)
            continue;
        Answers& answers = services[{flow.flow->key.remote, ports->remote}][flow.slave];
        ++(answered(*flow.flow) ? answers.answered : answers.unanswered);
    }
    for (std::size_t i = 0; i < view.usable.size(); ++i) {
        Answers here, elsewhere;
        for (const auto& [service, slaves] : services) {
            const auto at = slaves.find(i);
            Answers others;
            for (const auto& [slave, answers] : slaves)
                if (slave != i) {
                    others.answered += answers.answered;
                    others.unanswered += answers.unanswered;
                }
            if (at == slaves.end() || others.answered == 0) continue; // nothing to compare with
            here.answered += at->second.answered;
            here.unanswered += at->second.unanswered;
            elsewhere.answered += others.answered;
            elsewhere.unanswered += others.unanswered;
        }
        const bool others_work =
            elsewhere.answered >= connections_to_prove && elsewhere.unanswered * 9 <= elsewhere.answered;
        if (here.answered > 0 || here.unanswered < connections_to_prove || !others_work) continue;
        Finding& finding = findings.emplace_back();
        finding.id = "slave.blackhole";
        finding.severity = Severity::critical;
        finding.bond = view.state->name;
        finding.slave = view.usable[i]->name;
        finding.summary = fmt::format("nothing that is sent through {} is answered", *finding.slave);
        finding.seen = fmt::format(
            "{} TCP connections sent through {} got no packet back; {} of {} to the same hosts and "
            "ports through other slaves did",
            here.unanswered, *finding.slave, elsewhere.answered, elsewhere.answered + elsewhere.unanswered);
        finding.why = "The link is up, so the bond goes on sending there, and those connections fail.";
        finding.fixes = {
            {"iproute2",
             fmt::format("ip link set dev {} down    # until cable, switch port and VLANs of that "
                         "port are checked",
                         *finding.slave)}};
    }
    return findings;
}

} // namespace bondtrace
