// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/observation.h"

#include <algorithm>

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

} // namespace

Result<Observation> Observation::start(const NetNs& netns, const std::vector<std::string>& names,
                                       TraceConfig config) {
    // The monitor first: what changes after the state was read is then not missed.
    auto monitor = LinkMonitor::open(netns);
    if (!monitor) return tl::make_unexpected(monitor.error());
    auto reader = LinkReader::open(netns);
    if (!reader) return tl::make_unexpected(reader.error());
    auto bonds = reader->find_bonds(names);
    if (!bonds) return tl::make_unexpected(bonds.error());
    auto counters = CounterReader::open(netns);
    if (!counters) return tl::make_unexpected(counters.error());
    config.max_bonds = static_cast<std::uint32_t>(bonds->size());
    auto tracer = Tracer::attach(config);
    if (!tracer) return tl::make_unexpected(tracer.error());

    Observation observation(netns, std::move(*reader), std::move(*monitor), std::move(*counters),
                            std::move(*tracer));
    observation.max_flows_ = config.max_flows;
    for (Bond& bond : *bonds) {
        Watched watched{std::move(bond), {}};
        for (const Slave& slave : watched.bond.slaves)
            watched.members.push_back({.slave = slave});
        observation.watched_.push_back(std::move(watched));
    }
    if (const auto opened = observation.open_window(); !opened) return tl::make_unexpected(opened.error());
    return observation;
}

Result<std::map<int, LinkCounters>> Observation::read_counters() {
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
        const bt_device device{watched.bond.netns, static_cast<std::uint32_t>(watched.bond.ifindex)};
        if (const auto counted = tracer_.count_bond(device, slaves); !counted) return counted;
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

void Observation::leave(Member& member, const LinkCounters& now) {
    member.present = false;
    member.counted += now - member.base;
}

void Observation::join(Watched& watched, const LinkEvent& event) {
    const auto known =
        std::find_if(watched.members.begin(), watched.members.end(),
                     [&](const Member& member) { return member.slave.ifindex == event.ifindex; });
    Member& member = known != watched.members.end() ? *known : watched.members.emplace_back();
    member.slave.ifindex = event.ifindex;
    member.slave.name = event.name;
    member.present = true;
    member.base = event.counters.value_or(LinkCounters{});
}

void Observation::apply(const LinkEvent& event) {
    for (Watched& watched : watched_) {
        if (event.ifindex == watched.bond.ifindex) watched.bond.name = event.name;
        bool known = false;
        for (Member& member : watched.members) {
            if (member.slave.ifindex != event.ifindex) continue;
            member.slave.name = event.name;
            if (!member.present) continue;
            known = true;
            if (event.deleted || event.master != watched.bond.ifindex)
                leave(member, event.counters.value_or(member.base));
        }
        if (!known && !event.deleted && event.master == watched.bond.ifindex) join(watched, event);
    }
}

// After lost events: what the state is now says who joined and who left; their counters are those of now.
Result<void> Observation::reread() {
    const auto bonds = reader_.read_bonds();
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
            leave(member, last != counters->end() ? last->second : member.base);
        }
        if (now == bonds->end()) continue;
        watched.bond.name = now->name;
        for (const Slave& slave : now->slaves)
            apply({.ifindex = slave.ifindex,
                   .name = slave.name,
                   .is_bond = false,
                   .master = watched.bond.ifindex,
                   .deleted = false,
                   .counters = slave.counters});
    }
    return {};
}

Result<void> Observation::follow() {
    const auto changes = monitor_.poll_events();
    if (!changes) return tl::make_unexpected(changes.error());
    for (const LinkEvent& event : changes->events)
        apply(event);
    if (changes->must_reread) return reread();
    return {};
}

Result<Observed> Observation::finish() {
    // Whatever takes time comes before or after, not between the readings that are to be of one instant.
    if (const auto followed = follow(); !followed) return tl::make_unexpected(followed.error());
    const auto bonds = reader_.read_bonds();
    if (!bonds) return tl::make_unexpected(bonds.error());

    const auto before = read_counters();
    if (!before) return tl::make_unexpected(before.error());
    const auto ended = std::chrono::steady_clock::now();
    if (const auto stopped = tracer_.stop(); !stopped) return tl::make_unexpected(stopped.error());
    const auto after = read_counters();
    if (!after) return tl::make_unexpected(after.error());
    auto reading = tracer_.read();
    if (!reading) return tl::make_unexpected(reading.error());

    Observed observed;
    observed.attachment = tracer_.attachment();
    observed.seconds = std::chrono::duration<double>(ended - started_).count();
    observed.max_flows = max_flows_;
    observed.flows = std::move(reading->flows);
    observed.stats = reading->stats;
    observed.recursion_misses = reading->recursion_misses;
    observed.reading_skew = skew_ + frames_between(*before, *after);
    for (Watched& watched : watched_) {
        const auto now = std::find_if(bonds->begin(), bonds->end(),
                                      [&](const Bond& bond) { return bond.ifindex == watched.bond.ifindex; });
        ObservedBond& bond = observed.bonds.emplace_back();
        bond.bond = now != bonds->end() ? *now : watched.bond;
        for (Member& member : watched.members) {
            const auto last = after->find(member.slave.ifindex);
            const bool was_present = member.present;
            if (was_present) leave(member, last != after->end() ? last->second : member.base);
            const Slave* state = bond.bond.find_slave(member.slave.ifindex);
            ObservedSlave& slave = bond.slaves.emplace_back();
            slave.slave = state ? *state : member.slave;
            slave.gone = !was_present;
            slave.counters = member.counted;
        }
    }
    for (const TotalsEntry& entry : reading->totals) {
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
