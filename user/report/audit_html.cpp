// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/audit_html.h"

#include "user/audit/lacp_view.h"
#include "user/base/units.h"
#include "user/report/audit_plots.h"
#include "user/report/audit_words.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// Colours of slaves: Okabe and Ito's palette, as in text_style.cpp.
constexpr std::string_view style_sheet = R"(
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fff; --soft: #eef0f2; --line: #c9ced3; --mute: #5c6670;
  --critical: #b3261e; --warning: #8a5300; --info: #3b5b82; --ok: #1f6f3f; --band: #00000022; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #15181b; --soft: #22272b; --line: #3d454c;
  --mute: #9aa5af; --critical: #ff8a80; --warning: #ffc069; --info: #9cc3f5; --ok: #7fd6a0; --band: #ffffff33; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.15rem; border-bottom: 1px solid var(--line); margin-top: 2rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .2rem; }
p, dl { margin: .3rem 0; } .mute, dt { color: var(--mute); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; } dd { margin: 0; overflow-wrap: anywhere; }
h1, h3 { overflow-wrap: anywhere; }
h3.critical, .CRITICAL { color: var(--critical); } h3.warning, .WARNING { color: var(--warning); }
h3.info, .UNKNOWN { color: var(--info); } .OK { color: var(--ok); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .7rem .15rem 0; text-align: left; white-space: nowrap; } tbody tr { border-top: 1px solid var(--line); }
pre { background: var(--soft); padding: .5rem .7rem; margin: .2rem 0 .6rem; font-size: .85rem; white-space: pre-wrap;
  overflow-wrap: break-word; }
article { border-left: 4px solid var(--line); padding-left: .8rem; margin: 1.2rem 0; }
article.critical { border-color: var(--critical); } article.warning { border-color: var(--warning); }
article.info { border-color: var(--info); } summary { cursor: pointer; }
svg { width: 100%; max-width: 28rem; height: auto; display: block; overflow: visible; }
svg text { fill: var(--ink); font-size: 14px; } .number { text-anchor: end; font-variant-numeric: tabular-nums; }
.track { fill: var(--soft); stroke: var(--line); }
.band { fill: var(--band); stroke: var(--ink); stroke-width: 1; stroke-dasharray: 3 2; }
.s0 { fill: #e69f00; } .s1 { fill: #56b4e9; } .s2 { fill: #009e73; } .s3 { fill: #cc79a7; }
.s4 { fill: #f0e442; } .s5 { fill: #d55e00; } .s6 { fill: #0072b2; } .s7 { fill: #999999; }
@media print { body { max-width: none; } article, svg { break-inside: avoid; } * { print-color-adjust: exact; } }
)";

std::string row(std::string_view name, std::string_view value) {
    if (value.empty()) return {};
    return fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_text(name), html_text(value));
}

std::string cell(std::string_view text) {
    return fmt::format("<td>{}</td>", html_text(text));
}

std::string slave_row(const AuditedBond& bond, const SlaveView& slave) {
    std::string speed, aggregator, partner, failures;
    if (slave.state) {
        const Slave& state = *slave.state;
        if (state.speed_mbps) speed = format_bit_rate(static_cast<double>(*state.speed_mbps) * 1e6);
        if (state.duplex == Duplex::half) speed += " half duplex";
        if (state.aggregator_id) aggregator = fmt::format("{}", *state.aggregator_id);
        if (state.partner && state.partner->system_mac) partner = partner_text(*state.partner->system_mac);
        if (!state.unknown.link_failures) failures = fmt::format("{}", state.link_failures);
    }
    std::string html = "<tr>" + cell(slave.name()) + cell(slave_state(slave)) + cell(speed);
    if (bond.state->mode == BondMode::lacp) html += cell(aggregator) + cell(partner);
    html += cell(failures);
    if (slave.traffic)
        for (const SlaveDirection* direction : {&slave.traffic->tx, &slave.traffic->rx})
            html += cell(format_bytes(direction->traced.wire_bytes)) +
                    cell(direction->counter_packets > 0
                             ? format_percent(direction->covered_packets(), direction->counter_packets)
                             : "");
    return html + "</tr>\n";
}

std::string slave_rows(const AuditedBond& bond) {
    if (bond.slaves.empty()) return {};
    std::string html = "<div class=\"scroll\"><table><thead><tr><th>slave</th><th>state</th><th>speed</th>";
    if (bond.state->mode == BondMode::lacp) html += "<th>aggregator</th><th>LACP partner</th>";
    html += "<th>failures</th>";
    if (bond.traffic) html += "<th>TX bytes</th><th>seen</th><th>RX bytes</th><th>seen</th>";
    html += "</tr></thead><tbody>\n";
    for (const SlaveView& slave : bond.slaves)
        html += slave_row(bond, slave);
    return html + "</tbody></table></div>\n";
}

std::string ports_html(const Bond& bond) {
    if (bond.mode != BondMode::lacp) return {};
    std::string html;
    for (const LacpPort& port : lacp_ports(bond))
        if (!port.lacking().empty())
            html += fmt::format("<p>{}: {}</p>\n", html_text(port.slave().name), html_text(port.states()));
    return html;
}

