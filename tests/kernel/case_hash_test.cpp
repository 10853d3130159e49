// SPDX-License-Identifier: GPL-2.0-or-later
// Reported cases about who carries which flow, on real bonds: what the audit must say, and what it must not.
#include "tests/kernel/support/audit.h"
#include "tests/kernel/support/pair.h"
#include "user/hash/choice.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/utsname.h>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Kernels that throw the lowest bit of every hash of addresses away; later ones do so for the policies that
// use ports only (cases, 12; Debian's 5.10 is the only such kernel tested).
bool drops_low_bit_of_addresses() {
    utsname system{};
    return ::uname(&system) == 0 && std::string(system.release).starts_with("5.10.");
}

// A pair with balance-xor at both ends, as in most recipes.
struct XorPair : Pair {
    explicit XorPair(const std::string& policy, unsigned cables = 2) : Pair(cables) {
        const std::string options = "mode balance-xor miimon 100 xmit_hash_policy ";
        bond_host(options + policy);
        bond_peer(options + "layer3+4");
        address();
        EXPECT_TRUE(await([&] { return all_up(read_bond(host)) && all_up(read_bond(peer)); }));
    }
    // Audits the host while it sends these flows to the peer.
    [[nodiscard]] Audited send(const std::vector<UdpFlow>& flows) const {
        return audit_while(host.name(), [&] { return send_udp(host_end(), peer_end(), flows); });
    }
};

// The slave that a policy of this kernel gives each of the case's frames is known from the case; who carries
// it is what the audit saw.
std::vector<unsigned> sorted(std::vector<unsigned> split) {
    std::sort(split.begin(), split.end());
    return split;
}

// Case 01: even ports were a fault of the hash before 4.15, and are none since.
TEST(CaseInKernel, Case01EvenPortsAreNoFault) {
    const XorPair pair("layer3+4");
    const Audited audited = pair.send(udp_flows(38986, 4, 2));
    EXPECT_THAT(audited.split("tx"), ElementsAre(2, 2)) << audited.text();
    EXPECT_THAT(audited.faults(), IsEmpty()) << audited.text();
    EXPECT_FALSE(audited.find("hash.low-entropy"));
    EXPECT_TRUE(audited.find("hash.too-few-flows"));
    EXPECT_THAT(audited.text(), testing::Not(HasSubstr("lowest bit")));
}

// Case 02: the direction in which the other end chooses, with ports that collide on every kernel (A3).
TEST(CaseInKernel, Case02ReceivedOnOnePortIsTheOtherEndsChoice) {
    const XorPair pair("layer3+4");
    const Audited audited = audit_while(pair.host.name(), [&] {
        return send_udp(pair.peer_end(), pair.host_end(), udp_flows(40000, 64, 4));
    });
    EXPECT_EQ(audited.faults().size(), 1U) << audited.text();
    const json* const finding = audited.find("switch.rx-one-port");
    ASSERT_TRUE(finding) << audited.text();
    EXPECT_EQ(finding->at("severity"), "warning");
    EXPECT_THAT(audited.says("switch.rx-one-port"),
                HasSubstr("xmit_hash_policy on this host cannot change it"));
    EXPECT_FALSE(audited.find("hash.low-entropy"));
}

// Case 03: many destinations behind one gateway.
TEST(CaseInKernel, Case03Layer2WithOneGateway) {
    const XorPair pair("layer2");
    std::string addresses;
    for (int i = 1; i <= 64; ++i)
        addresses += fmt::format("address add 198.51.100.{}/32 dev lo\n", i);
    ASSERT_TRUE(pair.peer.ip_batch("link set lo up\n" + addresses));
    ASSERT_TRUE(pair.host.ip("route add 198.51.100.0/24 via 192.0.2.2"));
    const Audited audited = audit_while(pair.host.name(), [&]() -> Result<void> {
        for (int i = 1; i <= 64; ++i) {
            const End destination{pair.peer.open(), fmt::format("198.51.100.{}", i)};
            if (const auto sent = send_udp(pair.host_end(), destination, udp_flows(40000, 1)); !sent)
                return sent;
        }
        return {};
    });
    EXPECT_THAT(sorted(audited.split("tx")), ElementsAre(0, 64)) << audited.text();
    EXPECT_THAT(audited.faults(), ElementsAre("warning hash.layer2-one-mac"));
    EXPECT_THAT(audited.says("hash.layer2-one-mac"), HasSubstr("1 destination MAC address, 64 peers"));
    EXPECT_THAT(audited.says("hash.layer2-one-mac"), HasSubstr("layer2+3"));
    EXPECT_THAT(audited.says("hash.layer2-one-mac"), HasSubstr("layer3+4"));
}

