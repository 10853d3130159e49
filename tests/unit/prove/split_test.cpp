// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/prove/scene.h"
#include "user/prove/split.h"

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

traffic::EndTrace split_of_flows(const std::vector<unsigned>& flows) {
    traffic::EndTrace end = trace("p", static_cast<unsigned>(flows.size()));
    for (std::uint32_t slave = 0; slave < flows.size(); ++slave)
        for (unsigned i = 0; i < flows[slave]; ++i)
            add_flow(end, slave, slave);
    return end;
}

SplitWord word_of(const std::vector<unsigned>& flows) {
    const auto end = split_of_flows(flows);
    return judge_split(end, split_of(end, Direction::rx));
}

TEST(Split, CountsFlowsByTheirSlave) {
    const auto end = split_of_flows({2, 6});
    const Split split = split_of(end, Direction::tx);
    EXPECT_THAT(split.flows, ElementsAre(2, 6));
    EXPECT_THAT(split.bytes, ElementsAre(2 * frames * frame_bytes, 6 * frames * frame_bytes));
    EXPECT_EQ(split.whole(), 8U);
    // 6 or more of 8 on one of two slaves: 2 (C(8,6) + C(8,7) + C(8,8)) / 256.
    ASSERT_TRUE(split.luck);
    EXPECT_NEAR(split.luck->value, 74.0 / 256, 1e-9);
    EXPECT_THAT(describe(end, split), HasSubstr("p0 2 flows, p1 6 flows; p = 0.29"));
}

TEST(Split, IsJudgedLikeAnAudits) {
    EXPECT_EQ(word_of({0, 0}), SplitWord::nothing);
    EXPECT_EQ(word_of({2, 6}), SplitWord::too_few);
    EXPECT_EQ(word_of({31, 33}), SplitWord::balanced);
    EXPECT_EQ(word_of({22, 42}), SplitWord::chance); // p = 0.017
    EXPECT_EQ(word_of({64, 0}), SplitWord::uneven);
    EXPECT_EQ(word_of({16, 48}), SplitWord::uneven);
    EXPECT_EQ(word_of({12, 0}), SplitWord::uneven) << "2 in 4096: few, and no luck";
    EXPECT_EQ(word_of({64}), SplitWord::one_slave);
}

TEST(Split, OfSpreadPacketsHasNoLuck) {
    traffic::EndTrace end = trace("p", 2);
    end.flows.push_back({{}, {use(0, 500), use(1, 500)}});
    const Split split = split_of(end, Direction::rx);
    EXPECT_EQ(split.spread, 1U);
    EXPECT_FALSE(split.luck);
    EXPECT_EQ(judge_split(end, split), SplitWord::spread);
}

TEST(Split, IsOverTheUsableSlaves) {
    traffic::EndTrace end = split_of_flows({32, 32, 0});
    EXPECT_EQ(judge_split(end, split_of(end, Direction::rx)), SplitWord::uneven);
    end.slaves[2].usable = false;
    EXPECT_EQ(judge_split(end, split_of(end, Direction::rx)), SplitWord::balanced);
}

TEST(Carrier, IsWhoHasNineTenths) {
    EXPECT_EQ(carrier_of({}), std::nullopt);
    EXPECT_EQ(carrier_of({use(1, 90), use(0, 10)}), 1U);
    EXPECT_EQ(carrier_of({use(1, 89), use(0, 11)}), std::nullopt);
}

} // namespace
} // namespace bondtrace::test
