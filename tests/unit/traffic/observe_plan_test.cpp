// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/draw.h"
#include "user/traffic/observe_plan.h"

#include <array>

#include <gmock/gmock.h>

namespace bondtrace::traffic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Verdict = ObservePlan::Verdict;

std::vector<std::string> names(std::size_t slaves) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < slaves; ++i)
        names.push_back("s" + std::to_string(i));
    return names;
}

Verdict open_on(ObservePlan& plan, std::size_t slave) {
    return plan.opened(std::array{slave});
}

TEST(ObservePlan, KeepsWhatIsWanted) {
    ObservePlan plan(names(2), {1, 2});
    EXPECT_EQ(plan.next_batch(100), 3U);
    EXPECT_EQ(plan.next_batch(2), 2U);
    EXPECT_EQ(open_on(plan, 0), Verdict::keep);
    EXPECT_EQ(open_on(plan, 0), Verdict::reset); // has its one
    EXPECT_EQ(open_on(plan, 1), Verdict::keep);
    EXPECT_EQ(plan.opened({}), Verdict::reset);                               // not seen
    EXPECT_EQ(plan.opened(std::array<std::size_t, 2>{0, 1}), Verdict::reset); // on both
    EXPECT_EQ(plan.opened(std::array<std::size_t, 1>{7}), Verdict::reset);    // no slave of ours
    EXPECT_FALSE(plan.complete());
    EXPECT_EQ(open_on(plan, 1), Verdict::keep);
    EXPECT_TRUE(plan.complete());
    EXPECT_EQ(plan.opens(), 7U);
    EXPECT_THAT(plan.kept(), ElementsAre(1, 2));
    EXPECT_EQ(plan.next_batch(100), 0U);
}

TEST(ObservePlan, FollowsFlowsThatMove) {
    ObservePlan plan(names(2), {1, 1});
    EXPECT_EQ(open_on(plan, 0), Verdict::keep);
    EXPECT_EQ(plan.moved(0, 0), Verdict::keep);
    EXPECT_EQ(plan.moves(), 0U);
    EXPECT_EQ(plan.moved(0, 1), Verdict::keep); // wanted there as well
    EXPECT_THAT(plan.kept(), ElementsAre(0, 1));
    EXPECT_EQ(open_on(plan, 0), Verdict::keep);
    EXPECT_EQ(plan.moved(0, 1), Verdict::reset); // one too many
    EXPECT_EQ(plan.moves(), 2U);
    EXPECT_EQ(plan.missing(), 1U);
    plan.ended(1);
    EXPECT_EQ(plan.missing(), 2U);
}

// facts: opens until every one of k slaves has N, flows falling on slaves at random: k=2, N=8: 19; k=4, N=8:
// 44; k=8, N=8: 99; k=4, N=32: 152. The first is also 2N (1 + C(2N, N) / 2^2N) = 19.14.
TEST(ObservePlan, OpensNoMoreThanChanceDemands) {
    struct Case {
        std::size_t slaves, each;
        double opens;
    };
    Draw draw(7);
    for (const auto& [slaves, each, opens] :
         {Case{2, 8, 19.14}, Case{4, 8, 44}, Case{8, 8, 99}, Case{4, 32, 152}}) {
        constexpr int runs = 4000;
        std::size_t total = 0;
        for (int run = 0; run < runs; ++run) {
            ObservePlan plan(names(slaves), std::vector<std::size_t>(slaves, each));
            while (!plan.complete()) {
                ASSERT_FALSE(plan.hopeless());
                for (std::size_t batch = plan.next_batch(64); batch > 0; --batch)
                    open_on(plan, static_cast<std::size_t>(draw.below(slaves)));
            }
            total += plan.opens();
        }
        EXPECT_NEAR(static_cast<double>(total) / runs, opens, 1) << slaves << " slaves";
    }
}

TEST(ObservePlan, GivesUpOnWhatCannotCome) {
    ObservePlan plan(names(2), {8, 8});
    std::size_t opens = 0;
    for (; !plan.hopeless() && opens < 1000; ++opens)
        open_on(plan, 1);
    EXPECT_EQ(opens, 30U); // (1/2)^30 is the first power below 10^-9
    EXPECT_THAT(*plan.hopeless(), HasSubstr("s0 has carried none of the last 30 flows, and wants 8 more"));
    EXPECT_EQ(open_on(plan, 0), Verdict::keep); // it comes after all
    EXPECT_FALSE(plan.hopeless());

    ObservePlan unseen(names(2), {1, 1});
    for (int i = 0; i < 64; ++i)
        unseen.opened({});
    EXPECT_THAT(*unseen.hopeless(), HasSubstr("seen none of the last 64 flows"));
    ObservePlan spread(names(2), {1, 1});
    for (int i = 0; i < 64; ++i)
        spread.opened(std::array<std::size_t, 2>{0, 1});
    EXPECT_THAT(*spread.hopeless(), HasSubstr("several slaves"));
    ObservePlan done(names(1), {1});
    open_on(done, 0);
    EXPECT_FALSE(done.hopeless());
    ObservePlan one(names(1), {3});
    EXPECT_FALSE(one.hopeless());
}

} // namespace
} // namespace bondtrace::traffic
