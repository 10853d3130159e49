// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/audit.h"

#include "user/audit/group_findings.h"
#include "user/audit/hash_findings.h"
#include "user/audit/lacp_findings.h"
#include "user/audit/mode_findings.h"
#include "user/audit/path_findings.h"
#include "user/audit/slave_findings.h"
#include "user/audit/state_findings.h"
#include "user/audit/state_window.h"
#include "user/audit/switch_findings.h"
#include "user/audit/trace_findings.h"
#include "user/base/text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace bondtrace {
namespace {

void append(std::vector<Finding>& to, std::vector<Finding> from) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
}

// What the trace tells about frames on inactive slaves, beside or in place of the counters.
void add_traced(StateWindow& window, const BondView& view) {
    window.seconds = view.traffic->seconds;
    std::map<int, std::uint64_t> unicast;
    for (const Conversation* flow : view.flows)
        for (const SlaveUse& use : flow->rx) {
            constexpr std::uint8_t group = 0x01; // in the first byte of a MAC address: multicast or broadcast
            const bool group_address = (use.origin.local_mac[0] & group) != 0;
            if (use.inactive && !group_address && view.state->mac == use.origin.local_mac)
                unicast[use.slave_ifindex] += use.counts.wire_packets;
        }
    for (const SlaveReport& slave : view.report->slaves) {
        auto change = std::find_if(window.slaves.begin(), window.slaves.end(),
                                   [&](const SlaveChange& c) { return c.slave == slave.name; });
        if (change == window.slaves.end()) {
            change = window.slaves.insert(change, SlaveChange{});
            change->slave = slave.name;
            change->rx_packets = slave.rx.traced.wire_packets;
            change->rx_inactive = slave.rx.inactive.wire_packets;
        }
        change->rx_inactive_unicast = unicast[slave.ifindex];
    }
}

std::optional<StateWindow> window_of(const AuditInput& input, const BondView& view) {
    std::optional<StateWindow> window;
    const double seconds = input.traffic ? input.traffic->seconds : 0;
    for (const Bond& before : input.before)
        if (before.ifindex == view.state->ifindex) window = compare(before, *view.state, seconds);
    if (view.report) {
        if (!window) window.emplace();
        add_traced(*window, view);
    }
    return window;
}

void audit_state(const AuditInput& input, const BondView& view, std::vector<Finding>& findings) {
    const std::optional<StateWindow> window = window_of(input, view);
    const StateWindow* const changes = window ? &*window : nullptr;
    if (view.state->group) { // the rest is about bonds
        append(findings, path_findings(view, changes));
        return;
    }
    append(findings, state_findings(*view.state, changes));
    append(findings, lacp_findings(*view.state, changes));
    append(findings, mode_findings(*view.state, changes));
    append(findings, path_findings(view, changes));
}

BondAudit audit_traffic(const BondView& view, std::vector<Finding>& findings) {
    BondAudit bond;
    bond.name = view.state->name;
    bond.tx.direction = Direction::tx;
    bond.rx.direction = Direction::rx;
    bond.watched = view.report != nullptr;
    if (!bond.watched) return bond;
    const std::vector<PlacedFlow> sent = placed_flows(view, Direction::tx);
    const std::vector<PlacedFlow> received = placed_flows(view, Direction::rx);
    bond.tx = judge_balance(view, Direction::tx, sent);
    bond.rx = judge_balance(view, Direction::rx, received);
    append(findings, slave_findings(view, sent));
    append(findings, view.state->group ? group_findings(view, bond.tx) : hash_findings(view, sent, bond.tx));
    append(findings, switch_findings(view, received, bond.rx, bond.tx));
    append(findings, trace_findings(view));
    return bond;
}

bool judged(const Balance& balance) {
    return balance.word == BalanceWord::balanced || balance.word == BalanceWord::chance ||
           balance.word == BalanceWord::uneven;
}

bool judged_enough(const BondAudit& bond) {
    const bool nothing_to_judge =
        bond.tx.word == BalanceWord::not_expected && bond.rx.word == BalanceWord::not_expected;
    return !bond.watched || nothing_to_judge || judged(bond.tx) || judged(bond.rx);
}

