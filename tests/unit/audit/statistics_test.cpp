// SPDX-License-Identifier: GPL-2.0-or-later
// Expected values are rational numbers, worked out by enumerating every composition of the flows (multinomial
// coefficients over n^k) or from the closed form beside them.
#include "user/audit/statistics.h"

#include <array>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

using Counts = std::vector<std::uint64_t>;

double largest(std::uint64_t k, unsigned slaves, std::uint64_t m) {
    const Probability p = largest_at_least(k, equally_likely(slaves), m);
    EXPECT_TRUE(p.exact);
    EXPECT_EQ(p.value, p.bound);
    return p.value;
}

#define EXPECT_CLOSE(actual, expected) EXPECT_NEAR((actual) / (expected), 1, 1e-8)

TEST(Binomial, TailsOfBothSides) {
    // sum over i >= m of C(k, i) p^i (1 - p)^(k - i), in rationals
    EXPECT_CLOSE(binomial_at_least(10, 1.0 / 3, 4), 0.4407356602143982);
    EXPECT_CLOSE(binomial_at_most(50, 0.25, 5), 0.00704622532118347);
    EXPECT_CLOSE(binomial_at_least(1000, 0.25, 250), 0.5121375599745337);
    EXPECT_CLOSE(binomial_at_least(100, 0.5, 100), std::pow(2.0, -100));
    EXPECT_EQ(binomial_at_least(10, 0.5, 0), 1);
    EXPECT_EQ(binomial_at_least(10, 0.5, 11), 0);
    EXPECT_EQ(binomial_at_most(10, 0.5, 10), 1);
    EXPECT_EQ(binomial_at_least(10, 0, 1), 0);
    EXPECT_EQ(binomial_at_least(10, 1, 10), 1);
}

TEST(Largest, FewFlowsOnTwoSlaves) {
    EXPECT_CLOSE(largest(2, 2, 2), 0.5);                       // 2 of 4 outcomes
    EXPECT_CLOSE(largest(4, 2, 4), 0.125);                     // 2 * 2^-4
    EXPECT_CLOSE(largest(8, 2, 8), 0.0078125);                 // 2 * 2^-8
    EXPECT_CLOSE(largest(8, 2, 6), 74.0 / 256);                // 2 (C(8,6) + C(8,7) + C(8,8)) / 2^8
    EXPECT_CLOSE(largest(200, 2, 150), 8.393020875604761e-13); // 2 sum of C(200, i), i >= 150, / 2^200
    EXPECT_EQ(largest(8, 2, 4), 1);                            // some slave has half of them
    EXPECT_EQ(largest(0, 2, 1), 0);
    EXPECT_EQ(largest(3, 2, 4), 0);
}

TEST(Largest, ByDynamicProgrammingWhereTwoSlavesCanBoth) {
    EXPECT_CLOSE(largest(12, 3, 6), 31175.0 / 59049);
    EXPECT_CLOSE(largest(64, 3, 24), 0.7685119800328332);
    EXPECT_CLOSE(largest(30, 4, 12), 0.20176931322209396);
    EXPECT_CLOSE(largest(40, 4, 16), 0.10488281250891635);
    EXPECT_CLOSE(largest(20, 5, 8), 0.16000017770013);
    EXPECT_CLOSE(largest(100, 3, 50), 0.001258023248023347);
}

TEST(Largest, SlavesOfDifferentProbability) {
    const std::array<double, 3> p{1.0 / 2, 1.0 / 3, 1.0 / 6};
    EXPECT_CLOSE(largest_at_least(12, p, 8).value, 0.2127616327735581);
    EXPECT_CLOSE(smallest_at_most(12, p, 0).value, 0.1198621192780572);
}

TEST(Smallest, AnIdleSlave) {
    // Inclusion and exclusion: sum over j of (-1)^(j+1) C(10, j) ((10 - j) / 10)^100.
    const Probability p = smallest_at_most(100, equally_likely(10), 0);
    EXPECT_TRUE(p.exact);
    EXPECT_CLOSE(p.value, 0.00026560482225279495);
    EXPECT_CLOSE(smallest_at_most(12, equally_likely(3), 1).value, 0.16096800961912988);
    EXPECT_CLOSE(smallest_at_most(30, equally_likely(4), 2).value, 0.04230643721361284);
    EXPECT_EQ(smallest_at_most(30, equally_likely(4), 7).value, 1);
}

// A byte that is folded to three slaves: 86, 85 and 85 of 256. What audits neglect when they take slaves for
// equally likely.
TEST(Residues, OfABytesWorthOfHashValuesHardlyDiffer) {
    const std::vector<double> p = residue_probabilities(256, 3);
    EXPECT_DOUBLE_EQ(p[0], 86.0 / 256);
    EXPECT_DOUBLE_EQ(p[1], 85.0 / 256);
    EXPECT_DOUBLE_EQ(p[2], 85.0 / 256);
    EXPECT_CLOSE(largest_at_least(64, p, 30).value, 0.05058917035127368);
    EXPECT_CLOSE(largest_at_least(64, equally_likely(3), 30).value, 0.050454012785913514);
}

