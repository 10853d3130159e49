// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/flows_panel.h"

#include "user/base/text.h"
#include "user/base/units.h"
#include "user/live/columns.h"
#include "user/live/end_words.h"
#include "user/report/address_text.h"
#include "user/report/flow_words.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace bondtrace {
namespace {

enum FlowColumn : std::size_t {
    bond,
    proto,
    local,
    both,
    remote,
    vlan,
    tx_slave,
    rx_slave,
    tx_rate,
    rx_rate,
    packets,
    total,
    age,
    moves,
    agreement,
    column_count
};

struct Heading {
    std::string_view title, short_title;
    bool right = false;
    std::optional<LiveSort> sort;
};

const std::array<Heading, column_count>& headings() {
    static const std::array<Heading, column_count> all = {{
        {"bond", "bond", false, {}},
        {"proto", "pro", false, LiveSort::proto},
        {"local", "local", false, LiveSort::local},
        {"", "", false, {}},
        {"remote", "remote", false, LiveSort::remote},
        {"vlan", "vlan", true, {}},
        {"TX", "TX", false, LiveSort::tx_slave},
        {"RX", "RX", false, LiveSort::rx_slave},
        {"TX bit/s", "TX", true, LiveSort::rate},
        {"RX bit/s", "RX", true, LiveSort::rate},
        {"packets/s", "pkt/s", true, LiveSort::packets},
        {"total", "total", true, LiveSort::total},
        {"age", "age", true, LiveSort::age},
        {"moves", "moves", true, LiveSort::moves},
        {"ok", "ok", true, {}},
    }};
    return all;
}

constexpr std::size_t left_margin = 1;
// A blank between columns on narrow screens, two on wide ones.
std::size_t gap_of(std::size_t width) {
    constexpr std::size_t wide = 110;
    return width >= wide ? 2 : 1;
}

std::vector<std::size_t> widths_of(const LiveModel& model, const UiState& ui, std::size_t width) {
    // Recognisable whatever it is: "10.123.123.1:65535" whole, IPv6 by its ends.
    constexpr std::size_t least_address = 15, most_address = 47;
    const FlowWidths& seen = ui.widths;
    const bool several_bonds = !ui.view.bond && model.bonds().size() > 1;
    std::array<ColumnNeed, column_count> needs{};
    const auto address = [&](std::size_t wanted) {
        return ColumnNeed{std::min(std::max<std::size_t>(wanted, 6), least_address), wanted,
                          std::min(wanted + 2, most_address), 100};
    };
    if (several_bonds) needs[bond] = {std::min<std::size_t>(seen.bond, 6), seen.bond, 0, 60};
    needs[proto] = {3, std::max<std::size_t>(seen.proto, 5), 0, 70};
    needs[local] = address(seen.local);
    needs[both] = {1, 1, 0, 100};
    needs[remote] = address(seen.remote);
    if (seen.vlan > 0) needs[vlan] = {seen.vlan, std::max<std::size_t>(seen.vlan, 4), 0, 40};
    const std::size_t slave = std::clamp<std::size_t>(seen.slave, 3, 6);
    // Room for a move, and for a mark of the order.
    const std::size_t whole_slave =
        std::max<std::size_t>(std::min<std::size_t>(2 * seen.slave + 1, 15), seen.slave);
    needs[tx_slave] = {slave, std::max<std::size_t>(whole_slave, 5), 15, 95};
    needs[rx_slave] = {slave, std::max<std::size_t>(seen.slave, 4), 15, 94};
    needs[tx_rate] = {6, 9, 10, 90};
    needs[rx_rate] = {6, 9, 10, 85};
    needs[packets] = {6, 9, 10, 50};
    needs[total] = {7, 7, 9, 55};
    needs[age] = {6, 6, 7, 35};
    if (seen.moves) needs[moves] = {5, 5, 0, 65};
    if (seen.agreement) needs[agreement] = {2, 2, 0, 30};
    return fit_columns(needs, width - 2 * left_margin, gap_of(width));
}

// The slave of one direction, in its colour; while a move is fresh, with where the flow came from.
struct SlaveText {
    std::string text;
    Hue hue = Hue::plain;
};

SlaveText slave_text(const Drawing& drawing, std::size_t bond_index, int ifindex) {
    const auto& bonds = drawing.model.reading().report.bonds;
    if (ifindex == 0 || bond_index >= bonds.size()) return {std::string(drawing.symbols.nothing), Hue::quiet};
    const BondReport& report = bonds[bond_index];
    Hue hue = Hue::plain;
    for (std::size_t place = 0; place < report.slaves.size(); ++place)
        if (report.slaves[place].ifindex == ifindex) hue = slave_hue(place);
    return {clean(slave_name(report, ifindex), drawing.symbols), hue};
}

Pieces tx_slave_pieces(const Drawing& drawing, const FlowRow& row, std::size_t width) {
    const SlaveText now = slave_text(drawing, row.flow.bond, row.tx_slave);
    const auto style = [](Hue hue) { return Style{.hue = hue, .bold = hue != Hue::quiet}; };
    if (row.sprayed && row.flow.tx.size() > 1) {
        const std::string more = fmt::format("+{}", row.flow.tx.size() - 1);
        const std::size_t room = width > more.size() ? width - more.size() : 0;
        return {{shorten_end(now.text, room, drawing.symbols.ellipsis), style(now.hue)}, {more, quiet}};
    }
    if (drawing.model.is_highlighted(row)) {
        const SlaveText before = slave_text(drawing, row.flow.bond, row.moved_from);
        const std::string way = before.text + std::string(drawing.symbols.moves_to) + now.text;
        const std::string shown =
            display_width(way) <= width ? way : shorten_end(now.text, width, drawing.symbols.ellipsis);
        return {{shown, {.hue = now.hue, .bold = true, .reverse = true}}};
    }
    return {{shorten_end(now.text, width, drawing.symbols.ellipsis), style(now.hue)}};
}

class FlowLines {
  public:
    FlowLines(Canvas& canvas, const Layout& layout, const Drawing& drawing)
        : canvas_(canvas), layout_(layout), drawing_(drawing),
          widths_(widths_of(drawing.model, drawing.ui, canvas.width())), gap_(gap_of(canvas.width())) {}

