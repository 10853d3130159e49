// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/slave_table.h"

#include "user/base/units.h"
#include "user/report/table.h"

#include <array>

#include <fmt/format.h>

namespace bondtrace {
namespace {

enum SlaveColumn : std::size_t {
    name,
    index,
    state,
    speed,
    direction,
    packets,
    bytes,
    rate,
    share,
    flows,
    control,
    counter,
    coverage,
    column_count
};

std::vector<Column> slave_columns() {
    std::vector<Column> columns(column_count);
    columns[name] = {"slave", Align::left};
    columns[index] = {"#", Align::right};
    columns[state] = {"state", Align::left};
    columns[speed] = {"speed", Align::left};
    columns[direction] = {"", Align::left};
    columns[packets] = {"packets", Align::right};
    columns[bytes] = {"bytes", Align::right};
    columns[rate] = {"rate", Align::right};
    columns[share] = {"share", Align::right};
    columns[flows] = {"flows", Align::right};
    columns[control] = {"control", Align::right};
    columns[counter] = {"counter", Align::right};
    columns[coverage] = {"coverage", Align::right};
    return columns;
}

// What goes first when the line is too long: what can be computed from the rest, then what the heading
// implies.
constexpr std::array drop_order = {rate, speed, control, index, state, flows, share, counter};

std::string speed_text(const SlaveReport& slave, const TextStyle& style) {
    if (!slave.speed_mbps) return std::string(style.nothing);
    return format_bit_rate(static_cast<double>(*slave.speed_mbps) * 1e6);
}

std::string share_text(const BondReport& bond, const SlaveReport& slave, bool received,
                       const TextStyle& style) {
    std::uint64_t all = 0;
    for (const SlaveReport& other : bond.slaves)
        all += (received ? other.rx : other.tx).traced.wire_bytes;
    if (all == 0) return std::string(style.nothing);
    return format_percent((received ? slave.rx : slave.tx).traced.wire_bytes, all);
}

Span coverage_span(const SlaveDirection& traffic, const TextStyle& style) {
    const std::uint64_t covered = traffic.covered_packets();
    if (traffic.counter_packets == 0)
        return covered == 0 ? Span{std::string(style.nothing)} : Span{"not counted", sgr::alarm};
    return {format_percent(covered, traffic.counter_packets),
            covered == traffic.counter_packets ? sgr::none : sgr::alarm};
}

void add_direction(std::vector<Cell>& cells, const BondReport& bond, const SlaveReport& slave, bool received,
                   double seconds, const TextStyle& style) {
    const SlaveDirection& traffic = received ? slave.rx : slave.tx;
    const CountUnit unit = bond.counter_unit(received);
    const auto set = [&](SlaveColumn column, std::string text) { cells[column] = {{std::move(text)}}; };
    set(direction, received ? "RX" : "TX");
    set(packets, fmt::format("{}", packets_in(traffic.traced, unit)));
    set(bytes, format_bytes(bytes_in(traffic.traced, unit)));
    if (seconds > 0) set(rate, format_bit_rate(static_cast<double>(traffic.traced.wire_bytes) * 8 / seconds));
    set(share, share_text(bond, slave, received, style));
    set(flows, fmt::format("{}", traffic.flows));
    if (traffic.control.packets > 0) set(control, fmt::format("{}", packets_in(traffic.control, unit)));
    set(counter, fmt::format("{}", traffic.counter_packets));
    cells[coverage] = {coverage_span(traffic, style)};
}

} // namespace

std::string slave_table(const BondReport& bond, double seconds, const TextStyle& style) {
    constexpr std::size_t indent = 2;
    Table table(slave_columns());
    for (std::size_t i = 0; i < bond.slaves.size(); ++i) {
        const SlaveReport& slave = bond.slaves[i];
        std::vector<Cell> cells(column_count);
        cells[name] = {{style.clean(slave.name), TextStyle::slave_colour(i)}};
        cells[index] = {{slave.index ? fmt::format("{}", *slave.index) : std::string(style.nothing)}};
        cells[state] = {{style.clean(slave.state)}};
        cells[speed] = {{speed_text(slave, style)}};
        add_direction(cells, bond, slave, false, seconds, style);
        table.add_row(std::move(cells));
        cells.assign(column_count, {});
        add_direction(cells, bond, slave, true, seconds, style);
        table.add_row(std::move(cells));
    }
    table.drop_if_empty(control);
    for (const SlaveColumn column : drop_order) {
        if (table.width() + indent <= style.width()) break;
        table.drop(column);
    }
    return table.render(style, indent);
}

} // namespace bondtrace
