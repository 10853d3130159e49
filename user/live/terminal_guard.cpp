// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/terminal_guard.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include <termios.h>
#include <unistd.h>

namespace bondtrace {
namespace {

constexpr std::array crashes = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// All that the handler needs, in memory that is always there.
struct Saved {
    int fd = -1;
    bool has_modes = false;
    termios modes{};
    std::array<char, 256> sequence{};
    std::size_t length = 0;
    std::array<struct sigaction, crashes.size()> actions{};
    std::array<char, 16384> stack{}; // a crash may be that of the stack
};
Saved saved;
std::atomic<bool> armed{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// Only what POSIX calls async-signal-safe.
void on_crash(int signal) {
    if (armed.exchange(false)) {
        std::size_t done = 0;
        while (done < saved.length) {
            const ssize_t written = write(saved.fd, saved.sequence.data() + done, saved.length - done);
            if (written > 0) {
                done += static_cast<std::size_t>(written);
            } else if (errno != EINTR) {
                break;
            }
        }
        if (saved.has_modes) tcsetattr(saved.fd, TCSANOW, &saved.modes);
    }
    // The end that it would have been: SA_RESETHAND has put the default back, and this comes as soon as the
    // handler is left.
    raise(signal);
}

} // namespace

TerminalGuard::TerminalGuard(int fd, const std::string& sequence) {
    saved.fd = fd;
    saved.has_modes = tcgetattr(fd, &saved.modes) == 0;
    saved.length = std::min(sequence.size(), saved.sequence.size());
    std::memcpy(saved.sequence.data(), sequence.data(), saved.length);
    stack_t stack{};
    stack.ss_sp = saved.stack.data();
    stack.ss_size = saved.stack.size();
    struct sigaction action {};
    action.sa_handler = on_crash;
    action.sa_flags = static_cast<int>(SA_RESETHAND | (sigaltstack(&stack, nullptr) == 0 ? SA_ONSTACK : 0));
    sigemptyset(&action.sa_mask);
    armed = true;
    for (std::size_t i = 0; i < crashes.size(); ++i)
        sigaction(crashes[i], &action, &saved.actions[i]);
}

TerminalGuard::~TerminalGuard() {
    armed = false;
    for (std::size_t i = 0; i < crashes.size(); ++i)
        sigaction(crashes[i], &saved.actions[i], nullptr);
}

} // namespace bondtrace
