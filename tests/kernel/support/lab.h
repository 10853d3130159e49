// SPDX-License-Identifier: GPL-2.0-or-later
// A topology of tools/lab/lab for the length of a test.
#pragma once

#include "tests/kernel/support/command.h"

#include <string>
#include <vector>

namespace bondtrace::test {

class Lab {
  public:
    // Runs `tools/lab/lab up ARGUMENTS...` (blank-separated: "direct --mode 802.3ad"); a failure is reported
    // to the running test. `down` is run at the end.
    explicit Lab(const std::string& arguments);
    Lab(const Lab&) = delete;
    Lab& operator=(const Lab&) = delete;
    ~Lab();

    // Runs another of its commands.
    [[nodiscard]] Output command(const std::string& arguments) const;
};

} // namespace bondtrace::test
