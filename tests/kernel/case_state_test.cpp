// SPDX-License-Identifier: GPL-2.0-or-later
// Reported cases about the states of bonds, their counters and their names: what the audit must say, and what
// it must not.
#include "tests/kernel/support/audit.h"
#include "tests/kernel/support/cable.h"
#include "tests/kernel/support/pair.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string lacp = "mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4";
const std::string static_lag = "mode balance-xor miimon 100 xmit_hash_policy layer3+4";

// Cases 17 and 22: a switch that runs no LACP.
TEST(CaseInKernel, Case22NoPartnerOnAnyPort) {
    const Pair pair;
    pair.bond_host(lacp);
    for (const std::string& port : pair.peer_ports)
        ASSERT_TRUE(pair.peer.ip(fmt::format("link set {} up", port)));
    ASSERT_TRUE(await([&] { return settled_alone(read_bond(pair.host)); }));
    const Audited audited = audit_now(pair.host.name());
    EXPECT_EQ(audited.status, 2);
    EXPECT_EQ(audited.faults().size(), 2U) << audited.text();
    EXPECT_THAT(audited.faults(), Contains("critical lacp.no-partner"));
    EXPECT_TRUE(audited.find("lacp.aggregators-differ"));
    EXPECT_THAT(audited.says("lacp.no-partner"), HasSubstr("10000 of 20000 Mbps"));
    EXPECT_FALSE(audited.find("bond.down"));
}

// Case 24: a Linux bridge in each cable keeps LACPDUs to itself.
TEST(CaseInKernel, Case24ALinuxBridgeEatsLacp) {
    const Namespace host("host"), middle("middle"), peer("peer");
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(
            host.ip(fmt::format("link add a{0} type veth peer name m{0} netns {1}", i, middle.name())));
        ASSERT_TRUE(
            peer.ip(fmt::format("link add b{0} type veth peer name n{0} netns {1}", i, middle.name())));
        ASSERT_TRUE(middle.ip(fmt::format("link add br{} type bridge", i)));
        for (const char* port : {"m", "n"})
            ASSERT_TRUE(middle.ip(fmt::format("link set {0}{1} master br{1} up", port, i)));
        ASSERT_TRUE(middle.ip(fmt::format("link set br{} up", i)));
    }
    // The bridge's own switch for reserved addresses refuses this one.
    EXPECT_NE(middle.exec({"ip", "link", "set", "br0", "type", "bridge", "group_fwd_mask", "4"}).status, 0);
    make_bond(host, lacp, {"a0", "a1"});
    make_bond(peer, lacp, {"b0", "b1"});
    ASSERT_TRUE(await([&] { return settled_alone(read_bond(host)); }));
    const Audited audited = audit_now(host.name());
    EXPECT_EQ(audited.status, 2);
    EXPECT_THAT(audited.faults(), Contains("critical lacp.no-partner")) << audited.text();
    EXPECT_THAT(audited.says("lacp.no-partner"), HasSubstr("group_fwd_mask"));
    EXPECT_FALSE(audited.find("lacp.partner-differs"));
    EXPECT_FALSE(audited.find("lacp.not-distributing"));
    EXPECT_FALSE(audited.find("mode.static-lag-mismatch"));
}

// Case 27: the interfaces have other names than the configuration says.
TEST(CaseInKernel, Case27NoSlaves) {
    const Namespace host("host");
    make_bond(host, lacp, {});
    const Audited audited = audit_now(host.name());
    EXPECT_EQ(audited.status, 2);
    EXPECT_THAT(audited.faults(), ElementsAre("critical bond.down", "critical bond.no-slaves"))
        << audited.text();
    EXPECT_EQ(audited.bond().at("slaves").size(), 0U);
}

