// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/controller.h"

#include "user/base/text.h"
#include "user/base/units.h"
#include "user/live/flows_panel.h"
#include "user/live/line_editor.h"
#include "user/live/panes.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

namespace bondtrace {
namespace {

using std::chrono::milliseconds;

// Steps of + and -.
constexpr std::array intervals = {milliseconds(100),   milliseconds(200),   milliseconds(500),
                                  milliseconds(1000),  milliseconds(2000),  milliseconds(5000),
                                  milliseconds(10000), milliseconds(30000), milliseconds(60000)};

} // namespace

void Controller::say(std::string message, bool bad) {
    ui_.message = std::move(message);
    ui_.message_bad = bad;
}

void Controller::want_names(bool wanted) {
    ui_.names = wanted;
    ui_.widths = {}; // addresses and names need different room
}

void Controller::keep_in_view(std::size_t lines) {
    const std::size_t count = view_.rows().size();
    ui_.top = std::min(ui_.top, count > lines ? count - lines : 0);
    if (!ui_.selected || count == 0) return;
    if (ui_.selected_place < ui_.top) ui_.top = ui_.selected_place;
    if (ui_.selected_place >= ui_.top + lines) ui_.top = ui_.selected_place - lines + 1;
}

void Controller::refresh(const LiveModel& model, std::size_t height) {
    if (ui_.view.bond && *ui_.view.bond >= model.bonds().size()) ui_.view.bond.reset();
    view_.rebuild(model, ui_.view);
    if (ui_.selected) {
        if (const auto place = view_.place_of(model, *ui_.selected)) {
            ui_.selected_place = *place;
        } else { // it is idle, or filtered out: nothing else takes its place by itself
            ui_.selected.reset();
            if (ui_.pane == Pane::detail) ui_.pane = Pane::none;
        }
    }
    const std::size_t lines = std::max<std::size_t>(lay_out(model, ui_, height).flows.height, 1);
    keep_in_view(lines);
    ui_.widths.grow(flow_widths(model, view_, ui_.names ? names_ : nullptr, ui_.top, lines));
}

Action Controller::press(const Key& key, const LiveModel& model, std::size_t width, std::size_t height) {
    width = std::max(width, least_width);
    height = std::max(height, least_height);
    ui_.message.clear();
    Action action = Action::none;
    switch (ui_.overlay) {
    case Overlay::help:
        press_in_help(key);
        break;
    case Overlay::sort_menu:
        press_in_menu(key);
        break;
    case Overlay::filter:
        press_in_filter(key, model);
        break;
    case Overlay::none:
        action = press_in_table(key, model, width, height);
        break;
    }
    refresh(model, height);
    const Symbols symbols;
    const Drawing drawing{.model = model, .view = view_, .ui = ui_, .symbols = symbols, .replay = {}};
    ui_.pane_top = std::min(ui_.pane_top, last_pane_top(lay_out(model, ui_, height), drawing, width));
    ui_.help_top = std::min(ui_.help_top, last_help_top(replay_, height));
    return action;
}

void Controller::press_in_help(const Key& key) {
    switch (key.code) {
    case Key::Code::up:
    case Key::Code::wheel_up:
        if (ui_.help_top > 0) --ui_.help_top;
        return;
    case Key::Code::down:
    case Key::Code::wheel_down:
        ++ui_.help_top;
        return;
    case Key::Code::page_up:
        ui_.help_top -= std::min<std::size_t>(ui_.help_top, 10);
        return;
    case Key::Code::page_down:
        ui_.help_top += 10;
        return;
    default:
        ui_.overlay = Overlay::none;
        ui_.help_top = 0;
    }
}

void Controller::press_in_menu(const Key& key) {
    const bool up = key.code == Key::Code::up || key.code == Key::Code::wheel_up ||
                    (key.code == Key::Code::character && key.symbol == 'k');
    const bool down = key.code == Key::Code::down || key.code == Key::Code::wheel_down ||
                      (key.code == Key::Code::character && key.symbol == 'j');
    if (up) {
        ui_.menu_place = (ui_.menu_place + live_sorts.size() - 1) % live_sorts.size();
    } else if (down) {
        ui_.menu_place = (ui_.menu_place + 1) % live_sorts.size();
    } else {
        if (key.code == Key::Code::enter || (key.code == Key::Code::character && key.symbol == ' '))
            ui_.view.sort = live_sorts[ui_.menu_place].sort;
        ui_.overlay = Overlay::none;
    }
}

void Controller::accept_filter(const LiveModel& model) {
    Filter filter;
    if (ui_.input.find_first_not_of(' ') != std::string::npos) {
        auto parsed = parse_filter(ui_.input);
        std::vector<std::string> bonds, slaves;
        for (const BondReport& bond : model.reading().report.bonds) {
            bonds.push_back(bond.name);
            for (const SlaveReport& slave : bond.slaves)
                slaves.push_back(slave.name);
        }
        if (parsed)
            if (const auto named = check_names(*parsed, bonds, slaves); !named)
                parsed = tl::make_unexpected(named.error());
        if (!parsed) {
            ui_.input_error = parsed.error().what;
            if (!parsed.error().advice.empty()) ui_.input_error += "\n" + parsed.error().advice;
            return;
        }
        filter = std::move(*parsed);
    }
    ui_.view.filter = std::move(filter);
    ui_.filter_text = ui_.input.find_first_not_of(' ') == std::string::npos ? "" : ui_.input;
    ui_.input_error.clear();
    ui_.overlay = Overlay::none;
    ui_.top = 0;
    ui_.widths = {};
}

void Controller::press_in_filter(const Key& key, const LiveModel& model) {
    if (key.code == Key::Code::enter) {
        accept_filter(model);
    } else if (key.code == Key::Code::escape || is_control(key, 'G')) {
        ui_.overlay = Overlay::none;
        ui_.input_error.clear();
    } else {
        ui_.input_error.clear();
        edit_line(ui_.input, ui_.cursor, key);
    }
}

void Controller::move_selection(const LiveModel& model, std::ptrdiff_t by) {
    const std::size_t count = view_.rows().size();
    if (count == 0) return;
    std::ptrdiff_t place = static_cast<std::ptrdiff_t>(ui_.selected_place) + by;
    if (!ui_.selected) place = static_cast<std::ptrdiff_t>(ui_.top) + (by == 1 || by == -1 ? 0 : by);
    place = std::clamp<std::ptrdiff_t>(place, 0, static_cast<std::ptrdiff_t>(count) - 1);
    ui_.selected_place = static_cast<std::size_t>(place);
    ui_.selected = model.flows().rows()[view_.rows()[ui_.selected_place]].id;
    ui_.pane_top = ui_.pane == Pane::detail ? 0 : ui_.pane_top;
}

void Controller::next_sort(std::ptrdiff_t by) {
    const auto count = static_cast<std::ptrdiff_t>(live_sorts.size());
    const auto place = (static_cast<std::ptrdiff_t>(ui_.view.sort) + by + count) % count;
    ui_.view.sort = live_sorts[static_cast<std::size_t>(place)].sort;
    say(fmt::format("sorted by {}", live_sorts[static_cast<std::size_t>(place)].meaning));
}

void Controller::next_bond(const LiveModel& model) {
    const std::size_t count = model.bonds().size();
    if (count < 2) {
        say("there is only this bond");
        return;
    }
    if (!ui_.view.bond)
        ui_.view.bond = 0;
    else if (*ui_.view.bond + 1 < count)
        ++*ui_.view.bond;
    else
        ui_.view.bond.reset();
    ui_.top = 0;
    ui_.widths = {};
}

void Controller::change_interval(bool longer) {
    if (longer) {
        const auto* const next = std::upper_bound(intervals.begin(), intervals.end(), ui_.interval);
        if (next != intervals.end()) ui_.interval = *next;
    } else {
        const auto* const here = std::lower_bound(intervals.begin(), intervals.end(), ui_.interval);
        if (here != intervals.begin()) ui_.interval = *std::prev(here);
    }
    say(fmt::format("a reading every {}", format_duration(ui_.interval)));
}

void Controller::click(const Key& key, const LiveModel& model, std::size_t width, std::size_t height) {
    const Layout layout = lay_out(model, ui_, height);
    if (key.y == layout.heading) {
        const auto sort = sort_at(model, ui_, width, key.x);
        if (!sort) return;
        if (*sort == ui_.view.sort)
            ui_.view.reverse = !ui_.view.reverse;
        else
            ui_.view.sort = *sort, ui_.view.reverse = false;
        return;
    }
    if (!layout.flows.contains(key.y)) return;
    const std::size_t place = ui_.top + key.y - layout.flows.y;
    if (place >= view_.rows().size()) return;
    const std::uint64_t id = model.flows().rows()[view_.rows()[place]].id;
    // A second click opens, as Enter does.
    if (ui_.selected == id) ui_.pane = ui_.pane == Pane::detail ? Pane::none : Pane::detail;
    ui_.selected = id;
    ui_.selected_place = place;
}

Action Controller::press_in_table(const Key& key, const LiveModel& model, std::size_t width,
                                  std::size_t height) {
    const std::size_t lines = std::max<std::size_t>(lay_out(model, ui_, height).flows.height, 1);
    const auto page = static_cast<std::ptrdiff_t>(lines);
    constexpr std::ptrdiff_t all = 1 << 30;
    constexpr std::ptrdiff_t wheel = 3;
    switch (key.code) {
    case Key::Code::up:
        move_selection(model, -1);
        break;
    case Key::Code::down:
        move_selection(model, 1);
        break;
    case Key::Code::page_up:
        move_selection(model, -page);
        break;
    case Key::Code::page_down:
        move_selection(model, page);
        break;
    case Key::Code::home:
        move_selection(model, -all);
        break;
    case Key::Code::end:
        move_selection(model, all);
        break;
    case Key::Code::wheel_up:
        if (ui_.selected)
            move_selection(model, -wheel);
        else
            ui_.top -= std::min<std::size_t>(ui_.top, wheel);
        break;
    case Key::Code::wheel_down:
        if (ui_.selected)
            move_selection(model, wheel);
        else
            ui_.top += wheel; // refresh() sees to the end
        break;
    case Key::Code::enter:
        if (!ui_.selected) move_selection(model, 1);
        ui_.pane_top = 0;
        ui_.pane = ui_.pane == Pane::detail || !ui_.selected ? Pane::none : Pane::detail;
        break;
    case Key::Code::escape: // one thing at a time
        if (ui_.pane != Pane::none)
            ui_.pane = Pane::none;
        else
            ui_.selected.reset();
        break;
    case Key::Code::right:
        return replay_ ? Action::step_forward : Action::none;
    case Key::Code::left:
        return replay_ ? Action::step_back : Action::none;
    case Key::Code::click:
        click(key, model, width, height);
        break;
    case Key::Code::character:
        return press_letter(key.symbol, model);
    default:
        break;
    }
    return Action::none;
}

Action Controller::press_letter(char32_t letter, const LiveModel& model) {
    switch (letter) {
    case 'q':
    case 'Q':
        return Action::quit;
    case 'j':
        move_selection(model, 1);
        break;
    case 'k':
        move_selection(model, -1);
        break;
    case 'J':
        ui_.pane_top += 3;
        break;
    case 'K':
        ui_.pane_top -= std::min<std::size_t>(ui_.pane_top, 3);
        break;
    case 'g':
        move_selection(model, -(1 << 30));
        break;
    case 'G':
        move_selection(model, 1 << 30);
        break;
    case 's':
        ui_.overlay = Overlay::sort_menu;
        ui_.menu_place = static_cast<std::size_t>(ui_.view.sort);
        break;
    case '<':
        next_sort(-1);
        break;
    case '>':
        next_sort(1);
        break;
    case 'r':
        ui_.view.reverse = !ui_.view.reverse;
        break;
    case '/':
        ui_.overlay = Overlay::filter;
        ui_.input = ui_.filter_text;
        ui_.cursor = ui_.input.size();
        ui_.input_error.clear();
        break;
    case 'b':
        next_bond(model);
        break;
    case 'd': {
        constexpr std::array words = {"both directions", "sending only", "receiving only"};
        const auto next = (static_cast<unsigned>(ui_.view.direction) + 1) % words.size();
        ui_.view.direction = static_cast<LiveDirection>(next);
        say(fmt::format("order and history: {}", words[next]));
        break;
    }
    case 'u':
        ui_.bytes = !ui_.bytes;
        break;
    case 'n':
        want_names(!ui_.names);
        return Action::names_changed;
    case 'e':
        ui_.pane = ui_.pane == Pane::events ? Pane::none : Pane::events;
        ui_.pane_top = 0;
        break;
    case 'p':
    case ' ':
        ui_.paused = !ui_.paused;
        break;
    case '+':
    case '=':
        change_interval(true);
        return Action::interval_changed;
    case '-':
        change_interval(false);
        return Action::interval_changed;
    case 'w':
        return Action::write_snapshot;
    case 'h':
    case '?':
        ui_.overlay = Overlay::help;
        break;
    case '.':
        return replay_ ? Action::step_forward : Action::none;
    case ',':
        return replay_ ? Action::step_back : Action::none;
    default:
        break;
    }
    return Action::none;
}

} // namespace bondtrace
