// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/units.h"
#include "user/report/audit_text.h"
#include "user/report/prove_report.h"
#include "user/report/table.h"
#include "user/report/traffic_words.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace {
namespace {

using namespace traffic;

// Up to so many flows are all shown; of more, those that stand out.
constexpr std::size_t shown_flows = 32;
constexpr std::size_t label_width = 17;

std::string labelled(std::string_view label, std::string_view text, const TextStyle& style,
                     std::string_view colour = sgr::dim) {
    const std::string before = fmt::format("  {:<{}}", label, label_width - 2);
    const std::string plain = style.wrap(before + style.clean(text), label_width);
    return style.paint(before, colour) + plain.substr(before.size());
}

std::string checks_text(const Proof& proof, const TextStyle& style) {
    std::string text;
    for (const Check& check : proof.checks) {
        const std::string_view mark = check.result == CheckResult::passed   ? style.yes
                                      : check.result == CheckResult::failed ? style.no
                                                                            : style.nothing;
        text += labelled(fmt::format("{} {}", mark, check.name), check.text, style,
                         check.result == CheckResult::failed ? sgr::alarm : sgr::none);
    }
    return text;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? std::string{}
                      : fmt::format("{:.0f} %", static_cast<double>(part) * 100 / static_cast<double>(whole));
}

std::uint64_t sum(const std::vector<std::uint64_t>& amounts) {
    std::uint64_t total = 0;
    for (const std::uint64_t amount : amounts)
        total += amount;
    return total;
}

std::string coverage_text(const std::optional<double>& coverage) {
    return coverage ? fmt::format("{:.4g} %", *coverage * 100) : std::string{};
}

std::string end_text(const EndTrace& trace, const Split& tx, const Split& rx,
                     const std::vector<std::size_t>& predicted, const std::string& title,
                     const TextStyle& style) {
    enum Column : std::size_t {
        name,
        chosen,
        tx_flows,
        tx_share,
        rx_flows,
        rx_share,
        tx_coverage,
        rx_coverage,
        count
    };
    std::vector<bondtrace::Column> columns(count);
    columns[name] = {"slave", Align::left};
    columns[chosen] = {"predicted", Align::right};
    columns[tx_flows] = {"TX flows", Align::right};
    columns[tx_share] = {"share", Align::right};
    columns[rx_flows] = {"RX flows", Align::right};
    columns[rx_share] = {"share", Align::right};
    columns[tx_coverage] = {"TX coverage", Align::right};
    columns[rx_coverage] = {"RX coverage", Align::right};
    Table table(std::move(columns));
    for (std::size_t i = 0; i < trace.slaves.size(); ++i) {
        const TracedSlave& slave = trace.slaves[i];
        std::vector<Cell> cells(count);
        cells[name] = {
            {style.clean(slave.name) + (slave.usable ? "" : " (not usable)"), TextStyle::slave_colour(i)}};
        if (i < predicted.size()) cells[chosen] = {{std::to_string(predicted[i])}};
        cells[tx_flows] = {{std::to_string(tx.flows[i])}};
        cells[tx_share] = {{share_text(tx.bytes[i], sum(tx.bytes))}};
        cells[rx_flows] = {{std::to_string(rx.flows[i])}};
        cells[rx_share] = {{share_text(rx.bytes[i], sum(rx.bytes))}};
        cells[tx_coverage] = {{coverage_text(slave.tx_coverage)}};
        cells[rx_coverage] = {{coverage_text(slave.rx_coverage)}};
        table.add_row(std::move(cells));
    }
    for (const std::size_t column : {chosen, tx_share, rx_share, tx_coverage, rx_coverage})
        table.drop_if_empty(column);
    for (const std::size_t column : {rx_coverage, tx_coverage})
        if (table.width() + 2 > style.width()) table.drop(column);
    std::string heading = fmt::format("{}: {} {}", title, trace.bond, trace.mode);
    if (!trace.policy.empty()) heading += ' ' + trace.policy;
    std::string text = '\n' + style.paint(style.clean(heading), sgr::bold) + '\n' + table.render(style, 2);
    if (tx.luck)
        text +=
            style.wrap(fmt::format("  one slave's share of {} flows lies from {} to {} in 95 % of cases",
                                   tx.whole(), format_share(tx.expected.low), format_share(tx.expected.high)),
                       4);
    for (const std::string& note : trace.notes)
        text += style.wrap("  " + style.clean(note), 4);
    return text;
}

std::string slave_name(const EndTrace& trace, const std::vector<TracedUse>& uses, const TextStyle& style) {
    if (uses.empty()) return std::string(style.nothing);
    if (const auto carrier = carrier_of(uses)) return style.clean(trace.slaves[*carrier].name);
    std::string text;
    for (const TracedUse& use : uses)
        text += (text.empty() ? "" : "+") + style.clean(trace.slaves[use.slave].name);
    return text;
}

// Those that failed, disagree or lost something first; then the others in their order.
std::vector<std::size_t> chosen_flows(const ProveReport& report) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < report.proof.flows.size() && i < report.test.summary.rows.size(); ++i)
        order.push_back(i);
    if (order.size() <= shown_flows) return order;
    const auto weight = [&](std::size_t i) {
        const ProvenFlow& flow = report.proof.flows[i];
        if (!report.test.summary.rows[i].established) return 3;
        if (flow.agrees && !*flow.agrees) return 2;
        return flow.lost_up.value_or(0) + flow.lost_down.value_or(0) != 0 ? 1 : 0;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
    order.resize(shown_flows);
    return order;
}