// The union bound, where dynamic programming is too much work, must enclose the exact value just below that
// limit, and be exact to the second order.
TEST(Largest, TheBoundAboveTheExactLimitEnclosesTheTruth) {
    const std::uint64_t k = 1000; // 4 slaves: 4e6, the last exact one
    for (const std::uint64_t m : {270U, 280U, 290U, 300U, 320U}) {
        const Probability exact = largest_at_least(k, equally_likely(4), m);
        ASSERT_TRUE(exact.exact);
        const double tail = binomial_at_least(k, 0.25, m);
        EXPECT_LE(exact.value, std::min(1.0, 4 * tail) * (1 + 1e-9));
        EXPECT_GE(exact.value, (1 - std::pow(1 - tail, 4)) * (1 - 1e-6));
    }
    for (const std::uint64_t m : {290U, 300U, 320U}) {
        const Probability bound = largest_at_least(1001, equally_likely(4), m);
        EXPECT_FALSE(bound.exact);
        EXPECT_LE(bound.value, bound.bound);
        EXPECT_LE(bound.bound - bound.value, bound.bound * bound.bound / 2);
        // One flow more makes a given count a little likelier, not much.
        const double below = largest_at_least(k, equally_likely(4), m).value;
        EXPECT_GT(bound.bound, below);
        EXPECT_LT(bound.bound, below * 1.2);
    }
}

TEST(Split, TwoSidedForThreeSlavesAndMore) {
    EXPECT_CLOSE(split_probability(Counts{6, 2}).value, 37.0 / 128);
    EXPECT_CLOSE(split_probability(Counts{150, 50}).value, 8.393020875604761e-13);
    // Ten slaves, one idle: the largest (15) says nothing, the idle one does. All the same it is doubled.
    EXPECT_CLOSE(split_probability(Counts{0, 11, 11, 11, 11, 11, 11, 11, 11, 12}).value,
                 2 * 0.00026560482225279495);
    // 64 consecutive ports on three slaves.
    EXPECT_CLOSE(split_probability(Counts{24, 16, 24}).value, 0.5815098047371482);
    EXPECT_EQ(split_probability(Counts{}).value, 1);
    EXPECT_EQ(split_probability(Counts{5}).value, 1);
    EXPECT_EQ(split_probability(Counts{0, 0}).value, 1);
}

TEST(Bytes, ExactForFewFlows) {
    const auto p = [](const Counts& sizes, unsigned slaves, std::uint64_t threshold) {
        const Probability result = bytes_at_least(sizes, slaves, threshold);
        EXPECT_TRUE(result.exact);
        return result.value;
    };
    // Counted over all assignments.
    EXPECT_CLOSE(p({5, 4, 3, 2, 1}, 2, 10), 5.0 / 8);
    EXPECT_CLOSE(p({5, 4, 3, 2, 1}, 3, 8), 59.0 / 81);
    EXPECT_CLOSE(p({7, 6, 5, 4, 3, 2, 1, 1}, 3, 15), 145.0 / 243);
    EXPECT_CLOSE(p({1, 1, 1, 1, 1, 1, 1, 1}, 2, 6), 37.0 / 128); // as by flows
    // An elephant: it makes the split, wherever the mice go.
    EXPECT_CLOSE(p({100, 1, 1, 1}, 2, 102), 0.5);
    EXPECT_EQ(p({100, 1, 1, 1}, 2, 100), 1);
    EXPECT_EQ(p({100, 1, 1, 1}, 2, 104), 0);
    EXPECT_EQ(p({100, 0, 0, 0}, 2, 100), 1);
    EXPECT_EQ(p({}, 2, 1), 0);
}

// More flows than can be enumerated: equal sizes have the binomial's answer, and mixed ones that of adding up
// all subsets by their sum.
TEST(Bytes, BoundAndEstimateForManyFlows) {
    struct Expected {
        Counts sizes;
        unsigned slaves;
        std::uint64_t threshold;
        double truth;
    };
    Counts mixed{100, 90, 80, 70, 60, 50, 40, 30, 20, 10};
    mixed.resize(30, 5);
    const std::vector<Expected> cases{
        {Counts(64, 1500), 2, 48 * 1500, 7.733076881287027e-05},
        {Counts(300, 1500), 3, 130 * 1500, 0.0005857021770544032}, // no two slaves can have 130 of 300 here
        {Counts(500, 1500), 2, 280 * 1500, 0.008261421816982497},
        {mixed, 2, 400, 0.4792386647313833},
        {mixed, 2, 450, 0.22516543418169022},
        {mixed, 2, 500, 0.08068003877997398},
        {mixed, 2, 550, 0.019122421741485596},
        {mixed, 2, 600, 0.0017767641693353653},
        {mixed, 3, 400, 0.09861061888713887},
        {mixed, 3, 450, 0.02783434952981125},
        {mixed, 3, 500, 0.005489922763936158},
    };
    for (const Expected& c : cases) {
        const Probability p = bytes_at_least(c.sizes, c.slaves, c.threshold);
        EXPECT_FALSE(p.exact);
        EXPECT_GE(p.bound, c.truth * 0.999) << c.truth;
        EXPECT_LE(p.bound, std::max(1.0, c.truth * 10)) << c.truth;
        EXPECT_LE(p.bound, c.truth * 10) << c.truth;
        EXPECT_GE(p.value, c.truth * 0.5) << c.truth;
        EXPECT_LE(p.value, c.truth * 2) << c.truth;
    }
}

