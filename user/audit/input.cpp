// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/input.h"

#include <algorithm>

namespace bondtrace {
namespace {

void add_traffic(BondView& view, const FlowsReport& traffic) {
    view.traffic = &traffic;
    for (std::size_t i = 0; i < traffic.bonds.size(); ++i) {
        if (traffic.bonds[i].ifindex != view.state->ifindex) continue;
        view.report = &traffic.bonds[i];
        for (const Conversation& flow : traffic.flows)
            if (flow.bond == i) view.flows.push_back(&flow);
        break;
    }
    if (!view.report) return;
    for (const SlaveReport& slave : view.report->slaves)
        if (slave.index) view.usable.push_back(&slave);
    std::sort(view.usable.begin(), view.usable.end(),
              [](const SlaveReport* a, const SlaveReport* b) { return *a->index < *b->index; });
}

} // namespace

std::optional<std::size_t> BondView::position(int slave_ifindex) const {
    for (std::size_t i = 0; i < usable.size(); ++i)
        if (usable[i]->ifindex == slave_ifindex) return i;
    return std::nullopt;
}

std::vector<BondView> bond_views(const AuditInput& input) {
    std::vector<BondView> views;
    for (const Bond& bond : input.bonds) {
        BondView& view = views.emplace_back();
        view.state = &bond;
        view.era = input.era;
        if (input.traffic) add_traffic(view, *input.traffic);
    }
    return views;
}

} // namespace bondtrace
