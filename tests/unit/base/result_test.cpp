// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/exit_status.h"
#include "user/base/result.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

TEST(Result, ErrnoTextNamesTheError) {
    EXPECT_EQ(errno_text(EACCES), "Permission denied (EACCES)");
    EXPECT_EQ(errno_text(99999), "unknown error 99999");
}

TEST(Result, FailureKeepsWhatAndAdvice) {
    const Result<int> result = fail_errno(ENOENT, "opening /nowhere", "check the name");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().what, "opening /nowhere: No such file or directory (ENOENT)");
    EXPECT_EQ(result.error().advice, "check the name");
}

TEST(Result, ExitStatusFollowsTheContract) {
    EXPECT_EQ(status_of(Error{ErrorKind::usage, "", ""}), ExitStatus::usage);
    EXPECT_EQ(status_of(Error{ErrorKind::unavailable, "", ""}), ExitStatus::cannot_tell);
}

} // namespace
} // namespace bondtrace
