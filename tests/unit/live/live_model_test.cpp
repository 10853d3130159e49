// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/live/reading_builder.h"
#include "user/audit/placement.h"
#include "user/live/live_model.h"

#include <numeric>

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> events_of(const LiveModel& model) {
    std::vector<std::string> texts;
    for (const Event& event : model.events().events())
        texts.push_back(event.text);
    return texts;
}

TEST(LiveModel, SlavesHaveRatesSharesAndFlows) {
    LiveModel model;
    model.update(ReadingBuilder(0).sent(1, s0, 10, 1000).sent(2, s1, 10, 1000));
    EXPECT_EQ(model.bonds()[0].slaves[0].tx.bytes, 0);
    EXPECT_FALSE(model.bonds()[0].slaves[0].tx_share);
    model.update(ReadingBuilder(1).sent(1, s0, 40, 4000).sent(2, s1, 20, 2000));
    const LiveBondState& bond = model.bonds()[0];
    EXPECT_DOUBLE_EQ(bond.slaves[0].tx.bytes, 3000);
    EXPECT_DOUBLE_EQ(bond.slaves[1].tx.packets, 10);
    EXPECT_DOUBLE_EQ(bond.slaves[0].tx_share.value(), 0.75);
    EXPECT_FALSE(bond.slaves[0].rx_share) << "nothing was received";
    EXPECT_EQ(bond.slaves[0].tx_flows, 1U);
    EXPECT_EQ(bond.slaves[1].tx_flows, 1U);
    EXPECT_EQ(bond.slaves[1].rx_flows, 0U);
    EXPECT_EQ(bond.lacp.word, "up");
    EXPECT_DOUBLE_EQ(model.coverage().value(), 1);
    EXPECT_EQ(model.lost(), 0U);
}

TEST(LiveModel, ConversationsBecomeIdle) {
    LiveModel model;
    model.update(ReadingBuilder(0).sent(1, s0, 10, 1000));
    model.update(ReadingBuilder(1).sent(1, s0, 20, 2000));
    const FlowRow& row = model.flows().rows()[0];
    EXPECT_FALSE(model.is_idle(row));
    model.update(ReadingBuilder(30).sent(1, s0, 20, 2000));
    EXPECT_FALSE(model.is_idle(row));
    model.update(ReadingBuilder(32).sent(1, s0, 20, 2000));
    EXPECT_TRUE(model.is_idle(model.flows().rows()[0]));
    EXPECT_EQ(model.bonds()[0].slaves[0].tx_flows, 0U);
}

TEST(LiveModel, SlaveDownAndTheMovesItCausesAreEvents) {
    LiveModel model;
    const auto flows = [](ReadingBuilder builder, int slave, std::uint64_t packets, double first) {
        for (std::uint16_t port = 1; port <= 3; ++port)
            builder.sent(port, slave, packets, packets * 100, first, first);
        return builder;
    };
    model.update(flows(ReadingBuilder(0), s0, 10, 0));
    model.update(flows(ReadingBuilder(1), s0, 20, 0));
    EXPECT_TRUE(model.events().events().empty());
    model.update(flows(flows(ReadingBuilder(2).down(s0), s0, 20, 0), s1, 5, 1.5));
    EXPECT_THAT(events_of(model), ElementsAre("slave s0 down (no carrier)", "3 flows moved from s0 to s1"));
    EXPECT_EQ(model.events().events()[0].kind, EventKind::bad);
    EXPECT_TRUE(model.is_highlighted(model.flows().rows()[0]));
    EXPECT_EQ(model.bonds()[0].lacp.word, "1 of 2 up");
    EXPECT_EQ(model.bonds()[0].tx_balance.word, BalanceWord::not_expected) << "one slave is left";
    model.update(flows(flows(ReadingBuilder(8), s0, 20, 0), s1, 9, 1.5));
    EXPECT_EQ(events_of(model).back(), "slave s0 up");
    EXPECT_FALSE(model.is_highlighted(model.flows().rows()[0]));
}

