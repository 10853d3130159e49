// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/header_panel.h"

#include "user/base/text.h"
#include "user/base/units.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// Something that is shown when there is room; the lower, the sooner it goes.
struct Item {
    Pieces pieces;
    int priority = 0;
};

// Puts items side by side, leaving out those of low priority, and returns the column behind them.
std::size_t put_items(Canvas& canvas, std::size_t x, std::size_t y, std::size_t end,
                      std::vector<Item> items) {
    constexpr std::size_t gap = 2;
    const auto width_of = [&] {
        std::size_t width = 0;
        for (const Item& item : items)
            width += display_width(item.pieces) + gap;
        return width > 0 ? width - gap : 0;
    };
    while (!items.empty() && x + width_of() > end)
        items.erase(std::min_element(items.begin(), items.end(),
                                     [](const Item& a, const Item& b) { return a.priority < b.priority; }));
    for (const Item& item : items)
        x = canvas.put(x, y, item.pieces, end) + gap;
    return x;
}

std::string cost_words(const LiveCost& cost, bool with_words) {
    const std::string cpu = cost.cpu < 0.0005 ? "<0.1" : fmt::format("{:.1f}", cost.cpu * 100);
    return with_words ? fmt::format("{:.0f} ns/packet, {} % CPU", cost.ns_per_packet, cpu)
                      : fmt::format("{:.0f} ns, {} %", cost.ns_per_packet, cpu);
}

// The time of day within an RFC 3339 time.
std::string clock_of(const std::string& time) {
    const std::size_t at = time.find('T');
    return at == std::string::npos || time.size() < at + 9 ? time : time.substr(at + 1, 8) + "Z";
}

Style style_of(Weight weight) {
    return weight == Weight::good ? good : weight == Weight::bad ? alarm : plain;
}

Style style_of(BalanceWord word) {
    if (word == BalanceWord::balanced) return good;
    return word == BalanceWord::uneven ? alarm : plain;
}

} // namespace

void draw_title(Canvas& canvas, const Drawing& drawing) {
    constexpr Style bar{.hue = Hue::bar}, bold_bar{.hue = Hue::bar, .bold = true};
    const LiveModel& model = drawing.model;
    const LiveReading& reading = model.reading();
    canvas.fill(0, 0, canvas.width(), 1, bar);

    std::string state = clock_of(reading.report.header.time);
    Style state_style = bar;
    if (drawing.replay)
        state = fmt::format("replay {}/{}  {}", drawing.replay->number, drawing.replay->count, state);
    if (drawing.ui.paused) {
        state = fmt::format("PAUSED  {}", state);
        state_style = {.hue = Hue::alarm, .bold = true, .reverse = true};
    }
    state = clean(state, drawing.symbols);
    const std::size_t state_width = display_width(state);
    const std::size_t right = canvas.width() > state_width + 1 ? canvas.width() - state_width - 1 : 0;
    canvas.put(right, 0, state, state_style);

    std::vector<Item> items;
    items.push_back({{{"bondtrace", bold_bar}}, 100});
    items.push_back({{{clean(reading.host, drawing.symbols), bar}}, 50});
    items.push_back({{{"kernel " + clean(reading.report.header.kernel, drawing.symbols), bar}}, 20});
    items.push_back({{{clean(reading.report.header.attach, drawing.symbols), bar}}, 60});
    if (const auto cost = model.cost()) {
        const bool wide = canvas.width() >= 100;
        items.push_back({{{cost_words(*cost, wide), bar}}, 55});
    }
    if (const auto coverage = model.coverage())
        items.push_back({{{fmt::format("coverage {}", coverage_words(*coverage)),
                           *coverage == 1.0 ? bar : Style{.hue = Hue::alarm, .bold = true, .reverse = true}}},
                         80});
    if (const std::uint64_t lost = model.lost(); lost > 0)
        items.push_back({{{fmt::format("{} lost", format_count(lost)),
                           {.hue = Hue::alarm, .bold = true, .reverse = true}}},
                         90});
    else
        items.push_back({{{"nothing lost", bar}}, 30});
    put_items(canvas, 1, 0, right > 1 ? right - 1 : 0, std::move(items));
}

std::string balance_words(const LiveModel& model, std::size_t bond, const LiveBalance& balance,
                          bool with_band) {
    std::string text(short_word(balance.word));
    if (text.empty() || balance.largest <= 0) return text;
    text += fmt::format(" {}", short_share(balance.largest));
    if (!with_band) return text;
    const LiveBondState& state = model.bonds()[bond];
    if (balance.largest_slave < state.balanced.size()) {
        const int ifindex = state.slaves[state.balanced[balance.largest_slave]].ifindex;
        text += fmt::format(" on {}", slave_name(model.reading().report.bonds[bond], ifindex));
    }
    if (balance.low <= 0 && balance.high >= 1) return text;
    return text + fmt::format(" ({}-{} expected)", std::lround(balance.low * 100), short_share(balance.high));
}

void draw_bonds(Canvas& canvas, const Layout& layout, const Drawing& drawing) {
    const LiveModel& model = drawing.model;
    const std::vector<std::size_t> bonds = shown_bonds(model, drawing.ui);
    for (std::size_t line = 0; line < layout.bonds.height && line < bonds.size(); ++line) {
        const std::size_t index = bonds[line];
        const std::size_t y = layout.bonds.y + line;
        if (line + 1 == layout.bonds.height && line + 1 < bonds.size()) { // no room for the rest
            canvas.put(1, y, fmt::format("and {} more bonds (b: one at a time)", bonds.size() - line), quiet);
            return;
        }
        const BondReport& report = model.reading().report.bonds[index];
        const LiveBondState& state = model.bonds()[index];
        std::vector<Item> items;
        items.push_back({{{clean(report.name, drawing.symbols), strong}}, 100});
        if (!report.netns.empty())
            items.push_back({{{fmt::format("in {}", clean(report.netns, drawing.symbols)), quiet}}, 10});
        items.push_back({{{std::string(mode_words(report)), plain}}, 60});
        if (report.policy_used) items.push_back({{{std::string(to_text(report.policy)), plain}}, 50});
        if (report.removed) items.push_back({{{"removed", alarm}}, 99});
        if (!report.removed && !state.lacp.word.empty())
            items.push_back({{{"LACP ", quiet}, {state.lacp.word, style_of(state.lacp.weight)}}, 90});
        const bool wide = canvas.width() >= 110;
        const auto add_balance = [&](const char* direction, const LiveBalance& balance, int priority) {
            const std::string words = clean(balance_words(model, index, balance, wide), drawing.symbols);
            if (!words.empty())
                items.push_back({{{direction, quiet}, {words, style_of(balance.word)}}, priority});
        };
        if (state.as_predicted < state.predicted)
            items.push_back({{{fmt::format("{} of {} flows not as predicted",
                                           format_count(state.predicted - state.as_predicted),
                                           format_count(state.predicted)),
                               alarm}},
                             95});
        else if (wide && state.predicted > 0)
            items.push_back({{{"hash ", quiet}, {"as predicted", good}}, 15});
        add_balance("TX ", state.tx_balance, 85);
        add_balance("RX ", state.rx_balance, 80);
        put_items(canvas, 1, y, canvas.width(), std::move(items));
    }
}

} // namespace bondtrace
