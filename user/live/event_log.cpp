// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/event_log.h"

#include "user/live/verdict.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace {
namespace {

bool link_up(const Slave& slave) {
    return slave.admin_up && slave.carrier && slave.mii_status == MiiStatus::up;
}

std::string state_of(const Slave& slave) {
    if (link_up(slave)) return "up";
    if (!slave.admin_up) return "down (switched off)";
    if (!slave.carrier) return "down (no carrier)";
    return std::string(to_text(slave.mii_status));
}

class Changes {
  public:
    template<typename... Arguments>
    void add(EventKind kind, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        Event event;
        event.kind = kind;
        event.text = fmt::format(format, std::forward<Arguments>(arguments)...);
        events_.push_back(std::move(event));
    }
    std::vector<Event> take() { return std::move(events_); }

  private:
    std::vector<Event> events_;
};

void compare_slave(Changes& changes, const Bond& before, const Slave& was, const Bond& after,
                   const Slave& is) {
    if (was.name != is.name) changes.add(EventKind::change, "slave {} is now named {}", was.name, is.name);
    const std::string old_state = state_of(was), new_state = state_of(is);
    if (old_state != new_state)
        changes.add(link_up(is) ? EventKind::good : EventKind::bad, "slave {} {}", is.name, new_state);
    else if (was.link_failures < is.link_failures)
        changes.add(EventKind::bad, "slave {} was down for a moment ({} failures so far)", is.name,
                    is.link_failures);
    if (was.speed_mbps && is.speed_mbps && was.speed_mbps != is.speed_mbps)
        changes.add(EventKind::change, "slave {}: speed {} Mbit/s, was {}", is.name, *is.speed_mbps,
                    *was.speed_mbps);
    if (was.aggregator_id && is.aggregator_id && was.aggregator_id != is.aggregator_id)
        changes.add(EventKind::change, "slave {}: aggregator {}, was {}", is.name, *is.aggregator_id,
                    *was.aggregator_id);
    const std::string old_trouble = lacp_trouble(before, was), new_trouble = lacp_trouble(after, is);
    if (old_trouble == new_trouble || !link_up(is)) return;
    if (new_trouble.empty()) {
        changes.add(EventKind::good, "slave {}: LACP carries again", is.name);
    } else {
        changes.add(EventKind::bad, "slave {}: LACP {}", is.name, new_trouble);
    }
}

void compare_slaves(Changes& changes, const Bond& before, const Bond& after) {
    for (const Slave& was : before.slaves)
        if (!after.find_slave(was.ifindex)) changes.add(EventKind::bad, "slave {} left the bond", was.name);
    for (const Slave& is : after.slaves) {
        const Slave* was = before.find_slave(is.ifindex);
        if (was)
            compare_slave(changes, before, *was, after, is);
        else
            changes.add(EventKind::change, "slave {} joined, {}", is.name, state_of(is));
    }
}

std::string slave_text(const Bond& bond, int ifindex) {
    const Slave* slave = bond.find_slave(ifindex);
    return slave ? slave->name : fmt::format("if{}", ifindex);
}

void compare_lacp(Changes& changes, const Bond& before, const Bond& after) {
    if (after.mode != BondMode::lacp || before.mode != after.mode) return;
    if (!before.aggregator || !after.aggregator) {
        if (before.aggregator) changes.add(EventKind::bad, "no active aggregator any more");
        if (after.aggregator)
            changes.add(EventKind::good, "active aggregator {}", after.aggregator->aggregator_id);
        return;
    }
    const AggregatorInfo &was = *before.aggregator, &is = *after.aggregator;
    if (was.aggregator_id != is.aggregator_id)
        changes.add(EventKind::change, "active aggregator {}, was {}", is.aggregator_id, was.aggregator_id);
    if (was.partner_mac == is.partner_mac) return;
    if (is.partner_mac == MacAddress{})
        changes.add(EventKind::bad, "the LACP partner {} is gone", to_text(was.partner_mac));
    else
        changes.add(EventKind::change, "LACP partner {}, was {}", to_text(is.partner_mac),
                    was.partner_mac == MacAddress{} ? std::string("none") : to_text(was.partner_mac));
}

} // namespace

std::vector<Event> bond_changes(const Bond& before, const Bond& after) {
    Changes changes;
    if (before.name != after.name) changes.add(EventKind::change, "was named {}", before.name);
    if (before.mode != after.mode)
        changes.add(EventKind::change, "mode {}, was {}", to_text(after.mode), to_text(before.mode));
    if (before.policy != after.policy)
        changes.add(EventKind::change, "policy {}, was {}", to_text(after.policy), to_text(before.policy));
    compare_slaves(changes, before, after);
    compare_lacp(changes, before, after);
    if (after.active_slave && before.active_slave != after.active_slave)
        changes.add(EventKind::change, "active slave {}, was {}", slave_text(after, *after.active_slave),
                    before.active_slave ? slave_text(before, *before.active_slave) : std::string("none"));
    if (before.carrier != after.carrier)
        changes.add(after.carrier ? EventKind::good : EventKind::bad, "carrier {}",
                    after.carrier ? "up" : "lost");
    return changes.take();
}

} // namespace bondtrace
