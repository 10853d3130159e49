// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/layout.h"

#include <algorithm>

namespace bondtrace {

std::vector<std::size_t> shown_bonds(const LiveModel& model, const UiState& ui) {
    std::vector<std::size_t> bonds;
    for (std::size_t bond = 0; bond < model.bonds().size(); ++bond)
        if (!ui.view.bond || *ui.view.bond == bond) bonds.push_back(bond);
    return bonds;
}

std::vector<SlavePlace> shown_slaves(const LiveModel& model, const UiState& ui) {
    std::vector<SlavePlace> slaves;
    for (const std::size_t bond : shown_bonds(model, ui))
        for (std::size_t slave = 0; slave < model.bonds()[bond].slaves.size(); ++slave)
            slaves.push_back({bond, slave});
    return slaves;
}

Layout lay_out(const LiveModel& model, const UiState& ui, std::size_t height) {
    Layout layout;
    height = std::max(height, least_height);
    // Title, heading, remainder and footer are always there, and at least some conversations.
    constexpr std::size_t fixed = 4, least_flows = 3;
    std::size_t free = height - fixed - least_flows;
    std::size_t y = 1;
    const auto take = [&](Area& area, std::size_t wanted, std::size_t limit) {
        area = {y, std::min({wanted, limit, free})};
        y += area.height;
        free -= area.height;
    };
    take(layout.bonds, shown_bonds(model, ui).size(), std::max<std::size_t>(height / 8, 1));
    const std::size_t slaves = shown_slaves(model, ui).size();
    take(layout.slaves, slaves == 0 ? 0 : slaves + 1, std::max<std::size_t>(height / 3, 3));

    layout.footer = height - 1;
    // Without the conversations' least the pane may take more than half of what is left.
    const std::size_t room = layout.footer - y - 2; // conversations and pane
    std::size_t pane = 0;
    if (ui.pane != Pane::none) pane = std::min(room - 1, std::max<std::size_t>(room / 2, 7));
    layout.heading = y;
    layout.flows = {y + 1, room - pane};
    layout.remainder = layout.flows.y + layout.flows.height;
    layout.pane = {layout.remainder + 1, pane};
    return layout;
}

} // namespace bondtrace
