// SPDX-License-Identifier: GPL-2.0-or-later
// LinkMonitor on real interfaces.
#include "tests/kernel/support/namespace.h"
#include "user/bond/link_monitor.h"
#include "user/bond/netlink_reader.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

namespace bondtrace {
namespace {

using test::Namespace;

class LinkMonitorInKernel : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(space_.ip("link add bond0 type bond mode balance-xor miimon 100"));
        for (const char* name : {"a0", "a1"})
            ASSERT_TRUE(space_.ip(fmt::format("link add {} type veth peer name {}p", name, name)));
        ASSERT_TRUE(space_.ip("link set a0 master bond0"));
        auto monitor = LinkMonitor::open(space_.open());
        ASSERT_TRUE(monitor) << monitor.error().what;
        monitor_.emplace(std::move(*monitor));
        bond_ = std::stoi(space_.sys("bond0", "ifindex"));
    }

    // Waits for an event about `name` that `fits`, on the descriptor a program would wait on.
    std::optional<LinkEvent> wait_for(const std::string& name,
                                      const std::function<bool(const LinkEvent&)>& fits) {
        std::optional<LinkEvent> found;
        pollfd waiting{monitor_->fd(), POLLIN, 0};
        while (!found && ::poll(&waiting, 1, 10000) == 1) {
            const auto changes = monitor_->poll_events();
            if (!changes) {
                ADD_FAILURE() << changes.error().what;
                break;
            }
            EXPECT_FALSE(changes->must_reread);
            const auto event = std::find_if(changes->events.begin(), changes->events.end(),
                                            [&](const LinkEvent& e) { return e.name == name && fits(e); });
            if (event != changes->events.end()) found = *event;
        }
        EXPECT_TRUE(found) << name;
        return found;
    }

    Namespace space_{"monitor"};
    std::optional<LinkMonitor> monitor_;
    int bond_ = 0;
};

TEST_F(LinkMonitorInKernel, JoiningAndLeaving) {
    ASSERT_TRUE(space_.ip("link set a1 master bond0"));
    const auto joined = wait_for("a1", [&](const LinkEvent& event) { return event.master == bond_; });
    ASSERT_TRUE(joined);
    EXPECT_EQ(joined->ifindex, std::stoi(space_.sys("a1", "ifindex")));
    EXPECT_FALSE(joined->deleted);
    EXPECT_FALSE(joined->is_bond);
    ASSERT_TRUE(space_.ip("link set a1 nomaster"));
    EXPECT_TRUE(wait_for("a1", [](const LinkEvent& event) { return event.master == 0 && !event.deleted; }));
}

TEST_F(LinkMonitorInKernel, NewBondAndNewName) {
    ASSERT_TRUE(space_.ip("link add bond1 type bond"));
    EXPECT_TRUE(wait_for("bond1", [](const LinkEvent& event) { return event.is_bond; }));
    ASSERT_TRUE(space_.ip("link set a1 name ren1"));
    const auto renamed = wait_for("ren1", [](const LinkEvent&) { return true; });
    ASSERT_TRUE(renamed);
    EXPECT_EQ(renamed->ifindex, std::stoi(space_.sys("ren1", "ifindex")));
}

TEST_F(LinkMonitorInKernel, TheLastCountersOfADeletedSlave) {
    ASSERT_TRUE(space_.ip("link set bond0 up"));
    ASSERT_TRUE(space_.ip("link set a0p up"));
    ASSERT_TRUE(space_.ip("address add 192.0.2.1/24 dev bond0"));
    ASSERT_TRUE(space_.ip("neighbour add 192.0.2.2 lladdr 00:00:5e:00:53:02 dev bond0"));
    ASSERT_TRUE(test::await([&] { return space_.sys("bond0", "carrier") == "1"; }));
    // Nobody answers; the exit status says so.
    (void)space_.exec({"ping", "-c3", "-i0.01", "-W1", "192.0.2.2"});
    const auto sent = std::stoull(space_.sys("a0", "statistics/tx_bytes"));
    EXPECT_GE(sent, 3U * 98);
    ASSERT_TRUE(space_.ip("link delete a0"));
    const auto deleted = wait_for("a0", [](const LinkEvent& event) { return event.deleted; });
    ASSERT_TRUE(deleted);
    ASSERT_TRUE(deleted->counters);
    EXPECT_EQ(deleted->counters->tx_bytes, sent);
}

TEST_F(LinkMonitorInKernel, MovingElsewhereIsLeaving) {
    const Namespace other("elsewhere");
    ASSERT_TRUE(space_.ip("link set a0 netns " + other.name()));
    EXPECT_TRUE(wait_for("a0", [](const LinkEvent& event) { return event.deleted; }));
}

// A bridge announces the departure of a port with RTM_DELLINK.
TEST_F(LinkMonitorInKernel, LeavingABridgeIsNoDeletion) {
    ASSERT_TRUE(space_.ip("link add br0 type bridge"));
    ASSERT_TRUE(space_.ip("link set a1 master br0"));
    ASSERT_TRUE(space_.ip("link set a1 nomaster"));
    const auto changes = monitor_->poll_events();
    ASSERT_TRUE(changes);
    EXPECT_FALSE(changes->events.empty());
    for (const LinkEvent& event : changes->events)
        EXPECT_FALSE(event.deleted) << event.name;
}

TEST_F(LinkMonitorInKernel, OtherNamespacesAreSilent) {
    const Namespace other("silent");
    ASSERT_TRUE(other.ip("link add foreign type dummy"));
    // The answer to the command comes after the event. Late news of the bond's own making may be there.
    const auto changes = monitor_->poll_events();
    ASSERT_TRUE(changes);
    for (const LinkEvent& event : changes->events)
        EXPECT_NE(event.name, "foreign");
}

TEST_F(LinkMonitorInKernel, AnOverflowIsReportedOnceAndOver) {
    // A change of what is down is not announced.
    ASSERT_TRUE(space_.ip("link set a1 up"));
    std::string commands;
    for (int i = 0; i < 4000; ++i)
        commands += fmt::format("link set a1 alias {}\n", i);
    ASSERT_TRUE(space_.ip_batch(commands));
    bool reread = false;
    std::size_t events = 0;
    for (;;) {
        const auto changes = monitor_->poll_events();
        ASSERT_TRUE(changes) << changes.error().what;
        reread = reread || changes->must_reread;
        if (changes->events.empty()) break;
        events += changes->events.size();
    }
    EXPECT_TRUE(reread) << events << " events";
    EXPECT_LT(events, 4000U);
    EXPECT_GT(events, 0U);
    // What happens after it is reported as ever.
    ASSERT_TRUE(space_.ip("link set a1 down"));
    ASSERT_TRUE(space_.ip("link set a1 master bond0"));
    EXPECT_TRUE(wait_for("a1", [&](const LinkEvent& event) { return event.master == bond_; }));
}

} // namespace
} // namespace bondtrace
