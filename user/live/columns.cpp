// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/columns.h"

#include <algorithm>
#include <numeric>

namespace bondtrace {

std::vector<std::size_t> fit_columns(std::span<const ColumnNeed> needs, std::size_t width, std::size_t gap) {
    std::vector<std::size_t> by_priority(needs.size()); // highest first
    std::iota(by_priority.begin(), by_priority.end(), 0);
    std::stable_sort(by_priority.begin(), by_priority.end(),
                     [&](std::size_t a, std::size_t b) { return needs[a].priority > needs[b].priority; });
    std::vector<std::size_t> widths(needs.size(), 0);
    std::size_t used = 0;
    std::vector<std::size_t> shown; // by priority
    for (const std::size_t column : by_priority) {
        if (needs[column].least == 0) continue;
        const std::size_t more = needs[column].least + (shown.empty() ? 0 : gap);
        // A narrow column of low priority does not take the place of a wide one that was left out: what is
        // shown on a narrow screen is a part of what is shown on a wider one.
        if (used + more > width) break;
        used += more;
        widths[column] = needs[column].least;
        shown.push_back(column);
    }
    std::size_t left = width - std::min(used, width);
    for (const std::size_t column : shown) {
        const std::size_t wanted = std::max(needs[column].wanted, needs[column].least);
        const std::size_t more = std::min(left, wanted - widths[column]);
        widths[column] += more;
        left -= more;
    }
    for (bool given = true; left > 0 && given;) {
        given = false;
        for (const std::size_t column : shown) {
            if (left == 0 || widths[column] >= needs[column].most) continue;
            ++widths[column];
            --left;
            given = true;
        }
    }
    return widths;
}

} // namespace bondtrace
