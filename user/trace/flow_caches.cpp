// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/flow_caches.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

namespace bondtrace {
namespace {

// A program is done with an exchange within a microsecond, unless its CPU is a virtual one that does not run.
constexpr int most_looks = 10'000;
// A flow that is exchanged again and again while its sum is being made.
constexpr int most_attempts = 100;

bool same(const bt_flow_key& a, const bt_flow_key& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

std::uint64_t load(const __u64& word) {
    return std::atomic_ref(const_cast<__u64&>(word)).load(std::memory_order_relaxed);
}

std::uint32_t load_version(const bt_cached_flow& flow) {
    return std::atomic_ref(const_cast<__u32&>(flow.version)).load(std::memory_order_acquire);
}

void add(bt_flow_value& value, const bt_count& count, std::uint64_t last_ns) {
    value.count.packets += count.packets;
    value.count.bytes += count.bytes;
    value.count.added_packets += count.added_packets;
    value.count.added_bytes += count.added_bytes;
    value.last_ns = std::max<std::uint64_t>(value.last_ns, last_ns);
}

} // namespace

FlowCaches::FlowCaches(std::span<const bt_cache> caches) : caches_(caches) {
    seen_.reserve(caches.size() * BT_CACHE_FLOWS);
    for (const bt_cache& cache : caches)
        for (const bt_cached_flow& flow : cache.flows)
            seen_.push_back(see(flow));
}

// The flow at a place as it is between two exchanges.
FlowCaches::Seen FlowCaches::see(const bt_cached_flow& flow) {
    Seen seen;
    for (int look = 0; look < most_looks; ++look) {
        seen.version = load_version(flow);
        if (seen.version == 0) return {};
        if (seen.version % 2 != 0) {
            std::this_thread::yield();
            continue;
        }
        seen.key = flow.key;
        seen.count.packets = load(flow.count.packets);
        seen.count.bytes = load(flow.count.bytes);
        seen.count.added_packets = load(flow.count.added_packets);
        seen.count.added_bytes = load(flow.count.added_bytes);
        seen.last_ns = load(flow.last_ns);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (load_version(flow) == seen.version) return seen;
    }
    return {};
}

// The flow's sum at one moment: what its entry and all its places hold, none of which was exchanged
// meanwhile.
std::optional<bt_flow_value> FlowCaches::sum_of(const bt_flow_key& key, const FlowLookup& look_up) const {
    const std::uint32_t place = bt_cache_place(&key);
    std::vector<std::uint32_t> versions(caches_.size());
    std::optional<bt_flow_value> entry;
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        bt_flow_value waiting{};
        for (std::size_t cpu = 0; cpu < caches_.size(); ++cpu) {
            const Seen seen = see(caches_[cpu].flows[place]);
            versions[cpu] = seen.version;
            if (seen.version != 0 && same(seen.key, key)) add(waiting, seen.count, seen.last_ns);
        }
        entry = look_up(key);
        if (!entry) return std::nullopt;
        bool still = true;
        for (std::size_t cpu = 0; cpu < caches_.size(); ++cpu)
            still = still && load_version(caches_[cpu].flows[place]) == versions[cpu];
        if (!still) continue;
        add(*entry, waiting.count, waiting.last_ns);
        return entry;
    }
    return entry; // without what waits, which is little: it has just been exchanged
}

void FlowCaches::add_to(FlowTable& table, const FlowLookup& look_up) {
    // Flows at places that have not been exchanged since the first look: what waits there is in no entry that
    // was read. The others have moved between cache and table while that was read, and are asked for one by
    // one.
    struct Waiting {
        bt_flow_key key;
        bt_flow_value sum{}; // of its counts; nothing else
        bool moved = false, found = false;
    };
    std::vector<std::vector<Waiting>> waiting(BT_CACHE_FLOWS);
    const auto note = [&](const Seen& seen, bool moved) {
        if (seen.version == 0) return;
        auto& flows = waiting[bt_cache_place(&seen.key)];
        auto at = std::find_if(flows.begin(), flows.end(),
                               [&](const Waiting& flow) { return same(flow.key, seen.key); });
        if (at == flows.end()) at = flows.insert(at, {.key = seen.key});
        add(at->sum, seen.count, seen.last_ns);
        at->moved = at->moved || moved;
    };
    for (std::size_t i = 0; i < seen_.size(); ++i) {
        const Seen now = see(caches_[i / BT_CACHE_FLOWS].flows[i % BT_CACHE_FLOWS]);
        const bool moved = now.version != seen_[i].version;
        if (moved) note(seen_[i], true);
        note(now, moved);
    }

    for (FlowEntry& entry : table)
        for (Waiting& flow : waiting[bt_cache_place(&entry.key)]) {
            if (!same(flow.key, entry.key)) continue;
            flow.found = true;
            if (!flow.moved)
                add(entry.value, flow.sum.count, flow.sum.last_ns);
            else if (const auto sum = sum_of(entry.key, look_up))
                entry.value = *sum;
        }
    for (const auto& flows : waiting)
        for (const Waiting& flow : flows)
            if (!flow.found) // newer than the reading of the table
                if (const auto sum = sum_of(flow.key, look_up)) table.push_back({flow.key, *sum, 0, 0});
}

} // namespace bondtrace