// 64 flows in a VXLAN tunnel over the bonds.
Audited send_in_vxlan(const XorPair& pair, const std::string& source_ports) {
    const auto tunnel = [&](const Namespace& space, int local, int remote) {
        ASSERT_TRUE(
            space.ip(fmt::format("link add vx0 address 02:00:00:00:01:0{} mtu 1300 type vxlan id 42 local "
                                 "192.0.2.{} remote 192.0.2.{}{} dstport 4789 dev bond0",
                                 local, local, remote, source_ports)));
        ASSERT_TRUE(space.ip(fmt::format("address add 203.0.113.{}/24 dev vx0", local)));
        ASSERT_TRUE(space.ip("link set vx0 up"));
        ASSERT_TRUE(space.ip(fmt::format(
            "neigh replace 203.0.113.{0} lladdr 02:00:00:00:01:0{0} dev vx0 nud permanent", remote)));
    };
    tunnel(pair.host, 1, 2);
    tunnel(pair.peer, 2, 1);
    return audit_while(pair.host.name(), [&] {
        return send_udp(pair.host_end("203.0.113."), pair.peer_end("203.0.113."), udp_flows(40000, 64));
    });
}

// Case 04: a tunnel is one flow, unless its source port varies or the policy looks inside.
TEST(CaseInKernel, Case04VxlanWithOneSourcePort) {
    const XorPair pair("layer3+4");
    const Audited audited = send_in_vxlan(pair, " srcport 55555 55556");
    EXPECT_THAT(sorted(audited.split("tx")), ElementsAre(0, 1)) << audited.text();
    EXPECT_THAT(audited.faults(), ElementsAre("warning hash.tunnel")) << audited.text();
    EXPECT_THAT(audited.says("hash.tunnel"), HasSubstr("VXLAN"));
    EXPECT_THAT(audited.says("hash.tunnel"), HasSubstr("1 outer tuple"));
    EXPECT_THAT(audited.says("hash.tunnel"), HasSubstr("xmit_hash_policy encap3+4"));
    EXPECT_FALSE(audited.find("hash.too-few-flows"));
}

TEST(CaseInKernel, Case04VxlanWithManySourcePorts) {
    const XorPair pair("layer3+4");
    const Audited audited = send_in_vxlan(pair, "");
    EXPECT_THAT(audited.faults(), IsEmpty()) << audited.text();
    // The kernel draws the source ports by a hash with a seed of its own: now and then their luck is worse.
    EXPECT_THAT(audited.balance("tx").at("verdict"), AnyOf("balanced", "uneven by chance"));
    EXPECT_FALSE(audited.find("hash.tunnel"));
}

TEST(CaseInKernel, Case04VxlanWithAPolicyThatLooksInside) {
    const XorPair pair("encap3+4");
    const Audited audited = send_in_vxlan(pair, " srcport 55555 55556");
    EXPECT_THAT(audited.faults(), IsEmpty()) << audited.text();
    EXPECT_FALSE(audited.find("hash.tunnel"));
    for (const json& slave : audited.balance("tx").at("slaves"))
        EXPECT_GT(slave.at("share"), 0.3) << audited.text();
}

// Cases 05 and 08: few flows are luck. 40000 and 40001 share a slave since 4.15, 40000 and 40002 do not.
TEST(CaseInKernel, Case08TwoFlowsOnOneSlaveAreChance) {
    const XorPair pair("layer3+4");
    const Audited collide = pair.send(udp_flows(40000, 2, 1));
    EXPECT_THAT(sorted(collide.split("tx")), ElementsAre(0, 2));
    EXPECT_THAT(collide.faults(), IsEmpty()) << collide.text();
    EXPECT_THAT(collide.says("hash.too-few-flows"), HasSubstr("all on one slave in 50 %"));
    EXPECT_EQ(collide.status, 3); // cannot tell
    const Audited apart = pair.send(udp_flows(40000, 2, 2));
    EXPECT_THAT(apart.split("tx"), ElementsAre(1, 1));
    EXPECT_THAT(apart.faults(), IsEmpty()) << apart.text();
}

// Case 07: an admin's test with one client and one server.
TEST(CaseInKernel, Case07Layer23WithOnePeer) {
    const XorPair pair("layer2+3");
    const Audited audited = pair.send(udp_flows(40000, 64));
    EXPECT_THAT(sorted(audited.split("tx")), ElementsAre(0, 64)) << audited.text();
    EXPECT_THAT(audited.faults(), ElementsAre("warning hash.layer2+3-one-address"));
    EXPECT_THAT(audited.says("hash.layer2+3-one-address"), HasSubstr("ignores ports"));
    EXPECT_THAT(audited.says("hash.layer2+3-one-address"), HasSubstr("1 peer"));
    EXPECT_THAT(audited.says("hash.layer2+3-one-address"), HasSubstr("layer3+4"));
}

