// SPDX-License-Identifier: GPL-2.0-or-later
// The maps are read at full speed while packets are counted into them: nothing is lost, counted twice, or
// taken back.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/namespace.h"
#include "tests/kernel/support/window.h"
#include "tools/bench/stream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

using Clock = std::chrono::steady_clock;

// How long the maps are read and written at once: $BONDTRACE_STRESS_SECONDS. A minute is the full run; by
// default less, since the machine is an emulated one most of the time and the tests are run often.
std::chrono::seconds stress_time() {
    constexpr int by_default = 10;
    const char* const seconds = std::getenv("BONDTRACE_STRESS_SECONDS");
    return std::chrono::seconds(seconds ? std::max(std::atoi(seconds), 1) : by_default);
}

// By the key's bytes.
std::map<std::string, std::uint64_t> packets_by_flow(const Observed& observed) {
    std::map<std::string, std::uint64_t> packets;
    for (const FlowEntry& entry : observed.flows) {
        std::string key(sizeof(entry.key), '\0');
        std::memcpy(key.data(), &entry.key, key.size());
        packets[key] += entry.value.count.packets;
    }
    return packets;
}

TEST(Reader, TakesNothingAwayFromWhatIsCountedMeanwhile) {
    const Lab lab("direct --mode balance-rr --slaves 2");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    // More flows than a cache has places, a packet of each in turn: flows come into caches and leave them all
    // the time.
    std::vector<UdpFlow> flows;
    for (std::uint16_t i = 0; i < 600; ++i)
        flows.push_back({static_cast<std::uint16_t>(30000 + i), 5001, 4, 100});
    // Then few: what is in caches stays there.
    const std::vector<UdpFlow> few(flows.begin(), flows.begin() + 20);

    auto observation = Observation::start(ends.a, {"bond0"}, test_config());
    ASSERT_TRUE(observation) << observation.error().what;
    std::atomic<bool> done = false;
    Result<void> sent;
    std::uint64_t datagrams = 0;
    std::thread sender([&] {
        const auto end = Clock::now() + stress_time();
        while (sent && Clock::now() < end)
            for (const auto& some : {flows, few}) {
                sent = send_udp(ends.v4_a(), ends.v4_b(), some);
                datagrams += 4 * some.size();
                if (!sent) break;
            }
        done = true;
    });
    std::map<std::string, std::uint64_t> last;
    std::size_t readings = 0;
    while (!done) {
        const auto observed = observation->snapshot();
        if (!observed) {
            ADD_FAILURE() << observed.error().what;
            break;
        }
        ++readings;
        const auto now = packets_by_flow(*observed);
        for (const auto& [key, packets] : last) {
            const auto again = now.find(key);
            EXPECT_TRUE(again != now.end() && again->second >= packets) << "in reading " << readings;
        }
        last = now;
    }
    sender.join();
    ASSERT_TRUE(sent) << sent.error().what;
    EXPECT_GT(readings, 5U);
    const auto observed = observation->finish();
    ASSERT_TRUE(observed) << observed.error().what;
    std::uint64_t counted = 0;
    for (const FlowEntry& entry : observed->flows)
        if (entry.key.protocol == 17 && ntohs(entry.key.dst_port) == 5001 && !(entry.key.flags & BT_KEY_RX))
            counted += entry.value.count.packets;
    EXPECT_EQ(counted, datagrams);
    if (observed->reading_skew == 0) expect_conservation(*observed, Unit::skb, Unit::skb);
}

// A link that is traced by tc, and what it takes to send packets through its programs.
struct Link {
    Namespace netns{"reader"};
    int ifindex = 0;

    Link() {
        EXPECT_TRUE(netns.ip("link add l0 type veth peer name l1"));
        const std::string text = netns.sys("l0", "ifindex");
        ifindex = std::atoi(text.c_str());
        EXPECT_GT(ifindex, 0);
    }
    [[nodiscard]] Result<Observation> observe(std::uint32_t max_flows) const {
        TraceConfig config;
        config.links = {"l0"};
        config.max_flows = max_flows;
        return Observation::start(netns.open(), {}, config);
    }
};

