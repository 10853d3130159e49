// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/screen.h"

#include "user/live/flows_panel.h"
#include "user/live/header_panel.h"

#include <fmt/format.h>

namespace bondtrace {

std::optional<Cursor> draw_screen(Canvas& canvas, const Drawing& drawing) {
    canvas.fill(0, 0, canvas.width(), canvas.height());
    if (canvas.width() < least_width || canvas.height() < least_height) {
        canvas.put(0, 0, fmt::format("needs {}x{}", least_width, least_height), plain);
        return std::nullopt;
    }
    const Layout layout = lay_out(drawing.model, drawing.ui, canvas.height());
    draw_title(canvas, drawing);
    draw_bonds(canvas, layout, drawing);
    draw_slaves(canvas, layout, drawing);
    draw_flows(canvas, layout, drawing);
    draw_pane(canvas, layout, drawing);
    draw_overlay(canvas, drawing);
    return draw_footer(canvas, layout, drawing);
}

} // namespace bondtrace