// Case 30: ports of two speeds, which are never one aggregator.
TEST(CaseInKernel, Case30PortsOfTwoSpeeds) {
    ASSERT_TRUE(run({"modprobe", "tun"}));
    const Namespace host("host"), peer("switch");
    std::vector<std::unique_ptr<TapCable>> cables;
    for (int i = 0; i < 2; ++i) {
        auto cable = TapCable::lay(host.open(), fmt::format("a{}", i), peer.open(), fmt::format("b{}", i));
        ASSERT_TRUE(cable) << cable.error().what;
        cables.push_back(std::move(*cable));
        const char* const speed = i == 0 ? "1000" : "100";
        for (const auto& [space, port] : {std::pair(&host, "a"), std::pair(&peer, "b")}) {
            const Output set = space->exec({"ethtool", "-s", fmt::format("{}{}", port, i), "speed", speed,
                                            "duplex", "full", "autoneg", "off"});
            ASSERT_EQ(set.status, 0) << set.err;
        }
    }
    make_bond(host, lacp, {"a0", "a1"});
    make_bond(peer, lacp, {"b0", "b1"});
    ASSERT_TRUE(await([&] {
        const Bond bond = read_bond(host);
        return bond.slaves.size() == 2 && bond.slaves[0].partner_port_state == 63 &&
               bond.slaves[1].partner_port_state == 7 && bond.slaves[1].actor_port_state == 7;
    })) << audit_now(host.name()).text();
    const Audited audited = audit_now(host.name());
    EXPECT_EQ(audited.status, 2);
    EXPECT_THAT(audited.faults(),
                ElementsAre("critical lacp.aggregators-differ a1", "warning slave.speed-differs"))
        << audited.text();
    EXPECT_THAT(audited.says("lacp.aggregators-differ"),
                HasSubstr("its speed is 100 Mbps, that of a0 is 1000 Mbps"));
    EXPECT_THAT(audited.says("lacp.aggregators-differ"), HasSubstr("1000 of 1100 Mbps"));
    EXPECT_FALSE(audited.find("lacp.no-partner"));
    EXPECT_FALSE(audited.find("lacp.partner-differs"));
    EXPECT_EQ(audited.slave("a0")->at("speed_mbps"), 1000);
    EXPECT_EQ(audited.slave("a1")->at("speed_mbps"), 100);
    EXPECT_EQ(audited.slave("a1")->at("duplex"), "full");
}

// Case 26: half duplex keeps a port out.
TEST(CaseInKernel, Case26HalfDuplex) {
    ASSERT_TRUE(run({"modprobe", "tun"}));
    const Namespace host("host"), peer("switch");
    auto cable = TapCable::lay(host.open(), "a0", peer.open(), "b0");
    ASSERT_TRUE(cable) << cable.error().what;
    for (const auto& [space, port] : {std::pair(&host, "a0"), std::pair(&peer, "b0")})
        ASSERT_EQ(
            space->exec({"ethtool", "-s", port, "speed", "1000", "duplex", "half", "autoneg", "off"}).status,
            0);
    make_bond(host, lacp, {"a0"});
    make_bond(peer, lacp, {"b0"});
    ASSERT_TRUE(await([&] {
        const Bond bond = read_bond(host);
        return bond.slaves.size() == 1 && bond.slaves[0].mii_status == MiiStatus::up;
    }));
    const Audited audited = audit_now(host.name());
    EXPECT_EQ(audited.status, 2);
    EXPECT_THAT(audited.faults(), Contains("critical slave.duplex-half a0")) << audited.text();
    EXPECT_EQ(audited.slave("a0")->at("duplex"), "half");
}

// Case 42: a slave that carried traffic before it joined, or after it left, makes no fault of the sums.
TEST(CaseInKernel, Case42ASlaveWithAHistoryOfItsOwn) {
    const Pair pair;
    make_bond(pair.host, static_lag, {"a0"});
    for (const std::string& port : pair.peer_ports)
        ASSERT_TRUE(pair.peer.ip(fmt::format("link set {} up", port)));
    const auto address_alone = [&](const std::string& net) {
        ASSERT_TRUE(pair.host.ip("link set a1 up"));
        ASSERT_TRUE(await([&] { return pair.host.sys("a1", "carrier") == "1"; }));
        pair.address("a1", "b1", net);
    };
    address_alone("198.51.100.");
    ASSERT_TRUE(send_udp(pair.host_end("198.51.100."), pair.peer_end("198.51.100."), udp_flows(40000, 4)));
    ASSERT_TRUE(pair.host.ip("address flush dev a1"));
    ASSERT_TRUE(pair.peer.ip("address flush dev b1"));
    ASSERT_TRUE(pair.host.ip("link set a1 down"));
    ASSERT_TRUE(pair.host.ip("link set a1 master bond0"));
    for (const std::string& port : pair.peer_ports)
        ASSERT_TRUE(pair.peer.ip(fmt::format("link set {} down", port)));
    pair.bond_peer(static_lag);
    pair.address();
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)) && all_up(read_bond(pair.peer)); }));
    ASSERT_GE(read_bond(pair.host).find_slave("a1")->counters.tx_packets, 80U);
    const auto send = [&] { return send_udp(pair.host_end(), pair.peer_end(), udp_flows(41000, 64)); };
    const Audited joined = audit_while(pair.host.name(), send);
    EXPECT_THAT(joined.faults(), IsEmpty()) << joined.text();
    EXPECT_THAT(joined.split("tx"), ElementsAre(32, 32));
    for (const json& slave : joined.bond().at("slaves")) {
        // Of the window, and of the slave: 32 flows of 20 frames.
        EXPECT_EQ(slave.at("counters").at("tx_packets"), 640) << slave;
        EXPECT_EQ(slave.at("coverage").at("tx"), 1.0) << slave;
        EXPECT_EQ(slave.at("tx").at("share"), 0.5) << slave;
    }

    // Released again, it is no part of the sums.
    ASSERT_TRUE(pair.host.ip("link set a1 nomaster"));
    ASSERT_TRUE(pair.peer.ip("link set b1 nomaster"));
    const Audited released = audit_while(pair.host.name(), send);
    EXPECT_THAT(released.faults(), IsEmpty()) << released.text();
    EXPECT_FALSE(released.slave("a1"));
    EXPECT_EQ(released.slave("a0")->at("tx").at("share"), 1.0);
}