std::uint64_t sum_of(const std::vector<std::uint64_t>& numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}

// As fast as two CPUs can count: many flows, which come into the caches and leave them all the time, and a
// few, which stay there.
TEST(Reader, IsRightWhileTwoCpusCountAsFastAsTheyCan) {
    const Link link;
    ASSERT_FALSE(HasFailure());
    auto observation = link.observe(4096);
    ASSERT_TRUE(observation) << observation.error().what;
    const std::vector<bench::Stream> streams{{0, false, {.count = 1024, .first = 0, .swapped = false}},
                                             {1, false, {.count = 16, .first = 1000, .swapped = false}}};
    std::atomic<bool> stop = false, done = false;
    Result<std::vector<std::uint64_t>> sent;
    std::thread senders([&] {
        sent = bench::run_streams(link.netns.open(), link.ifindex, streams, 10'000, stop);
        done = true;
    });
    const auto end = Clock::now() + stress_time();
    std::map<std::string, std::uint64_t> last;
    std::size_t readings = 0;
    while (!done && Clock::now() < end && !HasFailure()) {
        const auto observed = observation->snapshot();
        if (!observed) {
            ADD_FAILURE() << observed.error().what;
            break;
        }
        ++readings;
        const auto now = packets_by_flow(*observed);
        for (const auto& [key, packets] : last) {
            const auto again = now.find(key);
            EXPECT_TRUE(again != now.end() && again->second >= packets) << "in reading " << readings;
        }
        last = now;
    }
    stop = true;
    senders.join();
    ASSERT_TRUE(sent) << sent.error().what;
    EXPECT_GT(readings, 5U);
    const auto observed = observation->finish();
    ASSERT_TRUE(observed) << observed.error().what;
    std::uint64_t counted = 0;
    for (const FlowEntry& entry : observed->flows)
        counted += entry.value.count.packets;
    EXPECT_EQ(counted, sum_of(*sent)) << readings << " readings";
    EXPECT_EQ(observed->bonds.at(0).slaves.at(0).totals.tx.packets, sum_of(*sent));
    EXPECT_EQ(observed->flows.size(), 1024U); // the few are among them
    std::cout << readings << " readings of " << sum_of(*sent) << " packets\n";
}

// A table of a million entries takes a million flows, which two CPUs bring at once.
TEST(Reader, AMillionFlowsFillTheTableToTheLastEntry) {
    constexpr std::uint32_t flows = 1U << 20U;
    const Link link;
    ASSERT_FALSE(HasFailure());
    auto observation = link.observe(flows);
    ASSERT_TRUE(observation) << observation.error().what;
    const std::vector<bench::Stream> streams{{0, false, {.count = flows, .first = 0, .swapped = false}},
                                             {1, false, {.count = flows, .first = 0, .swapped = false}}};
    const std::atomic<bool> once = true;
    const auto sent = bench::run_streams(link.netns.open(), link.ifindex, streams, flows, once);
    ASSERT_TRUE(sent) << sent.error().what;
    const auto observed = observation->finish();
    ASSERT_TRUE(observed) << observed.error().what;
    EXPECT_EQ(observed->flows.size(), flows);
    const auto wrong =
        std::count_if(observed->flows.begin(), observed->flows.end(), [](const FlowEntry& entry) {
            return entry.value.count.packets != 2 || entry.value.count.bytes != 128;
        });
    EXPECT_EQ(wrong, 0);
    const bt_slave_totals& totals = observed->bonds.at(0).slaves.at(0).totals;
    EXPECT_EQ(totals.tx.packets, 2ULL * flows);
    EXPECT_EQ(totals.tx_untracked.packets, 0U);
}

} // namespace
} // namespace bondtrace::test
