// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/flow_table.h"

#include "user/base/text.h"
#include "user/base/units.h"
#include "user/report/address_text.h"
#include "user/report/table.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::size_t indent = 0; // two columns more for what is in them

// TX and RX each head a group: the slaves, then bytes, packets and rate.
enum FlowColumn : std::size_t {
    proto,
    local,
    arrow,
    remote,
    vlan,
    tx,
    tx_bytes,
    tx_packets,
    tx_rate,
    rx,
    rx_bytes,
    rx_packets,
    rx_rate,
    moves,
    predicted,
    column_count
};

std::vector<Column> flow_columns() {
    std::vector<Column> columns(column_count);
    columns[proto] = {"proto", Align::left};
    columns[local] = {"local", Align::left, 1};
    columns[arrow] = {"", Align::left, 1};
    columns[remote] = {"remote", Align::left, 1};
    columns[vlan] = {"vlan", Align::right};
    columns[tx] = {"TX", Align::left};
    columns[tx_bytes] = {"bytes", Align::right};
    columns[tx_packets] = {"packets", Align::right};
    columns[tx_rate] = {"rate", Align::right};
    columns[rx] = {"RX", Align::left};
    columns[rx_bytes] = {"bytes", Align::right};
    columns[rx_packets] = {"packets", Align::right};
    columns[rx_rate] = {"rate", Align::right};
    columns[moves] = {"moves", Align::right};
    columns[predicted] = {"predicted", Align::left};
    return columns;
}

// How much of the slaves' names is shown.
struct SlaveNames {
    std::size_t at_most = 3;    // of more than these, fewer by one and "+N"
    std::size_t name_width = 0; // 0: whole
};

class FlowTable {
  public:
    FlowTable(const BondReport& bond, const std::vector<const Conversation*>& flows, double seconds,
              const TextStyle& style)
        : bond_(bond), flows_(flows), seconds_(seconds), style_(style), table_(flow_columns()),
          tx_unit_(bond.counter_unit(false)), rx_unit_(bond.counter_unit(true)) {
        for (const Conversation* flow : flows_)
            table_.add_row(cells_of(*flow));
        for (const FlowColumn column : {vlan, moves, predicted})
            table_.drop_if_empty(column);
        fit();
    }

    [[nodiscard]] std::string render() const { return table_.render(style_, indent); }

  private:
    [[nodiscard]] std::vector<Cell> cells_of(const Conversation& flow) const {
        std::vector<Cell> cells(column_count);
        const auto set = [&](FlowColumn column, std::string text) { cells[column] = {{std::move(text)}}; };
        set(proto, protocol_name(flow.key));
        cells[local] = end_cell(flow, local, unlimited);
        set(arrow, std::string(style_.arrow));
        cells[remote] = end_cell(flow, remote, unlimited);
        set(vlan, vlan_text(flow.key));
        cells[tx] = slaves_cell(flow, false, {});
        cells[rx] = slaves_cell(flow, true, {});
        add_counts(cells, flow.tx, flow.tx_total(), tx_unit_, tx_bytes);
        add_counts(cells, flow.rx, flow.rx_total(), rx_unit_, rx_bytes);
        if (flow.moves() > 0) set(moves, fmt::format("{}", flow.moves()));
        cells[predicted] = prediction_cell(flow);
        return cells;
    }

    // An end; what stands in the place of ports goes behind the remote one, unless that makes it too wide.
    [[nodiscard]] Cell end_cell(const Conversation& flow, FlowColumn column, std::size_t width) const {
        const std::string detail = column == remote ? detail_text(flow.key) : "";
        std::string end = end_text(flow.key, column == local, unlimited, style_.ellipsis);
        if (end.size() > width) end = end_text(flow.key, column == local, width, style_.ellipsis);
        Cell cell{{std::move(end)}};
        if (!detail.empty() && display_width(cell) + 1 + detail.size() <= width)
            cell.push_back({" " + detail, sgr::dim});
        return cell;
    }

    // Bytes, packets and rate, in three columns that follow each other.
    void add_counts(std::vector<Cell>& cells, const std::vector<SlaveUse>& uses, const Counts& total,
                    CountUnit unit, std::size_t first_column) const {
        if (uses.empty()) {
            cells[first_column] = {{std::string(style_.nothing), sgr::dim}};
            return;
        }
        cells[first_column] = {{format_bytes(bytes_in(total, unit))}};
        cells[first_column + 1] = {{format_count(packets_in(total, unit))}};
        if (seconds_ > 0)
            cells[first_column + 2] = {
                {format_bit_rate(static_cast<double>(total.wire_bytes) * 8 / seconds_)}};
    }

    [[nodiscard]] Span name_span(const SlaveUse& use, std::size_t name_width) const {
        std::string_view colour = sgr::none;
        for (std::size_t i = 0; i < bond_.slaves.size(); ++i)
            if (bond_.slaves[i].ifindex == use.slave_ifindex) colour = TextStyle::slave_colour(i);
        std::string name = style_.clean(slave_name(bond_, use.slave_ifindex));
        if (name_width > 0) name = shorten_middle(name, name_width, style_.ellipsis);
        return {name + (use.inactive ? "!" : ""), colour};
    }

