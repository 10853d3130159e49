// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/sequence_tracker.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>

namespace bondtrace::traffic {
namespace {

UdpFacts facts_of(const std::vector<std::uint64_t>& sequences) {
    SequenceTracker tracker;
    for (const std::uint64_t sequence : sequences)
        tracker.arrived(sequence, 1, 1);
    return tracker.facts();
}

// Lost, reordered, duplicated.
testing::Matcher<UdpFacts> counts(std::uint64_t lost, std::uint64_t reordered, std::uint64_t duplicated) {
    return testing::AllOf(testing::Field("lost", &UdpFacts::lost, lost),
                          testing::Field("reordered", &UdpFacts::reordered, reordered),
                          testing::Field("duplicated", &UdpFacts::duplicated, duplicated));
}

TEST(SequenceTracker, Counts) {
    EXPECT_THAT(facts_of({}), counts(0, 0, 0));
    EXPECT_THAT(facts_of({0, 1, 2, 3}), counts(0, 0, 0));
    EXPECT_THAT(facts_of({3}), counts(3, 0, 0));
    EXPECT_THAT(facts_of({0, 2, 3}), counts(1, 0, 0));
    // RFC 4737, 4.1 (its example numbers from 1): one packet displaced is one reordered packet.
    EXPECT_THAT(facts_of({0, 1, 2, 4, 3, 5}), counts(0, 1, 0));
    // One that is early makes late those it overtook.
    EXPECT_THAT(facts_of({0, 1, 5, 2, 3, 4, 6}), counts(0, 3, 0));
    EXPECT_THAT(facts_of({0, 1, 1, 2, 1}), counts(0, 0, 2));
    // Late and twice: once reordered, once duplicated.
    EXPECT_THAT(facts_of({0, 2, 1, 1}), counts(0, 1, 1));
    EXPECT_THAT(facts_of({0, 0, 0}), counts(0, 0, 2));
}

TEST(SequenceTracker, GapsLargerThanTheWindow) {
    constexpr std::uint64_t w = SequenceTracker::window;
    EXPECT_THAT(facts_of({0, w, w}), counts(w - 1, 0, 1));
    EXPECT_THAT(facts_of({0, 3 * w, 3 * w - 1, 2 * w + 1, 2 * w + 1}), counts(3 * w - 2 - 1, 2, 1));
    // A bit of an older number must not be taken for a newer one.
    EXPECT_THAT(facts_of({5, w + 5}), counts(w + 4, 0, 0));
    EXPECT_THAT(facts_of({5, w + 6, w + 5}), counts(w + 4, 1, 0));
}

TEST(SequenceTracker, AgreesWithASet) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::uint64_t> sequences;
        for (std::uint64_t i = 0; i < 3'000; ++i) {
            if (random() % 10 == 0) continue; // lost
            sequences.push_back(i);
            if (random() % 20 == 0) sequences.push_back(i); // twice
        }
        for (std::size_t i = 0; i + 40 < sequences.size(); i += 1 + random() % 100)
            std::swap(sequences[i], sequences[i + random() % 40]);
        std::set<std::uint64_t> seen;
        std::uint64_t reordered = 0, duplicated = 0;
        for (const std::uint64_t sequence : sequences) {
            const bool late = !seen.empty() && sequence < *seen.rbegin();
            if (!seen.insert(sequence).second)
                ++duplicated;
            else if (late)
                ++reordered;
        }
        const std::uint64_t lost = *seen.rbegin() + 1 - seen.size();
        EXPECT_THAT(facts_of(sequences), counts(lost, reordered, duplicated));
    }
}

TEST(SequenceTracker, JitterAsInRfc3550) {
    SequenceTracker even;
    for (std::uint64_t i = 0; i < 100; ++i)
        even.arrived(i, 1'000'000 * i, 5'000'000 + 1'000'000 * i);
    EXPECT_EQ(even.facts().jitter_us, 0);
    // Transit times alternate by 160 us: |D| is 160 us each time, and J goes towards it by 1/16 a step.
    SequenceTracker uneven;
    double expected = 0;
    for (std::uint64_t i = 0; i < 10; ++i) {
        uneven.arrived(i, 1'000'000 * i, 7'000'000 + 1'000'000 * i + (i % 2) * 160'000);
        if (i > 0) expected += (160.0 - expected) / 16;
    }
    EXPECT_DOUBLE_EQ(uneven.facts().jitter_us, expected);
}

} // namespace
} // namespace bondtrace::traffic
