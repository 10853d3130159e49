// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/prove/proof.h"

#include "user/prove/checks.h"
#include "user/prove/proof_findings.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace {
namespace {

using namespace traffic;

std::uint64_t packets_of(const std::vector<TracedUse>& uses) {
    std::uint64_t packets = 0;
    for (const TracedUse& use : uses)
        packets += use.packets;
    return packets;
}

std::optional<std::uint64_t> missing(const std::vector<TracedUse>& sent,
                                     const std::vector<TracedUse>& received) {
    const std::uint64_t out = packets_of(sent), in = packets_of(received);
    if (out == 0) return std::nullopt;
    return out > in ? out - in : 0;
}

std::vector<ProvenFlow> proven_flows(const ProofInput& input) {
    std::vector<ProvenFlow> flows(input.near.flows.size());
    for (std::size_t i = 0; i < flows.size(); ++i) {
        ProvenFlow& flow = flows[i];
        if (i < input.predictions.size() && input.predictions[i]) {
            const Prediction& prediction = *input.predictions[i];
            flow.agrees = prediction.agrees;
            flow.why = prediction.why;
            for (std::size_t slave = 0; slave < input.near.slaves.size(); ++slave)
                if (prediction.slave == input.near.slaves[slave].name)
                    flow.predicted = static_cast<std::uint32_t>(slave);
        }
        if (!input.far || i >= input.far->flows.size()) continue;
        flow.lost_up = missing(input.near.flows[i].tx, input.far->flows[i].rx);
        flow.lost_down = missing(input.far->flows[i].tx, input.near.flows[i].rx);
    }
    return flows;
}

// What a flow lost in one direction; from the traces of both ends when there are, else from what its sockets
// say: segments sent again, datagrams that did not arrive.
std::uint64_t lost_of(const ProofInput& input, const Proof& proof, std::size_t flow, bool up) {
    const auto& traced = up ? proof.flows[flow].lost_up : proof.flows[flow].lost_down;
    if (traced) return *traced;
    const EndResult* const sender = up ? &input.client : input.server ? &*input.server : nullptr;
    const EndResult* const receiver = !up ? &input.client : input.server ? &*input.server : nullptr;
    if (sender && flow < sender->flows.size() && sender->flows[flow].tcp)
        return sender->flows[flow].tcp->retransmits;
    if (receiver && flow < receiver->flows.size() && receiver->flows[flow].udp)
        return receiver->flows[flow].udp->lost;
    return 0;
}

// Puts the losses of one direction down to the slaves of one end.
SideLoss side_loss(const ProofInput& input, const Proof& proof, bool near, bool up) {
    const EndTrace& trace = near ? input.near : *input.far;
    SideLoss loss{near, near == up ? bondtrace::Direction::tx : bondtrace::Direction::rx, {}, 0, 0};
    for (const TracedSlave& slave : trace.slaves)
        loss.slaves.push_back({slave.name, 0, 0, 0, 0, 0});
    const double seconds = static_cast<double>(input.client.elapsed_ns) / 1e9;
    std::vector<double> bits(trace.slaves.size());
    for (std::size_t i = 0; i < trace.flows.size(); ++i) {
        const auto& uses = loss.side == bondtrace::Direction::tx ? trace.flows[i].tx : trace.flows[i].rx;
        for (const TracedUse& use : uses)
            bits[use.slave] += static_cast<double>(use.bytes) * 8;
        const bool failed = i < input.summary.rows.size() && !input.summary.rows[i].established;
        const std::uint64_t lost = failed ? 0 : lost_of(input, proof, i, up);
        // A receiver's slave has seen what was not lost.
        const std::uint64_t sent =
            failed ? 0 : packets_of(uses) + (loss.side == bondtrace::Direction::rx ? lost : 0);
        loss.sent += sent;
        loss.lost += lost;
        const auto carrier = carrier_of(uses);
        if (!carrier) continue;
        SlaveLoss& slave = loss.slaves[*carrier];
        ++slave.flows;
        slave.failed += failed ? 1 : 0;
        slave.sent += sent;
        slave.lost += lost;
    }
    for (std::size_t i = 0; i < bits.size(); ++i)
        if (const auto speed = trace.slaves[i].speed_mbps; speed && *speed != 0 && seconds > 0)
            loss.slaves[i].load = bits[i] / seconds / (static_cast<double>(*speed) * 1e6);
    return loss;
}

std::vector<SideLoss> side_losses(const ProofInput& input, const Proof& proof) {
    std::vector<SideLoss> losses;
    for (const bool up : {true, false}) {
        const bool carries = input.options.direction == traffic::Direction::both ||
                             (input.options.direction == traffic::Direction::up) == up;
        // Without a trace of the other end only what carries data tells of losses.
        if (!input.far && !carries) continue;
        losses.push_back(side_loss(input, proof, true, up));
        if (input.far) losses.push_back(side_loss(input, proof, false, up));
    }
    return losses;
}

ExitStatus status_of(const Proof& proof, bool broken) {
    Severity worst = Severity::info;
    for (const Finding& finding : proof.findings)
        worst = std::max(worst, finding.severity);
    if (broken) return ExitStatus::cannot_tell;
    if (worst == Severity::critical) return ExitStatus::critical;
    const auto any = [&](CheckResult result) {
        return std::any_of(proof.checks.begin(), proof.checks.end(),
                           [&](const Check& check) { return check.result == result; });
    };
    if (worst == Severity::warning || any(CheckResult::failed)) return ExitStatus::findings;
    // That packets arrive proves nothing about how they are spread.
    const bool proven = std::any_of(proof.checks.begin(), proof.checks.end(), [](const Check& check) {
        return check.result == CheckResult::passed && proves_spreading(check);
    });
    return proven ? ExitStatus::fine : ExitStatus::cannot_tell;
}

std::string line_of(const ProofInput& input, const Proof& proof) {
    const char* const word = proof.status == ExitStatus::fine          ? "PASS"
                             : proof.status == ExitStatus::cannot_tell ? "CANNOT TELL"
                                                                       : "FAIL";
    std::string text;
    const auto add = [&](const Check& check) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", check.name, check.text);
    };
    if (!input.broken.empty()) text = input.broken;
    for (const Check& check : proof.checks)
        if (proof.status != ExitStatus::fine && check.result == CheckResult::failed) add(check);
    if (text.empty() && !proof.findings.empty() && proof.findings.front().severity != Severity::info)
        text = proof.findings.front().summary;
    if (text.empty())
        for (const Check& check : proof.checks) {
            const bool wanted = proof.status == ExitStatus::fine ? check.result == CheckResult::passed
                                                                 : check.result == CheckResult::unknown;
            if (wanted && proves_spreading(check)) add(check);
        }
    return fmt::format("{} - {}: {}", word, input.near.bond, text);
}

} // namespace

