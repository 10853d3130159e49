// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/panes.h"

#include "user/base/text.h"
#include "user/report/flow_words.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace bondtrace {
namespace {

struct KeyHelp {
    std::string_view keys, meaning;
};

constexpr std::array table_help = {
    KeyHelp{"up down j k", "select; the selection follows the flow"},
    KeyHelp{"PgUp PgDn g G", "a page, the first, the last"},
    KeyHelp{"Enter", "its slaves, the hash, other ports"},
    KeyHelp{"Esc", "close what is open, then select none"},
    KeyHelp{"s  < >", "sort menu, next column to sort by"},
    KeyHelp{"r", "reverse the order"},
    KeyHelp{"/", "filter: port 443 and slave eth0, moved ..."},
    KeyHelp{"d", "sort by both directions, TX, RX"},
    KeyHelp{"b", "next bond, or all of them"},
    KeyHelp{"e", "events: slaves, aggregators, moves"},
    KeyHelp{"J K", "scroll the detail or the events"},
    KeyHelp{"u", "bits or bytes a second"},
    KeyHelp{"n", "names or addresses of hosts"},
    KeyHelp{"p Space", "pause; counting goes on"},
    KeyHelp{"+ -", "longer, shorter interval"},
    KeyHelp{"w", "write what is known to a JSON file here"},
    KeyHelp{"h ?", "this help"},
    KeyHelp{"q Ctrl-C", "quit"},
    KeyHelp{"mouse", "wheel, click: select, open, sort"},
};
constexpr std::array replay_help = {
    KeyHelp{"right .", "one reading forward"},
    KeyHelp{"left ,", "one reading back"},
};
constexpr std::array<std::string_view, 7> explanation = {
    "Bars are shares of the last seconds. Ticks: where 95 % of",
    "them would lie if chance threw these flows at the slaves.",
    "Rates are those on the wire. Idle: nothing for 30 s.",
    "A flow that has just changed its sending slave is marked",
    "for 5 s. Coverage: traced frames against the slaves' own",
    "counters. Cost: of tracing, as the kernel measures it,",
    "which itself is a part of it.",
};

// Breaks a line between words; what follows is indented.
void add_wrapped(std::vector<Pieces>& lines, const Pieces& line, std::size_t width) {
    constexpr std::size_t indent = 3;
    Pieces current;
    std::size_t column = 0;
    for (const Piece& piece : line) {
        std::string_view rest = piece.text;
        while (!rest.empty()) {
            const std::size_t word_end = std::min(rest.find(' ', rest.find_first_not_of(' ')), rest.size());
            std::string_view word = rest.substr(0, word_end);
            rest.remove_prefix(word_end);
            if (column > indent && column + display_width(word) > width) {
                lines.push_back(std::move(current));
                current = {{std::string(indent, ' '), plain}};
                column = indent;
                word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
            }
            column += display_width(word);
            current.push_back({std::string(word), piece.style});
        }
    }
    lines.push_back(std::move(current));
}

// Scrolls a list of lines into an area below its heading; returns how many lines are above the first shown.
std::size_t put_lines(Canvas& canvas, const Area& area, const std::vector<Pieces>& lines, std::size_t top) {
    top = std::min(top, lines.size() > area.height ? lines.size() - area.height : 0);
    for (std::size_t line = 0; line < area.height && top + line < lines.size(); ++line)
        canvas.put(1, area.y + line, lines[top + line], canvas.width() - 1);
    return top;
}

struct Frame {
    std::size_t x = 0, y = 0, width = 0, height = 0; // inside
};

// An empty box in the middle of the screen with a title line.
Frame draw_box(Canvas& canvas, std::size_t width, std::size_t height, std::string_view title) {
    width = std::min(width + 2, canvas.width());
    height = std::min(height + 1, canvas.height());
    const std::size_t x = (canvas.width() - width) / 2, y = (canvas.height() - height) / 2;
    canvas.fill(x, y, width, height);
    canvas.fill(x, y, width, 1, {.hue = Hue::bar});
    canvas.put(x + 1, y, title, {.hue = Hue::bar, .bold = true}, x + width);
    return {x + 1, y + 1, width - 2, height - 1};
}

void draw_menu(Canvas& canvas, const Drawing& drawing) {
    constexpr std::size_t width = 54;
    const Frame frame = draw_box(canvas, width, live_sorts.size(), "sort by (up, down, Enter)");
    const std::size_t place = drawing.ui.menu_place;
    const std::size_t top = place >= frame.height ? place - frame.height + 1 : 0;
    for (std::size_t line = 0; line < frame.height && top + line < live_sorts.size(); ++line) {
        const NamedSort& sort = live_sorts[top + line];
        const std::size_t y = frame.y + line;
        canvas.put(frame.x + 1, y, sort.name, key_style, frame.x + frame.width);
        canvas.put(frame.x + 11, y, sort.meaning, plain, frame.x + frame.width);
        if (sort.sort == drawing.ui.view.sort) canvas.put(frame.x, y, drawing.symbols.dot, key_style);
        if (top + line == place)
            canvas.restyle(frame.x - 1, y, frame.width + 2, {.bold = true, .reverse = true});
    }
}

void draw_help(Canvas& canvas, const Drawing& drawing) {
    const std::vector<Pieces> lines = help_lines(drawing.replay.has_value());
    canvas.fill(0, 0, canvas.width(), canvas.height());
    draw_heading(canvas, 0, {{"bondtrace: keys", {.hue = Hue::bar, .bold = true}}});
    const Area area{1, canvas.height() - 2};
    const std::size_t top = put_lines(canvas, area, lines, drawing.ui.help_top);
    canvas.put(1, canvas.height() - 1, top + area.height < lines.size() ? "down: more" : "any key closes",
               key_style);
}

// What is in the open pane, broken into lines.
struct PaneText {
    Pieces heading;
    std::vector<Pieces> lines;
};

PaneText pane_text(const Drawing& drawing, std::size_t width) {
    PaneText text;
    std::vector<Pieces> lines;
    constexpr Style title{.hue = Hue::bar, .bold = true};
    if (drawing.ui.pane == Pane::events) {
        text.heading = {{fmt::format("events: {}", drawing.model.events().total()), title}};
        lines = event_lines(drawing);
    } else if (drawing.ui.pane == Pane::detail) {
        const auto& rows = drawing.model.flows().rows();
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const FlowRow& candidate) {
            return candidate.id == drawing.ui.selected;
        });
        if (row == rows.end()) return text;
        text.heading = {{clean(flow_words(row->flow.key), drawing.symbols), title}};
        lines = detail_lines(drawing, *row);
    }
    for (const Pieces& line : lines)
        add_wrapped(text.lines, line, width - 2);
    return text;
}

