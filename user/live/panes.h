// SPDX-License-Identifier: GPL-2.0-or-later
// What opens below the conversations, or over everything. Pure.
#pragma once

#include "user/live/draw.h"

#include <vector>

namespace bondtrace {

// The selected conversation: every slave it used, what the hash makes of it, where it would go otherwise.
std::vector<Pieces> detail_lines(const Drawing& drawing, const FlowRow& row);
// The events, newest first.
std::vector<Pieces> event_lines(const Drawing& drawing);
// All keys.
std::vector<Pieces> help_lines(bool replay);

// How far the open pane, and the help, can be scrolled.
std::size_t last_pane_top(const Layout& layout, const Drawing& drawing, std::size_t width);
std::size_t last_help_top(bool replay, std::size_t height);

// The pane that is open.
void draw_pane(Canvas& canvas, const Layout& layout, const Drawing& drawing);
// Help, menu or nothing.
void draw_overlay(Canvas& canvas, const Drawing& drawing);
// The last line: keys, a message, or the filter as it is typed, with what is wrong with it above. Where the
// cursor goes, if anywhere.
struct Cursor {
    std::size_t x = 0, y = 0;
};
std::optional<Cursor> draw_footer(Canvas& canvas, const Layout& layout, const Drawing& drawing);

} // namespace bondtrace
