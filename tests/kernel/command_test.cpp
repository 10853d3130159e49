// SPDX-License-Identifier: GPL-2.0-or-later
// The tests' own tool: a test that hangs or swallows a failure would be worth nothing.
#include "tests/kernel/support/command.h"

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

using std::chrono::steady_clock;

TEST(Command, StatusAndOutputs) {
    const Output output = capture({"sh", "-c", "echo out; echo err >&2; exit 3"});
    EXPECT_EQ(output.status, 3);
    EXPECT_EQ(output.out, "out\n");
    EXPECT_EQ(output.err, "err\n");
    EXPECT_EQ(capture({"sh", "-c", "kill -TERM $$"}).status, 128 + SIGTERM);
    EXPECT_EQ(capture({"no-such-program-anywhere"}).status, -1);
    EXPECT_FALSE(run({"false"}));
    EXPECT_FALSE(run({"no-such-program-anywhere"}));
    EXPECT_TRUE(run({"true"}));
}

TEST(Command, LargeOutputIsWhole) {
    EXPECT_EQ(capture({"head", "-c", "3000000", "/dev/zero"}).out.size(), 3'000'000U);
}

TEST(Command, TimeIsLimited) {
    const auto begin = steady_clock::now();
    const Output output = capture({"sleep", "60"}, std::chrono::milliseconds(100));
    EXPECT_TRUE(output.timed_out);
    EXPECT_EQ(output.status, 128 + SIGKILL);
    EXPECT_FALSE(run({"sleep", "60"}, std::chrono::milliseconds(100)));
    EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Command, WhatItLeavesBehindIsEndedAndNotWaitedFor) {
    const auto begin = steady_clock::now();
    const Output output = capture({"sh", "-c", "sleep 60 & echo $!"});
    EXPECT_EQ(output.status, 0);
    EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(20));
    const auto left_behind = static_cast<pid_t>(std::stoi(output.out));
    EXPECT_TRUE(await([&] { return ::kill(left_behind, 0) != 0 && errno == ESRCH; }));
}

TEST(Command, BackgroundProgramsAreStopped) {
    pid_t pid = 0;
    {
        const Background sleeper({"sleep", "60"});
        pid = sleeper.pid();
        ASSERT_GT(pid, 0);
        EXPECT_EQ(::kill(pid, 0), 0);
    }
    EXPECT_NE(::kill(pid, 0), 0);
    Background sleeper({"sleep", "60"});
    EXPECT_EQ(sleeper.stop(SIGTERM), 128 + SIGTERM);
}

} // namespace
} // namespace bondtrace::test