struct Hint {
    std::string_view key, meaning;
};

void draw_hints(Canvas& canvas, std::size_t y, const Drawing& drawing) {
    constexpr std::array hints = {Hint{"h", "help"},  Hint{"q", "quit"},       Hint{"/", "filter"},
                                  Hint{"s", "sort"},  Hint{"Enter", "detail"}, Hint{"e", "events"},
                                  Hint{"p", "pause"}, Hint{"d", "direction"},  Hint{"u", "bytes"},
                                  Hint{"n", "names"}, Hint{"r", "reverse"},    Hint{"b", "bond"},
                                  Hint{"w", "write"}, Hint{"+-", "interval"}};
    constexpr std::array replay_hints = {Hint{"<- ->", "step"}, Hint{"Space", "play or pause"}};
    std::size_t x = 1;
    const auto put = [&](const Hint& hint) {
        if (x + hint.key.size() + 1 + hint.meaning.size() > canvas.width()) return;
        x = canvas.put(x, y, hint.key, key_style) + 1;
        x = canvas.put(x, y, hint.meaning, quiet) + 2;
    };
    if (drawing.replay)
        for (const Hint& hint : replay_hints)
            put(hint);
    for (const Hint& hint : hints)
        put(hint);
}

} // namespace

std::vector<Pieces> event_lines(const Drawing& drawing) {
    std::vector<Pieces> lines;
    const auto& events = drawing.model.events().events();
    const std::uint64_t now = drawing.model.reading().time_ns;
    const bool several = drawing.model.bonds().size() > 1;
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
        const std::size_t at = event->time.find('T');
        const std::string time = at != std::string::npos && event->time.size() >= at + 9
                                     ? event->time.substr(at + 1, 8)
                                     : event->time;
        const Style style = event->kind == EventKind::bad    ? alarm
                            : event->kind == EventKind::good ? good
                                                             : plain;
        std::string age = short_age(now > event->time_ns ? now - event->time_ns : 0) + " ago";
        Pieces line{{fmt::format("{}  {:>9}  ", clean(time, drawing.symbols), age), quiet}};
        if (several) line.push_back({clean(event->bond, drawing.symbols) + "  ", strong});
        line.push_back({clean(event->text, drawing.symbols), style});
        lines.push_back(std::move(line));
    }
    if (lines.empty()) lines.push_back({{"nothing has happened since the start", quiet}});
    return lines;
}

