// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/audit_text.h"

#include "user/audit/lacp_view.h"
#include "user/base/units.h"
#include "user/report/audit_words.h"
#include "user/report/losses_text.h"
#include "user/report/table.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bondtrace {
namespace {

constexpr std::size_t indent = 2;
constexpr std::size_t label_width = 14; // "  managed by  "

std::string header_text(const AuditReport& report, const TextStyle& style) {
    std::string text = fmt::format("bondtrace {}", style.clean(report.header.version));
    if (!report.header.kernel.empty()) text += fmt::format("  kernel {}", style.clean(report.header.kernel));
    if (report.header.attach != "none") text += fmt::format("  {}", style.clean(report.header.attach));
    text += fmt::format("  {}  {}", style.clean(report.header.time), window_words(report));
    if (report.era)
        text += fmt::format("  hash of {} ({})", to_text(report.era->era), to_text(report.era->source));
    return style.wrap(text, indent);
}

std::string heading(const AuditReport& report, const Bond& bond, const TextStyle& style) {
    std::string text = style.paint(style.clean(bond.name), sgr::bold);
    text += fmt::format("  {}", mode_words(bond));
    if (!bond.unknown.policy) text += fmt::format("  {}", to_text(bond.policy));
    text += fmt::format("  {} {}{}", bond.slaves.size(), bond.group ? "link" : "slave",
                        bond.slaves.size() == 1 ? "" : "s");
    if (const std::string word = state_word(bond); !word.empty())
        text += "  " + style.paint(word, word == "up" ? sgr::none : sgr::alarm);
    if (!bond.driver.empty()) text += fmt::format("  driver {}", style.clean(bond.driver));
    if (!report.netns.empty()) text += fmt::format("  in namespace {}", style.clean(report.netns));
    return text + '\n';
}

std::string labelled(std::string_view label, std::string_view text, const TextStyle& style) {
    const std::string before = fmt::format("  {:<{}}", label, label_width - 2);
    const std::string plain = style.wrap(before + style.clean(text), label_width);
    return style.paint(before, sgr::dim) + plain.substr(before.size());
}

// The ports that do not carry, bit by bit; nothing when all is well.
std::string ports_text(const Bond& bond, const TextStyle& style) {
    std::string text;
    for (const LacpPort& port : lacp_ports(bond))
        if (!port.lacking().empty())
            text += style.wrap(fmt::format("  {}: {}", style.clean(port.slave().name), port.states()), 4);
    return text;
}

std::string state_panel(const AuditedBond& bond, const TextStyle& style) {
    const Bond& state = *bond.state;
    std::string text;
    if (state.mode == BondMode::lacp) text += labelled("LACP", lacp_words(state), style);
    if (const std::string links = link_words(state); !links.empty()) text += labelled("links", links, style);
    if (!state.uppers.empty()) text += labelled("on it", upper_words(state), style);
    if (const std::string programs = program_words(state); !programs.empty())
        text += labelled("programs", programs, style);
    if (const std::string offloads = offload_words(state); !offloads.empty())
        text += labelled("offloads", offloads, style);
    if (state.manager) text += labelled("managed by", to_text(*state.manager), style);
    if (!state.missing_slaves.empty())
        text += labelled("missing", fmt::format("{}", fmt::join(state.missing_slaves, ", ")), style);
    if (!bond.audit->watched) return text;
    return text + labelled("TX", describe(bond.audit->tx), style) +
           labelled("RX", describe(bond.audit->rx), style);
}

enum SlaveColumn : std::size_t {
    name,
    slave_status,
    speed,
    aggregator,
    partner,
    failures,
    direction,
    bytes,
    share,
    expected,
    flows,
    coverage,
    column_count
};

std::vector<Column> slave_columns() {
    std::vector<Column> columns(column_count);
    columns[name] = {"slave", Align::left};
    columns[slave_status] = {"state", Align::left};
    columns[speed] = {"speed", Align::left};
    columns[aggregator] = {"agg", Align::right};
    columns[partner] = {"LACP partner", Align::left};
    columns[failures] = {"failures", Align::right};
    columns[direction] = {"", Align::left};
    columns[bytes] = {"bytes", Align::right};
    columns[share] = {"share", Align::right};
    columns[expected] = {"expected", Align::right};
    columns[flows] = {"flows", Align::right};
    columns[coverage] = {"coverage", Align::right};
    return columns;
}

// What goes first when the line is too long: what findings would name anyway.
constexpr std::array drop_order = {partner, coverage, bytes, failures, speed, aggregator, flows};

// Of what the slaves to choose from carried, which is what the expected band is about; nullopt for others.
std::optional<double> share_of(const Balance& balance, const std::string& slave) {
    if (balance.largest <= 0) return std::nullopt;
    for (const SlaveShare& candidate : balance.slaves)
        if (candidate.name == slave) return candidate.share;
    return std::nullopt;
}

void add_direction(std::vector<Cell>& cells, const AuditedBond& bond, const SlaveView& slave, bool received,
                   const TextStyle& style) {
    const SlaveDirection& traffic = received ? slave.traffic->rx : slave.traffic->tx;
    const Balance& balance = received ? bond.audit->rx : bond.audit->tx;
    const auto set = [&](SlaveColumn column, std::string text, std::string_view colour = sgr::none) {
        cells[column] = {{std::move(text), colour}};
    };
    const std::optional<Band> band = expected_share(balance, slave.name());
    const std::optional<double> part = share_of(balance, slave.name());
    const bool outside = band && part && (*part < band->low || *part > band->high);
    set(direction, received ? "RX" : "TX");
    set(bytes, format_bytes(traffic.traced.wire_bytes));
    set(share, part ? fmt::format("{:.0f} %", *part * 100) : std::string(style.nothing),
        outside && balance.word == BalanceWord::uneven ? sgr::alarm : sgr::none);
    set(expected, band ? fmt::format("{:.0f} to {:.0f} %", band->low * 100, band->high * 100)
                       : std::string(style.nothing));
    set(flows, fmt::format("{}", traffic.flows));
    const std::uint64_t covered = traffic.covered_packets();
    if (traffic.counter_packets > 0)
        set(coverage, format_percent(covered, traffic.counter_packets));
    else
        set(coverage, covered == 0 ? std::string(style.nothing) : "not counted");
}

void add_state(std::vector<Cell>& cells, const Bond& bond, const SlaveView& slave, std::size_t position,
               const TextStyle& style) {
    cells[name] = {{style.clean(slave.name()), TextStyle::slave_colour(position)}};
    const std::string status = slave_state(slave);
    const bool bad = !status.empty() && status != "active" && status != "backup" && status != "up";
    cells[slave_status] = {
        {status.empty() ? std::string(style.nothing) : style.clean(status), bad ? sgr::alarm : sgr::none}};
    if (!slave.state) return;
    const Slave& state = *slave.state;
    if (state.speed_mbps)
        cells[speed] = {{format_bit_rate(static_cast<double>(*state.speed_mbps) * 1e6) +
                         (state.duplex == Duplex::half ? " half duplex" : "")}};
    if (bond.mode == BondMode::lacp && state.aggregator_id)
        cells[aggregator] = {{fmt::format("{}", *state.aggregator_id)}};
    if (state.partner && state.partner->system_mac)
        cells[partner] = {{partner_text(*state.partner->system_mac)}};
    if (!state.unknown.link_failures && state.link_failures > 0)
        cells[failures] = {{fmt::format("{}", state.link_failures)}};
}

std::string slaves_text(const AuditedBond& bond, const TextStyle& style) {
    if (bond.slaves.empty()) return {};
    Table table(slave_columns());
    for (std::size_t i = 0; i < bond.slaves.size(); ++i) {
        const SlaveView& slave = bond.slaves[i];
        std::vector<Cell> cells(column_count);
        add_state(cells, *bond.state, slave, i, style);
        if (slave.traffic) add_direction(cells, bond, slave, false, style);
        table.add_row(std::move(cells));
        if (!slave.traffic) continue;
        cells.assign(column_count, {});
        add_direction(cells, bond, slave, true, style);
        table.add_row(std::move(cells));
    }
    for (std::size_t column = speed; column < column_count; ++column)
        table.drop_if_empty(column);
    for (const SlaveColumn column : drop_order) {
        if (table.width() + indent <= style.width()) break;
        table.drop(column);
    }
    return table.render(style, indent);
}

std::string bond_text(const AuditReport& report, const AuditedBond& bond, const TextStyle& style) {
    std::string text = heading(report, *bond.state, style) + state_panel(bond, style);
    text += slaves_text(bond, style);
    if (bond.state->mode == BondMode::lacp) text += ports_text(*bond.state, style);
    return text;
}

} // namespace

std::string audit_text(const AuditReport& report, const TextOptions& options) {
    const TextStyle style(options);
    std::string text = (options.ascii ? style.clean(report.result.line) : report.result.line) + "\n\n";
    text += header_text(report, style);
    for (const std::string& note : report.notes)
        text += style.wrap(style.clean(note), indent);
    for (const AuditedBond& bond : audited_bonds(report))
        text += '\n' + bond_text(report, bond, style);
    text += '\n' + findings_text(report.result.findings, style, report.verbose);
    if (!report.input.traffic) return text;
    const std::string losses = run_losses_text(*report.input.traffic, style);
    return losses.empty() ? text : text + '\n' + losses;
}

} // namespace bondtrace