// Case 12: the case's own addresses, of which the kernel's version decides who shares a slave.
TEST(CaseInKernel, Case12EvenAddressesUnderLayer23) {
    const Pair pair;
    make_bond(pair.host, "mode balance-xor miimon 100 xmit_hash_policy layer2+3", pair.host_ports);
    make_bond(pair.peer, "mode balance-xor miimon 100 xmit_hash_policy layer2+3", pair.peer_ports);
    ASSERT_TRUE(pair.host.ip("link set bond0 address 02:00:00:00:00:10"));
    ASSERT_TRUE(pair.peer.ip("link set bond0 address 02:00:00:00:00:01"));
    ASSERT_TRUE(pair.host.ip("address add 192.0.2.2/24 dev bond0"));
    ASSERT_TRUE(pair.peer.ip("address add 192.0.2.1/24 dev bond0"));
    ASSERT_TRUE(pair.host.ip("neigh replace 192.0.2.1 lladdr 02:00:00:00:00:01 dev bond0 nud permanent"));
    ASSERT_TRUE(pair.host.ip("route add 198.51.100.0/24 via 192.0.2.1"));
    ASSERT_TRUE(pair.peer.ip("link set lo up"));
    for (int i = 10; i <= 72; i += 2)
        ASSERT_TRUE(pair.peer.ip(fmt::format("address add 198.51.100.{}/32 dev lo", i)));
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)) && all_up(read_bond(pair.peer)); }));
    const auto send_to = [&](int count) {
        return audit_while(pair.host.name(), [&]() -> Result<void> {
            for (int i = 0; i < count; ++i) {
                const End destination{pair.peer.open(), fmt::format("198.51.100.{}", 10 + 2 * i)};
                const auto sent = send_udp({pair.host.open(), "192.0.2.2"}, destination, udp_flows(40000, 1));
                if (!sent) return sent;
            }
            return {};
        });
    };
    const Audited eight = send_to(8), many = send_to(32);
    EXPECT_THAT(eight.faults(), IsEmpty()) << eight.text();
    if (drops_low_bit_of_addresses()) {
        EXPECT_THAT(eight.split("tx"), ElementsAre(4, 4)) << eight.text();
        EXPECT_THAT(many.faults(), IsEmpty()) << many.text();
    } else {
        EXPECT_THAT(eight.split("tx"), ElementsAre(8, 0)) << eight.text();
        EXPECT_THAT(many.faults(), ElementsAre("warning hash.low-entropy a0")) << many.text();
        EXPECT_THAT(many.says("hash.low-entropy"), HasSubstr("32 destination addresses in steps of 2"));
    }
}

// A2: two tags, of which the driver reads one.
TEST(CaseInKernel, CaseA2QinQIsHashedByMac) {
    const XorPair pair("layer3+4");
    for (const Namespace* space : {&pair.host, &pair.peer}) {
        ASSERT_TRUE(space->ip("link add link bond0 name outer type vlan id 10"));
        ASSERT_TRUE(space->ip("link add link outer name inner type vlan id 20"));
        ASSERT_TRUE(space->ip("link set outer up"));
        ASSERT_TRUE(space->ip("link set inner up"));
    }
    pair.address("inner", "inner", "203.0.113.");
    const Audited audited = audit_while(pair.host.name(), [&] {
        return send_udp(pair.host_end("203.0.113."), pair.peer_end("203.0.113."), udp_flows(40000, 64));
    });
    EXPECT_THAT(sorted(audited.split("tx")), ElementsAre(0, testing::Ge(1U))) << audited.text();
    EXPECT_THAT(audited.faults(), ElementsAre("warning hash.not-ip")) << audited.text();
    EXPECT_THAT(audited.says("hash.not-ip"), HasSubstr("policy layer3+4 not applied: double VLAN tag"));

    // One tag is no obstacle.
    pair.address("outer", "outer", "198.51.100.");
    const Audited single = audit_while(pair.host.name(), [&] {
        return send_udp(pair.host_end("198.51.100."), pair.peer_end("198.51.100."), udp_flows(40000, 64));
    });
    EXPECT_THAT(single.split("tx"), ElementsAre(32, 32)) << single.text();
    EXPECT_THAT(single.faults(), IsEmpty()) << single.text();
}

// A3: the old fault of even ports, one bit further up.
TEST(CaseInKernel, CaseA3PortsInStepsOfFour) {
    const XorPair pair("layer3+4");
    const Audited audited = pair.send(udp_flows(40000, 64, 4));
    EXPECT_THAT(sorted(audited.split("tx")), ElementsAre(0, 64)) << audited.text();
    const json* const finding = audited.find("hash.low-entropy");
    ASSERT_TRUE(finding) << audited.text();
    EXPECT_EQ(finding->at("severity"), "warning");
    EXPECT_EQ(audited.faults().size(), 1U) << audited.text();
    EXPECT_THAT(audited.says("hash.low-entropy"), HasSubstr("steps of 4"));
    EXPECT_FALSE(audited.find("hash.imbalanced"));
}

// A4: three slaves are never exactly even.
TEST(CaseInKernel, CaseA4ThreeSlavesAreNeverEven) {
    const XorPair pair("layer3+4", 3);
    const Audited audited = pair.send(udp_flows(40000, 64));
    EXPECT_THAT(audited.split("tx"), testing::UnorderedElementsAre(24, 16, 24)) << audited.text();
    EXPECT_THAT(audited.faults(), IsEmpty()) << audited.text();
    EXPECT_EQ(audited.status, 0);
}

} // namespace
} // namespace bondtrace::test
