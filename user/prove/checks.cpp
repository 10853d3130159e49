// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/prove/checks.h"

#include "user/base/units.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace bondtrace {
namespace {

using namespace traffic;

constexpr std::string_view flows_name = "flows", prediction_name = "prediction", exact_name = "exact split",
                           tx_name = "TX here", rx_name = "RX here", far_rx_name = "RX there",
                           delivery_name = "delivery", coverage_name = "coverage";

Check make(std::string_view name, CheckResult result, std::string text) {
    return {std::string(name), result, std::move(text)};
}

bool by_slave(const ProofInput& input) {
    return !input.plan.slave_of.empty() &&
           (input.ports.pattern == PortPattern::balanced || input.ports.pattern == PortPattern::reach);
}

Check check_flows(const ProofInput& input) {
    const TrafficSummary& summary = input.summary;
    const std::size_t unseen = static_cast<std::size_t>(
        std::count_if(input.near.flows.begin(), input.near.flows.end(),
                      [](const TracedFlow& flow) { return flow.tx.empty() && flow.rx.empty(); }));
    std::string text = fmt::format("{} of {} established", summary.established, summary.flows);
    if (input.plan.wanted > input.plan.flows.size())
        text += fmt::format(", {} were asked for", input.plan.wanted);
    if (unseen != 0) text += fmt::format(", {} not seen on {}", unseen, input.near.bond);
    const bool all = summary.established == summary.flows && unseen == 0 && summary.flows != 0;
    return make(flows_name, all ? CheckResult::passed : CheckResult::failed, std::move(text));
}

Check check_prediction(const Proof& proof) {
    std::size_t agree = 0, disagree = 0;
    std::map<std::string, std::size_t> reasons;
    for (const ProvenFlow& flow : proof.flows) {
        if (!flow.agrees) {
            if (!flow.why.empty()) ++reasons[flow.why];
            continue;
        }
        (*flow.agrees ? agree : disagree) += 1;
    }
    if (agree + disagree == 0) {
        const auto most = std::max_element(reasons.begin(), reasons.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        return make(prediction_name, CheckResult::unknown,
                    "no flow's slave can be predicted" +
                        (most == reasons.end() ? std::string{} : ": " + most->first));
    }
    return make(
        prediction_name, disagree == 0 ? CheckResult::passed : CheckResult::failed,
        fmt::format("{} of {} flows took the slave that the kernel's hash gives", agree, agree + disagree));
}

// With ports chosen by the hash backwards there is no luck: every flow must be where it was put.
Check check_exact(const ProofInput& input, const Proof& proof) {
    std::size_t right = 0;
    for (std::size_t i = 0; i < input.near.flows.size() && i < input.plan.slave_of.size(); ++i) {
        const auto slave = carrier_of(input.near.flows[i].tx);
        if (slave && input.near.slaves[*slave].name == input.plan.slaves[input.plan.slave_of[i]]) ++right;
    }
    std::string split;
    for (std::size_t i = 0; i < input.near.slaves.size(); ++i)
        if (input.near.slaves[i].usable || proof.near_tx.flows[i] != 0)
            split += fmt::format("{}{}", split.empty() ? "" : ":", proof.near_tx.flows[i]);
    const bool all = right == input.plan.flows.size();
    return make(exact_name, all ? CheckResult::passed : CheckResult::failed,
                fmt::format("{} of {} flows are on the slave they were chosen for, {}", right,
                            input.plan.flows.size(), split));
}

CheckResult result_of(BalanceWord word) {
    switch (word) {
    case BalanceWord::balanced:
    case BalanceWord::chance:
        return CheckResult::passed;
    case BalanceWord::uneven:
        return CheckResult::failed;
    default:
        return CheckResult::unknown;
    }
}

Check check_balance(std::string_view name, const Balance& balance) {
    return make(name, result_of(balance.word), describe(balance));
}

// Ports in sequence: an XOR of the ports deals such flows to the slaves in turn.
std::string too_even(const ProofInput& input) {
    const bool regular =
        input.ports.pattern == PortPattern::sequential || input.ports.pattern == PortPattern::even;
    const bool xors = input.near.policy == "layer3+4" || input.near.policy == "encap3+4" ||
                      input.near.policy == "vlan+srcmac";
    if (!regular || !xors) return {};
    return "; the ports are in sequence, which this hash deals out in turn: so even a split shows that the "
           "hash "
           "works, and nothing about ports as applications have them (--ports random)";
}

CheckResult result_of(SplitWord word) {
    switch (word) {
    case SplitWord::balanced:
    case SplitWord::chance:
        return CheckResult::passed;
    case SplitWord::uneven:
        return CheckResult::failed;
    default:
        return CheckResult::unknown;
    }
}

std::string words_of(const EndTrace& trace, const Split& split) {
    switch (judge_split(trace, split)) {
    case SplitWord::nothing:
        return "nothing of the test was seen";
    case SplitWord::spread:
        return "packets of a flow are spread over slaves: " + describe(trace, split);
    case SplitWord::one_slave:
        return "one usable slave";
    case SplitWord::too_few:
        return fmt::format("too few flows to judge (fewer than {} a slave): {}", flows_per_slave_to_judge,
                           describe(trace, split));
    case SplitWord::balanced:
        return "balanced: " + describe(trace, split);
    case SplitWord::chance:
        return "uneven by chance: " + describe(trace, split);
    case SplitWord::uneven:
        return "uneven: " + describe(trace, split);
    }
    return {};
}

Check check_split(std::string_view name, const EndTrace& trace, const Split& split) {
    return make(name, result_of(judge_split(trace, split)), words_of(trace, split));
}

std::optional<Check> check_delivery(const ProofInput& input, const Proof& proof) {
    if (proof.losses.empty()) return std::nullopt;
    std::string text;
    bool lossy = false;
    for (const SideLoss& side : proof.losses) {
        lossy = lossy || !lossy_slaves(side.slaves).empty() || !black_holes(side.slaves).empty();
        // The other end's account of the same packets says the same.
        if (!side.near || side.sent == 0) continue;
        const bool up = side.side == bondtrace::Direction::tx;
        text += fmt::format("{}{} {} of {} {}", text.empty() ? "" : ", ", up ? "up" : "down", side.lost,
                            side.sent,
                            input.far                                   ? "frames lost"
                            : input.options.transport == Transport::tcp ? "segments sent again"
                                                                        : "datagrams lost");
    }
    if (text.empty()) return std::nullopt;
    return make(delivery_name, lossy ? CheckResult::failed : CheckResult::passed, std::move(text));
}

std::string coverage_of(const EndTrace& trace, bool& complete) {
    constexpr double least = 0.99, most = 1.01; // as for the finding trace.coverage
    std::string text;
    for (const bool tx : {true, false}) {
        double worst = 1;
        for (const TracedSlave& slave : trace.slaves) {
            const auto& coverage = tx ? slave.tx_coverage : slave.rx_coverage;
            if (coverage && std::abs(*coverage - 1) > std::abs(worst - 1)) worst = *coverage;
        }
        complete = complete && worst >= least && worst <= most;
        text += fmt::format(" {} {:.4g} %", tx ? "TX" : "RX", worst * 100);
    }
    return text;
}

Check check_coverage(const ProofInput& input) {
    bool complete = true;
    std::string text = "of the kernel's counters, the worst slave: here" + coverage_of(input.near, complete);
    if (input.far) text += "; there" + coverage_of(*input.far, complete);
    return make(coverage_name, complete ? CheckResult::passed : CheckResult::failed, std::move(text));
}

} // namespace

std::vector<Check> proof_checks(const ProofInput& input, const Proof& proof) {
    std::vector<Check> checks{check_flows(input), check_prediction(proof)};
    if (by_slave(input)) {
        checks.push_back(check_exact(input, proof));
    } else {
        checks.push_back(check_balance(tx_name, input.tx));
        checks.back().text += too_even(input);
    }
    if (input.far)
        checks.push_back(check_split(far_rx_name, *input.far, *proof.far_rx));
    else
        checks.push_back(make(far_rx_name, CheckResult::unknown,
                              input.untraced.empty() ? "not traced" : "not traced: " + input.untraced));
    if (proof.near_rx.seen != 0) checks.push_back(check_split(rx_name, input.near, proof.near_rx));
    if (auto delivery = check_delivery(input, proof)) checks.push_back(std::move(*delivery));
    checks.push_back(check_coverage(input));
    return checks;
}

bool proves_spreading(const Check& check) {
    return check.name == prediction_name || check.name == exact_name || check.name == tx_name;
}

} // namespace bondtrace
