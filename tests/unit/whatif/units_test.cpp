// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/flow/flow_builder.h"
#include "user/whatif/units.h"

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

// A UDP packet 10.0.0.1:PORT -> 10.0.0.2:53 in an Ethernet frame.
std::vector<std::uint8_t> udp(std::uint16_t port) {
    return {2,
            0,
            0,
            0,
            0x0b,
            2,
            2,
            0,
            0,
            0,
            0x0a,
            1,
            8,
            0, // IPv4
            0x45,
            0,
            0,
            46,
            0,
            1,
            0,
            0,
            64,
            17,
            0,
            0,
            10,
            0,
            0,
            1,
            10,
            0,
            0,
            2,
            static_cast<std::uint8_t>(port >> 8U),
            static_cast<std::uint8_t>(port),
            0,
            53,
            0,
            26,
            0,
            0};
}

TEST(UnitTable, CountsPacketsOfOneFlowTogether) {
    UnitTable table(newest_era, 1000);
    for (int i = 0; i < 3; ++i) {
        const auto frame = udp(1000);
        table.add({frame, 1500, LinkType::ethernet});
    }
    const auto other = udp(1001);
    table.add({other, 60, LinkType::ethernet});
    const WhatifUnits units = table.finish();
    ASSERT_EQ(units.units.size(), 2U);
    EXPECT_EQ(units.units[0].packets, 3U);
    EXPECT_EQ(units.units[0].bytes, 4500U);
    EXPECT_EQ(units.units[1].packets, 1U);
    EXPECT_EQ(std::get<Ports>(units.keys[1].detail).local, 1001);
}

TEST(UnitTable, GrowsAndStopsAtTheMost) {
    constexpr std::size_t most = 20'000;
    UnitTable table(newest_era, most);
    for (int round = 0; round < 2; ++round)
        for (std::uint32_t port = 1; port <= 30'000; ++port) {
            const auto frame = udp(static_cast<std::uint16_t>(port));
            table.add({frame, 100, LinkType::ethernet});
        }
    EXPECT_EQ(table.size(), most);
    const WhatifUnits units = table.finish();
    std::uint64_t packets = 0;
    for (const Unit& unit : units.units) {
        EXPECT_EQ(unit.packets, 2U);
        packets += unit.packets;
    }
    EXPECT_EQ(packets + units.lost_packets, 60'000U);
    EXPECT_EQ(units.lost_bytes, 2U * 10'000 * 100);
}

TEST(UnitTable, CountsWhatIsNoFrameApart) {
    UnitTable table(newest_era, 10);
    const std::vector<std::uint8_t> runt(13);
    table.add({runt, 13, LinkType::ethernet});
    table.add({{}, 0, LinkType::linux_cooked2});
    const WhatifUnits units = table.finish();
    EXPECT_TRUE(units.units.empty());
    EXPECT_EQ(units.elsewhere_packets, 2U);
}

TEST(UnitsOf, AreWhatConversationsSent) {
    Conversation flow = test::conversation(6, "10.0.0.1", 40000, "10.0.0.2", 443);
    flow.tx = {test::use(1, 0, 1, 1000, 10), test::use(2, 2, 3, 500, 5)};
    flow.tx[0].origin.local_mac = {2, 0, 0, 0, 0x0a, 1};
    flow.tx[0].origin.remote_mac = {2, 0, 0, 0, 0x0b, 2};
    flow.tx[0].origin.outer_ethertype = 0x0800;
    Conversation received = flow, elsewhere = flow;
    received.rx = std::move(received.tx);
    received.tx.clear();
    elsewhere.bond = 1;
    const WhatifUnits units = units_of(std::vector{flow, received, elsewhere}, 0, newest_era);
    ASSERT_EQ(units.units.size(), 1U);
    const Unit& unit = units.units[0];
    EXPECT_EQ(unit.bytes, 1500U);
    EXPECT_EQ(unit.packets, 15U);
    EXPECT_EQ(unit.known, 0x3f);
    // Frame T1 of tests/fixtures/hash_vectors.txt.
    EXPECT_EQ(unit.hash[policy_index(HashPolicy::layer2)], 0x803U);
    EXPECT_EQ(unit.hash[policy_index(HashPolicy::layer34)], 0x5c5cfcb2U);
    // With the socket's hash, as it was noted.
    flow.tx[0].origin.l4_hash = true;
    flow.tx[0].origin.skb_hash = 42;
    const WhatifUnits hashed = units_of(std::vector{flow}, 0, newest_era);
    EXPECT_EQ(hashed.units[0].hash[policy_index(HashPolicy::encap34)], 42U);
    EXPECT_TRUE(hashed.units[0].socket_hash);
    // What is in a tunnel is not in the tuple.
    flow.key.protocol = 47;
    flow.key.detail = std::monostate{};
    flow.tx[0].origin.l4_hash = false;
    const WhatifUnits tunnel = units_of(std::vector{flow}, 0, newest_era);
    EXPECT_FALSE(tunnel.units[0].knows(HashPolicy::encap23));
    EXPECT_TRUE(tunnel.units[0].knows(HashPolicy::layer34));
}

} // namespace
} // namespace bondtrace
