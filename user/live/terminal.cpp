// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/terminal.h"

#include "user/live/terminal_guard.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#define NCURSES_NOMACROS 1
#include <curses.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

namespace bondtrace {
namespace {

// What a hue is on terminals of different abilities: foreground and background, -1 the terminal's own.
struct Paint {
    int rgb, cube, basic; // foreground of 24 bits, 256 colours, 8 colours
    int back_rgb = -1, back_cube = -1;
    attr_t basic_attributes = 0; // what helps where there are few colours, or none
};

// The slaves' colours are those of Okabe and Ito ("Color Universal Design", 2008), which people with any
// colour vision tell apart; in the cube of 256 the same as in every other output (report/text_style.cpp).
constexpr std::array<Paint, hue_count> paints = {{
    {-1, -1, -1},
    {0xe69f00, 214, COLOR_YELLOW},
    {0x56b4e9, 74, COLOR_CYAN},
    {0x009e73, 36, COLOR_GREEN},
    {0xcc79a7, 175, COLOR_MAGENTA},
    {0xf0e442, 227, COLOR_WHITE},
    {0xd55e00, 166, COLOR_RED},
    {0x0072b2, 32, COLOR_BLUE},
    {0x999999, 145, -1},
    {0x009e73, 36, COLOR_GREEN},
    {0xd55e00, 166, COLOR_RED, -1, -1, A_BOLD},
    {0x56b4e9, 117, COLOR_CYAN},
    {0x8a8a8a, 245, -1, -1, -1, A_DIM},
    {0xd0d0d0, 252, -1, 0x303030, 237, A_REVERSE},
}};

// Switched on by ncurses, and off again by it, but not in a crash.
constexpr std::string_view mouse_off = "\x1b[?1006l\x1b[?1000l";

// A capability's string without its padding, which a crash has no time for.
std::string capability(const char* name) {
    const char* value = tigetstr(name);
    if (!value || reinterpret_cast<std::intptr_t>(value) == -1) return {}; // as terminfo(3) says it
    std::string text(value);
    for (std::size_t at = text.find("$<"); at != std::string::npos; at = text.find("$<", at)) {
        const std::size_t end = text.find('>', at);
        if (end == std::string::npos) break;
        text.erase(at, end - at + 1);
    }
    return text;
}

struct ScreenDelete {
    void operator()(SCREEN* screen) const {
        endwin();
        // ncurses shows the cursor before it leaves the screen of its own; some terminals keep that with the
        // screen.
        const std::string show = capability("cnorm");
        // Should the terminal have gone away, there is nobody to be told.
        [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, show.data(), show.size());
        delscreen(screen);
    }
};

constexpr int escape_delay_ms = 25; // of a lone Esc: the rest of a key's sequence comes at once

} // namespace

struct Terminal::State {
    std::optional<TerminalGuard> guard; // outlives the screen
    std::unique_ptr<SCREEN, ScreenDelete> screen;
    bool colour = false;
    bool basic = true; // fewer than 256 colours
    std::optional<Canvas> shown;

    void set_colours();
    [[nodiscard]] attr_t attributes(const Style& style) const;
    void put(std::size_t x, std::size_t y, const Glyph& glyph) const;
};

void Terminal::State::set_colours() {
    if (!colour || has_colors() == FALSE || start_color() == ERR) {
        colour = false;
        return;
    }
    use_default_colors();
    const bool direct = tigetflag("RGB") > 0 || COLORS >= (1 << 24);
    basic = !direct && COLORS < 256;
    for (std::size_t hue = 0; hue < paints.size(); ++hue) {
        const Paint& paint = paints[hue];
        const int front = direct ? paint.rgb : basic ? paint.basic : paint.cube;
        const int back = direct ? paint.back_rgb : basic ? -1 : paint.back_cube;
        if (hue > 0) init_extended_pair(static_cast<int>(hue), front, back);
    }
}

attr_t Terminal::State::attributes(const Style& style) const {
    attr_t attributes = A_NORMAL;
    if (style.bold) attributes |= A_BOLD;
    if (style.reverse) attributes |= A_REVERSE;
    if (style.underline) attributes |= A_UNDERLINE;
    if (!colour || basic) attributes |= paints[static_cast<std::size_t>(style.hue)].basic_attributes;
    return attributes;
}

void Terminal::State::put(std::size_t x, std::size_t y, const Glyph& glyph) const {
    if (glyph.symbol == 0) return; // drawn with its left half
    const std::array<wchar_t, 2> text = {static_cast<wchar_t>(glyph.symbol), L'\0'};
    const int pair = colour ? static_cast<int>(glyph.style.hue) : 0;
    cchar_t cell;
    if (setcchar(&cell, text.data(), attributes(glyph.style), 0, &pair) == ERR) return;
    // The last cell of the screen gives an error although it is drawn.
    mvadd_wch(static_cast<int>(y), static_cast<int>(x), &cell);
}

Terminal::Terminal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Terminal::Terminal(Terminal&&) noexcept = default;
Terminal& Terminal::operator=(Terminal&&) noexcept = default;
Terminal::~Terminal() = default;

Result<Terminal> Terminal::open(bool colour) {
    const char* const name = std::getenv("TERM");
    const std::string shown_name = name ? name : "";
    int status = 0;
    // newterm() would end the program for some terminals it does not know.
    if (setupterm(name ? name : "dumb", STDOUT_FILENO, &status) == ERR || capability("cup").empty())
        return fail(ErrorKind::unavailable,
                    fmt::format("the terminal \"{}\" ($TERM) is not known, or cannot move its cursor",
                                shown_name.substr(0, 40)),
                    "set TERM to what it is, install ncurses-term, or use --plain");
    auto state = std::make_unique<State>();
    state->colour = colour;
    const std::string reset = capability("sgr0") + std::string(mouse_off) + capability("rmkx") +
                              capability("rmcup") + capability("cnorm");
    state->guard.emplace(STDIN_FILENO, reset);
    del_curterm(cur_term); // newterm() makes its own
    state->screen.reset(newterm(nullptr, stdout, stdin));
    if (!state->screen)
        return fail(ErrorKind::unavailable,
                    fmt::format("cannot use the terminal \"{}\"", shown_name.substr(0, 40)), "use --plain");
    set_term(state->screen.get());
    set_escdelay(escape_delay_ms);
    cbreak();
    noecho();
    nonl(); // Enter is not to be mixed up with Ctrl-J
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, nullptr);
    mouseinterval(0); // a press counts at once, without waiting for a second one
    state->set_colours();
    return Terminal(std::move(state));
}

