// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/live/reading_builder.h"
#include "user/live/live_flows.h"

#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

// Feeds readings of one bond.
class Feed {
  public:
    explicit Feed(BondMode mode = BondMode::lacp) : modes_{mode} {}

    void read(double at, const ReadingBuilder& builder) {
        const LiveReading reading = builder;
        flows_.update(reading.entries, modes_, reading.time_ns, first_ ? 0 : at - last_);
        first_ = false;
        last_ = at;
    }
    [[nodiscard]] const FlowRow& row(std::uint16_t port) const { return *row_of(flows_, port); }
    [[nodiscard]] const LiveFlows& flows() const { return flows_; }

  private:
    std::vector<BondMode> modes_;
    LiveFlows flows_;
    bool first_ = true;
    double last_ = 0;
};

TEST(LiveFlows, TheFirstReadingHasSumsAndNoRates) {
    Feed feed;
    feed.read(0, ReadingBuilder(0).sent(40001, s0, 10, 1000).received(40001, s1, 5, 300));
    ASSERT_EQ(feed.flows().rows().size(), 1U);
    const FlowRow& row = feed.row(40001);
    EXPECT_EQ(row.flow.tx_total().bytes, 1000U);
    EXPECT_EQ(row.flow.rx_total().packets, 5U);
    EXPECT_EQ(row.tx.bytes, 0);
    EXPECT_EQ(row.tx_slave, s0);
    EXPECT_EQ(row.rx_slave, s1);
    EXPECT_EQ(row.moves, 0U);
}

TEST(LiveFlows, RatesAreOfTheIntervalAndOnTheWire) {
    Feed feed;
    feed.read(0, ReadingBuilder(0).sent(40001, s0, 10, 1000));
    ReadingBuilder next(2);
    next.sent(40001, s0, 30, 5000);
    next.reading().entries[0].value.count.added_packets = 40;
    next.reading().entries[0].value.count.added_bytes = 2000;
    feed.read(2, next);
    EXPECT_DOUBLE_EQ(feed.row(40001).tx.packets, (30 + 40 - 10) / 2.0);
    EXPECT_DOUBLE_EQ(feed.row(40001).tx.bytes, (5000 + 2000 - 1000) / 2.0);
    EXPECT_EQ(feed.row(40001).flow.tx_total().wire_bytes, 7000U);
    feed.read(3, next);
    EXPECT_EQ(feed.row(40001).tx.bytes, 0) << "nothing was added in the third interval";
}

// The reader may meet a write-back between the table and the cache before it.
TEST(LiveFlows, ASumThatShrinksIsAReadingThatMetAWrite) {
    Feed feed;
    feed.read(0, ReadingBuilder(0).sent(40001, s0, 10, 1000));
    feed.read(1, ReadingBuilder(1).sent(40001, s0, 7, 700));
    EXPECT_EQ(feed.row(40001).flow.tx_total().bytes, 1000U);
    EXPECT_EQ(feed.row(40001).tx.bytes, 0);
    feed.read(2, ReadingBuilder(2).sent(40001, s0, 12, 1200));
    EXPECT_EQ(feed.row(40001).flow.tx_total().bytes, 1200U);
    EXPECT_DOUBLE_EQ(feed.row(40001).tx.bytes, 200);
}

TEST(LiveFlows, AnEntryThatVanishedBeginsAnewAndTheSumGoesOn) {
    Feed feed;
    feed.read(0, ReadingBuilder(0).sent(40001, s0, 10, 1000));
    feed.read(1, ReadingBuilder(1));
    EXPECT_EQ(feed.row(40001).flow.tx_total().bytes, 1000U);
    feed.read(2, ReadingBuilder(2).sent(40001, s0, 2, 200));
    EXPECT_EQ(feed.row(40001).flow.tx_total().bytes, 1200U);
    // One that had only been left out goes on where it was.
    feed.read(3, ReadingBuilder(3));
    feed.read(4, ReadingBuilder(4).sent(40001, s0, 5, 500));
    EXPECT_EQ(feed.row(40001).flow.tx_total().bytes, 1500U);
}