    void draw() {
        draw_titles();
        const auto& places = drawing_.view.rows();
        for (std::size_t line = 0; line < layout_.flows.height; ++line) {
            const std::size_t place = drawing_.ui.top + line;
            if (place >= places.size()) break;
            draw_row(layout_.flows.y + line, drawing_.model.flows().rows()[places[place]]);
        }
        if (places.empty()) draw_nothing();
        draw_remainder();
    }

  private:
    template<typename Each> void for_columns(Each each) const {
        std::size_t x = left_margin;
        for (std::size_t column = 0; column < column_count; ++column) {
            if (widths_[column] == 0) continue;
            each(static_cast<FlowColumn>(column), x, widths_[column]);
            x += widths_[column] + gap_;
        }
    }

    [[nodiscard]] bool sorted_by(FlowColumn column) const {
        const UiState& ui = drawing_.ui;
        if (headings()[column].sort != ui.view.sort) return false;
        if (column == tx_rate) return ui.view.direction != LiveDirection::rx;
        if (column == rx_rate) return ui.view.direction != LiveDirection::tx;
        return true;
    }

    [[nodiscard]] std::string title_of(FlowColumn column, std::size_t width) const {
        const Heading& heading = headings()[column];
        std::string title(heading.title);
        if (drawing_.ui.bytes && (column == tx_rate || column == rx_rate))
            title = column == tx_rate ? "TX B/s" : "RX B/s";
        if (column == tx_slave) title = std::string(drawing_.symbols.sends) + title;
        if (column == rx_slave) title = std::string(drawing_.symbols.receives) + title;
        const std::size_t mark = sorted_by(column) ? 1 : 0;
        if (display_width(title) + mark > width) title = heading.short_title;
        title = shorten_end(title, width > mark ? width - mark : 0, "");
        if (mark > 0)
            title += drawing_.ui.view.reverse ? drawing_.symbols.sorted_up : drawing_.symbols.sorted_down;
        return title;
    }

