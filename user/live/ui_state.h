// SPDX-License-Identifier: GPL-2.0-or-later
// What the user has chosen on the screen, and what is typed. Plain data.
#pragma once

#include "user/live/flow_view.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace bondtrace {

struct Key {
    enum class Code : std::uint8_t {
        character,
        up,
        down,
        left,
        right,
        page_up,
        page_down,
        home,
        end,
        enter,
        escape,
        backspace,
        erase, // the character under the cursor
        click, // at x, y
        wheel_up,
        wheel_down,
        other,
    };
    Code code = Code::other;
    char32_t symbol = 0; // of `character`; control characters as they are
    std::size_t x = 0, y = 0;
};

enum class Pane : std::uint8_t { none, detail, events };             // below the conversations
enum class Overlay : std::uint8_t { none, help, sort_menu, filter }; // takes the keys

// What columns of the conversations need at least to show whole what was on the screen so far. They only
// grow, so that the table does not twitch with every line that comes and goes.
struct FlowWidths {
    std::size_t proto = 3, local = 0, remote = 0, vlan = 0, bond = 0, slave = 2;
    bool moves = false, agreement = false;
    void grow(const FlowWidths& other);
};

struct UiState {
    FlowWidths widths;
    ViewSettings view;
    std::string filter_text; // what view.filter was made of
    bool bytes = false;      // rates in bytes a second
    bool paused = false;
    bool names = false; // of hosts, in place of addresses
    std::chrono::milliseconds interval{1000};
    Pane pane = Pane::none;
    Overlay overlay = Overlay::none;

    std::optional<std::uint64_t> selected; // id of a conversation
    std::size_t selected_place = 0;        // where it was last
    std::size_t top = 0;                   // place of the first conversation shown
    std::size_t pane_top = 0, help_top = 0;
    std::size_t menu_place = 0;

    std::string input;       // of the filter line
    std::size_t cursor = 0;  // in bytes, at the beginning of a character
    std::string input_error; // lines

    std::string message;
    bool message_bad = false;
};

} // namespace bondtrace
