// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/features.h"
#include "user/traffic/uring.h"

#include <gmock/gmock.h>

namespace bondtrace::traffic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Features, AreReadAndWritten) {
    EXPECT_THAT(parse_features("")->names(), IsEmpty());
    EXPECT_THAT(parse_features("msg-trunc,single-issuer")->names(),
                ElementsAre("single-issuer", "msg-trunc"));
    const auto wrong = parse_features("msg-trunc,warp");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().kind, ErrorKind::usage);
    EXPECT_THAT(wrong.error().what, HasSubstr("'warp'"));
    EXPECT_THAT(wrong.error().advice, HasSubstr("udp-gro"));
}

// A ring that works: a no-operation comes back with its number.
void expect_working(Ring& ring) {
    io_uring_prep_nop(ring.prepare(4711));
    int seen = 0;
    for (int turn = 0; turn < 10 && seen == 0; ++turn) {
        ASSERT_EQ(ring.submit_and_wait(std::chrono::seconds(1)), 0);
        ring.drain([&](std::uint64_t data, int result, unsigned) {
            EXPECT_EQ(data, 4711U);
            EXPECT_EQ(result, 0);
            ++seen;
        });
    }
    EXPECT_EQ(seen, 1);
    // And without anything to come, the wait ends by itself.
    EXPECT_EQ(ring.submit_and_wait(std::chrono::milliseconds(5)), 0);
    EXPECT_FALSE(ring.drain([](std::uint64_t, int, unsigned) { FAIL() << "nothing was asked for"; }));
}

TEST(Ring, WorksWithWhatTheKernelHas) {
    auto ring = Ring::open(8, 16, {});
    ASSERT_TRUE(ring) << ring.error().what;
    expect_working(*ring);
}

// The kernels without these, as far as set-up goes: 6.0, 5.19, 5.18, 5.10.
TEST(Ring, WorksWithoutEachFeature) {
    for (const char* mask :
         {"defer-taskrun", "defer-taskrun,single-issuer", "defer-taskrun,single-issuer,coop-taskrun",
          "defer-taskrun,single-issuer,coop-taskrun,registered-ring"}) {
        auto ring = Ring::open(8, 16, *parse_features(mask));
        ASSERT_TRUE(ring) << mask << ": " << ring.error().what;
        for (const std::string& name : ring->features().names())
            EXPECT_THAT(mask, testing::Not(HasSubstr(name)));
        expect_working(*ring);
    }
}

TEST(Ring, TakesMoreThanItHasRoomFor) {
    auto ring = Ring::open(8, 4'096, {});
    ASSERT_TRUE(ring) << ring.error().what;
    for (std::uint64_t i = 0; i < 1'000; ++i)
        io_uring_prep_nop(ring->prepare(i));
    std::uint64_t sum = 0, seen = 0;
    for (int turn = 0; turn < 1'000 && seen < 1'000; ++turn) {
        ASSERT_EQ(ring->submit_and_wait(std::chrono::seconds(1)), 0);
        ring->drain([&](std::uint64_t data, int, unsigned) {
            sum += data;
            ++seen;
        });
    }
    EXPECT_EQ(seen, 1'000U);
    EXPECT_EQ(sum, 499'500U);
}

} // namespace
} // namespace bondtrace::traffic