std::vector<Pieces> help_lines(bool replay) {
    std::vector<Pieces> lines;
    const auto add = [&](const KeyHelp& help) {
        lines.push_back({{fmt::format("{:<14}", help.keys), key_style}, {std::string(help.meaning), plain}});
    };
    if (replay)
        for (const KeyHelp& help : replay_help)
            add(help);
    for (const KeyHelp& help : table_help)
        add(help);
    lines.push_back({});
    for (const std::string_view line : explanation)
        lines.push_back({{std::string(line), quiet}});
    return lines;
}

std::size_t last_pane_top(const Layout& layout, const Drawing& drawing, std::size_t width) {
    const PaneText text = pane_text(drawing, width);
    const std::size_t room = layout.pane.height > 0 ? layout.pane.height - 1 : 0;
    return text.lines.size() > room ? text.lines.size() - room : 0;
}

std::size_t last_help_top(bool replay, std::size_t height) {
    const std::size_t lines = help_lines(replay).size(), room = height - 2;
    return lines > room ? lines - room : 0;
}

void draw_pane(Canvas& canvas, const Layout& layout, const Drawing& drawing) {
    if (layout.pane.height == 0) return;
    PaneText text = pane_text(drawing, canvas.width());
    const Area area{layout.pane.y + 1, layout.pane.height - 1};
    if (text.lines.size() > area.height) text.heading.push_back({"  (J, K: scroll)", {.hue = Hue::bar}});
    canvas.fill(0, layout.pane.y, canvas.width(), layout.pane.height);
    draw_heading(canvas, layout.pane.y, text.heading);
    put_lines(canvas, area, text.lines, drawing.ui.pane_top);
}

void draw_overlay(Canvas& canvas, const Drawing& drawing) {
    if (drawing.ui.overlay == Overlay::help) draw_help(canvas, drawing);
    if (drawing.ui.overlay == Overlay::sort_menu) draw_menu(canvas, drawing);
}

std::optional<Cursor> draw_footer(Canvas& canvas, const Layout& layout, const Drawing& drawing) {
    const UiState& ui = drawing.ui;
    const std::size_t y = layout.footer;
    if (ui.overlay == Overlay::help) return std::nullopt; // it has a line of its own
    if (ui.overlay == Overlay::filter) {
        constexpr std::string_view prompt = "filter: ";
        canvas.fill(0, y, canvas.width(), 1);
        canvas.put(1, y, prompt, key_style);
        // The end of a long one stays in sight.
        const std::size_t room = canvas.width() - prompt.size() - 2;
        const std::size_t before = display_width(std::string_view(ui.input).substr(0, ui.cursor));
        std::string_view shown = ui.input;
        std::size_t skipped = 0;
        while (before - skipped > room && !shown.empty()) {
            const CodePoint point = first_code_point(shown);
            skipped += display_width(shown.substr(0, point.length));
            shown.remove_prefix(point.length);
        }
        canvas.put(1 + prompt.size(), y, clean(shown, drawing.symbols), plain);
        std::size_t line = 0;
        std::size_t lines =
            1 + static_cast<std::size_t>(std::count(ui.input_error.begin(), ui.input_error.end(), '\n'));
        std::string_view rest = ui.input_error;
        while (!rest.empty() && line < lines && lines < y) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            const std::size_t at = y - lines + line;
            canvas.fill(0, at, canvas.width(), 1);
            canvas.put(1, at, clean(rest.substr(0, end), drawing.symbols), alarm);
            rest.remove_prefix(std::min(end + 1, rest.size()));
            ++line;
        }
        return Cursor{1 + prompt.size() + before - skipped, y};
    }
    if (!ui.message.empty())
        canvas.put(1, y, clean(ui.message, drawing.symbols), ui.message_bad ? alarm : strong);
    else
        draw_hints(canvas, y, drawing);
    return std::nullopt;
}

} // namespace bondtrace
