// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/state_window.h"

#include <algorithm>

namespace bondtrace {
namespace {

template<typename Number> Number rise(Number before, Number after) {
    return after > before ? after - before : 0;
}

bool in_sync(const Slave& slave) {
    const unsigned both = slave.actor_port_state.value_or(0) & slave.partner_port_state.value_or(0);
    return (both & lacp_state::synchronization) != 0;
}

std::uint32_t churns(const Slave& slave) {
    return slave.actor_churn_count.value_or(0) + slave.partner_churn_count.value_or(0);
}

} // namespace

const SlaveChange* StateWindow::find(const std::string& slave) const {
    const auto change = std::find_if(slaves.begin(), slaves.end(),
                                     [&](const SlaveChange& candidate) { return candidate.slave == slave; });
    return change == slaves.end() ? nullptr : &*change;
}

StateWindow compare(const Bond& before, const Bond& after, double seconds) {
    StateWindow window;
    window.seconds = seconds;
    for (const Slave& now : after.slaves) {
        const Slave* const then = before.find_slave(now.ifindex);
        if (!then) continue;
        SlaveChange change;
        change.slave = now.name;
        change.rx_packets = rise(then->counters.rx_packets, now.counters.rx_packets);
        change.rx_inactive = rise(then->counters.rx_nohandler, now.counters.rx_nohandler);
        const LinkCounters &old = then->counters, &counters = now.counters;
        change.tx_packets = rise(old.tx_packets, counters.tx_packets);
        change.tx_errors = rise(old.tx_errors, counters.tx_errors);
        change.tx_dropped = rise(old.tx_dropped, counters.tx_dropped);
        change.rx_errors = rise(old.rx_errors, counters.rx_errors);
        change.rx_dropped = rise(old.rx_dropped, counters.rx_dropped);
        change.failures = rise(then->link_failures, now.link_failures);
        change.churned = rise(churns(*then), churns(now));
        const bool known = now.actor_port_state && now.partner_port_state;
        change.lost_sync = known && in_sync(*then) && !in_sync(now);
        window.slaves.push_back(std::move(change));
    }
    for (const Upper& now : after.uppers) {
        const auto then = std::find_if(before.uppers.begin(), before.uppers.end(), [&](const Upper& upper) {
            return now.ifindex != 0 && upper.ifindex == now.ifindex;
        });
        if (then == before.uppers.end() || !then->counters || !now.counters) continue;
        window.uppers.push_back({now.name, now.vlan_id,
                                 rise(then->counters->tx_packets, now.counters->tx_packets),
                                 rise(then->counters->tx_dropped, now.counters->tx_dropped),
                                 rise(then->counters->rx_packets, now.counters->rx_packets)});
    }
    return window;
}

} // namespace bondtrace
