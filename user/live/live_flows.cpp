// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/live_flows.h"

#include "user/live/mix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace bondtrace {
namespace {

// Entries that have vanished from the kernel's table are remembered that long, in case they come back.
constexpr std::uint64_t remembered_ns = 120'000'000'000;
// And their number may reach this before anything is cleared away.
constexpr std::size_t absent_tolerated = 1024;

Counts counts_of(const bt_count& count) {
    return {count.packets, count.bytes, count.packets + count.added_packets, count.bytes + count.added_bytes};
}

// What was added, and never less than nothing.
Counts growth(const Counts& later, const Counts& earlier) {
    const auto more = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; };
    return {more(later.packets, earlier.packets), more(later.bytes, earlier.bytes),
            more(later.wire_packets, earlier.wire_packets), more(later.wire_bytes, earlier.wire_bytes)};
}

Counts larger(const Counts& a, const Counts& b) {
    return {std::max(a.packets, b.packets), std::max(a.bytes, b.bytes),
            std::max(a.wire_packets, b.wire_packets), std::max(a.wire_bytes, b.wire_bytes)};
}

void add_wire(Rate& sum, const Counts& delta) {
    sum.packets += static_cast<double>(delta.wire_packets);
    sum.bytes += static_cast<double>(delta.wire_bytes);
}

Rate rate_of(const Rate& grown, double seconds) {
    if (seconds <= 0) return {};
    return {grown.packets / seconds, grown.bytes / seconds};
}

} // namespace

void CalmRate::follow(double rate) {
    // The exponent and the first five bits of the mantissa: a logarithm in steps of two to three per cent,
    // for the price of a shift. Four of them are a tenth.
    constexpr unsigned dropped_bits = 47, tolerated = 4;
    const auto now = static_cast<std::uint16_t>(std::bit_cast<std::uint64_t>(rate) >> dropped_bits);
    const unsigned distance = now > level ? now - level : level - now;
    if (distance > tolerated || rate == 0) level = now;
}

std::uint64_t LiveFlows::hash_of(std::size_t bond, const ConversationKey& key) const {
    std::uint64_t hash = seed_;
    const auto add = [&](std::uint64_t word) { hash = mix(hash ^ word, multiplier_); };
    const auto add_host = [&](const Host& host) {
        std::array<std::uint64_t, 2> words{};
        if (const auto* ip = std::get_if<IpAddress>(&host))
            words = std::bit_cast<std::array<std::uint64_t, 2>>(ip->bytes);
        else
            for (const std::uint8_t byte : std::get<MacAddress>(host))
                words[0] = words[0] << 8 | byte;
        add(words[0]);
        add(words[1]);
    };
    add(std::uint64_t{bond} << 32 | std::uint64_t{key.ethertype} << 16 | std::uint64_t{key.protocol} << 8 |
        (key.ip ? 1U : 0U) | (key.fragment ? 2U : 0U) | (key.unparsed ? 4U : 0U));
    add_host(key.local);
    add_host(key.remote);
    if (const auto* ports = std::get_if<Ports>(&key.detail))
        add(std::uint64_t{1} << 32 | std::uint64_t{ports->local} << 16 | ports->remote);
    else if (const auto* icmp = std::get_if<IcmpMessage>(&key.detail))
        add(std::uint64_t{2} << 48 | std::uint64_t{icmp->id.value_or(0)} << 16 |
            std::uint64_t{icmp->type} << 8 | icmp->code);
    else if (const auto* spi = std::get_if<Spi>(&key.detail))
        add(std::uint64_t{3} << 32 | spi->value);
    add(std::uint64_t{key.vlan.value_or(0xffff)} << 16 | key.inner_vlan.value_or(0xffff));
    return hash;
}

std::uint64_t LiveFlows::hash_of_row(std::uint32_t row) const {
    return hash_of(rows_[row].flow.bond, rows_[row].flow.key);
}

LiveFlows::LiveFlows() : seed_(random_word()), multiplier_(random_word() | 1) {}

std::uint32_t LiveFlows::row_of(const FlowEntry& entry) {
    Conversation conversation = conversation_of(entry);
    const auto found = find(conversation.bond, conversation.key);
    const std::uint32_t index = found.value_or(static_cast<std::uint32_t>(rows_.size()));
    if (!found) {
        FlowRow& row = rows_.emplace_back();
        row.id = next_id_++;
        row.flow.bond = conversation.bond;
        row.flow.key = conversation.key;
        row.first_ns = entry.value.first_ns;
        known_.add([this](std::uint32_t other) { return hash_of_row(other); });
    }
    FlowRow& row = rows_[index];
    const bool received = entry.key.flags & BT_KEY_RX;
    std::vector<SlaveUse>& its_uses = received ? conversation.rx : conversation.tx;
    SlaveUse& use = its_uses.front();
    std::vector<SlaveUse>& uses = received ? row.flow.rx : row.flow.tx;
    const bool known = std::any_of(uses.begin(), uses.end(), [&](const SlaveUse& other) {
        return other.slave_ifindex == use.slave_ifindex && other.inactive == use.inactive;
    });
    if (!known) {
        use.counts = {}; // added by grow()
        const auto behind =
            std::upper_bound(uses.begin(), uses.end(), use,
                             [](const SlaveUse& a, const SlaveUse& b) { return a.first_ns < b.first_ns; });
        if (uses.empty())
            uses = std::move(its_uses); // no room to spare
        else
            uses.insert(behind, use);
        changed_.push_back(index);
    }
    row.first_ns = std::min<std::uint64_t>(row.first_ns, entry.value.first_ns);
    return index;
}

