// SPDX-License-Identifier: GPL-2.0-or-later
// The slaves: one a line, with rates, shares against what is expected, and the last minute.
#include "user/base/text.h"
#include "user/base/units.h"
#include "user/live/columns.h"
#include "user/live/header_panel.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace bondtrace {
namespace {

enum SlaveColumn : std::size_t {
    bond,
    name,
    state,
    speed,
    tx_rate,
    tx_share,
    rx_rate,
    rx_share,
    flows,
    errors,
    drops,
    minute,
    column_count
};

struct Heading {
    std::string_view title, short_title;
    bool right = false;
};

constexpr std::array<Heading, column_count> headings = {{
    {"bond", "bond", false},
    {"slave", "slave", false},
    {"state", "state", false},
    {"speed", "speed", true},
    {"TX bit/s", "TX", true},
    {"TX share", "TX", false},
    {"RX bit/s", "RX", true},
    {"RX share", "RX", false},
    {"flows", "flows", true},
    {"errors", "err", true},
    {"drops", "drop", true},
    {"last 60 s", "60 s", false},
}};

std::size_t gap_of(std::size_t width) {
    constexpr std::size_t wide = 110;
    return width >= wide ? 2 : 1;
}

struct Text {
    std::string text;
    Style style;
};

class SlaveLines {
  public:
    SlaveLines(Canvas& canvas, const Layout& layout, const Drawing& drawing)
        : canvas_(canvas), layout_(layout), drawing_(drawing),
          slaves_(shown_slaves(drawing.model, drawing.ui)) {
        fit();
    }

    void draw() {
        if (layout_.slaves.height == 0) return;
        draw_titles();
        const std::size_t lines = layout_.slave_lines();
        for (std::size_t line = 0; line < lines && line < slaves_.size(); ++line) {
            const std::size_t y = layout_.slaves.y + 1 + line;
            if (line + 1 == lines && line + 1 < slaves_.size()) { // no room for the rest
                canvas_.put(1, y, fmt::format("and {} more slaves", slaves_.size() - line), quiet);
                return;
            }
            draw_slave(y, slaves_[line]);
        }
    }

  private:
    [[nodiscard]] const SlaveReport& report_of(const SlavePlace& place) const {
        return drawing_.model.reading().report.bonds[place.bond].slaves[place.slave];
    }
    [[nodiscard]] const LiveSlave& live_of(const SlavePlace& place) const {
        return drawing_.model.bonds()[place.bond].slaves[place.slave];
    }

    // "active", "down", or what is wrong with its LACP.
    [[nodiscard]] Text state_of(const SlavePlace& place) const {
        const SlaveReport& report = report_of(place);
        const Bond& bond_state = drawing_.model.reading().bonds[place.bond].state;
        if (const Slave* slave = bond_state.find_slave(report.ifindex)) {
            const std::string trouble = lacp_trouble(bond_state, *slave);
            if (!trouble.empty()) return {trouble, alarm};
        }
        const bool bad = report.state == "down" || report.state == "gone";
        return {clean(report.state, drawing_.symbols), bad ? alarm : plain};
    }

    [[nodiscard]] Text text_of(SlaveColumn column, const SlavePlace& place) const {
        const SlaveReport& report = report_of(place);
        const LiveSlave& live = live_of(place);
        const auto rate = [&](const Rate& value) {
            return Text{short_rate(value, drawing_.ui.bytes), value.bytes > 0 ? plain : quiet};
        };
        const auto count = [](std::uint64_t value) {
            return Text{format_count(value), value > 0 ? alarm : quiet};
        };
        switch (column) {
        case bond:
            return {clean(drawing_.model.reading().report.bonds[place.bond].name, drawing_.symbols), quiet};
        case name:
            return {clean(report.name, drawing_.symbols), {.hue = slave_hue(place.slave), .bold = true}};
        case state:
            return state_of(place);
        case speed:
            if (!report.speed_mbps) return {std::string(drawing_.symbols.nothing), quiet};
            return {short_rate({0, static_cast<double>(*report.speed_mbps) * 1e6 / 8}, false), quiet};
        case tx_rate:
            return rate(live.tx);
        case rx_rate:
            return rate(live.rx);
        case flows: {
            const std::uint64_t value =
                drawing_.ui.view.direction == LiveDirection::rx ? live.rx_flows : live.tx_flows;
            return {format_count(value), plain};
        }
        case errors:
            return count(live.errors);
        case drops:
            return count(live.drops);
        default:
            return {};
        }
    }

    [[nodiscard]] std::size_t widest(SlaveColumn column) const {
        std::size_t width = 0;
        for (const SlavePlace& place : slaves_)
            width = std::max(width, display_width(text_of(column, place).text));
        return width;
    }