// Case 43: names are no identities.
TEST(CaseInKernel, Case43ASlaveIsRenamedWhileItIsWatched) {
    const Pair pair;
    pair.bond_host(static_lag);
    pair.bond_peer(static_lag);
    pair.address();
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)) && all_up(read_bond(pair.peer)); }));
    const int before = read_bond(pair.host).find_slave("a0")->ifindex;
    bool live = true;
    const Audited audited = audit_while(pair.host.name(), [&]() -> Result<void> {
        const auto send = [&] { return send_udp(pair.host_end(), pair.peer_end(), udp_flows(40000, 64)); };
        if (const auto sent = send(); !sent) return sent;
        // Kernels before 6.2 rename only what is down.
        live = pair.host.exec({"ip", "link", "set", "a0", "name", "ren0"}).status == 0;
        if (!live) {
            EXPECT_TRUE(pair.host.ip("link set a0 down"));
            EXPECT_TRUE(pair.host.ip("link set a0 name ren0"));
            EXPECT_TRUE(pair.host.ip("link set ren0 up"));
            EXPECT_TRUE(await([&] { return all_up(read_bond(pair.host)) && all_up(read_bond(pair.peer)); }));
        }
        return send();
    });
    EXPECT_FALSE(audited.slave("a0"));
    const json* const renamed = audited.slave("ren0");
    ASSERT_TRUE(renamed) << audited.text();
    EXPECT_EQ(renamed->at("ifindex"), before);
    EXPECT_EQ(renamed->at("tx").at("packets"), 2 * 32 * 20) << audited.text();
    EXPECT_EQ(audited.bond().at("slaves").size(), 2U);
    if (live)
        EXPECT_THAT(audited.faults(), IsEmpty()) << audited.text();
    else
        EXPECT_THAT(audited.faults(), ElementsAre("warning slave.flapping ren0")) << audited.text();
}

TEST(CaseInKernel, Case43ASlaveIsDeletedWhileItIsWatched) {
    const Pair pair;
    pair.bond_host(static_lag);
    pair.bond_peer(static_lag);
    pair.address();
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)) && all_up(read_bond(pair.peer)); }));
    const Audited audited = audit_while(pair.host.name(), [&]() -> Result<void> {
        auto sent = send_udp(pair.host_end(), pair.peer_end(), udp_flows(40000, 64));
        EXPECT_TRUE(pair.host.ip("link delete a1"));
        return sent;
    });
    ASSERT_TRUE(audited.slave("a1")) << audited.text();
    EXPECT_EQ(audited.slave("a1")->at("state"), "gone");
    EXPECT_EQ(audited.slave("a1")->at("tx").at("packets"), 32 * 20);
    EXPECT_EQ(audited.slave("a0")->at("tx").at("packets"), 32 * 20);
    EXPECT_FALSE(audited.find("hash.imbalanced"));
}

// Case 46: the driver is there and no bond; bonding_masters is a file and no interface.
TEST(CaseInKernel, Case46NoBonds) {
    ASSERT_TRUE(run({"modprobe", "bonding", "max_bonds=0"}));
    const Namespace host("host");
    const Output output = capture({BONDTRACE_PROGRAM, "audit", "--netns", host.name(), "--for", "0"});
    EXPECT_EQ(output.status, 3) << output.err;
    EXPECT_THAT(output.out, testing::StartsWith("BONDTRACE UNKNOWN - "));
    EXPECT_THAT(output.out, HasSubstr("no bond"));
    EXPECT_THAT(output.out + output.err, Not(HasSubstr("bonding_masters")));
}

