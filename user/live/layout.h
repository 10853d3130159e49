// SPDX-License-Identifier: GPL-2.0-or-later
// Which lines of the screen belong to what. Pure.
#pragma once

#include "user/live/live_model.h"
#include "user/live/ui_state.h"

#include <cstddef>

namespace bondtrace {

struct Area {
    std::size_t y = 0, height = 0;
    [[nodiscard]] bool contains(std::size_t line) const { return line >= y && line < y + height; }
};

struct Layout {
    Area bonds;                             // below the title line 0
    Area slaves;                            // with its heading
    Area flows;                             // the conversations, without heading and remainder
    std::size_t heading = 0, remainder = 0; // lines of the conversations
    Area pane;                              // with its heading; height 0: closed
    std::size_t footer = 0;

    // How many slaves there are lines for.
    [[nodiscard]] std::size_t slave_lines() const { return slaves.height > 0 ? slaves.height - 1 : 0; }
};

inline constexpr std::size_t least_width = 40, least_height = 12;

// Of a screen that is too low, as if it had least_height.
Layout lay_out(const LiveModel& model, const UiState& ui, std::size_t height);

// Bonds and slaves that are shown, in order: those of the chosen bond, or of all.
std::vector<std::size_t> shown_bonds(const LiveModel& model, const UiState& ui);
struct SlavePlace {
    std::size_t bond = 0, slave = 0;
};
std::vector<SlavePlace> shown_slaves(const LiveModel& model, const UiState& ui);

} // namespace bondtrace
