// SPDX-License-Identifier: GPL-2.0-or-later
// Runs programs for the tests: no shell, bounded in time, nothing left behind.
#pragma once

#include "user/base/fd.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

namespace bondtrace::test {

inline constexpr std::chrono::seconds usual_timeout{60};

struct Output {
    int status = -1; // exit status; 128 + signal when one ended it; -1 when it could not be started
    bool timed_out = false;
    std::string out, err; // the first 16 MiB of each
};

// Runs argv[0] (looked up in PATH) to its end; its standard input is empty. When `timeout` is over, it and
// the processes it started in its own process group are killed.
Output capture(const std::vector<std::string>& argv, std::chrono::milliseconds timeout = usual_timeout);

// The same for use in ASSERT_TRUE/EXPECT_TRUE: success when it exits with 0, else the message says all about
// it.
testing::AssertionResult run(const std::vector<std::string>& argv,
                             std::chrono::milliseconds timeout = usual_timeout);

// A program that runs until it is stopped; it is killed, with its process group, at the end of this object's
// life.
class Background {
  public:
    // Starts argv[0]; its standard input is empty, its output the test's own, or goes to the files `out` and
    // `err`.
    explicit Background(const std::vector<std::string>& argv, const std::string& out = {},
                        const std::string& err = {});
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;
    ~Background();

    // 0 when it could not be started.
    [[nodiscard]] pid_t pid() const { return pid_; }
    // Sends a signal to the program and waits for its end, as capture() would; returns the exit status.
    int stop(int signal, std::chrono::milliseconds timeout = usual_timeout);

  private:
    pid_t pid_ = 0;
};

// Waits until `condition` holds, asking every few milliseconds; false when it does not within `timeout`.
bool await(const std::function<bool()>& condition, std::chrono::milliseconds timeout = usual_timeout);

} // namespace bondtrace::test
