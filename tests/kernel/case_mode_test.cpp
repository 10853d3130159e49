// SPDX-License-Identifier: GPL-2.0-or-later
// Reported cases about modes, switches and what stands on a bond: what the audit must say, and what it must
// not.
#include "tests/kernel/support/audit.h"
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
using testing::StartsWith;

const std::string lacp = "mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4";
const std::string static_lag = "mode balance-xor miimon 100 xmit_hash_policy layer3+4";

// Frames to one's own broadcast address without asking for permission: a neighbour that has it.
constexpr const char* everybody = "192.0.2.99";
void know_everybody(const Namespace& space, const std::string& device) {
    ASSERT_TRUE(space.ip(
        fmt::format("neigh replace {} lladdr ff:ff:ff:ff:ff:ff dev {} nud permanent", everybody, device)));
}

// Case 29: LACP here, "mode on" there.
TEST(CaseInKernel, Case29StaticLagAgainstLacp) {
    const Pair pair;
    pair.bond_host(lacp);
    pair.bond_peer(static_lag);
    pair.address();
    ASSERT_TRUE(await([&] { return settled_alone(read_bond(pair.host)) && all_up(read_bond(pair.peer)); }));
    const Audited audited = audit_while(pair.host.name(), [&] {
        return send_udp_unheard(pair.peer_end(), "192.0.2.1", udp_flows(40000, 64));
    });
    EXPECT_EQ(audited.status, 2);
    EXPECT_TRUE(audited.find("lacp.no-partner")) << audited.text();
    EXPECT_THAT(audited.says("lacp.no-partner"), HasSubstr("partner MAC 00:00:00:00:00:00"));
    EXPECT_TRUE(audited.find("lacp.aggregators-differ"));
    const json* const mismatch = audited.find("mode.static-lag-mismatch");
    ASSERT_TRUE(mismatch) << audited.text();
    EXPECT_EQ(mismatch->at("severity"), "critical");
    EXPECT_THAT(mismatch->at("summary").get<std::string>(),
                StartsWith("50 % of the frames received are dropped"));
    EXPECT_FALSE(audited.find("lacp.partner-differs"));
    EXPECT_FALSE(audited.find("lacp.not-distributing"));
    EXPECT_FALSE(audited.find("mode.inactive-rx"));
}

// Case 32: active-backup here, a LAG there.
TEST(CaseInKernel, Case32StaticLagAgainstActiveBackup) {
    const Pair pair;
    pair.bond_host("mode active-backup miimon 100 primary_reselect failure");
    pair.bond_peer(static_lag);
    pair.address();
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)) && all_up(read_bond(pair.peer)); }));
    const std::string standby = read_bond(pair.host).active_name == "a0" ? "a1" : "a0";
    const Audited audited = audit_while(pair.host.name(), [&] {
        return send_udp_unheard(pair.peer_end(), "192.0.2.1", udp_flows(40000, 64, 1, 1));
    });
    EXPECT_EQ(audited.status, 2);
    EXPECT_THAT(audited.faults(), ElementsAre("critical mode.inactive-rx " + standby)) << audited.text();
    EXPECT_THAT(audited.says("mode.inactive-rx"), HasSubstr("32 of 64 frames"));
    EXPECT_THAT(audited.says("mode.inactive-rx"), HasSubstr("rx_nohandler"));
    EXPECT_THAT(audited.says("mode.inactive-rx"), HasSubstr("LAG"));
    ASSERT_TRUE(audited.slave(standby));
    EXPECT_EQ(audited.slave(standby)->at("rx").at("inactive").at("packets"), 32);
}

// Case 32, the other half: broadcasts come on every port, and that is no fault.
TEST(CaseInKernel, Case32BroadcastsOnTheStandbySlaveAreNoFault) {
    const Pair pair;
    pair.bond_host("mode active-backup miimon 100");
    pair.bridge_peer("br0");
    pair.address("bond0", "br0");
    know_everybody(pair.peer, "br0");
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)); }));
    const Audited audited = audit_while(pair.host.name(), [&] {
        return send_udp_unheard(pair.peer_end(), everybody, udp_flows(40000, 40, 1, 2));
    });
    EXPECT_THAT(audited.faults(), IsEmpty()) << audited.text();
    EXPECT_FALSE(audited.find("mode.inactive-rx"));
}

// Case 33: round-robin into a switch without a LAG, which here sends the host its own frames as well.
TEST(CaseInKernel, Case33RoundRobinIntoABridge) {
    const Pair pair;
    pair.bond_host("mode balance-rr miimon 100");
    pair.bridge_peer("br0");
    pair.address("bond0", "br0");
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)); }));
    const Audited audited = audit_while(pair.host.name(), [&] {
        return send_udp_unheard(pair.host_end(), "192.0.2.2", udp_flows(40000, 1, 1, 102));
    });
    EXPECT_THAT(audited.faults(), Contains("warning mode.needs-static-lag")) << audited.text();
    EXPECT_THAT(audited.faults(), Contains("warning mode.rr-reordering"));
    EXPECT_THAT(audited.says("mode.needs-static-lag"), HasSubstr("cannot be seen from this host"));
    EXPECT_THAT(audited.says("mode.needs-static-lag"), HasSubstr("one source MAC on all of them"));
    for (const char* name : {"a0", "a1"}) {
        ASSERT_TRUE(audited.slave(name));
        EXPECT_EQ(audited.slave(name)->at("tx").at("packets"), 51) << audited.text();
    }
    EXPECT_EQ(audited.balance("tx").at("verdict"), "not balanced here");
    EXPECT_FALSE(audited.find("hash.single-flow"));
}

