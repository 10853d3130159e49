// SPDX-License-Identifier: GPL-2.0-or-later
// Flows of known ports and sizes: counted as sent, on the slave where the other end of the wire saw them.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/window.h"
#include "user/flow/join.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace bondtrace::test {
namespace {

// Source ports in steps of seven: consecutive ones would cancel the destination ports' in the driver's XOR,
// and of three slaves only two would be used.
std::vector<UdpFlow> known_flows(unsigned count) {
    std::vector<UdpFlow> flows;
    for (unsigned i = 0; i < count; ++i)
        flows.push_back({static_cast<std::uint16_t>(40000 + 7 * i), static_cast<std::uint16_t>(5000 + i % 4),
                         1 + i % 7, 50 + i});
    return flows;
}

constexpr std::size_t udp_headers = 14 + 20 + 8; // Ethernet, IPv4, UDP

const Conversation* find_udp(const std::vector<Conversation>& conversations, std::uint16_t local_port) {
    const auto found =
        std::find_if(conversations.begin(), conversations.end(), [&](const Conversation& conversation) {
            const auto* ports = std::get_if<Ports>(&conversation.key.detail);
            return conversation.key.protocol == 17 && ports && ports->local == local_port;
        });
    return found == conversations.end() ? nullptr : &*found;
}

class KnownFlows : public testing::TestWithParam<const char*> {};

TEST_P(KnownFlows, AreCountedAsSentOnTheSlaveWhereThePeerSawThem) {
    const Lab lab(fmt::format("direct --slaves 3 --mode {} --policy layer3+4", GetParam()));
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    const std::vector<UdpFlow> flows = known_flows(64);
    std::map<std::string, Result<Tap>> taps; // by the slave at the other end of the wire
    for (const int i : {0, 1, 2})
        taps.emplace(fmt::format("s{}", i), Tap::open(ends.b, fmt::format("p{}", i)));

    auto observation = Observation::start(ends.a, {"bond0"}, test_config());
    ASSERT_TRUE(observation) << observation.error().what;
    const auto sent = send_udp(ends.v4_a(), ends.v4_b(), flows);
    ASSERT_TRUE(sent) << sent.error().what;
    const auto observed = observation->finish();
    ASSERT_TRUE(observed) << observed.error().what;

    std::map<std::string, std::map<std::uint16_t, Tap::Seen>> seen;
    for (auto& [slave, tap] : taps) {
        ASSERT_TRUE(tap) << tap.error().what;
        const auto frames = tap->udp_by_source_port();
        ASSERT_TRUE(frames) << frames.error().what;
        seen[slave] = *frames;
    }
    const std::vector<Conversation> conversations = join(observed->flows);
    std::set<std::string> used;
    for (const UdpFlow& flow : flows) {
        SCOPED_TRACE(flow.source_port);
        const Conversation* conversation = find_udp(conversations, flow.source_port);
        ASSERT_NE(conversation, nullptr);
        EXPECT_EQ(conversation->tx_total().packets, flow.packets);
        EXPECT_EQ(conversation->tx_total().bytes, flow.packets * (udp_headers + flow.payload));
        EXPECT_TRUE(conversation->rx.empty());
        std::size_t slaves_of_peer = 0;
        for (const auto& [slave, ports] : seen)
            slaves_of_peer += ports.contains(flow.source_port) ? 1U : 0U;
        EXPECT_EQ(conversation->tx.size(), slaves_of_peer);
        for (const SlaveUse& use : conversation->tx) {
            const auto& slaves = observed->bonds.front().slaves;
            const auto slave =
                std::find_if(slaves.begin(), slaves.end(), [&](const ObservedSlave& candidate) {
                    return candidate.slave.ifindex == use.slave_ifindex;
                });
            ASSERT_NE(slave, slaves.end());
            used.insert(slave->slave.name);
            const Tap::Seen& peer = seen[slave->slave.name][flow.source_port];
            EXPECT_EQ(use.counts.packets, peer.packets) << slave->slave.name;
            EXPECT_EQ(use.counts.bytes, peer.bytes) << slave->slave.name;
        }
    }
    EXPECT_EQ(used.size(), 3U) << "64 flows did not use all slaves";
}

INSTANTIATE_TEST_SUITE_P(Modes, KnownFlows, testing::Values("802.3ad", "balance-rr"),
                         [](const auto& instance) {
                             return std::string(instance.param) == "802.3ad" ? "lacp" : "rr";
                         });

TEST(FullTable, TotalsStayExactAndTheRestIsShown) {
    const Lab lab("direct --mode balance-xor --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    std::vector<UdpFlow> flows;
    for (unsigned i = 0; i < 1000; ++i)
        flows.push_back({static_cast<std::uint16_t>(20000 + i), 5001, 2, 100});
    const auto observed =
        observe(ends.a, [&] { return send_udp(ends.v4_a(), ends.v4_b(), flows); }, {.max_flows = 64});
    ASSERT_TRUE(observed) << observed.error().what;
    expect_conservation(*observed, Unit::skb, Unit::skb);
    std::uint64_t total = 0, untracked = 0;
    for (const ObservedSlave& slave : observed->bonds.front().slaves) {
        total += slave.totals.tx.packets;
        untracked += slave.totals.tx_untracked.packets;
    }
    EXPECT_LE(observed->flows.size(), 64U);
    EXPECT_GE(total, 2000U);
    EXPECT_GE(untracked, 2U * (1000 - 64));
}

TEST(BothEnds, TracedAtOnceNeverMix) {
    const Lab lab("direct --mode 802.3ad --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    auto a = Observation::start(ends.a, {}, test_config());
    ASSERT_TRUE(a) << a.error().what;
    auto b = Observation::start(ends.b, {}, test_config());
    ASSERT_TRUE(b) << b.error().what;
    const auto sent = send_udp(ends.v4_a(), ends.v4_b(), known_flows(32));
    ASSERT_TRUE(sent) << sent.error().what;
    const auto back = transfer_tcp(ends.v4_b(), ends.v4_a(), 42000, 5004, 100'000);
    ASSERT_TRUE(back) << back.error().what;
    const auto seen_a = a->finish();
    const auto seen_b = b->finish();
    ASSERT_TRUE(seen_a) << seen_a.error().what;
    ASSERT_TRUE(seen_b) << seen_b.error().what;
    ASSERT_EQ(seen_a->bonds.size(), 1U);
    ASSERT_EQ(seen_b->bonds.size(), 1U);
    EXPECT_EQ(seen_a->bonds.front().bond.netns, ends.a.inode());
    EXPECT_EQ(seen_b->bonds.front().bond.netns, ends.b.inode());

    // The same names of devices' numbers in both namespaces would be told apart by the namespace only: make
    // sure that there is such a number, or the test shows nothing.
    std::set<int> numbers;
    for (const ObservedSlave& slave : seen_a->bonds.front().slaves)
        numbers.insert(slave.slave.ifindex);
    numbers.insert(seen_a->bonds.front().bond.ifindex);
    bool shared = numbers.contains(seen_b->bonds.front().bond.ifindex);
    for (const ObservedSlave& slave : seen_b->bonds.front().slaves)
        shared |= numbers.contains(slave.slave.ifindex);
    EXPECT_TRUE(shared) << "no interface number is used in both namespaces";

    const std::vector<Conversation> flows_a = join(seen_a->flows), flows_b = join(seen_b->flows);
    for (const UdpFlow& flow : known_flows(32)) {
        const Conversation* at_a = find_udp(flows_a, flow.source_port);
        ASSERT_NE(at_a, nullptr);
        EXPECT_EQ(to_text(at_a->key.local), "10.77.0.1");
        const auto at_b = std::find_if(flows_b.begin(), flows_b.end(), [&](const Conversation& conversation) {
            const auto* ports = std::get_if<Ports>(&conversation.key.detail);
            return conversation.key.protocol == 17 && ports && ports->remote == flow.source_port;
        });
        ASSERT_NE(at_b, flows_b.end());
        EXPECT_EQ(to_text(at_b->key.local), "10.77.0.2");
        EXPECT_EQ(at_a->tx_total(), at_b->rx_total());
        EXPECT_TRUE(at_b->tx.empty());
    }
}

} // namespace
} // namespace bondtrace::test
