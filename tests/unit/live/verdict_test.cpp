// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/live/reading_builder.h"
#include "user/live/verdict.h"

#include <cmath>

#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

Bond lacp_bond() {
    return ReadingBuilder(0).bond();
}

TEST(Lacp, IsUpWhenAllSlavesCarry) {
    EXPECT_EQ(judge_lacp(lacp_bond()).word, "up");
    EXPECT_EQ(judge_lacp(lacp_bond()).weight, Weight::good);
}

TEST(Lacp, SaysWhatIsWrong) {
    Bond bond = lacp_bond();
    bond.slaves[1].actor_port_state = 0x0f; // synchronized, neither collecting nor distributing
    EXPECT_EQ(lacp_trouble(bond, bond.slaves[0]), "");
    EXPECT_EQ(lacp_trouble(bond, bond.slaves[1]), "not collecting");
    EXPECT_EQ(judge_lacp(bond).word, "1 of 2 up");
    bond.slaves[1].actor_port_state = 0x45; // defaulted: nobody answers
    EXPECT_EQ(lacp_trouble(bond, bond.slaves[1]), "no partner");
    bond.slaves[1].actor_port_state = 0x3f;
    bond.slaves[1].partner_port_state = 0x07;
    EXPECT_EQ(lacp_trouble(bond, bond.slaves[1]), "partner not synchronized");
    bond.slaves[1].aggregator_id = 2;
    EXPECT_EQ(lacp_trouble(bond, bond.slaves[1]), "other aggregator");
    bond.aggregator->partner_mac = {};
    EXPECT_EQ(judge_lacp(bond).word, "no partner");
    EXPECT_EQ(judge_lacp(bond).weight, Weight::bad);
}

TEST(Lacp, IsNothingOfOtherModes) {
    Bond bond = ReadingBuilder(0, BondMode::balance_xor).bond();
    EXPECT_EQ(judge_lacp(bond).word, "");
}

BalanceVerdict judge(std::vector<double> slaves, std::size_t flows, double bytes_each,
                     BondMode mode = BondMode::lacp) {
    return judge_balance({.mode = mode,
                          .slaves = slaves,
                          .flows = flows,
                          .flow_bytes = static_cast<double>(flows) * bytes_each,
                          .flow_squares = static_cast<double>(flows) * bytes_each * bytes_each});
}

TEST(Balance, EqualSharesAreEven) {
    const BalanceVerdict verdict = judge({50e6, 50e6}, 100, 1e6);
    EXPECT_EQ(verdict.word, BalanceWord::even);
    EXPECT_DOUBLE_EQ(verdict.largest, 0.5);
    // The share of a fair coin over 100 throws: 0.5 and 1.96 times sqrt(0.25 / 100) on either side.
    EXPECT_NEAR(verdict.low, 0.402, 1e-9);
    EXPECT_NEAR(verdict.high, 0.598, 1e-9);
}

TEST(Balance, ManyFlowsOnOneSlaveAreNoLuck) {
    EXPECT_EQ(judge({100e6, 0}, 100, 1e6).word, BalanceWord::uneven);
    EXPECT_EQ(judge({100e6, 0}, 100, 1e6).largest_slave, 0U);
}

TEST(Balance, LuckIsNoFault) {
    // 14 of 20 flows on one of two slaves: 1.8 deviations.
    EXPECT_EQ(judge({14e6, 6e6}, 20, 1e6).word, BalanceWord::chance);
    // One elephant among mice decides everything.
    const std::vector<double> slaves{90e6, 10e6};
    const BalanceVerdict elephant = judge_balance({.mode = BondMode::lacp,
                                                   .slaves = slaves,
                                                   .flows = 101,
                                                   .flow_bytes = 100e6,
                                                   .flow_squares = 80e6 * 80e6 + 100 * 0.2e6 * 0.2e6});
    EXPECT_EQ(elephant.word, BalanceWord::few_flows);
}

TEST(Balance, IsNotExpectedEverywhere) {
    EXPECT_EQ(judge({100e6, 0}, 100, 1e6, BondMode::active_backup).word, BalanceWord::not_expected);
    EXPECT_EQ(judge({100e6}, 100, 1e6).word, BalanceWord::not_expected);
    EXPECT_EQ(judge({0, 0}, 0, 0).word, BalanceWord::no_traffic);
    // Packet by packet there is no chance in it, however few the flows.
    EXPECT_EQ(judge({50e6, 50e6}, 1, 100e6, BondMode::balance_rr).word, BalanceWord::even);
    EXPECT_EQ(judge({90e6, 10e6}, 1, 100e6, BondMode::balance_rr).word, BalanceWord::uneven);
}

} // namespace
} // namespace bondtrace::test
