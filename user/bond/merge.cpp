// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/merge.h"

#include <algorithm>

namespace bondtrace {
namespace {

template<typename T> void fill(std::optional<T>& mine, const std::optional<T>& other) {
    if (!mine) mine = other;
}

// A member that is no optional, with its mark.
template<typename T> void fill(T& mine, bool& unknown, const T& other, bool other_unknown) {
    if (!unknown || other_unknown) return;
    mine = other;
    unknown = false;
}

void fill_slave(const Slave& dump, Slave& slave) {
    fill(slave.backup, slave.unknown.state, dump.backup, dump.unknown.state);
    fill(slave.mii_status, slave.unknown.mii_status, dump.mii_status, dump.unknown.mii_status);
    fill(slave.link_failures, slave.unknown.link_failures, dump.link_failures, dump.unknown.link_failures);
    fill(slave.queue_id, slave.unknown.queue_id, dump.queue_id, dump.unknown.queue_id);
    fill(slave.aggregator_id, slave.unknown.aggregator, dump.aggregator_id, dump.unknown.aggregator);
    fill(slave.perm_mac, dump.perm_mac);
    fill(slave.speed_mbps, dump.speed_mbps);
    fill(slave.duplex, dump.duplex);
    slave.speed_undetermined = dump.speed_undetermined && !slave.speed_mbps;
    fill(slave.actor_port_state, dump.actor_port_state);
    fill(slave.partner_port_state, dump.partner_port_state);
    fill(slave.actor_churn, dump.actor_churn);
    fill(slave.partner_churn, dump.partner_churn);
    fill(slave.actor_churn_count, dump.actor_churn_count);
    fill(slave.partner_churn_count, dump.partner_churn_count);
    fill(slave.actor, dump.actor);
    fill(slave.partner, dump.partner);
}

void order_slaves(const Bond& dump, Bond& bond) {
    std::vector<Slave> left = std::move(bond.slaves);
    bond.slaves.clear();
    for (const Slave& listed : dump.slaves) {
        const auto slave = std::find_if(left.begin(), left.end(),
                                        [&](const Slave& mine) { return mine.name == listed.name; });
        if (slave == left.end()) {
            bond.missing_slaves.push_back(listed.name);
            continue;
        }
        bond.slaves.push_back(std::move(*slave));
        fill_slave(listed, bond.slaves.back());
        left.erase(slave);
    }
    bond.order_known = left.empty();
    std::move(left.begin(), left.end(), std::back_inserter(bond.slaves));
    if (bond.slaves.size() <= 1) bond.order_known = true;
}

} // namespace

void add_dump(const Bond& dump, Bond& bond) {
    order_slaves(dump, bond);
    fill(bond.policy, bond.unknown.policy, dump.policy, dump.unknown.policy);
    fill(bond.carrier, bond.unknown.carrier, dump.carrier, dump.unknown.carrier);
    fill(bond.miimon_ms, bond.unknown.miimon, dump.miimon_ms, dump.unknown.miimon);
    fill(bond.arp_interval_ms, bond.unknown.arp_interval, dump.arp_interval_ms, dump.unknown.arp_interval);
    fill(bond.min_links, bond.unknown.min_links, dump.min_links, dump.unknown.min_links);
    fill(bond.lacp_fast, bond.unknown.lacp_rate, dump.lacp_fast, dump.unknown.lacp_rate);
    fill(bond.aggregator, bond.unknown.aggregator, dump.aggregator, dump.unknown.aggregator);
    if (bond.unknown.active_slave && !dump.unknown.active_slave) {
        bond.active_name = dump.active_name;
        bond.unknown.active_slave = false;
    }
    fill(bond.primary_name, dump.primary_name);
    fill(bond.primary_reselect, dump.primary_reselect);
    fill(bond.fail_over_mac, dump.fail_over_mac);
    fill(bond.updelay_ms, dump.updelay_ms);
    fill(bond.downdelay_ms, dump.downdelay_ms);
    fill(bond.peer_notif_delay_ms, dump.peer_notif_delay_ms);
    fill(bond.missed_max, dump.missed_max);
    fill(bond.lacp_active, dump.lacp_active);
    fill(bond.ad_select, dump.ad_select);
    if (bond.arp_targets.empty()) bond.arp_targets = dump.arp_targets;
    if (bond.ns_targets.empty()) bond.ns_targets = dump.ns_targets;
    fill(bond.system_priority, dump.system_priority);
    fill(bond.system_mac, dump.system_mac);
    // Only the dump hides the LACP sides, and says so.
    if (dump.privileged) bond.privileged = dump.privileged;
    if (bond.driver.empty()) bond.driver = dump.driver;
    bond.truncated = bond.truncated || dump.truncated;
}

} // namespace bondtrace
