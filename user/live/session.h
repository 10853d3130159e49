// SPDX-License-Identifier: GPL-2.0-or-later
// The live table while it runs: on a screen, or as lines.
#pragma once

#include "user/base/fd.h"
#include "user/base/result.h"
#include "user/base/text_pieces.h"
#include "user/live/source.h"
#include "user/live/symbols.h"
#include "user/live/ui_state.h"

#include <chrono>
#include <cstddef>
#include <optional>

namespace bondtrace {

struct ScreenOptions {
    UiState ui;
    Symbols symbols;
    bool colour = true;
    int signals = -1; // a signalfd: SIGWINCH resizes, everything else ends
};

// Takes over the terminal and gives it back. The error is that of a reading, or of the terminal.
Result<void> run_on_screen(LiveSource& source, ScreenOptions options);

struct LineOptions {
    ViewSettings view;
    std::chrono::milliseconds interval{1000};
    std::optional<std::size_t> count; // readings to write; nullopt: until a signal
    std::optional<std::size_t> most;  // conversations of each; nullopt: all
    bool json = false;
    bool names = false; // of hosts, beside their addresses (text only)
    Symbols symbols;
    int signals = -1; // any ends
    TextSink write;   // a reading comes in one piece or several
};

// Writes a reading after every interval, until the count or a signal. A recording is written as fast as it is
// read.
Result<void> run_as_lines(LiveSource& source, const LineOptions& options);

} // namespace bondtrace