std::string plots(const AuditReport& report, const AuditedBond& bond, const BondView& view) {
    if (!bond.audit->watched) return {};
    std::string html;
    for (const Balance* balance : {&bond.audit->tx, &bond.audit->rx}) {
        html += fmt::format("<h3>{}: {}</h3>\n", to_text(balance->direction), html_text(describe(*balance)));
        html += share_plot(*balance);
    }
    const auto banded = [](const Balance& balance) {
        return !balance.slaves.empty() && expected_share(balance, balance.slaves.front().name);
    };
    if (banded(bond.audit->tx) || banded(bond.audit->rx))
        html += "<p class=\"mute\">Bars: share of the bytes. Dashed: where chance puts it in 95 % of cases, "
                "given these flows.</p>\n";
    const auto policies = shares_by_policy(view);
    if (policies.empty()) return html;
    std::vector<std::string> slaves;
    for (const SlaveReport* slave : view.usable)
        slaves.push_back(slave->name);
    html +=
        fmt::format("<h3>The flows sent, under each policy</h3>\n<p class=\"mute\">By the hash of {} ({}). "
                    "Shares of bytes, a colour for each slave as above.</p>\n",
                    html_text(to_text(view.era)), report.era ? to_text(report.era->source) : "assumed");
    return html + policy_plot(policies, slaves);
}

std::string bond_html(const AuditReport& report, const AuditedBond& bond, const BondView& view) {
    const Bond& state = *bond.state;
    std::string html = fmt::format("<section>\n<h2>{}</h2>\n<dl>\n", html_text(state.name));
    html += row("mode", fmt::format("{}{}{}", mode_words(state), state.unknown.policy ? "" : ", ",
                                    state.unknown.policy ? "" : to_text(state.policy)));
    html += row("is", state_word(state));
    if (state.mode == BondMode::lacp) html += row("LACP", lacp_words(state));
    html += row("links", link_words(state)) + row("on it", upper_words(state));
    html += row("programs", program_words(state)) + row("offloads", offload_words(state));
    if (state.manager) html += row("managed by", to_text(*state.manager));
    html += row("driver", state.driver) + row("namespace", report.netns) + "</dl>\n";
    return html + slave_rows(bond) + ports_html(state) + plots(report, bond, view) + "</section>\n";
}

std::string finding_html(const Finding& finding) {
    const std::string_view severity = to_text(finding.severity);
    std::string html = fmt::format("<article class=\"{0}\">\n<h3 class=\"{0}\">{0}: {1}</h3>\n", severity,
                                   html_text(finding.id));
    html +=
        fmt::format("<p><strong>{}{}</strong></p>\n",
                    finding.bond.empty() ? "" : html_text(finding.bond) + ": ", html_text(finding.summary));
    html += "<dl>\n" + row("seen", finding.seen) + row("why", finding.why) + "</dl>\n";
    for (std::size_t i = 0; i < finding.fixes.size(); ++i) {
        const Fix& fix = finding.fixes[i];
        html +=
            fmt::format("<details{}><summary>{}</summary><pre>", i == 0 ? " open" : "", html_text(fix.where));
        std::string_view commands = fix.command;
        while (!commands.empty()) {
            const auto end = std::min(commands.find('\n'), commands.size());
            html += html_text(commands.substr(0, end)) + '\n';
            commands.remove_prefix(std::min(end + 1, commands.size()));
        }
        html += "</pre></details>\n";
    }
    return html + "</article>\n";
}

std::string header_html(const AuditReport& report) {
    const std::string_view word = plugin_word(report.result.status);
    // Performance data is for machines.
    const std::string_view line = report.result.line;
    std::string html = fmt::format("<h1 class=\"{}\">{}</h1>\n<p class=\"mute\">", word,
                                   html_text(line.substr(0, line.find(" |"))));
    html += fmt::format("bondtrace {}, {}, {}", html_text(report.header.version),
                        html_text(report.header.time), html_text(window_words(report)));
    if (!report.header.kernel.empty()) html += fmt::format(", kernel {}", html_text(report.header.kernel));
    html += "</p>\n";
    for (const std::string& note : report.notes)
        html += fmt::format("<p class=\"mute\">{}</p>\n", html_text(note));
    return html;
}

} // namespace

std::string audit_html(const AuditReport& report) {
    std::string html = fmt::format(
        "<!DOCTYPE html>\n<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n<html lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'\">\n"
        "<title>bondtrace audit: {}</title>\n<style>{}</style>\n</head>\n<body>\n",
        plugin_word(report.result.status), style_sheet);
    html += header_html(report);
    html += fmt::format("<section>\n<h2>Findings</h2>\n{}",
                        report.result.findings.empty() ? "<p>No findings.</p>\n" : "");
    for (const Finding& finding : report.result.findings)
        html += finding_html(finding);
    html += "</section>\n";
    const std::vector<BondView> views = bond_views(report.input);
    const std::vector<AuditedBond> bonds = audited_bonds(report);
    for (std::size_t i = 0; i < bonds.size(); ++i) // both in the input's order
        html += bond_html(report, bonds[i], views[i]);
    return html + "</body>\n</html>\n";
}

} // namespace bondtrace
