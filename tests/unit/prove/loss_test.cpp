// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/frame_generator.h"
#include "user/prove/loss.h"

#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

SlaveLoss slave(std::uint64_t sent, std::uint64_t lost, double load = 0) {
    return {"s", 8, 0, sent, lost, load};
}

TEST(Loss, IsPutDownToTheSlaveThatHasIt) {
    // 2 % on one of two, as netem loses.
    const std::vector<SlaveLoss> slaves{slave(50'000, 3), slave(48'000, 960)};
    const auto lossy = lossy_slaves(slaves);
    ASSERT_EQ(lossy.size(), 1U);
    EXPECT_EQ(lossy[0].slave, 1U);
    EXPECT_LT(lossy[0].probability, 1e-100);
    EXPECT_FALSE(lossy[0].full);
}

TEST(Loss, ThatAllHaveIsNoSlaves) {
    EXPECT_TRUE(lossy_slaves(std::vector<SlaveLoss>{slave(50'000, 1'000), slave(48'000, 960)}).empty());
    EXPECT_TRUE(lossy_slaves(std::vector<SlaveLoss>{slave(50'000, 0), slave(48'000, 0)}).empty());
    // Three times the other's rate is still not five.
    EXPECT_TRUE(lossy_slaves(std::vector<SlaveLoss>{slave(50'000, 300), slave(48'000, 960)}).empty());
}

TEST(Loss, ThatIsRareOrFewIsNone) {
    EXPECT_TRUE(lossy_slaves(std::vector<SlaveLoss>{slave(50'000, 0), slave(50'000, 99)}).empty())
        << "below 0.2 %";
    EXPECT_TRUE(lossy_slaves(std::vector<SlaveLoss>{slave(500, 0), slave(500, 19)}).empty())
        << "fewer than 20";
    EXPECT_EQ(lossy_slaves(std::vector<SlaveLoss>{slave(500, 0), slave(500, 25)}).size(), 1U);
}

TEST(Loss, OfTheOnlySlaveIsNotCompared) {
    EXPECT_TRUE(lossy_slaves(std::vector<SlaveLoss>{slave(50'000, 5'000)}).empty());
    EXPECT_TRUE(lossy_slaves(std::vector<SlaveLoss>{slave(50'000, 5'000), slave(0, 0)}).empty());
    EXPECT_TRUE(lossy_slaves({}).empty());
}

TEST(Loss, OfAFullSlaveIsSaidToBeThat) {
    const auto lossy = lossy_slaves(std::vector<SlaveLoss>{slave(50'000, 2, 0.4), slave(80'000, 960, 0.97)});
    ASSERT_EQ(lossy.size(), 1U);
    EXPECT_TRUE(lossy[0].full);
}

// 2 % lost among 20,000 packets, 100 runs of a generator: that one and no other is named, whatever the luck
// of the others' 0.01 %.
TEST(Loss, IsFoundWhateverTheLuck) {
    Random random(1);
    for (int run = 0; run < 100; ++run) {
        std::vector<SlaveLoss> slaves{slave(0, 0), slave(0, 0), slave(0, 0)};
        for (int packet = 0; packet < 20'000; ++packet) {
            SlaveLoss& on = slaves[random.below(3)];
            ++on.sent;
            if (random.below(10'000) < (&on == &slaves[2] ? 200U : 1U)) ++on.lost;
        }
        const auto lossy = lossy_slaves(slaves);
        ASSERT_EQ(lossy.size(), 1U) << run;
        EXPECT_EQ(lossy[0].slave, 2U);
    }
}

TEST(BlackHole, IsASlaveOnWhichNothingComesAbout) {
    const auto flows = [](std::uint64_t all, std::uint64_t failed) {
        return SlaveLoss{"s", all, failed, 0, 0, 0};
    };
    EXPECT_EQ(black_holes(std::vector<SlaveLoss>{flows(9, 0), flows(7, 7)}), std::vector<std::size_t>{1});
    EXPECT_TRUE(black_holes(std::vector<SlaveLoss>{flows(9, 0), flows(1, 1)}).empty())
        << "one may be an accident";
    EXPECT_TRUE(black_holes(std::vector<SlaveLoss>{flows(9, 9), flows(7, 7)}).empty()) << "the peer is gone";
    EXPECT_TRUE(black_holes(std::vector<SlaveLoss>{flows(9, 1), flows(7, 7)}).empty()) << "others fail too";
    EXPECT_TRUE(black_holes(std::vector<SlaveLoss>{flows(0, 0), flows(7, 7)}).empty())
        << "nothing to compare";
}

} // namespace
} // namespace bondtrace::test
