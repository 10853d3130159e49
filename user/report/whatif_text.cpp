// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/units.h"
#include "user/report/agreement_text.h"
#include "user/report/table.h"
#include "user/report/whatif_report.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::size_t indent = 2;
constexpr std::size_t most_slaves_listed = 8;

enum WhatifColumn : std::size_t {
    mark,
    policy,
    bandwidth,
    largest,
    expected,
    bytes,
    flows,
    hashes,
    unknown,
    column_count
};

std::string percent(double share) {
    return fmt::format("{:.0f}", share * 100);
}

std::string band_text(const Band& band) {
    return fmt::format("{:.0f}-{:.0f} %", std::floor(band.low * 100), std::ceil(band.high * 100));
}

// "52 48": each slave's share in per cent, in the order of the indexes.
std::string shares_text(const WhatifRow& row, std::uint64_t SlaveLoad::*what, const TextStyle& style) {
    std::uint64_t total = 0;
    for (const SlaveLoad& load : row.loads)
        total += load.*what;
    if (total == 0) return std::string(style.nothing);
    std::string text;
    for (std::size_t i = 0; i < row.loads.size() && i < most_slaves_listed; ++i)
        text += fmt::format("{}{}", i == 0 ? "" : " ",
                            percent(static_cast<double>(row.loads[i].*what) / static_cast<double>(total)));
    if (row.loads.size() > most_slaves_listed) text += fmt::format(" {}", style.ellipsis);
    return text;
}

Table make_table() {
    std::vector<Column> columns(column_count);
    columns[mark] = {"", Align::left};
    columns[policy] = {"policy", Align::left, 1};
    columns[bandwidth] = {"bandwidth", Align::right};
    columns[largest] = {"largest", Align::right};
    columns[expected] = {"by chance", Align::right};
    columns[bytes] = {"bytes %", Align::left};
    columns[flows] = {"flows %", Align::left};
    columns[hashes] = {"hashes", Align::right};
    columns[unknown] = {"unknown", Align::right};
    return Table(std::move(columns));
}

void add_row(Table& table, const WhatifRow& row, std::uint64_t all_bytes, const TextStyle& style) {
    std::vector<Cell> cells(column_count);
    const auto set = [&](WhatifColumn column, std::string text) { cells[column] = {{std::move(text)}}; };
    set(mark, row.current ? "*" : " ");
    cells[policy] = {{std::string(to_text(row.policy)), row.current ? sgr::bold : sgr::none}};
    const bool any = row.hashes > 0;
    set(bandwidth, any ? fmt::format("{:.2f}", row.bandwidth) : std::string(style.nothing));
    set(largest, any ? percent(row.largest_byte_share) + " %" : std::string(style.nothing));
    set(expected, any ? band_text(row.expected_bytes) : std::string(style.nothing));
    set(bytes, shares_text(row, &SlaveLoad::bytes, style));
    set(flows, shares_text(row, &SlaveLoad::flows, style));
    set(hashes, format_count(row.hashes));
    if (row.unknown.bytes > 0 || row.unknown.flows > 0)
        set(unknown, all_bytes > 0 ? format_percent(row.unknown.bytes, all_bytes) : "all");
    table.add_row(std::move(cells));
}

std::string source_text(const WhatifReport& report, const TextStyle& style) {
    std::string text =
        fmt::format("{} flow{}, {} in {} packets", grouped(report.flows), report.flows == 1 ? "" : "s",
                    format_bytes(report.bytes), format_count(report.packets));
    switch (report.source) {
    case WhatifReport::Source::live:
        text += fmt::format(", sent through {}", style.clean(report.name));
        break;
    case WhatifReport::Source::flows:
        text += fmt::format(", sent through {} as {} has it", style.clean(report.bond.value_or("?")),
                            style.clean(report.name));
        break;
    case WhatifReport::Source::capture:
        text += fmt::format(" of {}{}", style.clean(report.name),
                            report.both_directions ? ", as if all had been sent from one host" : "");
        break;
    }
    constexpr double longest = 1e9;
    if (report.seconds > 0 && std::isfinite(report.seconds))
        text += fmt::format(", {}", format_duration(std::chrono::nanoseconds(
                                        std::llround(std::fmin(report.seconds, longest) * 1e9))));
    if (report.interrupted) text += " (interrupted)";
    return style.wrap(text + fmt::format(" ({})", style.clean(era_text(report.era))), indent);
}

std::string group_title(const WhatifReport& report, unsigned slaves, const TextStyle& style) {
    std::string text = fmt::format("{} slave{}", slaves, slaves == 1 ? "" : "s");
    if (report.current.slaves == slaves && report.bond)
        text += fmt::format(", as {} has usable now", style.clean(*report.bond));
    return style.paint(text, sgr::bold) + '\n';
}

} // namespace

std::string whatif_text(const WhatifReport& report, const TextOptions& options) {
    const TextStyle style(options);
    std::string text = source_text(report, style);
    if (report.rows.empty() || report.flows == 0)
        return text + style.wrap("nothing was sent: there is nothing to spread", indent);
    for (auto row = report.rows.begin(); row != report.rows.end();) {
        const unsigned slaves = row->slaves;
        const auto end = std::find_if(row, report.rows.end(),
                                      [&](const WhatifRow& other) { return other.slaves != slaves; });
        text += '\n' + group_title(report, slaves, style);
        if (slaves == 1) {
            text += "  everything on it, whatever the policy: bandwidth 1.00\n";
            row = end;
            continue;
        }
        Table table = make_table();
        for (; row != end; ++row)
            add_row(table, *row, report.bytes, style);
        table.drop_if_empty(unknown);
        for (const std::size_t column : {hashes, flows, expected})
            if (table.width() > style.width()) table.drop(column);
        text += table.render(style, 0);
    }
    text += '\n';
    text += style.wrap(
        "bandwidth: before the busiest slave is full, in slaves. largest: share of the bytes on that "
        "slave. by chance: where one slave's share lies in 95 % of cases with these flows. hashes: "
        "different ones, which is what a policy can spread. *: what the bond has now.",
        indent);
    for (const std::string& note : report.notes)
        text += style.wrap("- " + style.clean(note), indent);
    if (report.lost_packets > 0)
        text +=
            style.wrap(fmt::format("{} packets ({}) are in none of these numbers: there were more flows than "
                                   "--max-flows allows",
                                   format_count(report.lost_packets), format_bytes(report.lost_bytes)),
                       indent);
    if (report.elsewhere_packets > 0)
        text += style.wrap(fmt::format("{} packets were not sent from here, or are too short to be anything",
                                       format_count(report.elsewhere_packets)),
                           indent);
    if (report.incomplete)
        text += style.wrap(report.source == WhatifReport::Source::flows
                               ? "flows were left out of the document (--filter, --top): these are not all"
                               : "the capture ends within a packet",
                           indent);
    return text;
}

} // namespace bondtrace