    void draw_titles() {
        draw_heading(canvas_, layout_.heading, {});
        for_columns([&](FlowColumn column, std::size_t x, std::size_t width) {
            const std::string title = title_of(column, width);
            const std::size_t shift = headings()[column].right ? width - display_width(title) : 0;
            canvas_.put(x + shift, layout_.heading, title, {.hue = Hue::bar, .bold = sorted_by(column)},
                        x + width);
        });
    }

    // A cell's text and style.
    [[nodiscard]] Piece piece_of(FlowColumn column, const FlowRow& row, std::size_t width) const {
        const UiState& ui = drawing_.ui;
        const ConversationKey& key = row.flow.key;
        const auto rate = [&](const Rate& value) {
            return Piece{short_rate(value, ui.bytes), value.bytes > 0 ? plain : quiet};
        };
        switch (column) {
        case bond:
            return {shorten_end(
                        clean(drawing_.model.reading().report.bonds[row.flow.bond].name, drawing_.symbols),
                        width, drawing_.symbols.ellipsis),
                    quiet};
        case proto:
            return {shorten_end(protocol_name(key), width, ""), quiet};
        case both:
            return {std::string(drawing_.symbols.both), quiet};
        case vlan:
            return {vlan_words(key), quiet};
        case rx_slave: {
            const SlaveText text = slave_text(drawing_, row.flow.bond, row.rx_slave);
            return {shorten_end(text.text, width, drawing_.symbols.ellipsis),
                    {.hue = text.hue, .bold = text.hue != Hue::quiet}};
        }
        case tx_rate:
            return rate(row.tx);
        case rx_rate:
            return rate(row.rx);
        case packets: {
            const double value = row.rate(ui.view.direction).packets;
            return {short_count(value), value > 0 ? plain : quiet};
        }
        case total: {
            std::uint64_t bytes = 0;
            if (ui.view.direction != LiveDirection::rx) bytes += row.flow.tx_total().wire_bytes;
            if (ui.view.direction != LiveDirection::tx) bytes += row.flow.rx_total().wire_bytes;
            return {format_bytes(bytes), plain};
        }
        case age: {
            const std::uint64_t now = drawing_.model.reading().time_ns;
            return {short_age(now > row.first_ns ? now - row.first_ns : 0), quiet};
        }
        case moves:
            if (row.moves == 0) return {};
            return {fmt::format("{}", row.moves), drawing_.model.is_highlighted(row) ? alarm : plain};
        case agreement: {
            if (!row.flow.prediction) return {};
            const auto agrees = row.flow.prediction->agrees;
            if (!agrees) return {std::string(drawing_.symbols.nothing), quiet};
            return *agrees ? Piece{std::string(drawing_.symbols.yes), good}
                           : Piece{std::string(drawing_.symbols.no), alarm};
        }
        default:
            return {};
        }
    }

    void draw_row(std::size_t y, const FlowRow& row) {
        for_columns([&](FlowColumn column, std::size_t x, std::size_t width) {
            if (column == local || column == remote) {
                draw_end(row, column, x, y, width);
            } else if (column == tx_slave) {
                canvas_.put(x, y, tx_slave_pieces(drawing_, row, width), x + width);
            } else {
                const Piece piece = piece_of(column, row, width);
                const std::size_t text_width = display_width(piece.text);
                const bool shift = headings()[column].right && text_width < width;
                canvas_.put(shift ? x + width - text_width : x, y, piece.text, piece.style, x + width);
            }
        });
        if (drawing_.ui.selected == row.id)
            canvas_.restyle(0, y, canvas_.width(), {.hue = Hue::plain, .bold = true, .reverse = true});
    }

    void draw_end(const FlowRow& row, FlowColumn column, std::size_t x, std::size_t y, std::size_t width) {
        const std::string end =
            end_words(row.flow.key, column == local, width, drawing_.wanted_names(), drawing_.symbols);
        std::size_t at = canvas_.put(x, y, end, plain, x + width);
        if (column != remote) return;
        // What there is instead of ports, when it fits.
        const std::string detail = detail_words(row.flow.key);
        if (!detail.empty() && at + 1 + detail.size() <= x + width) canvas_.put(at + 1, y, detail, quiet);
    }

