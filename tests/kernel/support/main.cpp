// SPDX-License-Identifier: GPL-2.0-or-later
// main() of the kernel tests: sees to it that the machine can run them, and fails, rather than skips, if not.
#include "tests/kernel/support/command.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

class Machine : public testing::Environment {
  public:
    void SetUp() override {
        // A thousand flows are a thousand sockets.
        const rlimit files{65536, 65536};
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0) << "cannot raise the limit of open files";
        ASSERT_EQ(::geteuid(), 0U) << "the kernel tests need root: tools/vm/run -- build/tests/kernel_tests";
        ASSERT_TRUE(bondtrace::test::run({"modprobe", "bonding", "max_bonds=0"}))
            << "the kernel tests need the bonding driver: tools/vm/run -- build/tests/kernel_tests";
    }
};

} // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    testing::AddGlobalTestEnvironment(new Machine);
    return RUN_ALL_TESTS();
}
