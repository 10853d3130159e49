// SPDX-License-Identifier: GPL-2.0-or-later
// The top of the screen: what is watched and how, a line for each bond, and the slaves. Pure.
#pragma once

#include "user/live/draw.h"

namespace bondtrace {

void draw_title(Canvas& canvas, const Drawing& drawing);
void draw_bonds(Canvas& canvas, const Layout& layout, const Drawing& drawing);
void draw_slaves(Canvas& canvas, const Layout& layout, const Drawing& drawing);

// "uneven 71% on s0 (31-69% expected)": a balance in words, as long as asked for.
std::string balance_words(const LiveModel& model, std::size_t bond, const LiveBalance& balance,
                          bool with_band);

} // namespace bondtrace
