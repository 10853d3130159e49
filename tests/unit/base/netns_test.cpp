// SPDX-License-Identifier: GPL-2.0-or-later
// What can be known about namespaces without any privilege; entering another one is tested in tests/kernel.
#include "user/base/netns.h"

#include <cstdlib>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bondtrace {
namespace {

using testing::HasSubstr;

// The kernel's own answer: the link's text is "net:[INODE]".
std::string own_link_text() {
    std::string text(64, '\0');
    const ssize_t length = ::readlink("/proc/self/ns/net", text.data(), text.size());
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
}

std::string link_text(const NetNs& netns) {
    return "net:[" + std::to_string(netns.inode()) + "]";
}

TEST(NetNs, CurrentIsTheOneTheKernelNames) {
    const auto netns = NetNs::current();
    ASSERT_TRUE(netns) << netns.error().what;
    EXPECT_EQ(link_text(*netns), own_link_text());
    EXPECT_TRUE(netns->is_current());
    EXPECT_EQ(netns->name(), "");
    EXPECT_EQ(netns->description(), "this network namespace");
}

TEST(NetNs, OwnPidAndOwnPathAreTheCurrentOne) {
    for (const std::string& spec : {std::to_string(::getpid()), std::string("/proc/self/ns/net")}) {
        const auto netns = NetNs::open(spec);
        ASSERT_TRUE(netns) << spec << ": " << netns.error().what;
        EXPECT_EQ(link_text(*netns), own_link_text());
        EXPECT_TRUE(netns->is_current());
        EXPECT_EQ(netns->name(), spec);
    }
}

TEST(NetNs, CopiesOutliveTheOriginal) {
    auto original = NetNs::current();
    ASSERT_TRUE(original);
    const NetNs copy = *original;
    original = fail(ErrorKind::internal, "gone");
    struct stat file {};
    ASSERT_EQ(::fstat(copy.fd(), &file), 0);
    EXPECT_EQ(file.st_ino, copy.inode());
}

TEST(NetNs, AnotherKindOfNamespaceIsRefused) {
    const auto netns = NetNs::open("/proc/self/ns/mnt");
    ASSERT_FALSE(netns);
    EXPECT_EQ(netns.error().kind, ErrorKind::usage);
    EXPECT_EQ(netns.error().what, "/proc/self/ns/mnt is a namespace, but not a network namespace");
}

TEST(NetNs, OtherFilesAreRefusedWithoutOpeningThem) {
    std::string directory = testing::TempDir() + "netns_test_XXXXXX";
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);
    const std::string fifo = directory + "/fifo", file = directory + "/file";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    ASSERT_EQ(::close(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    // A FIFO without a writer would block whoever opens it for reading.
    for (const std::string& path :
         {fifo, file, directory, std::string("/dev/null"), std::string("."), std::string("..")}) {
        const auto netns = NetNs::open(path);
        ASSERT_FALSE(netns) << path;
        EXPECT_EQ(netns.error().kind, ErrorKind::usage);
        EXPECT_EQ(netns.error().what, path + " is not a network namespace");
    }
    EXPECT_THAT(NetNs::open(file).error().advice, HasSubstr("ordinary file"));
    ::unlink(fifo.c_str());
    ::unlink(file.c_str());
    ::rmdir(directory.c_str());
}

TEST(NetNs, WhatIsNotThereIsAUsageError) {
    // PIDs end at 2^22 (/proc/sys/kernel/pid_max's limit on 64 bits), so this one never exists.
    for (const char* spec :
         {"no-such-namespace-here", "99999999", "/nowhere/at/all", "../nowhere", "", "0"}) {
        const auto netns = NetNs::open(spec);
        ASSERT_FALSE(netns) << spec;
        EXPECT_EQ(netns.error().kind, ErrorKind::usage) << spec;
        EXPECT_FALSE(netns.error().advice.empty()) << spec;
    }
    EXPECT_EQ(NetNs::open("no-such-namespace-here").error().what,
              "no network namespace is called no-such-namespace-here");
    EXPECT_THAT(NetNs::open("99999999").error().what, HasSubstr("No such file or directory (ENOENT)"));
    EXPECT_THAT(NetNs::open("99999999").error().advice, HasSubstr("no process 99999999"));
    EXPECT_EQ(NetNs::open(std::string(300, '9')).error().kind, ErrorKind::usage);
    EXPECT_EQ(NetNs::open(std::string("a\0b", 3)).error().kind, ErrorKind::usage);
}

TEST(RunIn, RunsOnAnotherThreadAndReturnsTheResult) {
    const auto netns = NetNs::current();
    ASSERT_TRUE(netns);
    const auto caller = std::this_thread::get_id();
    const auto answer =
        run_in(*netns, [&]() -> Result<bool> { return std::this_thread::get_id() != caller; });
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_TRUE(*answer);
    const auto failure = run_in(*netns, [&]() -> Result<int> { return fail(ErrorKind::usage, "as it is"); });
    ASSERT_FALSE(failure);
    EXPECT_EQ(failure.error().what, "as it is");
}

TEST(RunIn, WorkMayMoveOnlyValuesOut) {
    const auto netns = NetNs::current();
    ASSERT_TRUE(netns);
    const auto fd = run_in(*netns, [&]() -> Result<Fd> { return Fd(::dup(netns->fd())); });
    ASSERT_TRUE(fd);
    EXPECT_TRUE(fd->valid());
}

} // namespace
} // namespace bondtrace
