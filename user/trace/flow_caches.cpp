// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/flow_caches.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace bondtrace {
namespace {

// A program is interrupted while it exchanges a flow only where it is emulated; it is waited for, but not for
// ever.
constexpr int most_looks = 1000;
// Flows that leave their caches while those that left before are read again.
constexpr int most_rounds = 8;

bool same(const bt_flow_key& a, const bt_flow_key& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

std::uint64_t load(const std::uint64_t& word) {
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_relaxed);
}

std::uint32_t load_version(const bt_cached_flow& flow) {
    return std::atomic_ref(const_cast<std::uint32_t&>(flow.version)).load(std::memory_order_acquire);
}

// Where the flows of a table stand that have the same key as one of some others: those few are looked for by
// their places in a cache.
class Positions {
  public:
    Positions(const FlowTable& table, const std::vector<bt_flow_key>& keys) : by_place_(BT_CACHE_FLOWS) {
        for (const bt_flow_key& key : keys) {
            auto& entries = by_place_[bt_cache_place(&key)];
            if (std::none_of(entries.begin(), entries.end(),
                             [&](const Entry& entry) { return same(entry.key, key); }))
                entries.push_back({key, none});
        }
        for (std::size_t i = 0; i < table.size(); ++i)
            for (Entry& entry : by_place_[bt_cache_place(&table[i].first)])
                if (same(entry.key, table[i].first)) entry.position = i;
    }
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    std::size_t& operator[](const bt_flow_key& key) {
        auto& entries = by_place_[bt_cache_place(&key)];
        return std::find_if(entries.begin(), entries.end(),
                            [&](const Entry& entry) { return same(entry.key, key); })
            ->position;
    }

  private:
    struct Entry {
        bt_flow_key key;
        std::size_t position;
    };
    std::vector<std::vector<Entry>> by_place_;
};

} // namespace

FlowCaches::FlowCaches(std::span<const bt_cache> caches)
    : caches_(caches), seen_(caches.size() * BT_CACHE_FLOWS) {
    for (std::size_t i = 0; i < seen_.size(); ++i)
        seen_[i] = see(place(i));
}

const bt_cached_flow& FlowCaches::place(std::size_t i) const {
    return caches_[i / BT_CACHE_FLOWS].flows[i % BT_CACHE_FLOWS];
}

// The flow at a place as it is between two exchanges.
FlowCaches::Seen FlowCaches::see(const bt_cached_flow& flow) {
    Seen seen;
    for (int look = 0; look < most_looks; ++look) {
        seen.version = load_version(flow);
        if (seen.version == 0) return {};
        if (seen.version % 2 != 0) continue;
        seen.key = flow.key;
        seen.count.packets = load(flow.count.packets);
        seen.count.bytes = load(flow.count.bytes);
        seen.count.added_packets = load(flow.count.added_packets);
        seen.count.added_bytes = load(flow.count.added_bytes);
        seen.last_ns = load(flow.last_ns);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (load_version(flow) == seen.version) return seen;
    }
    return {}; // its entry in the table has all but the last packets
}

// Sees all again, and returns the flows that have left their places since: what they had is in the table by
// now.
std::vector<bt_flow_key> FlowCaches::look_again() {
    std::vector<bt_flow_key> left;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
        const Seen now = see(place(i));
        if (now.version != seen_[i].version && seen_[i].version != 0) left.push_back(seen_[i].key);
        seen_[i] = now;
    }
    return left;
}

void FlowCaches::add_to(FlowTable& table, const FlowLookup& look_up) {
    std::vector<bt_flow_key> left = look_again();
    for (int round = 0; !left.empty() && round < most_rounds; ++round) {
        Positions positions(table, left);
        for (const bt_flow_key& key : left) {
            const auto value = look_up(key);
            if (!value) continue;
            std::size_t& position = positions[key];
            if (position == Positions::none) {
                position = table.size();
                table.emplace_back(key, *value);
            } else {
                table[position].second = *value;
            }
        }
        left = look_again();
    }

    // From here on only what was seen last counts; the table was read before, entry by entry.
    std::vector<bt_flow_key> waiting;
    for (const Seen& seen : seen_)
        if (seen.version != 0 && seen.count.packets != 0) waiting.push_back(seen.key);
    Positions positions(table, waiting);
    // What of the table was read before the caches were seen last; of flows that never settle nothing is
    // sure.
    const std::size_t read_before = left.empty() ? table.size() : 0;
    for (const bt_flow_key& key : waiting) { // those newer than the reading of the table
        std::size_t& position = positions[key];
        if (position != Positions::none) continue;
        const auto value = look_up(key);
        if (!value) continue;
        position = table.size();
        table.emplace_back(key, *value);
    }
    for (std::size_t i = 0; i < seen_.size(); ++i) {
        const Seen& seen = seen_[i];
        if (seen.version == 0 || seen.count.packets == 0) continue;
        const std::size_t position = positions[seen.key];
        if (position == Positions::none) continue;
        // Of an entry that was read after its cache, only what has not been added to it in between.
        if (position >= read_before && load_version(place(i)) != seen.version) continue;
        bt_flow_value& value = table[position].second;
        value.count.packets += seen.count.packets;
        value.count.bytes += seen.count.bytes;
        value.count.added_packets += seen.count.added_packets;
        value.count.added_bytes += seen.count.added_bytes;
        value.last_ns = std::max<std::uint64_t>(value.last_ns, seen.last_ns);
    }
}

} // namespace bondtrace
