// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/pseudo_terminal.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <vterm.h>

namespace bondtrace::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void append_utf8(std::string& text, std::uint32_t symbol) {
    const auto byte = [&](std::uint32_t value) { text += static_cast<char>(value); };
    if (symbol < 0x80) {
        byte(symbol);
    } else if (symbol < 0x800) {
        byte(0xc0 | symbol >> 6);
        byte(0x80 | (symbol & 0x3f));
    } else {
        byte(0xe0 | symbol >> 12);
        byte(0x80 | (symbol >> 6 & 0x3f));
        byte(0x80 | (symbol & 0x3f));
    }
}

} // namespace

struct PseudoTerminal::State {
    Fd master;
    pid_t pid = 0;
    bool reaped = false;
    int status = -1;
    bool ended = false; // nobody holds the terminal any more
    VTerm* terminal = nullptr;
    VTermScreen* screen = nullptr;
    Size size;
    std::size_t bytes = 0;
    std::string last; // of what it wrote, to see how it ended
    termios before{};
    bool alternate = false, cursor = true;
    int mouse = VTERM_PROP_MOUSE_NONE;

    ~State() {
        if (pid > 0 && !reaped) {
            kill(pid, SIGKILL);
            waitpid(pid, nullptr, 0);
        }
        if (terminal) vterm_free(terminal);
    }

    static int set_property(VTermProp property, VTermValue* value, void* user) {
        auto* const self = static_cast<State*>(user);
        if (property == VTERM_PROP_ALTSCREEN) self->alternate = value->boolean;
        if (property == VTERM_PROP_CURSORVISIBLE) self->cursor = value->boolean;
        if (property == VTERM_PROP_MOUSE) self->mouse = value->number;
        return 1;
    }
    static void answer(const char* text, std::size_t length, void* user) {
        // What a terminal answers when it is asked; a program that has gone needs no answer.
        [[maybe_unused]] const ssize_t written = write(static_cast<State*>(user)->master.get(), text, length);
    }

    // Looks whether the program has ended.
    bool reap() {
        if (reaped) return true;
        int wait_status = 0;
        if (waitpid(pid, &wait_status, WNOHANG) != pid) return false;
        reaped = true;
        status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
        return true;
    }
};

PseudoTerminal::PseudoTerminal(const std::vector<std::string>& argv, Size size, const std::string& type,
                               const std::vector<std::string>& environment)
    : state_(std::make_unique<State>()) {
    state_->size = size;
    winsize window{};
    window.ws_col = static_cast<unsigned short>(size.columns);
    window.ws_row = static_cast<unsigned short>(size.rows);
    // The terminal is opened here and kept open, so that it can be looked at after the program's end.
    int master = -1, slave = -1;
    if (openpty(&master, &slave, nullptr, nullptr, &window) != 0) {
        ADD_FAILURE() << "openpty: " << std::strerror(errno);
        return;
    }
    state_->master = Fd(master);
    tcgetattr(slave, &state_->before);
    // Everything that needs memory before the fork.
    std::vector<char*> arguments;
    for (const std::string& argument : argv)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    std::vector<std::string> variables;
    for (char** variable = environ; *variable; ++variable)
        if (std::strncmp(*variable, "TERM=", 5) != 0 && std::strncmp(*variable, "L", 1) != 0 &&
            std::strncmp(*variable, "NO_COLOR=", 9) != 0)
            variables.emplace_back(*variable);
    variables.push_back("TERM=" + type);
    variables.insert(variables.end(), environment.begin(), environment.end());
    std::vector<char*> environment_pointers;
    for (std::string& variable : variables)
        environment_pointers.push_back(variable.data());
    environment_pointers.push_back(nullptr);
    state_->pid = fork();
    if (state_->pid == 0) {
        setsid();
        ioctl(slave, TIOCSCTTY, 0);
        for (const int fd : {0, 1, 2})
            dup2(slave, fd);
        if (slave > 2) close(slave);
        close(master);
        execvpe(arguments[0], arguments.data(), environment_pointers.data());
        _exit(127);
    }
    close(slave);
    if (state_->pid < 0) {
        ADD_FAILURE() << "fork: " << std::strerror(errno);
        return;
    }
    state_->terminal = vterm_new(size.rows, size.columns);
    vterm_set_utf8(state_->terminal, 1);
    vterm_output_set_callback(state_->terminal, State::answer, state_.get());
    state_->screen = vterm_obtain_screen(state_->terminal);
    static VTermScreenCallbacks callbacks{};
    callbacks.settermprop = State::set_property;
    vterm_screen_set_callbacks(state_->screen, &callbacks, state_.get());
    vterm_screen_enable_altscreen(state_->screen, 1);
    vterm_screen_reset(state_->screen, 1);
}

