// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/kernel/support/lab.h"

#include "tests/kernel/support/namespace.h"

#include <string_view>

namespace bondtrace::test {
namespace {

// Building it and waiting for LACP takes ten seconds on an emulated machine, several times that on a busy
// one.
constexpr std::chrono::seconds up_timeout{150};

std::vector<std::string> lab(const std::string& arguments) {
    std::vector<std::string> argv = {BONDTRACE_SOURCE_DIR "/tools/lab/lab"};
    for (std::string& word : words(arguments))
        argv.push_back(std::move(word));
    return argv;
}

} // namespace

Lab::Lab(const std::string& arguments) {
    EXPECT_TRUE(run(lab("up " + arguments), up_timeout));
}

Lab::~Lab() {
    EXPECT_TRUE(run(lab("down")));
}

Output Lab::command(const std::string& arguments) const {
    return capture(lab(arguments));
}

} // namespace bondtrace::test
