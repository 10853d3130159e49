// SPDX-License-Identifier: GPL-2.0-or-later
// Slaves that come, go and change their names while they are watched.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/window.h"

#include <fmt/format.h>
#include <poll.h>

namespace bondtrace::test {
namespace {

// What the program does between two packets: follows the links' events, as they have come in.
Result<void> follow(Observation& observation) {
    pollfd events{observation.fd(), POLLIN, 0};
    while (poll(&events, 1, 0) > 0)
        if (const auto followed = observation.follow(); !followed) return followed;
    return {};
}

std::vector<UdpFlow> many_flows(std::uint16_t first_port) {
    std::vector<UdpFlow> flows;
    for (std::uint16_t i = 0; i < 64; ++i)
        flows.push_back({static_cast<std::uint16_t>(first_port + i), 5001, 3, 200});
    return flows;
}

// Case 62: a bond means all its slaves, also one that is added later.
TEST(Slaves, AddedRenamedAndRemovedAreFollowedToThePacket) {
    const Lab lab("direct --mode balance-xor --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    auto started = Observation::start(ends.a, {"bond0"}, test_config());
    ASSERT_TRUE(started) << started.error().what;
    Observation& observation = *started;
    const auto send = [&](std::uint16_t first_port) {
        return send_udp(ends.v4_a(), ends.v4_b(), many_flows(first_port));
    };

    auto done = send(40000);
    ASSERT_TRUE(done) << done.error().what;

    // A third slave at both ends. Its first packets come before anybody has told the programs about it.
    ASSERT_TRUE(run(
        {"ip", "-n", "bt-a", "link", "add", "s2", "type", "veth", "peer", "name", "p2", "netns", "bt-b"}));
    ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", "p2", "master", "bond0"}));
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", "s2", "master", "bond0"}));
    const auto reader = LinkReader::open(ends.a);
    ASSERT_TRUE(reader) << reader.error().what;
    const auto is_up = [&](const char* name) {
        const auto bonds = reader->find_bonds({"bond0"});
        if (!bonds) return false;
        for (const Slave& slave : bonds->front().slaves)
            if (slave.name == name) return slave.carrier && slave.mii_status == MiiStatus::up;
        return false;
    };
    ASSERT_TRUE(await([&] { return is_up("s2"); }));
    done = send(41000);
    ASSERT_TRUE(done) << done.error().what;
    done = follow(observation);
    ASSERT_TRUE(done) << done.error().what;

    // Kernels before 6.2 rename only what is down.
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", "s0", "down"}));
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", "s0", "name", "ren0"}));
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", "ren0", "up"}));
    ASSERT_TRUE(await([&] { return is_up("ren0"); }));
    done = send(42000);
    ASSERT_TRUE(done) << done.error().what;

    // The first end first: what it sends must find the other end of the wire there.
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", "s1", "nomaster"}));
    ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", "p1", "nomaster"}));
    done = send(43000);
    ASSERT_TRUE(done) << done.error().what;
    // What the slave does once it has left is none of the bond's business.
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "del", "s1"}));

    const auto observed = observation.finish();
    ASSERT_TRUE(observed) << observed.error().what;
    ASSERT_EQ(observed->bonds.front().slaves.size(), 3U);
    const ObservedSlave& renamed = slave_named(*observed, "ren0");
    const ObservedSlave& removed = slave_named(*observed, "s1");
    const ObservedSlave& added = slave_named(*observed, "s2");
    EXPECT_FALSE(renamed.gone);
    EXPECT_TRUE(removed.gone);
    EXPECT_FALSE(added.gone);
    EXPECT_GT(added.totals.tx.packets, 0U);
    EXPECT_GT(removed.totals.tx.packets, 0U);
    expect_conservation(*observed, Unit::skb, Unit::skb);
    // Nothing was lost from any of the four rounds: 64 flows of 3 packets each.
    std::uint64_t udp = 0;
    for (const FlowEntry& entry : observed->flows)
        if (entry.key.protocol == 17 && (entry.key.flags & BT_KEY_RX) == 0) udp += entry.value.count.packets;
    // By tc, a slave's own first packets pass before bondtrace has heard of it.
    if (test_attachment() == Attachment::tc)
        EXPECT_GE(udp, 3U * 64 * 3);
    else
        EXPECT_EQ(udp, 4U * 64 * 3);
}

TEST(Slaves, FramesOnAnInactiveSlaveAreCountedAsDropped) {
    const Lab lab("direct --mode active-backup");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    // The other end stops being a bond of the same kind: it sends through the link whose slave here is the
    // backup, as a switch does whose ports are a static LAG.
    const auto reader = LinkReader::open(ends.a);
    ASSERT_TRUE(reader) << reader.error().what;
    const auto bonds = reader->find_bonds({"bond0"});
    ASSERT_TRUE(bonds) << bonds.error().what;
    const Bond& bond = bonds->front();
    ASSERT_TRUE(bond.active_slave);
    const std::string active = bond.find_slave(*bond.active_slave)->name;
    const std::string backup = active == "s0" ? "s1" : "s0";
    const std::string peer_of_backup = "p" + backup.substr(1);
    ASSERT_TRUE(
        run({"ip", "-n", "bt-b", "link", "set", "bond0", "type", "bond", "active_slave", peer_of_backup}));

    constexpr unsigned sent = 25;
    auto observation = Observation::start(ends.a, {"bond0"}, test_config());
    ASSERT_TRUE(observation) << observation.error().what;
    // Unanswered on purpose, so not by send_udp(): pings whose requests arrive on the backup slave.
    ASSERT_TRUE(run(
        {"ip", "-n", "bt-b", "neigh", "replace", "10.77.0.1", "lladdr", to_text(bond.mac), "dev", "bond0"}));
    const Output ping = capture({"ip", "netns", "exec", "bt-b", "ping", "-q", "-c", std::to_string(sent),
                                 "-i", "0.02", "-W", "0.2", "10.77.0.1"});
    EXPECT_NE(ping.status, 0) << "the bond answered to frames on its backup slave";
    const auto observed = observation->finish();
    ASSERT_TRUE(observed) << observed.error().what;
    expect_conservation(*observed, Unit::skb, Unit::skb);
    if (test_attachment() == Attachment::tc) { // sees no verdict: what it received is all it can say
        EXPECT_GE(slave_named(*observed, backup).totals.rx.packets, std::uint64_t{sent});
        EXPECT_EQ(slave_named(*observed, backup).totals.rx_inactive.packets, 0U);
        return;
    }
    std::uint64_t inactive = 0;
    for (const FlowEntry& entry : observed->flows)
        if (entry.key.protocol == 1 && (entry.key.flags & BT_KEY_INACTIVE) != 0)
            inactive += entry.value.count.packets;
    EXPECT_EQ(inactive, sent);
    EXPECT_GE(slave_named(*observed, backup).totals.rx_inactive.packets, std::uint64_t{sent});
    EXPECT_EQ(slave_named(*observed, active).totals.rx_inactive.packets, 0U);
    EXPECT_GE(slave_named(*observed, backup).counters.rx_nohandler, std::uint64_t{sent})
        << "the kernel says otherwise";
}

} // namespace
} // namespace bondtrace::test