    void fit() {
        std::array<ColumnNeed, column_count> needs{};
        const auto text_column = [&](SlaveColumn column, std::size_t least, int priority) {
            const std::size_t wanted = std::max(widest(column), least);
            needs[column] = {least, wanted, 0, priority};
        };
        const bool several = !drawing_.ui.view.bond && drawing_.model.bonds().size() > 1;
        if (several) text_column(bond, std::min<std::size_t>(widest(bond), 6), 70);
        text_column(name, std::clamp<std::size_t>(widest(name), 5, 10), 100);
        text_column(state, std::clamp<std::size_t>(widest(state), 6, 12), 95);
        text_column(speed, 5, 45);
        needs[tx_rate] = {6, 8, 10, 90};
        needs[rx_rate] = {6, 8, 10, 80};
        needs[tx_share] = {12, 14, 26, 85};
        needs[rx_share] = {12, 14, 26, 75};
        text_column(flows, 5, 60);
        const bool any_errors = std::any_of(slaves_.begin(), slaves_.end(), [&](const SlavePlace& place) {
            return live_of(place).errors > 0;
        });
        const bool any_drops = std::any_of(slaves_.begin(), slaves_.end(),
                                           [&](const SlavePlace& place) { return live_of(place).drops > 0; });
        text_column(errors, 6, any_errors ? 72 : 40);
        text_column(drops, 5, any_drops ? 71 : 39);
        needs[minute] = {10, 20, History::seconds - 1, 55};
        widths_ = fit_columns(needs, canvas_.width() - 2, gap_of(canvas_.width()));
    }

    template<typename Each> void for_columns(Each each) const {
        std::size_t x = 1;
        for (std::size_t column = 0; column < column_count; ++column) {
            if (widths_[column] == 0) continue;
            each(static_cast<SlaveColumn>(column), x, widths_[column]);
            x += widths_[column] + gap_of(canvas_.width());
        }
    }

    void draw_titles() {
        draw_heading(canvas_, layout_.slaves.y, {});
        for_columns([&](SlaveColumn column, std::size_t x, std::size_t width) {
            std::string title(headings[column].title);
            if (drawing_.ui.bytes && (column == tx_rate || column == rx_rate))
                title = column == tx_rate ? "TX B/s" : "RX B/s";
            if (column == minute && drawing_.ui.view.direction != LiveDirection::both)
                title = drawing_.ui.view.direction == LiveDirection::tx ? "TX, last 60 s" : "RX, last 60 s";
            if (title.size() > width) title = headings[column].short_title;
            title.resize(std::min(title.size(), width));
            canvas_.put(headings[column].right ? x + width - title.size() : x, layout_.slaves.y, title,
                        {.hue = Hue::bar}, x + width);
        });
    }

    void draw_share(std::size_t x, std::size_t y, std::size_t width, const SlavePlace& place, bool received) {
        const LiveBondState& bond_state = drawing_.model.bonds()[place.bond];
        const LiveBalance& balance = received ? bond_state.rx_balance : bond_state.tx_balance;
        const std::optional<double> share = received ? live_of(place).rx_share : live_of(place).tx_share;
        constexpr std::size_t number = 5;
        const bool band = live_of(place).usable;
        const Pieces bar = share_bar(share.value_or(0), band ? balance.low : 0, band ? balance.high : 1,
                                     slave_hue(place.slave), width - number, drawing_.symbols);
        canvas_.put(x, y, bar, x + width);
        const std::string text = share ? short_share(*share) : std::string(drawing_.symbols.nothing);
        canvas_.put(x + width - display_width(text), y, text, share ? plain : quiet);
    }

    // All slaves of a bond on one scale.
    void draw_minute(std::size_t x, std::size_t y, std::size_t width, const SlavePlace& place) {
        double top = 0;
        std::vector<double> own;
        const std::vector<LiveSlave>& slaves = drawing_.model.bonds()[place.bond].slaves;
        for (std::size_t slave = 0; slave < slaves.size(); ++slave) {
            std::vector<double> parts = slaves[slave].tx_history.parts(width);
            const std::vector<double> received = slaves[slave].rx_history.parts(width);
            for (std::size_t i = 0; i < parts.size(); ++i) {
                if (drawing_.ui.view.direction == LiveDirection::rx) parts[i] = 0;
                if (drawing_.ui.view.direction != LiveDirection::tx) parts[i] += received[i];
                top = std::max(top, parts[i]);
            }
            if (slave == place.slave) own = std::move(parts);
        }
        canvas_.put(x, y, sparkline(own, top, drawing_.symbols), {.hue = slave_hue(place.slave)}, x + width);
    }

    void draw_slave(std::size_t y, const SlavePlace& place) {
        for_columns([&](SlaveColumn column, std::size_t x, std::size_t width) {
            if (column == tx_share || column == rx_share) {
                draw_share(x, y, width, place, column == rx_share);
            } else if (column == minute) {
                draw_minute(x, y, width, place);
            } else {
                const Text text = text_of(column, place);
                const std::string shown = shorten_end(text.text, width, drawing_.symbols.ellipsis);
                const std::size_t shift = headings[column].right ? width - display_width(shown) : 0;
                canvas_.put(x + shift, y, shown, text.style, x + width);
            }
        });
    }

    Canvas& canvas_;
    const Layout& layout_;
    const Drawing& drawing_;
    std::vector<SlavePlace> slaves_;
    std::vector<std::size_t> widths_;
};

} // namespace

void draw_slaves(Canvas& canvas, const Layout& layout, const Drawing& drawing) {
    SlaveLines(canvas, layout, drawing).draw();
}

} // namespace bondtrace