std::string flows_text(const ProveReport& report, const TextStyle& style) {
    enum Column : std::size_t {
        number,
        local,
        remote,
        predicted,
        tx,
        far_rx,
        far_tx,
        rx,
        agrees,
        rate,
        lost,
        resent,
        count
    };
    const ProofInput& input = report.input;
    std::vector<bondtrace::Column> columns(count);
    columns[number] = {"#", Align::right};
    columns[local] = {"local", Align::left};
    columns[remote] = {"remote", Align::left};
    columns[predicted] = {"predicted", Align::left};
    columns[tx] = {"TX here", Align::left};
    columns[far_rx] = {"RX there", Align::left};
    columns[far_tx] = {"TX there", Align::left};
    columns[rx] = {"RX here", Align::left};
    columns[agrees] = {"", Align::left};
    columns[rate] = {"goodput", Align::right};
    columns[lost] = {"lost", Align::right};
    columns[resent] = {"retr", Align::right};
    Table table(std::move(columns));
    const auto chosen = chosen_flows(report);
    for (const std::size_t i : chosen) {
        const FlowRow& row = report.test.summary.rows[i];
        const ProvenFlow& flow = report.proof.flows[i];
        std::vector<Cell> cells(count);
        const auto set = [&](Column column, std::string text) { cells[column] = {{std::move(text)}}; };
        set(number, std::to_string(row.index));
        set(local, endpoint_text(row.address.local, row.address.local_port));
        set(remote, endpoint_text(row.address.remote, row.address.remote_port));
        if (flow.predicted) set(predicted, style.clean(input.near.slaves[*flow.predicted].name));
        set(tx, slave_name(input.near, input.near.flows[i].tx, style));
        set(rx, slave_name(input.near, input.near.flows[i].rx, style));
        if (input.far && i < input.far->flows.size()) {
            set(far_rx, slave_name(*input.far, input.far->flows[i].rx, style));
            set(far_tx, slave_name(*input.far, input.far->flows[i].tx, style));
        }
        if (flow.agrees)
            cells[agrees] = {
                {std::string(*flow.agrees ? style.yes : style.no), *flow.agrees ? sgr::none : sgr::alarm}};
        if (row.established)
            set(rate, format_bit_rate(row.goodput));
        else
            cells[rate] = {{"failed", sgr::alarm}};
        if (const auto all = flow.lost_up.value_or(0) + flow.lost_down.value_or(0); all != 0)
            set(lost, format_count(all));
        if (row.retransmits.value_or(0) != 0) set(resent, format_count(*row.retransmits));
        table.add_row(std::move(cells));
    }
    for (const std::size_t column : {predicted, far_rx, far_tx, rx, agrees, lost, resent})
        table.drop_if_empty(column);
    for (const std::size_t column : {resent, remote, lost, number})
        if (table.width() > style.width()) table.drop(column);
    std::string text = "\n";
    if (const std::size_t all = report.proof.flows.size(); all > chosen.size())
        text += style.paint(fmt::format("{} of {} flows", chosen.size(), all), sgr::bold) + '\n';
    return text + table.render(style, 0);
}

std::string capacity_text(const char* way, const std::optional<Capacity>& capacity, double payload,
                          double goodput) {
    if (!capacity || !capacity->split_allows) return {};
    std::string text = fmt::format("{} {}; this split of flows allows {}", way, format_bit_rate(goodput),
                                   format_bit_rate(*capacity->split_allows * payload));
    if (capacity->all_full)
        text += fmt::format(", all slaves full are {}", format_bit_rate(*capacity->all_full * payload));
    return text;
}

} // namespace

std::string prove_text(const ProveReport& report, const TextOptions& options) {
    const TextStyle style(options);
    const ProofInput& input = report.input;
    const Proof& proof = report.proof;
    std::string text;
    if (!report.test.title.empty()) text += style.paint(style.clean(report.test.title), sgr::bold) + '\n';
    const bool well = proof.status == ExitStatus::fine;
    text += style.paint(style.wrap(style.clean(proof.line), 2), well ? sgr::bold : sgr::alarm);
    text += style.wrap(style.clean(traffic_heading(report.test)), 2);
    text += '\n' + checks_text(proof, style) + '\n';
    for (const DirectionSummary& direction : report.test.summary.directions) {
        const double goodput = direction.received_rate.value_or(direction.sent_rate.value_or(0));
        const auto capacity = capacity_text(direction.upward ? "up" : "down",
                                            direction.upward ? proof.up : proof.down, proof.payload, goodput);
        if (!capacity.empty()) text += labelled("total", capacity, style);
    }
    for (const TrafficLine& line : traffic_lines(report.test))
        text += labelled(line.label, line.text, style);
    std::vector<std::size_t> predicted(input.near.slaves.size());
    bool any = false;
    for (const ProvenFlow& flow : proof.flows)
        if (flow.predicted) {
            ++predicted[*flow.predicted];
            any = true;
        }
    text += end_text(input.near, proof.near_tx, proof.near_rx, any ? predicted : std::vector<std::size_t>{},
                     "here", style);
    if (input.far) text += end_text(*input.far, *proof.far_tx, *proof.far_rx, {}, input.host, style);
    text += flows_text(report, style);
    const auto failures = failure_lines(report.test.summary);
    if (!failures.empty()) text += '\n';
    for (const std::string& failure : failures)
        text += labelled("failed", failure, style, sgr::alarm);
    const auto notes = traffic_notes(report.test);
    if (!notes.empty()) text += '\n';
    for (const std::string& note : notes)
        text += labelled("note", note, style);
    return text + '\n' + findings_text(proof.findings, style, report.test.verbose);
}

} // namespace bondtrace