void LiveFlows::grow(FlowRow& row, const FlowEntry& entry, const Counts& delta, bool received, bool is_new) {
    const bool inactive = received && (entry.key.flags & (BT_KEY_INACTIVE | BT_KEY_PASSED));
    for (SlaveUse& use : received ? row.flow.rx : row.flow.tx) {
        if (use.slave_ifindex != entry.slave_ifindex || use.inactive != inactive) continue;
        use.counts += delta;
        use.last_ns = std::max<std::uint64_t>(use.last_ns, entry.value.last_ns);
    }
    if (received) {
        add_wire(row.rx, delta);
        if (!inactive && (row.rx_slave == 0 || entry.value.last_ns >= row.rx_last_ns)) {
            row.rx_slave = entry.slave_ifindex;
            row.rx_last_ns = entry.value.last_ns;
        }
        return;
    }
    add_wire(row.tx, delta);
    for (std::uint32_t place = row.growth; place != 0; place = growths_[place - 1].next)
        if (Growth& growth = growths_[place - 1]; growth.slave == entry.slave_ifindex) {
            growth.last_ns = std::max<std::uint64_t>(growth.last_ns, entry.value.last_ns);
            return;
        }
    growths_.push_back({.first_ns = entry.value.first_ns,
                        .last_ns = entry.value.last_ns,
                        .slave = entry.slave_ifindex,
                        .next = row.growth,
                        .is_new = is_new});
    row.growth = static_cast<std::uint32_t>(growths_.size());
}

void LiveFlows::add(const FlowEntry& entry, std::uint64_t time_ns) {
    const EntryIndex::Found found = index_.find_or_add(entry.key);
    if (found.is_new) {
        EntryState state;
        state.row = row_of(entry);
        entries_.push_back(state);
    }
    EntryState& state = entries_[found.number];
    const Counts counts = counts_of(entry.value.count);
    const bool was_absent = state.epoch != epoch_ - 1 && state.epoch != epoch_;
    const bool begins_anew = found.is_new || (was_absent && counts.packets < state.counts.packets);
    const Counts delta = begins_anew ? counts : growth(counts, state.counts);
    state.counts = begins_anew ? counts : larger(counts, state.counts);
    state.epoch = epoch_;
    state.present_ns = time_ns;
    if (delta == Counts{}) return;
    FlowRow& row = rows_[state.row];
    if (row.epoch != epoch_) {
        row.epoch = epoch_;
        row.tx = row.rx = {}; // sums for now, rates by finish_row()
        row.growth = 0;
    }
    grow(row, entry, delta, entry.key.flags & BT_KEY_RX, found.is_new);
}

// Which slave the flow is on now, and whether that is a move. Where it sent through two slaves in one
// interval, it has moved when it began on the one after it ended on the other; otherwise the next interval
// tells.
void LiveFlows::follow_slave(std::uint32_t index, bool moves_mean_something, std::uint64_t time_ns) {
    FlowRow& row = rows_[index];
    const Growth *latest = nullptr, *old = nullptr; // old: on the slave that it was on
    unsigned slaves = 0;
    for (std::uint32_t place = row.growth; place != 0; place = growths_[place - 1].next) {
        const Growth& growth = growths_[place - 1];
        ++slaves;
        if (growth.slave == row.tx_slave) old = &growth;
        // Of equal ones that which was read first, which comes last.
        if (!latest ||
            std::pair(growth.last_ns, growth.first_ns) >= std::pair(latest->last_ns, latest->first_ns))
            latest = &growth;
    }
    if (row.tx_slave == 0) { // the first time
        row.tx_slave = latest->slave;
        row.moves = moves_mean_something ? row.flow.moves() : 0;
        row.sprayed = row.flow.sprayed();
        return;
    }
    bool moved = false;
    if (slaves == 1) {
        moved = latest->slave != row.tx_slave;
        row.sprayed = false;
    } else {
        moved = slaves == 2 && old && latest != old && latest->is_new && old->last_ns <= latest->first_ns;
        row.sprayed = !moved;
    }
    if (!moves_mean_something) {
        row.tx_slave = latest->slave;
        return;
    }
    if (!moved) return;
    row.moved_from = std::exchange(row.tx_slave, latest->slave);
    row.moved_ns = time_ns;
    ++row.moves;
    moves_.push_back({index, row.moved_from, row.tx_slave});
}