TEST(FlowsNeeded, UntilTheLargestShareIsSmall) {
    // Searched for over all smaller numbers: at 105 flows 63 or more are on one slave in 5.04 % of cases, at
    // no larger number in more than 5 %.
    EXPECT_EQ(flows_needed(2, 600, 0.95), 106U);
    EXPECT_EQ(flows_needed(3, 400, 0.95), 246U);
    EXPECT_EQ(flows_needed(4, 300, 0.95), 404U);
    EXPECT_EQ(flows_needed(2, 500, 0.95), std::nullopt);
    EXPECT_EQ(flows_needed(2, 501, 0.95), std::nullopt); // more than a million
    EXPECT_EQ(flows_needed(1, 600, 0.95), std::nullopt);
    EXPECT_EQ(flows_needed(0, 600, 0.95), std::nullopt);
}

TEST(Bands, OfFlows) {
    // Quantiles of the binomial, from its rational distribution function.
    const auto expect = [](std::uint64_t k, unsigned slaves, double low, double high) {
        const Band band = flow_band(k, slaves, 0.95);
        EXPECT_DOUBLE_EQ(band.low, low / static_cast<double>(k));
        EXPECT_DOUBLE_EQ(band.high, high / static_cast<double>(k));
    };
    expect(1, 2, 0, 1);
    expect(8, 2, 1, 7);
    expect(64, 2, 24, 40);
    expect(200, 2, 86, 114);
    expect(64, 3, 14, 29);
    expect(100, 4, 17, 34);
    EXPECT_EQ(flow_band(0, 2, 0.95).high, 1);
}

TEST(Bands, OfBytes) {
    // 100 equal flows on 2 slaves: 1/2 +- 1.959964 * sqrt(1/4 / 100)
    const Band band = byte_band(Counts(100, 1500), 2, 0.95);
    EXPECT_NEAR(band.low, 0.5 - 0.0979982, 1e-6);
    EXPECT_NEAR(band.high, 0.5 + 0.0979982, 1e-6);
    EXPECT_EQ(byte_band(Counts{1000}, 2, 0.95).high, 1);
    EXPECT_EQ(byte_band(Counts{}, 2, 0.95).low, 0);
}

TEST(Indexes, JainChiSquareEffectiveFlowsEntropy) {
    EXPECT_DOUBLE_EQ(jain_index(Counts{6, 2}), 0.8); // 8^2 / (2 * 40)
    EXPECT_DOUBLE_EQ(jain_index(Counts{4, 0, 0, 0}), 0.25);
    EXPECT_DOUBLE_EQ(jain_index(Counts{3, 3, 3}), 1);
    EXPECT_DOUBLE_EQ(jain_index(Counts{0, 0}), 1);

    // One degree of freedom: erfc(sqrt(x / 2)); two: exp(-x / 2); four: exp(-x / 2) (1 + x / 2).
    EXPECT_CLOSE(chi_square_probability(Counts{60, 40}), std::erfc(std::sqrt(2.0)));       // x = 4
    EXPECT_CLOSE(chi_square_probability(Counts{150, 50}), std::erfc(5.0));                 // x = 50
    EXPECT_CLOSE(chi_square_probability(Counts{20, 10, 0}), std::exp(-10.0));              // x = 20
    EXPECT_CLOSE(chi_square_probability(Counts{12, 8, 10, 10, 10}), std::exp(-0.4) * 1.4); // x = 0.8
    // Three degrees of freedom: erfc(sqrt(x / 2)) + sqrt(2 x / pi) exp(-x / 2), here with x = 2 * 14^2 / 25.
    const double x = 15.68;
    EXPECT_CLOSE(chi_square_probability(Counts{39, 11, 25, 25}),
                 std::erfc(std::sqrt(x / 2)) + std::sqrt(2 * x / 3.14159265358979323846) * std::exp(-x / 2));
    EXPECT_EQ(chi_square_probability(Counts{}), 1);
    EXPECT_EQ(chi_square_probability(Counts{7}), 1);

    EXPECT_DOUBLE_EQ(effective_flows(Counts{5, 5, 5, 5}), 4);
    EXPECT_NEAR(effective_flows(Counts{1000000, 1, 1}), 1, 1e-5);
    EXPECT_EQ(effective_flows(Counts{}), 0);

    EXPECT_DOUBLE_EQ(entropy_bits(Counts{1, 1, 1, 1}), 2);
    EXPECT_DOUBLE_EQ(entropy_bits(Counts{64}), 0);
    EXPECT_NEAR(entropy_bits(Counts{1, 3}), 0.8112781244591328, 1e-12); // 2 - 3/4 log2 3
}

} // namespace
} // namespace bondtrace
