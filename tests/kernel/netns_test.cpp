// SPDX-License-Identifier: GPL-2.0-or-later
// Entering namespaces, which needs root.
#include "tests/kernel/support/namespace.h"
#include "user/base/netns.h"

#include <cstdint>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bondtrace {
namespace {

using test::Background;
using test::Namespace;
using testing::Contains;
using testing::HasSubstr;

// What `netns` is, asked from inside it.
std::uint32_t inode_inside(const NetNs& netns) {
    const auto inode = run_in(netns, []() -> Result<std::uint32_t> {
        const auto current = NetNs::current();
        if (!current) return tl::make_unexpected(current.error());
        return current->inode();
    });
    EXPECT_TRUE(inode) << inode.error().what;
    return inode ? *inode : 0;
}

TEST(NetNsInKernel, NamePathAndPidAreTheSamePlace) {
    const Namespace space("place");
    const auto expected = std::stoul(test::capture({"stat", "-Lc", "%i", "/run/netns/" + space.name()}).out);
    const Background sleeper({"ip", "netns", "exec", space.name(), "sleep", "60"});
    // `ip` enters the namespace before it becomes `sleep`.
    ASSERT_TRUE(test::await([&] {
        const auto there = NetNs::open(std::to_string(sleeper.pid()));
        return there && there->inode() == expected;
    }));
    for (const std::string& spec : {space.name(), "/run/netns/" + space.name(), std::to_string(sleeper.pid()),
                                    "/proc/" + std::to_string(sleeper.pid()) + "/ns/net"}) {
        const auto netns = NetNs::open(spec);
        ASSERT_TRUE(netns) << netns.error().what;
        EXPECT_EQ(netns->inode(), expected) << spec;
        EXPECT_FALSE(netns->is_current());
        EXPECT_EQ(inode_inside(*netns), expected) << spec;
    }
    EXPECT_THAT(netns_names(), Contains(space.name()));
    EXPECT_THAT(NetNs::open("nonesuch").error().advice, HasSubstr(space.name()));
}

TEST(NetNsInKernel, TheProcessStaysWhereItIs) {
    const auto before = NetNs::current();
    ASSERT_TRUE(before);
    const Namespace space("stay");
    inode_inside(space.open());
    EXPECT_EQ(NetNs::current()->inode(), before->inode());
    EXPECT_EQ(test::capture({"stat", "-Lc", "%i", "/proc/self/ns/net"}).out,
              std::to_string(before->inode()) + "\n");
}

// A name of digits is a name first, as with ip(8).
TEST(NetNsInKernel, ANameOfDigitsIsAName) {
    ASSERT_TRUE(test::run({"ip", "netns", "add", "1"}));
    const auto inode = std::stoul(test::capture({"stat", "-Lc", "%i", "/run/netns/1"}).out);
    const auto netns = NetNs::open("1");
    EXPECT_TRUE(test::run({"ip", "netns", "delete", "1"}));
    ASSERT_TRUE(netns) << netns.error().what;
    EXPECT_EQ(netns->inode(), inode);
}

TEST(NetNsInKernel, ItOutlivesItsName) {
    std::optional<NetNs> netns;
    {
        const Namespace space("gone");
        netns = space.open();
    }
    EXPECT_EQ(inode_inside(*netns), netns->inode());
}

TEST(NetNsInKernel, WithoutTheCapabilityTheErrorNamesIt) {
    const Namespace space("eperm");
    const NetNs netns = space.open();
    Result<int> there = 0, here = 0;
    // Capabilities belong to a thread, and its threads inherit them.
    std::thread([&] {
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct none[2]{};
        ASSERT_EQ(::syscall(SYS_capset, &header, none), 0);
        const auto nothing = []() -> Result<int> { return 1; };
        there = run_in(netns, nothing);
        here = run_in(NetNs::current().value(), nothing);
    }).join();
    ASSERT_FALSE(there);
    EXPECT_EQ(there.error().kind, ErrorKind::unavailable);
    EXPECT_EQ(there.error().what,
              "entering network namespace " + space.name() + ": Operation not permitted (EPERM)");
    EXPECT_THAT(there.error().advice, HasSubstr("CAP_SYS_ADMIN"));
    EXPECT_TRUE(here) << here.error().what;
}

} // namespace
} // namespace bondtrace
