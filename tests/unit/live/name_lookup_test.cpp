// SPDX-License-Identifier: GPL-2.0-or-later
// Names that come late, never, or not at all.
#include "user/live/name_lookup.h"

#include <array>
#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>

namespace bondtrace::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

IpAddress host(unsigned number) {
    IpAddress ip;
    ip.bytes = {10, 77, static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)};
    return ip;
}

bool readable(int fd, milliseconds limit) {
    pollfd source{fd, POLLIN, 0};
    return poll(&source, 1, static_cast<int>(limit.count())) == 1;
}

TEST(NameLookup, AsksOnceAndTellsWhenTheNameIsThere) {
    std::atomic<int> asked = 0;
    const auto lookup = NameLookup::start([&](const IpAddress& ip) -> std::optional<std::string> {
        ++asked;
        return "host" + std::to_string(ip.bytes[3]);
    });
    ASSERT_TRUE(lookup) << lookup.error().what;
    EXPECT_EQ((*lookup)->name_of(host(1)), std::nullopt) << "never waits";
    ASSERT_TRUE(readable((*lookup)->event_fd(), seconds(10)));
    (*lookup)->take_news();
    EXPECT_FALSE(readable((*lookup)->event_fd(), milliseconds(0)));
    EXPECT_EQ((*lookup)->name_of(host(1)), "host1");
    EXPECT_EQ((*lookup)->name_of(host(1)), "host1");
    EXPECT_EQ(asked, 1);
}

TEST(NameLookup, RemembersThatThereIsNoName) {
    std::atomic<int> asked = 0;
    const auto lookup = NameLookup::start([&](const IpAddress&) -> std::optional<std::string> {
        ++asked;
        return std::nullopt;
    });
    ASSERT_TRUE(lookup);
    const std::array hosts{host(1)};
    (*lookup)->wait_for(hosts, seconds(10));
    EXPECT_EQ((*lookup)->name_of(host(1)), std::nullopt);
    EXPECT_EQ((*lookup)->name_of(host(1)), std::nullopt);
    EXPECT_EQ(asked, 1);
}

// A silent server: others are answered meanwhile, and the end does not wait for it.
TEST(NameLookup, ASilentServerHoldsUpNothing) {
    std::promise<void> release;
    const std::shared_future<void> released = release.get_future().share();
    std::atomic<bool> began = false;
    std::promise<void> over;
    {
        auto lookup = NameLookup::start([&, released](const IpAddress& ip) -> std::optional<std::string> {
            if (ip == host(1)) {
                began = true;
                released.wait();
                over.set_value();
                return "late";
            }
            return "soon";
        });
        ASSERT_TRUE(lookup);
        EXPECT_EQ((*lookup)->name_of(host(1)), std::nullopt);
        const std::array others{host(2), host(3)};
        (*lookup)->wait_for(others, seconds(10));
        EXPECT_EQ((*lookup)->name_of(host(2)), "soon");
        while (!began)
            std::this_thread::yield();
        const std::array silent{host(1)};
        const auto start = std::chrono::steady_clock::now();
        (*lookup)->wait_for(silent, milliseconds(50));
        EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(5));
        EXPECT_EQ((*lookup)->name_of(host(1)), std::nullopt);
    }
    release.set_value(); // only now: the lookup has gone before its answer came
    EXPECT_EQ(over.get_future().wait_for(seconds(10)), std::future_status::ready);
}

TEST(NameLookup, ForgetsRatherThanGrows) {
    std::atomic<unsigned> asked = 0;
    const auto lookup = NameLookup::start([&](const IpAddress&) -> std::optional<std::string> {
        ++asked;
        return "name";
    });
    ASSERT_TRUE(lookup);
    const auto know = [&](unsigned number) {
        const std::array hosts{host(number)};
        (*lookup)->wait_for(hosts, seconds(10));
        return (*lookup)->name_of(host(number));
    };
    for (unsigned number = 0; number < NameLookup::most_known; ++number)
        ASSERT_EQ(know(number), "name");
    EXPECT_EQ(asked, NameLookup::most_known);
    ASSERT_EQ(know(NameLookup::most_known), "name") << "one more than is kept";
    EXPECT_EQ(know(0), "name");
    EXPECT_EQ(asked, NameLookup::most_known + 2) << "the first was forgotten, and asked for again";
}

TEST(SystemHostName, KnowsThisHostsOwnLoopback) { // /etc/hosts has it on every system
    const auto ip = parse_ip("127.0.0.1");
    ASSERT_TRUE(ip);
    EXPECT_EQ(system_host_name(*ip), "localhost");
}

} // namespace
} // namespace bondtrace::test