    // "→ s0", "→ s0→s1" (moved), "→ s0 s1 +2" (sprayed), "← s1!" (dropped, the slave is inactive).
    [[nodiscard]] Cell slaves_cell(const Conversation& flow, bool received, SlaveNames limits) const {
        const std::vector<SlaveUse>& uses = received ? flow.rx : flow.tx;
        if (uses.empty()) return {};
        const std::size_t shown =
            uses.size() <= limits.at_most ? uses.size() : std::max<std::size_t>(limits.at_most - 1, 1);
        const bool moved = !received && flow.moves() > 0;
        Cell cell{{fmt::format("{} ", received ? style_.receives : style_.sends)}};
        for (std::size_t i = 0; i < shown; ++i) {
            if (i > 0) cell.push_back({std::string(moved ? style_.moves_to : " ")});
            cell.push_back(name_span(uses[i], limits.name_width));
        }
        if (shown < uses.size()) cell.push_back({fmt::format(" +{}", uses.size() - shown)});
        return cell;
    }

    [[nodiscard]] Cell prediction_cell(const Conversation& flow) const {
        if (!flow.prediction) return {};
        const Prediction& prediction = *flow.prediction;
        const std::string slave = prediction.slave ? " " + style_.clean(*prediction.slave) : "";
        if (!prediction.agrees) return {{std::string(style_.nothing), sgr::dim}};
        if (*prediction.agrees) return {{std::string(style_.yes)}};
        return {{std::string(style_.no) + slave, sgr::alarm}};
    }

    [[nodiscard]] bool fits() const { return table_.width() + indent <= style_.width(); }

    void drop_unless_fits(std::initializer_list<FlowColumn> columns) {
        if (fits()) return;
        for (const FlowColumn column : columns)
            table_.drop(column);
    }

    void limit_slaves(SlaveNames limits) {
        if (fits()) return;
        table_.refill(tx, [&](std::size_t row) { return slaves_cell(*flows_[row], false, limits); });
        table_.refill(rx, [&](std::size_t row) { return slaves_cell(*flows_[row], true, limits); });
    }

    // Takes what is missing from the wider address column first, leaving each at least `least`, and whole
    // what is no IPv6 address.
    void shorten_addresses(std::size_t least) {
        if (fits()) return;
        const std::size_t local_width = table_.column_width(local),
                          remote_width = table_.column_width(remote);
        const std::size_t excess = table_.width() + indent - style_.width();
        const std::size_t both = local_width + remote_width;
        const std::size_t room = both > excess ? both - excess : 0;
        const std::size_t local_least = std::min(local_width, std::max(least, short_local_));
        const std::size_t remote_least = std::min(remote_width, std::max(least, short_remote_));
        std::size_t local_limit = std::max(std::min(local_width, room / 2), local_least);
        const std::size_t remote_limit =
            std::max(room > local_limit ? std::min(remote_width, room - local_limit) : 0, remote_least);
        local_limit =
            std::max(room > remote_limit ? std::min(local_width, room - remote_limit) : 0, local_least);
        limit_address(local, local_limit);
        limit_address(remote, remote_limit);
    }

    void limit_address(FlowColumn column, std::size_t limit) {
        if (table_.column_width(column) <= limit) return;
        table_.refill(column, [&](std::size_t row) { return end_cell(*flows_[row], column, limit); });
    }

    // The widest end that is no IPv6 address, without detail: shortening to less breaks what is short
    // already.
    [[nodiscard]] std::size_t widest_short_end(FlowColumn column) const {
        std::size_t widest = 0;
        for (const Conversation* flow : flows_) {
            const auto* ip = std::get_if<IpAddress>(column == local ? &flow->key.local : &flow->key.remote);
            if (ip && ip->v6) continue;
            widest = std::max(widest, end_text(flow->key, column == local, unlimited, "").size());
        }
        return widest;
    }

    // Gives up, step by step, what is least missed, until the line fits.
    void fit() {
        if (fits()) return;
        // "[2001:db8:…:1:aaaa]:65535", "[2001:…:aaaa]:65535", "[…:aaaa]:65535"
        constexpr std::size_t comfortable = 26, recognisable = 19, least = 14;
        short_local_ = widest_short_end(local);
        short_remote_ = widest_short_end(remote);
        drop_unless_fits({tx_rate, rx_rate});
        drop_unless_fits({moves}); // the TX column shows the way
        shorten_addresses(comfortable);
        drop_unless_fits({tx_packets, rx_packets});
        limit_slaves({2, 0});
        shorten_addresses(recognisable);
        drop_unless_fits({predicted});
        limit_slaves({2, 9});
        shorten_addresses(least);
        drop_unless_fits({vlan});
        limit_slaves({1, 9});
        drop_unless_fits({rx_bytes});
        limit_slaves({1, 5});
        short_local_ = short_remote_ = 0;
        shorten_addresses(least);
        drop_unless_fits({tx_bytes});
    }

    const BondReport& bond_;
    const std::vector<const Conversation*>& flows_;
    double seconds_;
    const TextStyle& style_;
    Table table_;
    CountUnit tx_unit_, rx_unit_;
    std::size_t short_local_ = 0, short_remote_ = 0;
};

} // namespace

std::string flow_table(const BondReport& bond, const std::vector<const Conversation*>& flows, double seconds,
                       const TextStyle& style) {
    return FlowTable(bond, flows, seconds, style).render();
}

} // namespace bondtrace
