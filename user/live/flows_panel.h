// SPDX-License-Identifier: GPL-2.0-or-later
// The conversations on the screen, one a line. Pure.
#pragma once

#include "user/live/draw.h"

#include <cstddef>
#include <optional>

namespace bondtrace {

// What the conversations from place `top` on need. Only these are formatted; `names` may be null.
FlowWidths flow_widths(const LiveModel& model, const FlowView& view, const HostNames* names, std::size_t top,
                       std::size_t lines);

// Heading, conversations, and the line that says what is not shown.
void draw_flows(Canvas& canvas, const Layout& layout, const Drawing& drawing);

// The sort whose column is at x in the heading.
std::optional<LiveSort> sort_at(const LiveModel& model, const UiState& ui, std::size_t width, std::size_t x);

} // namespace bondtrace