// Case 49: the link is up, and the bond still waits.
TEST(CaseInKernel, Case49TheLinkIsUpAndTheBondSaysGoingBack) {
    const Pair pair;
    pair.bond_host(static_lag);
    pair.bond_peer(static_lag);
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)); }));
    ASSERT_TRUE(pair.host.ip("link set bond0 type bond updelay 120000"));
    ASSERT_TRUE(pair.peer.ip("link set b1 down"));
    ASSERT_TRUE(await([&] { return read_bond(pair.host).find_slave("a1")->mii_status == MiiStatus::down; }));
    const Audited down = audit_now(pair.host.name());
    EXPECT_THAT(down.faults(), ElementsAre("critical slave.down a1")) << down.text();
    ASSERT_TRUE(pair.peer.ip("link set b1 up"));
    ASSERT_TRUE(
        await([&] { return read_bond(pair.host).find_slave("a1")->mii_status == MiiStatus::going_back; }));
    const Audited back = audit_now(pair.host.name());
    EXPECT_THAT(back.faults(), ElementsAre("warning slave.down a1")) << back.text();
    EXPECT_EQ(back.slave("a1")->at("mii_status"), "going back");
    EXPECT_EQ(back.slave("a1")->at("carrier"), true);
    EXPECT_THAT(back.says("slave.down"), HasSubstr("its link is up, and it waits for updelay (120000 ms)"));
    EXPECT_FALSE(back.find("bond.down"));
}

// Case 88: fewer links than min_links.
TEST(CaseInKernel, Case88MinLinks) {
    const Pair pair;
    pair.bond_host(lacp + " min_links 2");
    pair.bond_peer(lacp);
    ASSERT_TRUE(await([&] { return lacp_is_up(read_bond(pair.host)) && read_bond(pair.host).carrier; }));
    ASSERT_TRUE(pair.peer.ip("link set b1 down"));
    ASSERT_TRUE(await([&] { return !read_bond(pair.host).carrier; }));
    const Audited audited = audit_now(pair.host.name());
    EXPECT_EQ(audited.status, 2);
    EXPECT_THAT(audited.faults(),
                ElementsAre("critical bond.down", "critical bond.min-links", "critical slave.down a1"))
        << audited.text();
}

// Case 90: slow here and fast there works.
TEST(CaseInKernel, Case90TwoLacpRatesAreNoFault) {
    const Pair pair;
    pair.bond_host("mode 802.3ad miimon 100 lacp_rate slow xmit_hash_policy layer3+4");
    pair.bond_peer(lacp);
    ASSERT_TRUE(await([&] { return lacp_is_up(read_bond(pair.host)); }));
    const Audited audited = audit_now(pair.host.name());
    EXPECT_THAT(audited.faults(), IsEmpty()) << audited.text();
    EXPECT_TRUE(audited.find("lacp.rate-differs")) << audited.text();
}

// Case 98: two LAGs where one was meant.
TEST(CaseInKernel, Case98TwoPartners) {
    const Pair pair;
    pair.bond_host(lacp);
    make_bond(pair.peer, lacp, {"b0"}, "one");
    make_bond(pair.peer, lacp, {"b1"}, "two");
    ASSERT_TRUE(await([&] {
        const Bond bond = read_bond(pair.host);
        return bond.slaves.size() == 2 && bond.slaves[0].partner_port_state.value_or(0) == 63 &&
               bond.slaves[1].partner && bond.slaves[1].partner->system_mac != MacAddress{} &&
               bond.slaves[0].partner && bond.slaves[0].partner->system_mac != MacAddress{};
    }));
    const Audited audited = audit_now(pair.host.name());
    EXPECT_EQ(audited.status, 2);
    EXPECT_TRUE(audited.find("lacp.partner-differs")) << audited.text();
    EXPECT_TRUE(audited.find("lacp.aggregators-differ"));
    EXPECT_FALSE(audited.find("lacp.no-partner"));
}

// A5: both ends say "off", and LACP is up all the same: the states are what counts.
TEST(CaseInKernel, CaseA5BothEndsPassive) {
    const Pair pair;
    pair.bond_host(lacp + " lacp_active off");
    pair.bond_peer(lacp + " lacp_active off");
    ASSERT_TRUE(await([&] { return lacp_is_up(read_bond(pair.host)); }))
        << audit_now(pair.host.name()).text();
    const Audited audited = audit_now(pair.host.name());
    EXPECT_THAT(audited.faults(), IsEmpty()) << audited.text();
    EXPECT_EQ(audited.bond().at("lacp").at("aggregator").at("ports"), 2);
}

} // namespace
} // namespace bondtrace::test