    void draw_nothing() {
        const UiState& ui = drawing_.ui;
        std::string text = "no traffic in the last 30 s";
        if (drawing_.view.total() > 0) text = fmt::format("no conversation matches: {}", ui.filter_text);
        canvas_.put(left_margin, layout_.flows.y + 1, clean(text, drawing_.symbols), quiet);
    }

    void draw_remainder() {
        const auto& places = drawing_.view.rows();
        const UiState& ui = drawing_.ui;
        const std::size_t shown_end = std::min(ui.top + layout_.flows.height, places.size());
        const std::size_t shown = shown_end - std::min(ui.top, shown_end);
        std::string text;
        if (shown < places.size()) {
            const FlowView::Sum before = drawing_.view.sum(drawing_.model, 0, ui.top);
            const FlowView::Sum after = drawing_.view.sum(drawing_.model, shown_end, places.size());
            const auto rate = [&](const Rate& a, const Rate& b) { return rate_words(a + b, ui.bytes); };
            const std::size_t others = places.size() - shown;
            text = fmt::format("{}-{} of {}, {} other{}: TX {} RX {}", ui.top + 1, shown_end, places.size(),
                               others, others == 1 ? "" : "s", rate(before.tx, after.tx),
                               rate(before.rx, after.rx));
        } else {
            text = fmt::format("{} conversation{}", places.size(), places.size() == 1 ? "" : "s");
        }
        if (places.size() < drawing_.view.total())
            text += fmt::format(" of {} match {}", drawing_.view.total(), ui.filter_text);
        if (drawing_.view.idle() > 0) text += fmt::format(", {} idle", drawing_.view.idle());
        canvas_.put(left_margin, layout_.remainder, clean(text, drawing_.symbols), quiet);
    }

    Canvas& canvas_;
    const Layout& layout_;
    const Drawing& drawing_;
    std::vector<std::size_t> widths_;
    std::size_t gap_;
};

} // namespace

void FlowWidths::grow(const FlowWidths& other) {
    proto = std::max(proto, other.proto);
    local = std::max(local, other.local);
    remote = std::max(remote, other.remote);
    vlan = std::max(vlan, other.vlan);
    bond = std::max(bond, other.bond);
    slave = std::max(slave, other.slave);
    moves |= other.moves;
    agreement |= other.agreement;
}

FlowWidths flow_widths(const LiveModel& model, const FlowView& view, const HostNames* names, std::size_t top,
                       std::size_t lines) {
    const Symbols symbols; // what is shortened is not measured here
    FlowWidths widths;
    for (const BondReport& report : model.reading().report.bonds) {
        widths.bond = std::max(widths.bond, display_width(sanitize(report.name)));
        for (const SlaveReport& slave : report.slaves)
            widths.slave = std::max(widths.slave, display_width(sanitize(slave.name)));
    }
    const std::size_t end = std::min(top + lines, view.rows().size());
    for (std::size_t place = top; place < end; ++place) {
        const FlowRow& row = model.flows().rows()[view.rows()[place]];
        const ConversationKey& key = row.flow.key;
        const auto width_of_end = [&](bool is_local) {
            return display_width(end_words(key, is_local, unlimited, names, symbols));
        };
        widths.proto = std::max(widths.proto, protocol_name(key).size());
        widths.local = std::max(widths.local, width_of_end(true));
        const std::size_t detail = detail_words(key).size();
        widths.remote = std::max(widths.remote, width_of_end(false) + (detail > 0 ? detail + 1 : 0));
        widths.vlan = std::max(widths.vlan, vlan_words(key).size());
        widths.moves |= row.moves > 0;
        widths.agreement |= row.flow.prediction.has_value();
    }
    return widths;
}

void draw_flows(Canvas& canvas, const Layout& layout, const Drawing& drawing) {
    FlowLines(canvas, layout, drawing).draw();
}

std::optional<LiveSort> sort_at(const LiveModel& model, const UiState& ui, std::size_t width, std::size_t x) {
    const std::vector<std::size_t> widths = widths_of(model, ui, width);
    std::size_t at = left_margin;
    for (std::size_t column = 0; column < column_count; ++column) {
        if (widths[column] == 0) continue;
        if (x >= at && x < at + widths[column]) return headings()[column].sort;
        at += widths[column] + gap_of(width);
    }
    return std::nullopt;
}

} // namespace bondtrace
