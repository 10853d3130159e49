// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace traffic` and `bondtrace flows` as programs, side by side, for tests.
#pragma once

#include "tests/kernel/support/command.h"
#include "tests/kernel/support/program.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace bondtrace::test {

inline const std::string program = BONDTRACE_PROGRAM;

// A program in the background whose output is kept in files.
class Kept {
  public:
    Kept(const std::string& name, const std::vector<std::string>& argv);
    ~Kept();
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

    [[nodiscard]] std::string out() const { return read_file(out_); }
    [[nodiscard]] std::string err() const { return read_file(err_); }
    Background& process() { return process_; }
    // Waits until standard error says so.
    [[nodiscard]] testing::AssertionResult says(const std::string& text) const;

  private:
    std::string out_, err_;
    Background process_;
};

// The words of a server, or of a client with --json, in a network namespace; `more` is split at blanks.
std::vector<std::string> server_in(const std::string& netns, const std::string& more = {});
std::vector<std::string> client_in(const std::string& netns, const std::string& host,
                                   const std::string& more);

// The client's document; a failure of the test when it ends otherwise than with `status`.
nlohmann::json run_client(const std::string& netns, const std::string& host, const std::string& more,
                          int status = 0);

} // namespace bondtrace::test
