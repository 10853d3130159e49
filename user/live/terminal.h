// SPDX-License-Identifier: GPL-2.0-or-later
// The terminal behind the screen: ncurses, and nothing of it outside of terminal.cpp.
#pragma once

#include "user/base/result.h"
#include "user/live/canvas.h"
#include "user/live/panes.h"
#include "user/live/ui_state.h"

#include <cstddef>
#include <memory>
#include <optional>

namespace bondtrace {

class Terminal {
  public:
    // Takes over the terminal on standard input and output; fails when $TERM is unknown or cannot move its
    // cursor. The object's end gives it back, and so does a crash. One at a time.
    static Result<Terminal> open(bool colour);

    Terminal(Terminal&&) noexcept;
    Terminal& operator=(Terminal&&) noexcept;
    ~Terminal();

    [[nodiscard]] std::size_t width() const;
    [[nodiscard]] std::size_t height() const;
    // After SIGWINCH: asks for the size anew.
    void resize();
    // Brings the canvas, which must be of the terminal's size, onto the screen, as a difference.
    void show(const Canvas& canvas, std::optional<Cursor> cursor);
    // The next key that was pressed; nullopt when there is none yet. Never waits.
    std::optional<Key> read_key();

  private:
    struct State;
    explicit Terminal(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace bondtrace
