// SPDX-License-Identifier: GPL-2.0-or-later
// How wide a table's columns are on a screen of given width, and which are left out. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bondtrace {

struct ColumnNeed {
    std::size_t least = 0;  // columns without which it is left out; 0: it is not wanted
    std::size_t wanted = 0; // to show what is in it whole
    std::size_t most = 0;   // it may take room that nobody else wants, up to this
    int priority = 0;       // the higher, the longer it stays
};

// The width of each column, 0 for those left out, so that with `gap` blanks between them they fit into
// `width`. Columns are left out from the lowest priority up until the least widths fit; what is left then
// goes to the wanted widths from the highest priority down, and then evenly to those that take more.
std::vector<std::size_t> fit_columns(std::span<const ColumnNeed> needs, std::size_t width, std::size_t gap);

} // namespace bondtrace
