// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/observation.h"

#include "user/bond/link_group.h"
#include "user/trace/tc_links.h"

#include <algorithm>
#include <array>

#include <unistd.h>

namespace bondtrace {
namespace {

// How often the opening is tried before a window is accepted into whose edge frames fell.
constexpr int max_openings = 3;

LinkCounters operator-(const LinkCounters& later, const LinkCounters& earlier) {
    return {.rx_packets = later.rx_packets - earlier.rx_packets,
            .rx_bytes = later.rx_bytes - earlier.rx_bytes,
            .rx_dropped = later.rx_dropped - earlier.rx_dropped,
            .rx_errors = later.rx_errors - earlier.rx_errors,
            .rx_nohandler = later.rx_nohandler - earlier.rx_nohandler,
            .tx_packets = later.tx_packets - earlier.tx_packets,
            .tx_bytes = later.tx_bytes - earlier.tx_bytes,
            .tx_dropped = later.tx_dropped - earlier.tx_dropped,
            .tx_errors = later.tx_errors - earlier.tx_errors};
}

void operator+=(LinkCounters& sum, const LinkCounters& part) {
    sum.rx_packets += part.rx_packets;
    sum.rx_bytes += part.rx_bytes;
    sum.rx_dropped += part.rx_dropped;
    sum.rx_errors += part.rx_errors;
    sum.rx_nohandler += part.rx_nohandler;
    sum.tx_packets += part.tx_packets;
    sum.tx_bytes += part.tx_bytes;
    sum.tx_dropped += part.tx_dropped;
    sum.tx_errors += part.tx_errors;
}

// Frames counted from one reading to the next, of the interfaces that are in both.
std::uint64_t frames_between(const std::map<int, LinkCounters>& earlier,
                             const std::map<int, LinkCounters>& later) {
    std::uint64_t frames = 0;
    for (const auto& [ifindex, counters] : later) {
        const auto before = earlier.find(ifindex);
        if (before == earlier.end()) continue;
        frames +=
            counters.rx_packets - before->second.rx_packets + counters.tx_packets - before->second.tx_packets;
    }
    return frames;
}

// On Linux this clock is CLOCK_MONOTONIC, which the programs use as well.
std::uint64_t nanoseconds_of(std::chrono::steady_clock::time_point time) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

// A group of links has no interface of its own, and no interface has this index.
constexpr std::uint32_t group_ifindex = UINT32_MAX;

bt_device device_of(const Bond& bond) {
    return {bond.netns, bond.group ? group_ifindex : static_cast<std::uint32_t>(bond.ifindex)};
}

std::uint32_t link_flags(const Bond& bond) {
    if (bond.group) return 0;
    if (bond.mode == BondMode::lacp) return BT_LINK_LACP;
    if (bond.mode == BondMode::balance_tlb || bond.mode == BondMode::balance_alb) return BT_LINK_LEARNING;
    return 0;
}

void set_end(Observed& observed, std::chrono::steady_clock::time_point started,
             std::chrono::steady_clock::time_point ended) {
    observed.seconds = std::chrono::duration<double>(ended - started).count();
    observed.ended_ns = nanoseconds_of(ended);
}

} // namespace

Result<Observation> Observation::start(const NetNs& netns, const std::vector<std::string>& names,
                                       TraceConfig config) {
    // The monitor first: what changes after the state was read is then not missed.
    auto monitor = LinkMonitor::open(netns);
    if (!monitor) return tl::make_unexpected(monitor.error());
    auto reader = LinkReader::open(netns);
    if (!reader) return tl::make_unexpected(reader.error());
    auto bonds = config.links.empty() ? reader->find_bonds(names) : find_link_group(*reader, config.links);
    if (!bonds) return tl::make_unexpected(bonds.error());
    if (const auto removed = remove_tc_leftovers(netns); !removed)
        return tl::make_unexpected(removed.error());
    auto counters = CounterReader::open(netns);
    if (!counters) return tl::make_unexpected(counters.error());
    // A group of links has no sisters.
    config.max_bonds = static_cast<std::uint32_t>(bonds->size()) + (config.links.empty() ? spare : 0);
    auto tracer = Tracer::attach(netns, config);
    if (!tracer) return tl::make_unexpected(tracer.error());

    Observation observation(netns, std::move(*reader), std::move(*monitor), std::move(*counters),
                            std::move(*tracer));
    observation.max_flows_ = config.max_flows;
    observation.names_ = names;
    observation.links_ = config.links;
    observation.max_bonds_ = config.max_bonds;
    for (Bond& bond : *bonds) {
        Watched watched{std::move(bond), false, {}, {}};
        for (const Slave& slave : watched.bond.slaves)
            watched.members.push_back({.slave = slave});
        observation.watched_.push_back(std::move(watched));
    }
    for (const Watched& watched : observation.watched_)
        for (const Member& member : watched.members)
            if (const auto attached = observation.attach_to(watched, member.slave.ifindex); !attached)
                return tl::make_unexpected(attached.error());
    if (observation.takes_notes())
        if (const auto noted = observation.note_state(); !noted) return tl::make_unexpected(noted.error());
    if (const auto opened = observation.open_window(); !opened) return tl::make_unexpected(opened.error());
    return observation;
}

Result<std::vector<Bond>> Observation::read_state() const {
    if (!is_group()) return reader_.read_bonds();
    return find_link_group(reader_, links_, LinksMissing::allowed);
}

Result<void> Observation::attach_to(const Watched& watched, int ifindex) {
    return tracer_.add_link(ifindex, {device_of(watched.bond), link_flags(watched.bond), 0});
}

// Read first, noted from when it has been read: a change in between makes itself heard at the next follow().
Result<void> Observation::note_state() {
    const auto bonds = read_state();
    if (!bonds) return tl::make_unexpected(bonds.error());
    const std::uint64_t now = nanoseconds_of(std::chrono::steady_clock::now());
    for (Watched& watched : watched_)
        for (const Bond& bond : *bonds)
            if (bond.ifindex == watched.bond.ifindex) watched.notes.begin(now, choice_state(bond));
    return {};
}

Result<std::optional<LinkCounters>> Observation::read_counters(int ifindex) {
    const auto all = counters_.read(std::array{ifindex});
    if (!all) return tl::make_unexpected(all.error());
    const auto found = all->find(ifindex);
    return found == all->end() ? std::nullopt : std::optional(found->second);
}

Result<Observation::Counters> Observation::read_counters() {
    std::vector<int> ifindexes;
    for (const Watched& watched : watched_)
        for (const Member& member : watched.members)
            if (member.present) ifindexes.push_back(member.slave.ifindex);
    return counters_.read(ifindexes);
}

Result<void> Observation::begin_counting() {
    for (const Watched& watched : watched_) {
        std::vector<int> slaves;
        for (const Member& member : watched.members)
            slaves.push_back(member.slave.ifindex);
        if (const auto counted = tracer_.count_bond(device_of(watched.bond), slaves); !counted)
            return counted;
    }
    return {};
}

// The counters are read before and after counting begins. Where no frame was counted in between, both begin
// at the same instant; on a bond that is never silent the second reading is the beginning, and the difference
// is owned up to.
Result<void> Observation::open_window() {
    for (int opening = 1;; ++opening) {
        const auto before = read_counters();
        if (!before) return tl::make_unexpected(before.error());
        if (const auto begun = begin_counting(); !begun) return begun;
        started_ = std::chrono::steady_clock::now();
        const auto after = read_counters();
        if (!after) return tl::make_unexpected(after.error());

        skew_ = frames_between(*before, *after);
        if (skew_ != 0 && opening < max_openings) {
            if (const auto stopped = tracer_.stop(); !stopped) return stopped;
            if (const auto cleared = tracer_.reset(); !cleared) return cleared;
            continue;
        }
        for (Watched& watched : watched_)
            for (Member& member : watched.members)
                if (const auto counters = after->find(member.slave.ifindex); counters != after->end())
                    member.base = counters->second;
        return {};
    }
}

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

LinkCounters Observation::counted_until(const Member& member, const LinkCounters& now) {
    LinkCounters counted = member.counted;
    if (member.present) counted += now - member.base;
    return counted;
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
    if (watched_.size() >= max_bonds_) {
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
        return fail(ErrorKind::unavailable,
                    "the bonding module was unloaded, and the probes in it are gone with it",
                    "start again when it is loaded (--wait waits for a bond)");
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

Result<Observed> Observation::snapshot() {
    if (const auto followed = follow(); !followed) return tl::make_unexpected(followed.error());
    const auto bonds = read_state();
    if (!bonds) return tl::make_unexpected(bonds.error());

    check_notes(*bonds);
    // The flow table may take long to read, the counters do not: what they disagree by is what passed in
    // between.
    const auto before = read_counters();
    if (!before) return tl::make_unexpected(before.error());
    auto reading = tracer_.read();
    if (!reading) return tl::make_unexpected(reading.error());
    const auto ended = std::chrono::steady_clock::now();
    const auto after = read_counters();
    if (!after) return tl::make_unexpected(after.error());

    Observed observed = assemble(*bonds, *after, std::move(*reading));
    set_end(observed, started_, ended);
    observed.reading_skew = skew_ + frames_between(*before, *after);
    return observed;
}

Result<Observed> Observation::finish() {
    // Whatever takes time comes before or after, not between the readings that are to be of one instant.
    if (const auto followed = follow(); !followed) return tl::make_unexpected(followed.error());
    const auto bonds = read_state();
    if (!bonds) return tl::make_unexpected(bonds.error());

    check_notes(*bonds);
    const auto before = read_counters();
    if (!before) return tl::make_unexpected(before.error());
    const auto ended = std::chrono::steady_clock::now();
    if (const auto stopped = tracer_.stop(); !stopped) return tl::make_unexpected(stopped.error());
    const auto after = read_counters();
    if (!after) return tl::make_unexpected(after.error());
    auto reading = tracer_.read();
    if (!reading) return tl::make_unexpected(reading.error());

    Observed observed = assemble(*bonds, *after, std::move(*reading));
    set_end(observed, started_, ended);
    observed.reading_skew = skew_ + frames_between(*before, *after);
    return observed;
}

Observed Observation::assemble(const std::vector<Bond>& bonds, const Counters& counters,
                               TraceReading reading) const {
    Observed observed;
    observed.attachment = to_text(tracer_.attachment());
    observed.passed_over = tracer_.passed_over();
    observed.max_flows = max_flows_;
    observed.no_room = no_room_;
    for (FlowEntry& flow : reading.flows)
        watched_[flow.bond].notes.complete(flow);
    observed.flows = std::move(reading.flows);
    observed.stats = reading.stats;
    observed.programs = reading.programs;
    for (const Watched& watched : watched_) {
        const auto now = std::find_if(bonds.begin(), bonds.end(),
                                      [&](const Bond& bond) { return bond.ifindex == watched.bond.ifindex; });
        ObservedBond& bond = observed.bonds.emplace_back();
        bond.gone = watched.gone;
        bond.bond = now != bonds.end() ? *now : watched.bond;
        for (const Member& member : watched.members) {
            const auto last = counters.find(member.slave.ifindex);
            const Slave* state = bond.bond.find_slave(member.slave.ifindex);
            ObservedSlave& slave = bond.slaves.emplace_back();
            slave.slave = state ? *state : member.slave;
            slave.gone = !member.present;
            slave.counters = counted_until(member, last != counters.end() ? last->second : member.base);
        }
    }
    for (const TotalsEntry& entry : reading.totals) {
        std::vector<ObservedSlave>& slaves = observed.bonds[entry.bond].slaves;
        auto slave = std::find_if(slaves.begin(), slaves.end(), [&](const ObservedSlave& candidate) {
            return candidate.slave.ifindex == entry.slave_ifindex;
        });
        if (slave == slaves.end()) { // it came and went between two readings of the link events
            slave = slaves.emplace(slaves.end());
            slave->slave.ifindex = entry.slave_ifindex;
            slave->gone = true;
        }
        slave->totals = entry.totals;
    }
    return observed;
}

std::vector<std::string> Observation::bond_names() const {
    std::vector<std::string> names;
    for (const Watched& watched : watched_)
        names.push_back(watched.bond.name);
    return names;
}

std::vector<std::string> Observation::slave_names() const {
    std::vector<std::string> names;
    for (const Watched& watched : watched_)
        for (const Member& member : watched.members)
            names.push_back(member.slave.name);
    return names;
}

} // namespace bondtrace