TEST(LiveFlows, EntriesThatDifferInFlagsOnlyAreOneUse) {
    Feed feed;
    FlowEntry inband =
        entry(ip_key(6, "10.77.0.1", 40001, "10.77.0.2", 5201, BT_KEY_VLAN_INBAND), s0, 1, 100);
    feed.read(0, ReadingBuilder(0).sent(40001, s0, 10, 1000).add(inband));
    inband.value.count.packets = 3;
    inband.value.count.bytes = 300;
    feed.read(1, ReadingBuilder(1).sent(40001, s0, 11, 1100).add(inband));
    ASSERT_EQ(feed.flows().rows().size(), 1U);
    ASSERT_EQ(feed.row(40001).flow.tx.size(), 1U);
    EXPECT_EQ(feed.row(40001).flow.tx_total().bytes, 1400U);
    EXPECT_DOUBLE_EQ(feed.row(40001).tx.packets, 3);
}

TEST(LiveFlows, AMoveBetweenReadingsIsSeen) {
    Feed feed;
    feed.read(0, ReadingBuilder(0).sent(40001, s0, 10, 1000));
    feed.read(1, ReadingBuilder(1).sent(40001, s0, 20, 2000));
    feed.read(2, ReadingBuilder(2).sent(40001, s0, 20, 2000).sent(40001, s1, 5, 500, 1.5, 2));
    const FlowRow& row = feed.row(40001);
    EXPECT_EQ(row.tx_slave, s1);
    EXPECT_EQ(row.moved_from, s0);
    EXPECT_EQ(row.moves, 1U);
    EXPECT_EQ(row.moved_ns, start + 2 * second);
    ASSERT_EQ(feed.flows().moves().size(), 1U);
    EXPECT_EQ(feed.flows().moves()[0].from, s0);
    EXPECT_EQ(feed.flows().moves()[0].to, s1);
    // Back to where it was: the kernel's table alone could not tell that from spraying.
    feed.read(3, ReadingBuilder(3).sent(40001, s0, 25, 2500).sent(40001, s1, 5, 500, 1.5, 2));
    EXPECT_EQ(feed.row(40001).tx_slave, s0);
    EXPECT_EQ(feed.row(40001).moves, 2U);
}

TEST(LiveFlows, AMoveWithinAnIntervalIsSeenAtOnceWhenOneEndedBeforeTheOtherBegan) {
    Feed feed;
    feed.read(0, ReadingBuilder(0).sent(40001, s0, 10, 1000));
    feed.read(1, ReadingBuilder(1).sent(40001, s0, 15, 1500, 0, 0.4).sent(40001, s1, 5, 500, 0.4, 1));
    EXPECT_EQ(feed.row(40001).tx_slave, s1);
    EXPECT_EQ(feed.row(40001).moves, 1U);
    EXPECT_FALSE(feed.row(40001).sprayed);
}

TEST(LiveFlows, AMoveBackWithinAnIntervalIsSeenInTheNext) {
    Feed feed;
    feed.read(0, ReadingBuilder(0).sent(40001, s0, 10, 1000, 0, 0).sent(40001, s1, 10, 1000, 0, 0));
    feed.read(1, ReadingBuilder(1).sent(40001, s0, 20, 2000, 0, 1).sent(40001, s1, 10, 1000, 0, 0));
    ASSERT_EQ(feed.row(40001).tx_slave, s0);
    const unsigned before = feed.row(40001).moves;
    feed.read(2, ReadingBuilder(2).sent(40001, s0, 25, 2500, 0, 1.5).sent(40001, s1, 15, 1500, 0, 2));
    EXPECT_EQ(feed.row(40001).moves, before) << "both grew: it cannot be told yet";
    feed.read(3, ReadingBuilder(3).sent(40001, s0, 25, 2500, 0, 1.5).sent(40001, s1, 25, 2500, 0, 3));
    EXPECT_EQ(feed.row(40001).moves, before + 1);
    EXPECT_EQ(feed.row(40001).tx_slave, s1);
}

