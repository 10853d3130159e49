// SPDX-License-Identifier: GPL-2.0-or-later
// The running kernel's era by asking it.
#include "tests/kernel/support/command.h"
#include "user/base/netns.h"
#include "user/probe/era_probe.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

#include <gmock/gmock.h>
#include <sys/utsname.h>

namespace bondtrace::test {
namespace {

std::ptrdiff_t entries(const char* directory) {
    return std::distance(std::filesystem::directory_iterator(directory), {});
}

TEST(EraProbe, FindsTheEraAndLeavesNothing) {
    ASSERT_TRUE(run({"modprobe", "bonding", "max_bonds=0"}));
    const auto before = NetNs::current();
    ASSERT_TRUE(before) << before.error().what;
    const Output links = capture({"ip", "-br", "link"});
    const auto descriptors = entries("/proc/self/fd"), threads = entries("/proc/self/task");

    const auto started = std::chrono::steady_clock::now();
    const auto era = probe_era();
    const auto took = std::chrono::steady_clock::now() - started;
    ASSERT_TRUE(era) << era.error().what;
    ASSERT_TRUE(*era) << "this kernel's hash is none that is known";
    utsname name{};
    uname(&name);
    std::cout << "kernel " << name.release << ": era " << to_text(**era) << ", "
              << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms\n";
    // The tests run on stock kernels of Debian: 5.10, or one that has all that mainline's release has.
    EXPECT_EQ(**era, assume_era(name.release, {}).era);

    EXPECT_TRUE(before->is_current());
    EXPECT_EQ(entries("/proc/self/fd"), descriptors);
    EXPECT_EQ(entries("/proc/self/task"), threads);
    EXPECT_EQ(capture({"ip", "-br", "link"}).out, links.out);
}

TEST(EraProbe, DoesNotLoadTheDriver) {
    ASSERT_TRUE(run({"modprobe", "-r", "bonding"}));
    const auto era = probe_era();
    ASSERT_FALSE(era);
    EXPECT_THAT(era.error().what, testing::HasSubstr("not loaded"));
    EXPECT_NE(capture({"ip", "link", "show", "bond0"}).status, 0);
    ASSERT_TRUE(run({"modprobe", "bonding", "max_bonds=0"})); // for the tests that follow
}

} // namespace
} // namespace bondtrace::test
