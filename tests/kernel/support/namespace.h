// SPDX-License-Identifier: GPL-2.0-or-later
// A network namespace for one test, made and removed with iproute2.
#pragma once

#include "tests/kernel/support/command.h"
#include "user/base/fd.h"
#include "user/base/netns.h"

#include <string>
#include <vector>

namespace bondtrace::test {

class Namespace {
  public:
    // Makes a namespace with a name of its own, without IPv6, whose own packets would disturb counters. A
    // failure is reported to the running test.
    explicit Namespace(const std::string& hint);
    Namespace(const Namespace&) = delete;
    Namespace& operator=(const Namespace&) = delete;
    ~Namespace();

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] NetNs open() const;
    // Runs `ip ARGUMENTS...` inside; the words are split at blanks.
    testing::AssertionResult ip(const std::string& arguments) const;
    // Runs many ip commands, one a line, in one process.
    testing::AssertionResult ip_batch(const std::string& commands,
                                      std::chrono::milliseconds timeout = usual_timeout) const;
    // Runs any program inside, with the /sys of that namespace.
    [[nodiscard]] Output exec(const std::vector<std::string>& argv) const;
    // The text of a file as seen inside, without the last line end; a failure is reported to the running
    // test.
    [[nodiscard]] std::string read(const std::string& path) const;
    // A file of /sys/class/net/INTERFACE.
    [[nodiscard]] std::string sys(const std::string& interface, const std::string& file) const;

  private:
    std::string name_;
    Fd class_net_; // its /sys/class/net, which belongs to the namespace in which /sys was mounted
};

// Splits at blanks.
std::vector<std::string> words(const std::string& text);

} // namespace bondtrace::test