TEST(LiveFlows, SprayingIsNoMove) {
    Feed feed(BondMode::balance_rr);
    feed.read(0, ReadingBuilder(0).sent(40001, s0, 10, 1000).sent(40001, s1, 10, 1000));
    feed.read(1, ReadingBuilder(1).sent(40001, s0, 20, 2000, 0, 1).sent(40001, s1, 20, 2000, 0, 1));
    EXPECT_TRUE(feed.row(40001).sprayed);
    // A packet now and then, each on the next slave.
    feed.read(2, ReadingBuilder(2).sent(40001, s0, 21, 2100, 0, 2).sent(40001, s1, 20, 2000, 0, 1));
    feed.read(3, ReadingBuilder(3).sent(40001, s0, 21, 2100, 0, 2).sent(40001, s1, 21, 2100, 0, 3));
    EXPECT_EQ(feed.row(40001).moves, 0U);
    EXPECT_TRUE(feed.flows().moves().empty());
}

TEST(LiveFlows, IdsStayWhenTheTableIsReadInAnotherOrder) {
    Feed feed;
    feed.read(0, ReadingBuilder(0).sent(1, s0, 1, 100).sent(2, s1, 1, 100).sent(3, s0, 1, 100));
    const std::uint64_t one = feed.row(1).id, two = feed.row(2).id, three = feed.row(3).id;
    feed.read(
        1, ReadingBuilder(1).sent(4, s0, 1, 100).sent(3, s0, 2, 200).sent(1, s0, 3, 300).sent(2, s1, 4, 400));
    EXPECT_EQ(feed.row(1).id, one);
    EXPECT_EQ(feed.row(2).id, two);
    EXPECT_EQ(feed.row(3).id, three);
    EXPECT_DOUBLE_EQ(feed.row(1).tx.bytes, 200);
    EXPECT_DOUBLE_EQ(feed.row(2).tx.bytes, 300);
    EXPECT_DOUBLE_EQ(feed.row(3).tx.bytes, 100);
    EXPECT_EQ(feed.flows().rows().size(), 4U);
}

TEST(LiveFlows, WhatVanishedLongAgoIsForgotten) {
    Feed feed;
    ReadingBuilder many(0);
    for (std::uint16_t port = 1; port <= 3000; ++port)
        many.sent(port, s0, 1, 100);
    feed.read(0, many);
    feed.read(1, ReadingBuilder(1).sent(7, s0, 2, 200));
    EXPECT_EQ(feed.flows().rows().size(), 3000U);
    feed.read(300, ReadingBuilder(300).sent(7, s0, 3, 300));
    ASSERT_EQ(feed.flows().rows().size(), 1U);
    EXPECT_EQ(feed.row(7).flow.tx_total().bytes, 300U);
    feed.read(301, ReadingBuilder(301).sent(7, s0, 5, 500).sent(8, s0, 1, 100));
    EXPECT_DOUBLE_EQ(feed.row(7).tx.bytes, 200);
    EXPECT_EQ(feed.row(8).flow.tx_total().bytes, 100U);
}

TEST(CalmRate, StaysWhileTheRateDoes) {
    CalmRate rate;
    rate.follow(1000);
    const std::uint32_t level = rate.level;
    for (const double near : {1030.0, 970.0, 1080.0, 1000.0}) {
        rate.follow(near);
        EXPECT_EQ(rate.level, level) << near;
    }
    rate.follow(1300);
    EXPECT_GT(rate.level, level);
    rate.follow(500);
    EXPECT_LT(rate.level, level);
    rate.follow(0);
    EXPECT_EQ(rate.level, 0U);
}

} // namespace
} // namespace bondtrace::test
