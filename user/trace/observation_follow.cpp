// SPDX-License-Identifier: GPL-2.0-or-later
// How an observation follows what happens to bonds and slaves.
#include "user/trace/observation.h"
#include "user/trace/observation_parts.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <unistd.h>

namespace bondtrace {

Result<void> Observation::leave(Member& member, const LinkCounters& now) {
    if (const auto removed = tracer_.remove_link(member.slave.ifindex); !removed) return removed;
    LinkCounters last = now;
    if (tracer_.attachment() == Attachment::tc) { // programs on the link itself have counted until now
        const auto read = read_counters(member.slave.ifindex);
        if (!read) return tl::make_unexpected(read.error());
        last = read->value_or(now);
    }
    member.counted = counted_until(member, last);
    member.base = last;
    member.present = false;
    return {};
}

Result<void> Observation::join(Watched& watched, const LinkEvent& event) {
    const auto known =
        std::find_if(watched.members.begin(), watched.members.end(),
                     [&](const Member& member) { return member.slave.ifindex == event.ifindex; });
    Member& member = known != watched.members.end() ? *known : watched.members.emplace_back();
    member.slave.ifindex = event.ifindex;
    member.slave.name = event.name;
    member.present = true;
    member.base = event.counters.value_or(LinkCounters{});
    if (tracer_.attachment() != Attachment::tc) return {};
    if (const auto refreshed = refresh_state(watched); !refreshed) return refreshed;
    // What passed before the programs were attached was not counted, so it is not to be compared.
    if (const auto attached = attach_to(watched, event.ifindex); !attached) return attached;
    const auto counters = read_counters(event.ifindex);
    if (!counters) return tl::make_unexpected(counters.error());
    if (*counters) member.base = **counters;
    return {};
}

bool Observation::belongs(const Watched& watched, const LinkEvent& event) const {
    if (event.deleted) return false;
    if (!is_group()) return event.master == watched.bond.ifindex;
    return std::find(links_.begin(), links_.end(), event.name) != links_.end() ||
           std::any_of(watched.members.begin(), watched.members.end(),
                       [&](const Member& member) { return member.slave.ifindex == event.ifindex; });
}

bool Observation::is_wanted(const LinkEvent& event) const {
    if (is_group() || !event.is_bond || event.deleted) return false;
    if (!names_.empty() && std::find(names_.begin(), names_.end(), event.name) == names_.end()) return false;
    return std::none_of(watched_.begin(), watched_.end(), [&](const Watched& watched) {
        return watched.bond.ifindex == event.ifindex; // no index is given twice
    });
}

// As open_window() does with the first ones; there is nothing to begin anew here.
Result<void> Observation::take_up(const LinkEvent& event) {
    if (probes_gone_ || watched_.size() >= max_bonds_) {
        if (std::find(no_room_.begin(), no_room_.end(), event.name) == no_room_.end())
            no_room_.push_back(event.name);
        return {};
    }
    const auto bonds = read_state();
    if (!bonds) return tl::make_unexpected(bonds.error());
    const auto bond = std::find_if(bonds->begin(), bonds->end(),
                                   [&](const Bond& one) { return one.ifindex == event.ifindex; });
    if (bond == bonds->end()) return {}; // it has gone again
    Watched watched{*bond, false, {}, {}};
    std::vector<int> slaves;
    for (const Slave& slave : bond->slaves) {
        watched.members.push_back({.slave = slave});
        slaves.push_back(slave.ifindex);
        if (const auto attached = attach_to(watched, slave.ifindex); !attached) return attached;
    }
    const auto before = counters_.read(slaves);
    if (!before) return tl::make_unexpected(before.error());
    if (const auto counted = tracer_.count_bond(device_of(*bond), slaves); !counted) return counted;
    const auto after = counters_.read(slaves);
    if (!after) return tl::make_unexpected(after.error());
    skew_ += frames_between(*before, *after);
    for (Member& member : watched.members)
        if (const auto counters = after->find(member.slave.ifindex); counters != after->end())
            member.base = counters->second;
    watched_.push_back(std::move(watched));
    return {};
}

Result<void> Observation::lose(Watched& watched) {
    watched.gone = true;
    watched.bond.carrier = false;
    watched.bond.admin_up = false;
    watched.bond.active_slave.reset();
    watched.bond.slaves.clear();
    for (Member& member : watched.members)
        if (member.present)
            if (const auto left = leave(member, member.base); !left) return left;
    // Probes go with the module that they are in; what is loaded again is not probed.
    if (tracer_.attachment() == Attachment::kprobe && access("/sys/module/bonding", F_OK) != 0)
        probes_gone_ = true;
    return {};
}

// What a slave's programs are told depends on the mode.
Result<void> Observation::refresh_state(Watched& watched) {
    const auto bonds = read_state();
    if (!bonds) return tl::make_unexpected(bonds.error());
    for (const Bond& bond : *bonds)
        if (bond.ifindex == watched.bond.ifindex) watched.bond = bond;
    return {};
}

Result<void> Observation::apply(const LinkEvent& event) {
    if (is_wanted(event))
        if (const auto taken = take_up(event); !taken) return taken;
    for (Watched& watched : watched_) {
        if (!is_group() && event.ifindex == watched.bond.ifindex) {
            watched.bond.name = event.name;
            if (event.deleted)
                if (const auto lost = lose(watched); !lost) return lost;
        }
        bool known = false;
        const bool belongs_here = belongs(watched, event);
        for (Member& member : watched.members) {
            if (member.slave.ifindex != event.ifindex) continue;
            member.slave.name = event.name;
            if (!member.present) continue;
            known = true;
            if (!belongs_here)
                if (const auto left = leave(member, event.counters.value_or(member.base)); !left) return left;
        }
        if (!known && belongs_here)
            if (const auto joined = join(watched, event); !joined) return joined;
    }
    return {};
}

bool Observation::concerns(const LinkEvent& event) const {
    return is_wanted(event) || std::any_of(watched_.begin(), watched_.end(), [&](const Watched& watched) {
               return event.ifindex == watched.bond.ifindex || event.master == watched.bond.ifindex ||
                      std::any_of(watched.members.begin(), watched.members.end(), [&](const Member& member) {
                          return member.slave.ifindex == event.ifindex;
                      });
           });
}

// After lost events: what the state is now says who joined and who left; their counters are those of now.
Result<void> Observation::reread() {
    const auto bonds = read_state();
    if (!bonds) return tl::make_unexpected(bonds.error());
    const auto counters = read_counters();
    if (!counters) return tl::make_unexpected(counters.error());
    for (Watched& watched : watched_) {
        const auto now = std::find_if(bonds->begin(), bonds->end(),
                                      [&](const Bond& bond) { return bond.ifindex == watched.bond.ifindex; });
        for (Member& member : watched.members) {
            if (!member.present) continue;
            const Slave* slave = now != bonds->end() ? now->find_slave(member.slave.ifindex) : nullptr;
            if (slave) continue;
            const auto last = counters->find(member.slave.ifindex);
            if (const auto left = leave(member, last != counters->end() ? last->second : member.base); !left)
                return left;
        }
        if (now == bonds->end()) {
            if (!watched.gone)
                if (const auto lost = lose(watched); !lost) return lost;
            continue;
        }
        watched.bond.name = now->name;
        for (const Slave& slave : now->slaves) {
            // When a slave joined is not known. One that had left is taken to have carried nothing meanwhile,
            // for the driver switches it off.
            const auto past =
                std::find_if(watched.members.begin(), watched.members.end(),
                             [&](const Member& member) { return member.slave.ifindex == slave.ifindex; });
            if (const auto applied =
                    apply({.ifindex = slave.ifindex,
                           .name = slave.name,
                           .is_bond = false,
                           .master = watched.bond.ifindex,
                           .deleted = false,
                           .counters = past != watched.members.end() ? past->base : slave.counters});
                !applied)
                return applied;
        }
    }
    for (const Bond& bond : *bonds) {
        const LinkEvent made{.ifindex = bond.ifindex,
                             .name = bond.name,
                             .is_bond = true,
                             .master = 0,
                             .deleted = false,
                             .counters = {}};
        if (is_wanted(made))
            if (const auto taken = take_up(made); !taken) return taken;
    }
    return {};
}

Result<void> Observation::follow() {
    const std::uint64_t asked = nanoseconds_of(std::chrono::steady_clock::now());
    const auto changes = monitor_.poll_events();
    if (!changes) return tl::make_unexpected(changes.error());
    const bool changed =
        changes->must_reread || std::any_of(changes->events.begin(), changes->events.end(),
                                            [&](const LinkEvent& event) { return concerns(event); });
    for (Watched& watched : watched_)
        changed ? watched.notes.disturbed() : watched.notes.quiet_until(asked);
    for (const LinkEvent& event : changes->events)
        if (const auto applied = apply(event); !applied) return applied;
    if (changes->must_reread)
        if (const auto read = reread(); !read) return read;
    return changed && takes_notes() ? note_state() : Result<void>{};
}

void Observation::check_notes(const std::vector<Bond>& bonds) {
    for (Watched& watched : watched_)
        for (const Bond& bond : bonds)
            if (bond.ifindex == watched.bond.ifindex) watched.notes.check(choice_state(bond));
}

} // namespace bondtrace
