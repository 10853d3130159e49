// SPDX-License-Identifier: GPL-2.0-or-later
// The maps are read at full speed while packets are counted into them: nothing is lost, counted twice, or
// taken back.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/window.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

using Clock = std::chrono::steady_clock;

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
        const auto end = Clock::now() + std::chrono::seconds(10);
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

} // namespace
} // namespace bondtrace::test