Proof prove(const ProofInput& input) {
    Proof proof;
    proof.flows = proven_flows(input);
    proof.near_tx = split_of(input.near, bondtrace::Direction::tx);
    proof.near_rx = split_of(input.near, bondtrace::Direction::rx);
    if (input.far) {
        proof.far_rx = split_of(*input.far, bondtrace::Direction::rx);
        proof.far_tx = split_of(*input.far, bondtrace::Direction::tx);
    }
    proof.losses = side_losses(input, proof);
    const bool v6 = !input.plan.flows.empty() && input.plan.flows.front().remote.v6;
    proof.payload = payload_fraction(input.options.transport, v6, input.mtu, input.options.length);
    const EndTrace* const far = input.far ? &*input.far : nullptr;
    if (input.options.direction != traffic::Direction::down)
        proof.up = capacity_of(input.near, far, input.options.rate / proof.payload);
    if (input.options.direction != traffic::Direction::up && far)
        proof.down = capacity_of(*far, &input.near, input.options.rate / proof.payload);
    proof.checks = proof_checks(input, proof);
    proof.findings = input.findings;
    for (Finding& finding : proof_findings(input, proof))
        proof.findings.push_back(std::move(finding));
    std::stable_sort(proof.findings.begin(), proof.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    proof.status = status_of(proof, !input.broken.empty());
    proof.line = line_of(input, proof);
    return proof;
}

} // namespace bondtrace
