// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/units.h"
#include "user/report/audit_text.h"
#include "user/report/table.h"
#include "user/report/traffic_report.h"
#include "user/report/traffic_words.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace {
namespace {

using namespace traffic;

// Up to twice as many flows are all shown.
constexpr std::size_t shown_of_many = 10;
constexpr std::size_t label_width = 10;

enum TrafficColumn : std::size_t {
    number,
    local,
    remote,
    slave,
    goodput,
    bytes,
    retransmits,
    rtt,
    reordering,
    packets,
    lost,
    reordered,
    duplicated,
    jitter,
    stalled,
    column_count
};

Table make_table() {
    std::vector<Column> columns(column_count);
    columns[number] = {"#", Align::right};
    columns[local] = {"local", Align::left};
    columns[remote] = {"remote", Align::left};
    columns[slave] = {"slave", Align::left};
    columns[goodput] = {"goodput", Align::right};
    columns[bytes] = {"received", Align::right};
    columns[retransmits] = {"retr", Align::right};
    columns[rtt] = {"RTT min/avg/max us", Align::right};
    columns[reordering] = {"reord", Align::right};
    columns[packets] = {"packets", Align::right};
    columns[lost] = {"lost", Align::right};
    columns[reordered] = {"reord", Align::right};
    columns[duplicated] = {"dup", Align::right};
    columns[jitter] = {"jitter us", Align::right};
    columns[stalled] = {"stalled", Align::right};
    return Table(std::move(columns));
}

// What both directions' receivers say of a UDP flow, added up.
struct UdpTotal {
    std::uint64_t packets = 0, lost = 0, reordered = 0, duplicated = 0;
    double jitter_us = 0; // the greater one
    bool known = false;
};
UdpTotal udp_total(const FlowRow& row) {
    UdpTotal total;
    total.packets = row.up_received_packets + row.down_received_packets;
    for (const auto* facts : {&row.up_udp, &row.down_udp})
        if (*facts) {
            total.known = true;
            total.lost += (*facts)->lost;
            total.reordered += (*facts)->reordered;
            total.duplicated += (*facts)->duplicated;
            total.jitter_us = std::max(total.jitter_us, (*facts)->jitter_us);
        }
    return total;
}

void add_row(Table& table, const TrafficReport& report, const FlowRow& row, const TextStyle& style) {
    std::vector<Cell> cells(column_count);
    const auto set = [&](TrafficColumn column, std::string text) { cells[column] = {{std::move(text)}}; };
    set(number, std::to_string(row.index));
    set(local, endpoint_text(row.address.local, row.address.local_port));
    set(remote, endpoint_text(row.address.remote, row.address.remote_port));
    const PortPlan& plan = report.plan;
    if (row.index < plan.slave_of.size() && plan.slave_of[row.index] < plan.slaves.size())
        cells[slave] = {{style.clean(plan.slaves[plan.slave_of[row.index]]),
                         TextStyle::slave_colour(plan.slave_of[row.index])}};
    if (!row.established) {
        cells[goodput] = {{"failed", sgr::alarm}};
        table.add_row(std::move(cells));
        return;
    }
    set(goodput, format_bit_rate(row.goodput));
    set(bytes, format_bytes(row.up_received + row.down_received));
    if (row.retransmits) set(retransmits, format_count(*row.retransmits));
    if (row.rtt_min_us)
        set(rtt,
            fmt::format("{}/{}/{}", *row.rtt_min_us, row.rtt_avg_us.value_or(0), row.rtt_max_us.value_or(0)));
    if (row.reordering && *row.reordering > 0) set(reordering, format_count(*row.reordering));
    const UdpTotal udp = udp_total(row);
    if (udp.known) {
        set(packets, format_count(udp.packets));
        set(lost, format_count(udp.lost));
        set(reordered, format_count(udp.reordered));
        set(duplicated, format_count(udp.duplicated));
        set(jitter, fmt::format("{:.1f}", udp.jitter_us));
    }
    if (row.stalled_intervals > 0) set(stalled, format_count(row.stalled_intervals));
    table.add_row(std::move(cells));
}

std::string render(Table& table, const TextStyle& style) {
    for (const std::size_t column :
         {slave, bytes, retransmits, rtt, reordering, packets, lost, reordered, duplicated, jitter, stalled})
        table.drop_if_empty(column);
    for (const std::size_t column : {jitter, duplicated, reordering, bytes, remote, rtt, packets})
        if (table.width() > style.width()) table.drop(column);
    return table.render(style, 0);
}

std::string flows_text(const TrafficReport& report, const TextStyle& style) {
    const std::vector<FlowRow>& rows = report.summary.rows;
    if (rows.empty()) return {};
    // With few flows in their own order; of many the extremes.
    if (rows.size() <= 2 * shown_of_many) {
        Table table = make_table();
        for (const FlowRow& row : rows)
            add_row(table, report, row, style);
        return '\n' + render(table, style);
    }
    const Extremes shown = extremes(rows, shown_of_many);
    std::string text;
    const auto part = [&](const char* title, const std::vector<std::size_t>& positions) {
        Table table = make_table();
        for (const std::size_t position : positions)
            add_row(table, report, rows[position], style);
        text +=
            '\n' +
            style.paint(fmt::format("{} {} of {} flows", title, positions.size(), rows.size()), sgr::bold) +
            '\n' + render(table, style);
    };
    part("the fastest", shown.top);
    part("the slowest", shown.bottom);
    return text;
}

std::string line_text(std::string_view label, std::string_view text, const TextStyle& style) {
    const std::string before = fmt::format("{:<{}}", label, label_width);
    const std::string plain = style.wrap(before + style.clean(text), label_width);
    return style.paint(before, sgr::dim) + plain.substr(before.size());
}

} // namespace

std::string traffic_text(const TrafficReport& report, const TextOptions& options) {
    const TextStyle style(options);
    std::string text;
    if (!report.title.empty()) text += style.paint(style.clean(report.title), sgr::bold) + '\n';
    text += style.wrap(style.clean(traffic_heading(report)), 2);
    for (const TrafficLine& line : traffic_lines(report))
        text += line_text(line.label, line.text, style);
    text += flows_text(report, style);
    const auto failures = failure_lines(report.summary);
    if (!failures.empty()) text += '\n';
    for (const std::string& failure : failures)
        text += line_text("failed", failure, style);
    const auto notes = traffic_notes(report);
    if (!notes.empty()) text += '\n';
    for (const std::string& note : notes)
        text += line_text("note", note, style);
    if (!report.findings.empty()) text += '\n' + findings_text(report.findings, style, report.verbose);
    return text;
}

} // namespace bondtrace