TEST(LiveModel, AFullTableIsAnEventOnce) {
    LiveModel model;
    ReadingBuilder full(1);
    full.slave(s0).tx.untracked = {5, 500, 5, 500};
    model.update(ReadingBuilder(0));
    model.update(full);
    model.update(full);
    ASSERT_EQ(model.events().total(), 1U);
    EXPECT_THAT(events_of(model)[0], HasSubstr("65536 entries is full"));
    ReadingBuilder lossy(2);
    lossy.reading().report.losses.untracked_packets = 5;
    model.update(lossy);
    EXPECT_EQ(model.lost(), 5U);
}

TEST(LiveModel, CostIsOfTheInterval) {
    LiveModel model;
    ReadingBuilder first(0), next(2);
    first.sent(1, s0, 100, 1000).reading().cost = RunCost{1000, 50000};
    next.sent(1, s0, 300, 3000).reading().cost = RunCost{1200, 90000};
    model.update(first);
    EXPECT_FALSE(model.cost());
    model.update(next);
    EXPECT_DOUBLE_EQ(model.cost()->ns_per_packet, 40000 / 200.0);
    EXPECT_DOUBLE_EQ(model.cost()->cpu, 40000 / 2e9);
}

TEST(LiveModel, WhatPassedDuringTheReadingIsNoGap) {
    LiveModel model;
    ReadingBuilder builder(0);
    builder.sent(1, s0, 100, 1000);
    builder.slave(s0).tx.counter_packets = 103;
    builder.reading().report.losses.reading_skew = 3;
    model.update(builder);
    EXPECT_EQ(model.coverage(), 1.0);
    builder.reading().report.losses.reading_skew = 2;
    model.update(builder);
    EXPECT_NEAR(model.coverage().value(), 100 / 103.0, 1e-12);
}

TEST(LiveModel, AnotherBondInARecordingBeginsAnew) {
    LiveModel model;
    model.update(ReadingBuilder(0).sent(1, s0, 100, 1000));
    ReadingBuilder other(1);
    other.reading().report.bonds[0].ifindex = 99;
    model.update(other);
    EXPECT_EQ(model.readings(), 1U);
    EXPECT_TRUE(model.flows().rows().empty());
    ReadingBuilder earlier(0.5);
    earlier.reading().report.bonds[0].ifindex = 99;
    model.update(earlier);
    EXPECT_EQ(model.readings(), 1U) << "time went back";
}

TEST(BondChanges, AreSaidInWords) {
    const Bond before = ReadingBuilder(0).bond();
    Bond after = before;
    after.policy = HashPolicy::layer2;
    after.slaves[0].aggregator_id = 2;
    after.slaves[1].link_failures = 1;
    after.aggregator->partner_mac = {};
    std::vector<std::string> texts;
    for (const Event& event : bond_changes(before, after))
        texts.push_back(event.text);
    EXPECT_THAT(texts, ElementsAre("policy layer2, was layer3+4", "slave s0: aggregator 2, was 1",
                                   "slave s0: LACP other aggregator",
                                   "slave s1 was down for a moment (1 failures so far)",
                                   "the LACP partner 02:00:00:00:00:01 is gone"));
    EXPECT_TRUE(bond_changes(before, before).empty());
}

TEST(BondChanges, SlavesComeAndGo) {
    const Bond before = ReadingBuilder(0).bond();
    Bond after = before;
    after.slaves[1].ifindex = 13;
    after.slaves[1].name = "s2";
    std::vector<std::string> texts;
    for (const Event& event : bond_changes(before, after))
        texts.push_back(event.text);
    EXPECT_THAT(texts, ElementsAre("slave s1 left the bond", "slave s2 joined, up"));
}

TEST(LiveModel, WhatTheHashCannotTellApartIsOneThrow) {
    LiveModel model;
    const auto flows = [](double at, std::uint64_t packets) {
        ReadingBuilder builder(at);
        builder.bond().policy = HashPolicy::layer2;
        for (std::uint16_t port = 1; port <= 40; ++port)
            builder.sent(port, s0, packets, packets * 100, 0, at);
        return builder;
    };
    model.update(flows(0, 1));
    model.update(flows(1, 100));
    EXPECT_EQ(model.bonds()[0].tx_balance.throws, 1U) << "one pair of MAC addresses";
    EXPECT_EQ(model.bonds()[0].tx_balance.word, BalanceWord::too_few);
    ReadingBuilder ports = flows(2, 200);
    ports.bond().policy = HashPolicy::layer34;
    model.update(ports);
    EXPECT_GT(model.bonds()[0].tx_balance.throws, 30U);
    EXPECT_EQ(model.bonds()[0].tx_balance.word, BalanceWord::changed) << "the policy has just changed";
    ReadingBuilder later = flows(20, 300);
    later.bond().policy = HashPolicy::layer34;
    model.update(later);
    EXPECT_EQ(model.bonds()[0].tx_balance.word, BalanceWord::uneven);
}