void LiveFlows::finish_row(std::uint32_t index, bool moves_mean_something, std::uint64_t time_ns,
                           double seconds, double fading) {
    FlowRow& row = rows_[index];
    row.tx_weight *= fading;
    row.rx_weight *= fading;
    const bool grew = row.epoch == epoch_;
    const Rate tx_grown = grew ? row.tx : Rate{}, rx_grown = grew ? row.rx : Rate{};
    row.tx = rate_of(tx_grown, seconds);
    row.rx = rate_of(rx_grown, seconds);
    for (const LiveDirection direction : {LiveDirection::both, LiveDirection::tx, LiveDirection::rx}) {
        const Rate rate = row.rate(direction);
        row.bytes_order[static_cast<std::size_t>(direction)].follow(rate.bytes);
        row.packets_order[static_cast<std::size_t>(direction)].follow(rate.packets);
    }
    if (!grew) return;
    if (row.growth != 0) follow_slave(index, moves_mean_something, time_ns);
    if (seconds > 0) {
        row.active_ns = time_ns;
        row.tx_weight += tx_grown.bytes;
        row.rx_weight += rx_grown.bytes;
        return;
    }
    // The first reading's sums have no interval: the flow may have been silent for long.
    for (const auto* uses : {&row.flow.tx, &row.flow.rx})
        for (const SlaveUse& use : *uses)
            row.active_ns = std::max(row.active_ns, use.last_ns);
}

void LiveFlows::update(std::span<const FlowEntry> entries, std::span<const BondMode> bonds,
                       std::uint64_t time_ns, double seconds) {
    ++epoch_;
    moves_.clear();
    changed_.clear();
    if (rows_.empty()) reserve(entries.size());
    index_.begin_reading();
    for (const FlowEntry& entry : entries)
        add(entry, time_ns);
    const double fading = std::exp(-seconds / weight_seconds);
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
        const std::size_t bond = rows_[row].flow.bond;
        const bool spraying = bond < bonds.size() &&
                              (bonds[bond] == BondMode::balance_rr || bonds[bond] == BondMode::broadcast);
        finish_row(row, !spraying, time_ns, seconds, fading);
    }
    growths_ = {};
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    // Entries that were not read this time; one that was read twice makes the number too small, no more.
    absent_ = entries_.size() > entries.size() ? entries_.size() - entries.size() : 0;
    if (absent_ > absent_tolerated && absent_ > entries.size()) forget(time_ns);
}

std::optional<std::uint32_t> LiveFlows::find(std::size_t bond, const ConversationKey& key) const {
    return known_.find(hash_of(bond, key), [&](std::uint32_t row) {
        return rows_[row].flow.bond == bond && rows_[row].flow.key == key;
    });
}

// The first reading of a table in use is most of what there will be: room for all of it at once, where
// growing by doubling would leave half of it unused, or copy it while both copies are in memory.
void LiveFlows::reserve(std::size_t entries) {
    index_.reserve(entries);
    entries_.reserve(entries);
    rows_.reserve(entries);
}

// Clears away what has vanished from the kernel's table long ago, with the rows of which nothing is left.
void LiveFlows::forget(std::uint64_t time_ns) {
    std::vector<std::uint32_t> kept;
    std::vector<bool> row_used(rows_.size());
    for (std::uint32_t number = 0; number < entries_.size(); ++number) {
        if (time_ns > entries_[number].present_ns + remembered_ns) continue;
        kept.push_back(number);
        row_used[entries_[number].row] = true;
    }
    if (kept.size() == entries_.size()) return;
    std::vector<std::uint32_t> renumbered(rows_.size());
    std::vector<FlowRow> rows;
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
        renumbered[row] = static_cast<std::uint32_t>(rows.size());
        if (row_used[row]) rows.push_back(std::move(rows_[row]));
    }
    rows_ = std::move(rows);
    known_.rebuild(rows_.size(), [this](std::uint32_t row) { return hash_of_row(row); });
    std::vector<EntryState> entries;
    entries.reserve(kept.size());
    for (const std::uint32_t number : kept) {
        entries.push_back(entries_[number]);
        entries.back().row = renumbered[entries.back().row];
    }
    entries_ = std::move(entries);
    index_.keep(kept);
    // What was just read is among what is kept.
    for (FlowMove& move : moves_)
        move.row = renumbered[move.row];
    for (std::uint32_t& row : changed_)
        row = renumbered[row];
}

} // namespace bondtrace
