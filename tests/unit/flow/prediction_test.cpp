// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/flow/prediction.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

TEST(SharedPrediction, IsLikeAnOptionalOne) {
    SharedPrediction prediction;
    EXPECT_FALSE(prediction);
    EXPECT_EQ(prediction.value_or(Prediction{{}, {}, "none"}).why, "none");
    prediction = Prediction{"s0", true, "why"};
    ASSERT_TRUE(prediction.has_value());
    EXPECT_EQ(prediction->slave, "s0");
    EXPECT_EQ((*prediction).agrees, true);
    const SharedPrediction copy = prediction;
    prediction = std::nullopt;
    EXPECT_FALSE(prediction);
    EXPECT_EQ(copy.value_or({}).why, "why");
    std::optional<Prediction> own;
    own = copy;
    EXPECT_EQ(own, *copy);
    own = prediction;
    EXPECT_FALSE(own);
}

TEST(PredictionPool, EqualOnesAreOne) {
    PredictionPool pool;
    const Prediction a{"s0", true, ""}, b{"s1", true, ""}, c{"s1", false, ""}, d{"s1", std::nullopt, "x"};
    std::vector<SharedPrediction> shared;
    for (int round = 0; round < 2; ++round)
        for (const Prediction& prediction : {a, a, b, c, d, a})
            shared.push_back(pool.share(prediction));
    EXPECT_EQ(*shared[0], a);
    EXPECT_EQ(*shared[2], b);
    EXPECT_EQ(*shared[3], c);
    EXPECT_EQ(*shared[4], d);
    EXPECT_EQ(&*shared[0], &*shared[1]);
    EXPECT_EQ(&*shared[0], &*shared[5]);
    for (std::size_t i = 0; i < 6; ++i)
        EXPECT_EQ(&*shared[i], &*shared[i + 6]);
    EXPECT_NE(&*shared[2], &*shared[3]);
}

// A recording may hold as many words as it likes: those that nobody shows any more go.
TEST(PredictionPool, ForgetsWhatNobodyHas) {
    PredictionPool pool;
    const SharedPrediction kept = pool.share({"kept", true, ""});
    for (int i = 0; i < 5000; ++i)
        static_cast<void>(pool.share({{}, {}, std::to_string(i)}));
    EXPECT_LE(pool.size(), 2048U);
    EXPECT_EQ(&*pool.share({"kept", true, ""}), &*kept);
}

} // namespace
} // namespace bondtrace
