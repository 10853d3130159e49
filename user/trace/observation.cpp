// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/observation.h"

#include "user/bond/link_group.h"
#include "user/trace/observation_parts.h"
#include "user/trace/tc_links.h"

#include <algorithm>
#include <array>

namespace bondtrace {
namespace {

// How often the opening is tried before a window is accepted into whose edge frames fell.
constexpr int max_openings = 3;

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

LinkCounters Observation::counted_until(const Member& member, const LinkCounters& now) {
    LinkCounters counted = member.counted;
    if (member.present) counted += now - member.base;
    return counted;
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
