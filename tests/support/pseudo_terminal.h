// SPDX-License-Identifier: GPL-2.0-or-later
// A program in a terminal that is not there: libvterm keeps the screen that a person would see.
#pragma once

#include "user/base/fd.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace bondtrace::test {

class PseudoTerminal {
  public:
    struct Size {
        int columns = 80, rows = 24;
    };
    // Starts argv[0] in a terminal of that size and of type $TERM `type`; `environment` ("NAME=VALUE") is
    // added to what is there. A failure is reported to the running test.
    PseudoTerminal(const std::vector<std::string>& argv, Size size,
                   const std::string& type = "xterm-256color",
                   const std::vector<std::string>& environment = {"LANG=C.UTF-8"});
    PseudoTerminal(const PseudoTerminal&) = delete;
    PseudoTerminal& operator=(const PseudoTerminal&) = delete;
    // Kills what is still running.
    ~PseudoTerminal();

    // Types.
    void send(const std::string& keys);
    void resize(Size size);
    void signal(int number) const;

    // Takes what the program writes until the condition holds; false when it does not in time.
    bool await(const std::function<bool()>& condition,
               std::chrono::milliseconds timeout = std::chrono::seconds(30));
    // Until that is on the screen.
    bool await_text(const std::string& text);
    bool await_no_text(const std::string& text);
    // Waits for the program's end and returns its exit status, 128 + signal when one ended it, -1 when it did
    // not end in time.
    int wait();

    [[nodiscard]] std::string line(int row) const; // without blanks at its end
    [[nodiscard]] std::string text() const;        // all lines
    // The row in which it stands, or -1.
    [[nodiscard]] int row_with(const std::string& text) const;

    struct Look {
        bool bold = false, reverse = false, coloured = false;
    };
    [[nodiscard]] Look look(int row, int column) const;

    // What the program has written so far, in bytes.
    [[nodiscard]] std::size_t bytes() const;

    // Whether the terminal is as it was before the program: its own screen and modes, the cursor seen, no
    // mouse. In words what is not; empty when all is.
    [[nodiscard]] std::string not_restored() const;

  private:
    struct State;
    void take(std::chrono::milliseconds longest);

    std::unique_ptr<State> state_;
};

} // namespace bondtrace::test
