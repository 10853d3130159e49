// SPDX-License-Identifier: GPL-2.0-or-later
// Caches and table read together while "CPUs" count: no flow's sum is ever less than what had been counted
// when the reading began, nor more than when it ended.
#include "user/trace/flow_caches.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

bt_flow_key key_of(std::uint16_t number) {
    bt_flow_key key{};
    key.src_port = number;
    key.ethertype = 0x0800;
    key.protocol = 17;
    return key;
}

// The table of the kernel: entries change one at a time.
class Table {
  public:
    void add(std::uint16_t number, const bt_count& count, std::uint64_t last_ns) {
        const std::scoped_lock lock(mutex_);
        bt_flow_value& value = values_[number];
        value.count.packets += count.packets;
        value.count.bytes += count.bytes;
        value.last_ns = std::max<std::uint64_t>(value.last_ns, last_ns);
    }
    std::optional<bt_flow_value> find(const bt_flow_key& key) {
        const std::scoped_lock lock(mutex_);
        const auto at = values_.find(key.src_port);
        return at == values_.end() ? std::nullopt : std::optional(at->second);
    }
    // Entry by entry, as a hash is walked: what is added to an entry before or after its turn is seen or not.
    FlowTable read(std::uint16_t flows) {
        FlowTable table;
        for (std::uint16_t number = 0; number < flows; ++number)
            if (const auto value = find(key_of(number))) table.push_back({key_of(number), *value, 0, 0});
        return table;
    }

  private:
    std::mutex mutex_;
    std::map<std::uint16_t, bt_flow_value> values_;
};

// A CPU as bpf/account.bpf.h has it: hits are counted in the cache, misses in the table, and take the place.
class Cpu {
  public:
    Cpu(bt_cache& cache, Table& table) : cache_(cache), table_(table) {}

    void count(std::uint16_t number, std::uint64_t bytes) {
        const bt_flow_key key = key_of(number);
        bt_cached_flow& cached = cache_.flows[bt_cache_place(&key)];
        if (cached.version != 0 && cached.key.src_port == number) {
            add(cached.count.packets, 1);
            add(cached.count.bytes, bytes);
            cached.credit = 2;
            return;
        }
        table_.add(number, {1, bytes, 0, 0}, 1);
        if (cached.credit > 0) {
            --cached.credit;
            return;
        }
        std::atomic_ref(cached.version).fetch_add(1);
        if (cached.count.packets != 0) table_.add(cached.key.src_port, cached.count, 2);
        std::atomic_ref(cached.count.packets).store(0);
        std::atomic_ref(cached.count.bytes).store(0);
        cached.key = key;
        std::atomic_ref(cached.version).fetch_add(1);
    }

  private:
    // One writer: no atomic addition.
    static void add(__u64& counter, std::uint64_t more) {
        std::atomic_ref(counter).store(counter + more, std::memory_order_release);
    }
    bt_cache& cache_;
    Table& table_;
};

TEST(FlowCaches, AreAddedToTheTable) {
    std::vector<bt_cache> caches(2);
    Table kernel;
    std::array<Cpu, 2> cpus{Cpu(caches[0], kernel), Cpu(caches[1], kernel)};
    for (int i = 0; i < 10; ++i) {
        cpus[0].count(1, 100);
        cpus[1].count(1, 50);
    }
    cpus[1].count(2, 60);
    FlowCaches reading(caches);
    FlowTable table = kernel.read(3);
    ASSERT_EQ(table.size(), 2U);
    EXPECT_EQ(table[0].value.count.packets, 2U); // all but the first of each CPU waits
    reading.add_to(table, [&](const bt_flow_key& key) { return kernel.find(key); });
    ASSERT_EQ(table.size(), 2U);
    EXPECT_EQ(table[0].value.count.packets, 20U);
    EXPECT_EQ(table[0].value.count.bytes, 1500U);
    EXPECT_EQ(table[1].value.count.packets, 1U);
}

TEST(FlowCaches, AFlowThatLeftBetweenTheReadingsIsCountedOnce) {
    std::vector<bt_cache> caches(1);
    Table kernel;
    Cpu cpu(caches[0], kernel);
    // Two flows of one place.
    std::uint16_t other = 1;
    const bt_flow_key first = key_of(0);
    for (bt_flow_key key = key_of(other); bt_cache_place(&key) != bt_cache_place(&first);
         key = key_of(++other)) {
    }
    for (int i = 0; i < 10; ++i)
        cpu.count(0, 100);
    for (const bool before : {true, false}) {
        FlowCaches reading(caches);
        FlowTable table;
        if (before) table = kernel.read(1);
        for (int i = 0; i < 4; ++i)
            cpu.count(other, 10); // the last ones take the place, and push the first flow into the table
        if (!before) table = kernel.read(1);
        reading.add_to(table, [&](const bt_flow_key& key) { return kernel.find(key); });
        ASSERT_FALSE(table.empty());
        EXPECT_EQ(table[0].value.count.packets, 10U) << before;
        EXPECT_EQ(table[0].value.count.bytes, 1000U);
    }
}

TEST(FlowCaches, SumsAreRightWhileCpusCount) {
    constexpr std::uint16_t flows = 600; // of 256 places
    constexpr int readings = 150;
    std::vector<bt_cache> caches(2);
    Table kernel;
    std::vector<std::atomic<std::uint64_t>> begun(flows), done(flows);
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (std::size_t cpu = 0; cpu < caches.size(); ++cpu)
        threads.emplace_back([&, cpu] {
            Cpu writer(caches[cpu], kernel);
            std::uint32_t random = 7 + static_cast<std::uint32_t>(cpu);
            while (!stop) {
                random = random * 1664525 + 1013904223;
                // Runs of packets, some flows far more often than others.
                const auto flow =
                    static_cast<std::uint16_t>((random >> 16U) % ((random & 1U) != 0 ? 20 : flows));
                for (int i = 0; i < 3; ++i) {
                    ++begun[flow];
                    writer.count(flow, 10);
                    ++done[flow];
                }
            }
        });
    const auto read = [&] {
        FlowCaches reading(caches);
        FlowTable table = kernel.read(flows);
        reading.add_to(table, [&](const bt_flow_key& key) { return kernel.find(key); });
        std::vector<std::uint64_t> packets(flows);
        for (const FlowEntry& entry : table)
            packets[entry.key.src_port] += entry.value.count.packets;
        return packets;
    };
    for (int i = 0; i < readings && !testing::Test::HasFailure(); ++i) {
        const std::vector<std::uint64_t> least(done.begin(), done.end());
        const std::vector<std::uint64_t> packets = read();
        for (std::uint16_t flow = 0; flow < flows; ++flow) {
            EXPECT_GE(packets[flow], least[flow]) << "flow " << flow << " in reading " << i;
            EXPECT_LE(packets[flow], begun[flow]) << "flow " << flow << " in reading " << i;
        }
    }
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
    const std::vector<std::uint64_t> packets = read();
    for (std::uint16_t flow = 0; flow < flows; ++flow)
        EXPECT_EQ(packets[flow], done[flow]) << "flow " << flow;
}

} // namespace
} // namespace bondtrace
