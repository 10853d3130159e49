// SPDX-License-Identifier: GPL-2.0-or-later
// The whole screen from what is known and chosen. Pure: no terminal is needed to draw it.
#pragma once

#include "user/live/draw.h"
#include "user/live/panes.h"

#include <optional>

namespace bondtrace {

// Draws over the whole canvas; returns where the cursor goes, if it is to be seen. On a screen smaller than
// least_width by least_height it only says so.
std::optional<Cursor> draw_screen(Canvas& canvas, const Drawing& drawing);

} // namespace bondtrace
