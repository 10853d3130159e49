// SPDX-License-Identifier: GPL-2.0-or-later
// What the screen draws with, in UTF-8 or in ASCII.
#pragma once

#include <array>
#include <string_view>

namespace bondtrace {

struct Symbols {
    bool ascii = false;
    std::string_view sends = "→", receives = "←", both = "↔", moves_to = "→", ellipsis = "…", yes = "✓",
                     no = "✗", nothing = "–";
    std::string_view sorted_down = "▼", sorted_up = "▲", line = "─", tick = "│", dot = "·", empty = " ";
    // Eighths of a bar's cell, and of a sparkline's; the first is nothing.
    std::array<std::string_view, 9> bar{" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
    std::array<std::string_view, 9> spark{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
};

inline Symbols unicode_symbols() {
    return {};
}

inline Symbols ascii_symbols() {
    Symbols symbols;
    symbols.ascii = true;
    symbols.sends = ">", symbols.receives = "<", symbols.both = "-", symbols.moves_to = ">",
    symbols.ellipsis = "*";
    symbols.yes = "y", symbols.no = "N", symbols.nothing = "-";
    symbols.sorted_down = "v", symbols.sorted_up = "^", symbols.line = "-", symbols.tick = "|";
    symbols.dot = "|";
    symbols.bar = {" ", " ", " ", " ", "#", "#", "#", "#", "#"};
    symbols.spark = {" ", "_", ".", ".", "-", "=", "+", "*", "#"};
    return symbols;
}

} // namespace bondtrace