PseudoTerminal::~PseudoTerminal() = default;

void PseudoTerminal::take(milliseconds longest) {
    pollfd waiting{state_->master.get(), POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(longest.count())) <= 0) return;
    std::array<char, 65536> piece{};
    const ssize_t length = read(state_->master.get(), piece.data(), piece.size());
    if (length <= 0) { // EIO: the last program has closed it
        if (length == 0 || errno != EINTR) state_->ended = true;
        return;
    }
    state_->bytes += static_cast<std::size_t>(length);
    constexpr std::size_t kept = 200;
    state_->last.append(piece.data(), static_cast<std::size_t>(length));
    if (state_->last.size() > kept) state_->last.erase(0, state_->last.size() - kept);
    vterm_input_write(state_->terminal, piece.data(), static_cast<std::size_t>(length));
}

bool PseudoTerminal::await(const std::function<bool()>& condition, milliseconds timeout) {
    if (!state_->terminal) return false;
    const auto deadline = Clock::now() + timeout;
    while (!condition()) {
        if (Clock::now() >= deadline || state_->ended) return condition();
        take(milliseconds(10));
    }
    return true;
}

bool PseudoTerminal::await_text(const std::string& text) {
    return await([&] { return row_with(text) >= 0; });
}

bool PseudoTerminal::await_no_text(const std::string& text) {
    return await([&] { return row_with(text) < 0; });
}

int PseudoTerminal::wait() {
    const auto deadline = Clock::now() + std::chrono::seconds(30);
    while (!state_->reap() && Clock::now() < deadline)
        if (state_->ended)
            usleep(2000);
        else
            take(milliseconds(10));
    // What it wrote at its end.
    while (!state_->ended && Clock::now() < deadline)
        take(milliseconds(10));
    return state_->reaped ? state_->status : -1;
}

void PseudoTerminal::send(const std::string& keys) {
    EXPECT_EQ(write(state_->master.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

void PseudoTerminal::resize(Size size) {
    state_->size = size;
    vterm_set_size(state_->terminal, size.rows, size.columns);
    winsize window{};
    window.ws_col = static_cast<unsigned short>(size.columns);
    window.ws_row = static_cast<unsigned short>(size.rows);
    EXPECT_EQ(ioctl(state_->master.get(), TIOCSWINSZ, &window), 0);
}

void PseudoTerminal::signal(int number) const {
    EXPECT_EQ(kill(state_->pid, number), 0);
}

std::string PseudoTerminal::line(int row) const {
    std::string text;
    for (int column = 0; column < state_->size.columns; ++column) {
        VTermScreenCell cell;
        if (vterm_screen_get_cell(state_->screen, {row, column}, &cell) == 0) break;
        append_utf8(text, cell.chars[0] == 0 ? ' ' : cell.chars[0]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

std::string PseudoTerminal::text() const {
    std::string text;
    for (int row = 0; row < state_->size.rows; ++row)
        text += line(row) + '\n';
    return text;
}

int PseudoTerminal::row_with(const std::string& text) const {
    for (int row = 0; row < state_->size.rows; ++row)
        if (line(row).find(text) != std::string::npos) return row;
    return -1;
}

PseudoTerminal::Look PseudoTerminal::look(int row, int column) const {
    VTermScreenCell cell;
    if (vterm_screen_get_cell(state_->screen, {row, column}, &cell) == 0) return {};
    return {cell.attrs.bold != 0, cell.attrs.reverse != 0, !VTERM_COLOR_IS_DEFAULT_FG(&cell.fg)};
}

std::size_t PseudoTerminal::bytes() const {
    return state_->bytes;
}

std::string PseudoTerminal::not_restored() const {
    std::string wrong;
    if (state_->alternate) wrong += "the alternate screen is still there; ";
    if (!state_->cursor) wrong += "the cursor is hidden; ";
    if (state_->mouse != VTERM_PROP_MOUSE_NONE) wrong += "the mouse is still reported; ";
    termios now{};
    if (tcgetattr(state_->master.get(), &now) != 0)
        wrong += "no modes; ";
    else if (now.c_iflag != state_->before.c_iflag || now.c_oflag != state_->before.c_oflag ||
             now.c_lflag != state_->before.c_lflag || now.c_cflag != state_->before.c_cflag)
        wrong += "the modes are not those of before; ";
    if (!wrong.empty()) {
        wrong += "it ended with ";
        for (const char c : state_->last)
            wrong += c == '\x1b' ? std::string("\\e") : c == '\r' ? std::string("\\r") : std::string(1, c);
    }
    return wrong;
}

} // namespace bondtrace::test
