// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/prove/scene.h"
#include "user/prove/capacity.h"

#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

using traffic::Transport;

// The 2 x 25 GbE experiment: each port full gave 23.5 Gbit/s of TCP payload at MTU 1500.
TEST(Capacity, PayloadOfTcpIsWhatTheExperimentMeasured) {
    const double fraction = payload_fraction(Transport::tcp, false, 1'500, 0);
    EXPECT_NEAR(25 * fraction, 23.5, 0.05);
    // 1448 of 1538 bytes; IPv6 has 20 bytes less.
    EXPECT_DOUBLE_EQ(fraction, 1'448.0 / 1'538);
    EXPECT_DOUBLE_EQ(payload_fraction(Transport::tcp, true, 1'500, 0), 1'428.0 / 1'538);
    EXPECT_DOUBLE_EQ(payload_fraction(Transport::udp, false, 1'500, 18), 18.0 / (64 + 20))
        << "a frame of 64 bytes";
}

// Its totals: 8 flows split 2 and 6 fill both ports, all on one port fill one.
TEST(Capacity, ASplitAllowsWhatItsSlavesCarry) {
    traffic::EndTrace both = trace("s", 2), one = trace("s", 2);
    for (int i = 0; i < 8; ++i) {
        add_flow(both, i < 2 ? 0 : 1, 0);
        add_flow(one, 1, 0);
    }
    EXPECT_DOUBLE_EQ(*capacity_of(both, nullptr, 0).split_allows, 50e9);
    EXPECT_DOUBLE_EQ(*capacity_of(one, nullptr, 0).split_allows, 25e9);
    EXPECT_DOUBLE_EQ(*capacity_of(one, nullptr, 0).all_full, 50e9);
}

// The 2 x 40 GbE experiment: a switch that hashes on addresses puts one client's flows on one port.
TEST(Capacity, TheReceiversSlavesLimitAsWell) {
    traffic::EndTrace sender = trace("s", 2, 40'000), receiver = trace("p", 2, 40'000);
    for (unsigned i = 0; i < 8; ++i) {
        add_flow(sender, i % 2, 0);
        add_flow(receiver, 0, 1);
    }
    const Capacity capacity = capacity_of(sender, &receiver, 0);
    EXPECT_DOUBLE_EQ(*capacity.split_allows, 40e9);
    EXPECT_DOUBLE_EQ(*capacity.all_full, 80e9);
}

// Three flows from s0 to p0, one from s1 to p0 and one from s1 to p1: p0 is shared, s1 has a way around it.
TEST(Capacity, IsTheMaximumFlow) {
    traffic::EndTrace sender = trace("s", 2, 10'000), receiver = trace("p", 2, 10'000);
    for (const auto& [tx, rx] : {std::pair{0U, 0U}, {0U, 0U}, {0U, 0U}, {1U, 0U}, {1U, 1U}}) {
        add_flow(sender, tx, 0);
        add_flow(receiver, 0, rx);
    }
    EXPECT_DOUBLE_EQ(*capacity_of(sender, &receiver, 0).split_allows, 20e9);
    // 1 Gbit/s a flow: 3 + 1 over p0, 1 over p1.
    EXPECT_DOUBLE_EQ(*capacity_of(sender, &receiver, 1e9).split_allows, 5e9);
}

TEST(Capacity, OfSpreadPacketsIsThatOfAllTheirSlaves) {
    traffic::EndTrace sender = trace("s", 2, 1'000), receiver = trace("p", 2, 1'000);
    sender.flows.push_back({{use(0, 500), use(1, 500)}, {}});
    receiver.flows.push_back({{}, {use(0, 500), use(1, 500)}});
    EXPECT_DOUBLE_EQ(*capacity_of(sender, &receiver, 0).split_allows, 2e9);
}

TEST(Capacity, IsUnknownWhereASpeedIs) {
    traffic::EndTrace sender = trace("s", 2);
    sender.slaves[1].speed_mbps.reset();
    add_flow(sender, 0, 0);
    EXPECT_FALSE(capacity_of(sender, nullptr, 0).all_full);
    EXPECT_DOUBLE_EQ(*capacity_of(sender, nullptr, 0).split_allows, 25e9) << "that slave carries nothing";
    add_flow(sender, 1, 0);
    EXPECT_FALSE(capacity_of(sender, nullptr, 0).split_allows);
    // One that is not usable counts for nothing.
    sender.slaves[1].usable = false;
    EXPECT_DOUBLE_EQ(*capacity_of(sender, nullptr, 0).all_full, 25e9);
}

} // namespace
} // namespace bondtrace::test