// Case 35: guests behind a bridge on balance-alb, from the topology alone.
TEST(CaseInKernel, Case35BridgeOnBalanceAlb) {
    const Pair pair;
    pair.bond_host("mode balance-alb miimon 100");
    pair.bond_peer(static_lag);
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)); }));
    const Namespace guest("guest");
    ASSERT_TRUE(pair.host.ip("link add br0 type bridge"));
    ASSERT_TRUE(pair.host.ip("link add tap0 type veth peer name eth0 netns " + guest.name()));
    for (const char* port : {"bond0", "tap0"})
        ASSERT_TRUE(pair.host.ip(fmt::format("link set {} master br0", port)));
    const Audited audited = audit_now(pair.host.name());
    EXPECT_THAT(audited.faults(), ElementsAre("warning mode.alb-arp", "warning mode.bridge-port"))
        << audited.text();
    EXPECT_THAT(audited.says("mode.bridge-port"), HasSubstr("port of bridge br0"));
    EXPECT_EQ(audited.status, 1);

    // The same under a mode that suits a bridge.
    ASSERT_TRUE(pair.host.ip("link delete bond0"));
    pair.bond_host(static_lag);
    ASSERT_TRUE(pair.host.ip("link set bond0 master br0"));
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)); }));
    const Audited fine = audit_now(pair.host.name());
    EXPECT_THAT(fine.faults(), IsEmpty()) << fine.text();
}

// Case 38: a filter on the bond that drops a VLAN.
TEST(CaseInKernel, Case38AFilterDropsAVlan) {
    const Pair pair;
    pair.bond_host(static_lag);
    pair.bond_peer(static_lag);
    for (const Namespace* space : {&pair.host, &pair.peer}) {
        ASSERT_TRUE(space->ip("link add link bond0 name storage type vlan id 2001"));
        ASSERT_TRUE(space->ip("link set storage up"));
    }
    pair.address("storage", "storage", "203.0.113.");
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)) && all_up(read_bond(pair.peer)); }));
    const auto send = [&] {
        return send_udp_unheard(pair.host_end("203.0.113."), "203.0.113.2", udp_flows(40000, 64));
    };
    const Audited before = audit_while(pair.host.name(), send);
    EXPECT_THAT(before.faults(), IsEmpty()) << before.text();
    EXPECT_FALSE(before.find("trace.foreign-program"));
    EXPECT_EQ(before.bond().at("programs"), json::parse(R"({"found": [], "unknown": []})"));

    const auto tc = [&](const std::string& arguments) {
        std::vector<std::string> argv = words(arguments);
        argv.insert(argv.begin(), "tc");
        const Output output = pair.host.exec(argv);
        EXPECT_EQ(output.status, 0) << arguments << output.err;
    };
    tc("qdisc add dev bond0 clsact");
    tc("filter add dev bond0 egress protocol 802.1Q flower vlan_id 2001 action drop");
    const Audited audited = audit_while(pair.host.name(), send);
    EXPECT_EQ(audited.status, 2);
    EXPECT_THAT(audited.faults(), ElementsAre("critical bond.vlan-loses")) << audited.text();
    EXPECT_THAT(audited.says("bond.vlan-loses"), HasSubstr("nothing that storage sends reaches a slave"));
    EXPECT_THAT(audited.says("bond.vlan-loses"), HasSubstr("tc egress flower (gact) on bond0"));
    const json* const program = audited.find("trace.foreign-program");
    ASSERT_TRUE(program) << audited.text();
    EXPECT_EQ(program->at("severity"), "info");
    EXPECT_EQ(audited.bond().at("programs").at("found").size(), 1U);
    // The tracer's own programs pass everything, and leave the filter where it was.
    EXPECT_THAT(pair.host.exec({"tc", "filter", "show", "dev", "bond0", "egress"}).out,
                HasSubstr("vlan_id 2001"));
}

// Case 40: the network sends the host's own broadcasts back on another slave.
TEST(CaseInKernel, Case40OwnFramesComeBack) {
    const Pair pair;
    pair.bond_host(static_lag);
    pair.bridge_peer("loop");
    const Namespace guest("guest");
    ASSERT_TRUE(pair.host.ip("link add br0 type bridge"));
    ASSERT_TRUE(pair.host.ip("link add tap0 type veth peer name eth0 netns " + guest.name()));
    for (const char* port : {"bond0", "tap0"})
        ASSERT_TRUE(pair.host.ip(fmt::format("link set {} master br0", port)));
    for (const char* device : {"br0", "tap0"})
        ASSERT_TRUE(pair.host.ip(fmt::format("link set {} up", device)));
    ASSERT_TRUE(guest.ip("link set eth0 up"));
    ASSERT_TRUE(guest.ip("address add 192.0.2.1/24 dev eth0"));
    know_everybody(guest, "eth0");
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)); }));
    const std::string mac = guest.sys("eth0", "address");
    const Audited audited = audit_while(pair.host.name(), [&] {
        return send_udp_unheard({guest.open(), "192.0.2.1"}, everybody, udp_flows(40000, 1, 1, 20));
    });
    EXPECT_EQ(audited.status, 2);
    const json* const loop = audited.find("switch.loop");
    ASSERT_TRUE(loop) << audited.text();
    EXPECT_EQ(loop->at("severity"), "critical");
    EXPECT_THAT(loop->at("seen").get<std::string>(), HasSubstr("20 frames received on a"));
    EXPECT_THAT(loop->at("seen").get<std::string>(), HasSubstr(mac));
    EXPECT_FALSE(audited.find("switch.rx-imbalanced"));
    EXPECT_FALSE(audited.find("switch.rx-one-port"));
}

} // namespace
} // namespace bondtrace::test