std::size_t Terminal::width() const {
    return static_cast<std::size_t>(getmaxx(stdscr));
}

std::size_t Terminal::height() const {
    return static_cast<std::size_t>(getmaxy(stdscr));
}

void Terminal::resize() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return;
    // Memory for a screen of any size that a terminal may claim to be is not ours to give.
    constexpr int most = 1000;
    resizeterm(std::min<int>(size.ws_row, most), std::min<int>(size.ws_col, most));
    clearok(curscr, TRUE);
    state_->shown.reset();
}

void Terminal::show(const Canvas& canvas, std::optional<Cursor> cursor) {
    const bool whole = !state_->shown || state_->shown->width() != canvas.width() ||
                       state_->shown->height() != canvas.height();
    for (std::size_t y = 0; y < canvas.height(); ++y)
        for (std::size_t x = 0; x < canvas.width(); ++x)
            if (whole || canvas.at(x, y) != state_->shown->at(x, y)) {
                // A wide character that has a half of it overwritten is drawn anew.
                if (canvas.at(x, y).symbol == 0 && x > 0) state_->put(x - 1, y, canvas.at(x - 1, y));
                state_->put(x, y, canvas.at(x, y));
            }
    state_->shown = canvas;
    curs_set(cursor ? 1 : 0);
    if (cursor) move(static_cast<int>(cursor->y), static_cast<int>(cursor->x));
    refresh();
}

std::optional<Key> Terminal::read_key() {
    wint_t symbol = 0;
    const int status = get_wch(&symbol);
    if (status == ERR) return std::nullopt;
    Key key;
    if (status == OK) {
        key.code = Key::Code::character;
        key.symbol = static_cast<char32_t>(symbol);
        if (symbol == '\r' || symbol == '\n') key.code = Key::Code::enter;
        if (symbol == 0x1b) key.code = Key::Code::escape;
        if (symbol == 0x7f || symbol == 0x08) key.code = Key::Code::backspace;
        if (symbol == 0x0c) { // Ctrl-L: something else has written on the screen
            clearok(curscr, TRUE);
            key.code = Key::Code::other;
        }
        return key;
    }
    switch (symbol) {
    case KEY_UP:
        key.code = Key::Code::up;
        break;
    case KEY_DOWN:
        key.code = Key::Code::down;
        break;
    case KEY_LEFT:
        key.code = Key::Code::left;
        break;
    case KEY_RIGHT:
        key.code = Key::Code::right;
        break;
    case KEY_PPAGE:
        key.code = Key::Code::page_up;
        break;
    case KEY_NPAGE:
        key.code = Key::Code::page_down;
        break;
    case KEY_HOME:
        key.code = Key::Code::home;
        break;
    case KEY_END:
        key.code = Key::Code::end;
        break;
    case KEY_ENTER:
        key.code = Key::Code::enter;
        break;
    case KEY_BACKSPACE:
        key.code = Key::Code::backspace;
        break;
    case KEY_DC:
        key.code = Key::Code::erase;
        break;
    case KEY_MOUSE: {
        MEVENT event;
        if (getmouse(&event) == ERR || event.x < 0 || event.y < 0) break;
        key.x = static_cast<std::size_t>(event.x);
        key.y = static_cast<std::size_t>(event.y);
        if (event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED)) key.code = Key::Code::click;
        if (event.bstate & BUTTON4_PRESSED) key.code = Key::Code::wheel_up;
        if (event.bstate & BUTTON5_PRESSED) key.code = Key::Code::wheel_down;
        break;
    }
    default:
        break;
    }
    return key;
}

} // namespace bondtrace
