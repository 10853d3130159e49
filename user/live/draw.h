// SPDX-License-Identifier: GPL-2.0-or-later
// What the panels of the screen share: what is drawn from, and small drawings. Pure.
#pragma once

#include "user/live/canvas.h"
#include "user/live/flow_view.h"
#include "user/live/host_names.h"
#include "user/live/layout.h"
#include "user/live/live_model.h"
#include "user/live/symbols.h"
#include "user/live/ui_state.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bondtrace {

// Where a recording is.
struct ReplayPlace {
    std::size_t number = 0, count = 0; // from 1
};

struct Drawing {
    const LiveModel& model;
    const FlowView& view;
    const UiState& ui;
    const Symbols& symbols;
    std::optional<ReplayPlace> replay;
    const HostNames* names = nullptr; // shown when ui.names

    // Null unless names are to be shown.
    [[nodiscard]] const HostNames* wanted_names() const { return ui.names ? names : nullptr; }
};

inline constexpr Style plain{}, strong{.bold = true}, quiet{.hue = Hue::quiet},
    alarm{.hue = Hue::alarm, .bold = true}, good{.hue = Hue::good},
    key_style{.hue = Hue::accent, .bold = true};

// Text from outside, harmless and in the character set of the symbols.
std::string clean(std::string_view text, const Symbols& symbols);

// "941 M", "1.25 G", "0": a rate in bits or bytes a second without its unit.
std::string short_rate(const Rate& rate, bool bytes);
// The same with it: "941 Mbit/s", "0 B/s".
std::string rate_words(const Rate& rate, bool bytes);
// Packets a second: "81.2 k", "12", "0.3".
std::string short_count(double count);
// "12 s", "5 min", "3 h", "2 d": the largest unit only.
std::string short_age(std::uint64_t ns);
// "52%", "<1%", "100%" only for all.
std::string short_share(double share);

// "100 %" only when it is 1, see format_percent().
std::string coverage_words(double coverage);

// A bar of `width` columns filled to `share` (0 to 1), with ticks at both ends of the band in which the share
// is expected; no ticks for 0 to 1.
Pieces share_bar(double share, double low, double high, Hue hue, std::size_t width, const Symbols& symbols);

// One column for each value, the largest of all being `top`.
std::string sparkline(std::span<const double> values, double top, const Symbols& symbols);

// The heading line of a table or pane, over the whole width.
void draw_heading(Canvas& canvas, std::size_t y, const Pieces& pieces);

} // namespace bondtrace