ExitStatus status_of(const AuditInput& input, const AuditResult& result) {
    Severity worst = Severity::info;
    for (const Finding& finding : result.findings)
        worst = std::max(worst, finding.severity);
    if (worst == Severity::critical) return ExitStatus::critical;
    if (worst == Severity::warning) return ExitStatus::findings;
    const bool sure = !input.obstacle && !result.bonds.empty() &&
                      std::all_of(result.bonds.begin(), result.bonds.end(), judged_enough);
    return sure ? ExitStatus::fine : ExitStatus::cannot_tell;
}

// The bar separates text from performance data, and a line ends the first line.
std::string plugin_text(std::string_view text) {
    std::string line = sanitize(text);
    std::replace(line.begin(), line.end(), '|', '/');
    return line;
}

std::string plugin_label(std::string_view text) {
    std::string label = plugin_text(text);
    for (char& c : label)
        if (c == '\'' || c == '=') c = '_';
    return label;
}

std::string verdicts(const AuditInput& input, const BondAudit& bond) {
    if (input.obstacle) return fmt::format("{}: balance unknown", bond.name);
    if (!bond.watched) return fmt::format("{}: traffic not watched", bond.name);
    return fmt::format("{}: TX {}, RX {}", bond.name, describe(bond.tx), describe(bond.rx));
}

std::string text_of(const AuditInput& input, const AuditResult& result) {
    if (result.bonds.empty() && result.findings.empty()) return "no bonds";
    if (result.status == ExitStatus::fine || result.status == ExitStatus::cannot_tell) {
        std::string text;
        for (const BondAudit& bond : result.bonds)
            text += (text.empty() ? "" : "; ") + verdicts(input, bond);
        if (input.obstacle)
            text += fmt::format("; traffic could not be watched: {}", input.obstacle->what);
        else if (result.status == ExitStatus::cannot_tell)
            text += "; audit again while many flows run, such as those of 'bondtrace traffic client HOST "
                    "--flows 64'";
        return text;
    }
    const Finding& worst = result.findings.front();
    std::string text = worst.bond.empty() ? worst.summary : fmt::format("{}: {}", worst.bond, worst.summary);
    const auto more = std::count_if(result.findings.begin(), result.findings.end(),
                                    [](const Finding& f) { return f.severity != Severity::info; }) -
                      1;
    if (more > 0) text += fmt::format("; {} more finding{}", more, more == 1 ? "" : "s");
    return text;
}

void add_perfdata(std::string& line, const BondAudit& bond, const Balance& balance) {
    const std::string_view direction = balance.direction == Direction::tx ? "tx" : "rx";
    for (const SlaveShare& slave : balance.slaves)
        line += fmt::format(" '{}_{}_{}'={:.1f}%;;;0;100", plugin_label(bond.name), direction,
                            plugin_label(slave.name), slave.share * 100);
    line += fmt::format(" '{}_{}_flows'={};;;0;", plugin_label(bond.name), direction, balance.flows);
}

std::string line_of(const AuditInput& input, const AuditResult& result) {
    std::string line =
        fmt::format("BONDTRACE {} - {}", plugin_word(result.status), plugin_text(text_of(input, result)));
    std::string data;
    for (const BondAudit& bond : result.bonds) {
        if (!bond.watched) continue;
        add_perfdata(data, bond, bond.tx);
        add_perfdata(data, bond, bond.rx);
    }
    if (!data.empty()) line += " |" + data;
    return line;
}

} // namespace

AuditResult audit(const AuditInput& input, std::vector<Finding> others) {
    AuditResult result;
    result.findings = std::move(others);
    for (const BondView& view : bond_views(input)) {
        audit_state(input, view, result.findings);
        result.bonds.push_back(audit_traffic(view, result.findings));
    }
    if (input.traffic) append(result.findings, attach_findings(*input.traffic));
    if (input.obstacle) result.findings.push_back(not_attached(*input.obstacle));
    std::stable_sort(result.findings.begin(), result.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    result.status = status_of(input, result);
    result.line = line_of(input, result);
    return result;
}

std::string_view plugin_word(ExitStatus status) {
    switch (status) {
    case ExitStatus::fine:
        return "OK";
    case ExitStatus::findings:
        return "WARNING";
    case ExitStatus::critical:
        return "CRITICAL";
    default:
        return "UNKNOWN";
    }
}

std::string unknown_line(std::string_view what) {
    return fmt::format("BONDTRACE {} - {}", plugin_word(ExitStatus::cannot_tell), plugin_text(what));
}

} // namespace bondtrace
