// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/text_writer.h"

#include "user/base/units.h"
#include "user/report/agreement_text.h"
#include "user/report/flow_table.h"
#include "user/report/losses_text.h"
#include "user/report/slave_table.h"

#include <chrono>
#include <cmath>

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::size_t indent = 2;

std::string window_text(double seconds) {
    constexpr double longest = 1e9; // keeps the conversion below in range, whatever the caller measured
    if (!std::isfinite(seconds) || seconds < 0) seconds = 0;
    return format_duration(std::chrono::nanoseconds(std::llround(std::fmin(seconds, longest) * 1e9)));
}

std::string header_text(const FlowsReport& report, const TextStyle& style) {
    return style.wrap(fmt::format("bondtrace {}  kernel {}  {}  {}  {}{}", style.clean(report.header.version),
                                  style.clean(report.header.kernel), style.clean(report.header.attach),
                                  style.clean(report.header.time), window_text(report.seconds),
                                  report.interrupted ? " (interrupted)" : ""),
                      indent);
}

std::string bond_heading(const BondReport& bond, const TextStyle& style) {
    std::string text = style.paint(style.clean(bond.name), sgr::bold);
    text += fmt::format("  {}", mode_words(bond));
    if (bond.policy_used) text += fmt::format("  {}", to_text(bond.policy));
    text += fmt::format("  {} {}{}", bond.slaves.size(), bond.group ? "link" : "slave",
                        bond.slaves.size() == 1 ? "" : "s");
    if (bond.removed) text += "  removed meanwhile";
    if (!bond.netns.empty()) text += fmt::format("  in namespace {}", style.clean(bond.netns));
    return text + '\n';
}

std::string no_flows_text(const FlowsReport& report, const BondReport& bond, const TextStyle& style) {
    bool carried = false;
    for (const SlaveReport& slave : bond.slaves)
        carried |= slave.tx.traced.packets > 0 || slave.rx.traced.packets > 0;
    std::string text;
    if (!carried)
        text = fmt::format("  no flows: the bond carried no traffic in {}", window_text(report.seconds));
    else if (report.flows_matching < report.flows_total)
        text = "  no flow of this bond matches the filter";
    else
        text = "  no flow of this bond is among those shown";
    return style.wrap(text, indent);
}

std::string bond_text(const FlowsReport& report, std::size_t index, const TextStyle& style) {
    const BondReport& bond = report.bonds[index];
    std::vector<const Conversation*> flows;
    for (const Conversation& flow : report.flows)
        if (flow.bond == index) flows.push_back(&flow);
    std::string text = bond_heading(bond, style);
    if (!bond.slaves.empty()) text += slave_table(bond, report.seconds, style);
    text += '\n';
    text +=
        flows.empty() ? no_flows_text(report, bond, style) : flow_table(bond, flows, report.seconds, style);
    text += '\n' + coverage_text(bond, style);
    return report.era ? text + agreement_text(bond, *report.era, style) : text;
}

// Says what was left out by the filter and by --top; nothing when everything is shown.
std::string selection_text(const FlowsReport& report, const TextStyle& style) {
    const std::uint64_t shown = report.flows.size();
    if (shown == report.flows_matching && report.flows_matching == report.flows_total) return {};
    std::string text = fmt::format("{} flow{} shown", shown, shown == 1 ? "" : "s");
    if (report.flows_matching != report.flows_total)
        text += fmt::format(", {} match the filter", report.flows_matching);
    return style.wrap(text + fmt::format(", {} in all", report.flows_total), indent);
}

} // namespace

std::string flows_text(const FlowsReport& report, const TextOptions& options) {
    const TextStyle style(options);
    std::string text = header_text(report, style);
    for (std::size_t i = 0; i < report.bonds.size(); ++i)
        text += '\n' + bond_text(report, i, style);
    if (report.bonds.empty()) text += "\nno bond was traced\n";
    const std::string end = selection_text(report, style) + run_losses_text(report, style);
    if (!end.empty()) text += '\n' + end;
    return text;
}

} // namespace bondtrace
