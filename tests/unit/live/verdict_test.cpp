// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/live/reading_builder.h"
#include "user/live/live_balance.h"
#include "user/live/verdict.h"

#include <vector>

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

// `on_first` and `on_second` flows of as many bytes each, one throw each.
LiveBalance judge(std::size_t on_first, std::size_t on_second, std::uint64_t bytes_each,
                  BalanceInput input = {}) {
    std::vector<LiveThrow> throws(on_first, LiveThrow{0, bytes_each});
    throws.insert(throws.end(), on_second, LiveThrow{1, bytes_each});
    const std::vector<double> slaves{static_cast<double>(on_first * bytes_each),
                                     static_cast<double>(on_second * bytes_each)};
    input.slaves = slaves;
    input.throws = throws;
    return judge_live_balance(input);
}

TEST(LiveBalance, EqualSharesAreBalanced) {
    const LiveBalance balance = judge(50, 50, 1000000);
    EXPECT_EQ(balance.word, BalanceWord::balanced);
    EXPECT_DOUBLE_EQ(balance.largest, 0.5);
    // The share of a fair coin over 100 throws: 0.5 and 1.96 times sqrt(0.25 / 100) on either side.
    EXPECT_NEAR(balance.low, 0.402, 1e-4);
    EXPECT_NEAR(balance.high, 0.598, 1e-4);
}

TEST(LiveBalance, ManyFlowsOnOneSlaveAreNoLuck) {
    EXPECT_EQ(judge(100, 0, 1000000).word, BalanceWord::uneven);
    EXPECT_EQ(judge(0, 100, 1000000).largest_slave, 1U);
    EXPECT_EQ(judge(0, 100, 1000000).largest, 1);
}

TEST(LiveBalance, LuckIsNoFault) {
    // 14 or more of 20 flows on one of two slaves happens in 11.5 % of all cases (twice the binomial's tail).
    EXPECT_EQ(judge(14, 6, 1000000).word, BalanceWord::chance);
    EXPECT_EQ(judge(3, 0, 1000000).word, BalanceWord::too_few);
    // One elephant among mice decides everything, and any slave may get it.
    std::vector<LiveThrow> throws(100, LiveThrow{0, 200000});
    for (std::size_t i = 0; i < 50; ++i)
        throws[i].slave = 1;
    throws.push_back({0, 80000000});
    const std::vector<double> slaves{90e6, 10e6};
    EXPECT_EQ(judge_live_balance({.slaves = slaves, .throws = throws}).word, BalanceWord::chance);
}

TEST(LiveBalance, IsNotExpectedEverywhere) {
    EXPECT_EQ(judge(100, 0, 1000, {.mode = BondMode::active_backup, .slaves = {}, .throws = {}}).word,
              BalanceWord::not_expected);
    EXPECT_EQ(judge(100, 0, 1000, {.mode = BondMode::balance_rr, .slaves = {}, .throws = {}}).word,
              BalanceWord::not_expected);
    EXPECT_EQ(
        judge(100, 0, 1000, {.mode = BondMode::balance_rr, .received = true, .slaves = {}, .throws = {}})
            .word,
        BalanceWord::uneven);
    EXPECT_EQ(
        judge(100, 0, 1000, {.mode = BondMode::balance_tlb, .policy_used = false, .slaves = {}, .throws = {}})
            .word,
        BalanceWord::not_expected);
    EXPECT_EQ(judge(100, 0, 1000, {.changed = true, .slaves = {}, .throws = {}}).word, BalanceWord::changed);
    EXPECT_EQ(judge(0, 0, 1000).word, BalanceWord::no_traffic);
    const std::vector<double> one{100e6};
    EXPECT_EQ(judge_live_balance({.slaves = one, .throws = {}}).word, BalanceWord::not_expected);
    EXPECT_EQ(short_word(BalanceWord::not_expected), "");
    EXPECT_EQ(short_word(BalanceWord::uneven), "uneven");
}

} // namespace
} // namespace bondtrace::test
