// SPDX-License-Identifier: GPL-2.0-or-later
// Gives the terminal back as it was, however the program ends.
#pragma once

#include <string>

namespace bondtrace {

// While it lives, a crash (SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL) first writes `sequence` to the terminal
// `fd` and sets its modes to those it has now. One at a time: signals belong to the process.
class TerminalGuard {
  public:
    // `fd` must stay open. Call before the modes are changed.
    TerminalGuard(int fd, const std::string& sequence);
    TerminalGuard(const TerminalGuard&) = delete;
    TerminalGuard& operator=(const TerminalGuard&) = delete;
    ~TerminalGuard();
};

} // namespace bondtrace