TEST(LiveModel, PredictsWhatIsNewAndCountsWhoAgrees) {
    LiveModel model;
    const auto noted = [](double at, int slave) {
        ReadingBuilder builder(at);
        FlowEntry flow = entry(ip_key(6, "10.77.0.1", 40001, "10.77.0.2", 443), slave, 10, 1000, start,
                               start + static_cast<std::uint64_t>(at * 1e9));
        flow.value.outer_ethertype = flow.value.protocol = 0x0800;
        flow.value.mode = static_cast<__u8>(BondMode::lacp);
        flow.value.policy = static_cast<__u8>(HashPolicy::layer34);
        flow.value.hash_flags = BT_HASH_USABLE | BT_HASH_NOTED;
        flow.value.usable_count = 2;
        flow.value.usable_index = static_cast<__u16>(slave - s0);
        builder.add(flow);
        builder.reading().report.era = EraFinding{};
        return builder;
    };
    // What tests/unit/hash proves right.
    const auto own = hash_of_tuple(make_tuple(6, *parse_ip("10.77.0.1"), 40001, *parse_ip("10.77.0.2"), 443),
                                   HashPolicy::layer34, newest_era);
    ASSERT_TRUE(own);
    const int right = s0 + static_cast<int>(*own % 2), wrong = right == s0 ? s1 : s0;
    model.update(noted(0, right));
    ASSERT_TRUE(model.flows().rows()[0].flow.prediction);
    EXPECT_EQ(model.flows().rows()[0].flow.prediction->agrees, true);
    EXPECT_EQ(model.bonds()[0].predicted, 1U);
    EXPECT_EQ(model.bonds()[0].as_predicted, 1U);
    LiveModel other;
    other.update(noted(0, wrong));
    EXPECT_EQ(other.flows().rows()[0].flow.prediction->agrees, false);
    EXPECT_EQ(other.bonds()[0].as_predicted, 0U);
    LiveModel silent;
    ReadingBuilder nobody = noted(0, right);
    nobody.reading().report.era.reset();
    silent.update(nobody);
    EXPECT_FALSE(silent.flows().rows()[0].flow.prediction) << "nobody predicts without an era";
}

TEST(EventLog, KeepsTheNewest) {
    EventLog log;
    for (std::size_t i = 0; i < EventLog::kept + 5; ++i)
        log.add({i, "", EventKind::change, "", ""});
    EXPECT_EQ(log.events().size(), EventLog::kept);
    EXPECT_EQ(log.events().front().time_ns, 5U);
    EXPECT_EQ(log.total(), EventLog::kept + 5);
}

TEST(History, SpreadsOverSecondsAndForgetsAfterAMinute) {
    History history;
    history.add(100 * second, 102 * second, 200);
    history.add(102 * second, 103 * second, 50);
    std::vector<double> parts = history.parts(59);
    EXPECT_EQ(parts.size(), 59U);
    EXPECT_DOUBLE_EQ(parts[58], 50); // second 102, the newest that is over
    EXPECT_DOUBLE_EQ(parts[57], 100);
    EXPECT_DOUBLE_EQ(parts[56], 100);
    EXPECT_DOUBLE_EQ(std::accumulate(parts.begin(), parts.end(), 0.0), 250);
    // Fewer columns show the mean of several seconds.
    EXPECT_NEAR(history.parts(1)[0], 250 / 59.0, 1e-9);
    history.add(200 * second, 201 * second, 7);
    parts = history.parts(59);
    EXPECT_DOUBLE_EQ(std::accumulate(parts.begin(), parts.end(), 0.0), 7);
    history.add(0, 1'000'000 * second, 1e6); // an interval of any length
    EXPECT_NEAR(history.parts(59)[58], 1, 1e-9);
}

} // namespace
} // namespace bondtrace::test
