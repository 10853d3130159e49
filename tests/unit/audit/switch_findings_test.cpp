// SPDX-License-Identifier: GPL-2.0-or-later
// What the other end sends: never this host's policy. Placements are written down here by the rule that a
// case's switch or peer follows.
#include "tests/unit/audit/scene.h"
#include "user/audit/switch_hash.h"

#include <array>
#include <random>

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

// The even half of a bond's own traffic, so that TX is fine.
void send_evenly(Scene& scene) {
    FlowSpec spec;
    spec.protocol = 6;
    spec.local_port = 50000;
    spec.remote = ip("203.0.113.9");
    scene.send_ports(spec, 64);
}

TEST(Case02, ReverseTestOfEightEvenPortsOnOnePort) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    for (unsigned i = 0; i < 8; ++i) {
        FlowSpec spec;
        spec.protocol = 6;
        spec.local = ip("192.0.2.1");
        spec.remote = ip("192.0.2.244");
        spec.local_port = static_cast<std::uint16_t>(55686 + 2 * i);
        spec.remote_port = 5201;
        scene.receive(spec, 1);
    }
    const AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), UnorderedElementsAre("switch.rx-one-port", "hash.too-few-flows"));
    EXPECT_EQ(worst(result), Severity::info); // eight flows on one of two: 1 in 128, luck
    EXPECT_THAT(find(result, "switch.rx-one-port")->why, HasSubstr("xmit_hash_policy on this host cannot"));
    EXPECT_EQ(result.bonds[0].rx.word, BalanceWord::too_few);
    EXPECT_EQ(result.bonds[0].tx.word, BalanceWord::no_traffic);
    EXPECT_EQ(result.status, ExitStatus::cannot_tell);
}

TEST(Case09, PolarizedUpstream) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    send_evenly(scene);
    std::mt19937 random(3);
    for (unsigned i = 0; i < 200; ++i) {
        FlowSpec spec;
        spec.remote = ip("198.51.100.", static_cast<unsigned>(random() % 128));
        spec.local_port = static_cast<std::uint16_t>(1024 + random() % 60000);
        spec.remote_port = static_cast<std::uint16_t>(1024 + random() % 60000);
        scene.receive(spec, 0);
    }
    const AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), ElementsAre("switch.rx-one-port"));
    const Finding& finding = result.findings[0];
    EXPECT_EQ(finding.severity, Severity::warning);
    EXPECT_THAT(finding.why, HasSubstr("polarization"));
    EXPECT_THAT(finding.seen, HasSubstr("TX is balanced"));
    EXPECT_EQ(result.bonds[0].tx.word, BalanceWord::balanced);
    EXPECT_EQ(result.bonds[0].rx.word, BalanceWord::uneven);
}

// Seed S4: one client, one server, switch on source-destination-ip: the client's output is even, the server's
// input 99-0.
TEST(SeedS4, SourceDestinationIpBetweenTwoHosts) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    send_evenly(scene);
    for (unsigned i = 0; i < 64; ++i) {
        FlowSpec spec;
        spec.protocol = 6;
        spec.local_port = 5001;
        spec.remote_port = static_cast<std::uint16_t>(40000 + i);
        scene.receive(spec, 0);
    }
    const AuditInput& input = scene.input();
    const std::vector<BondView> views = bond_views(input);
    const SwitchHash hash = infer_switch_hash(placed_flows(views[0], Direction::rx), 2);
    EXPECT_TRUE(hash.one_port);
    EXPECT_THAT(hash.not_used, ElementsAre(Field::src_port)); // the only field that varies
    std::vector<FieldSet> sets;
    for (const FieldHypothesis& h : hash.supported)
        sets.push_back(h.fields);
    EXPECT_THAT(sets, UnorderedElementsAre(only(Field::src_mac), only(Field::dst_mac), only(Field::src_ip),
                                           only(Field::dst_ip), only(Field::dst_port)));
    const AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), ElementsAre("switch.rx-one-port"));
    EXPECT_THAT(result.findings[0].seen, HasSubstr("not a hash of src-port"));
    EXPECT_THAT(result.findings[0].why, Not(HasSubstr("polarization")));
}

TEST(SwitchHash, AFunctionOfTheSourceAddress) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    send_evenly(scene);
    const std::array<unsigned, 12> ports{0, 0, 1, 0, 0, 0,
                                         1, 0, 0, 1, 0, 0}; // the switch's choice for each peer
    for (unsigned peer = 0; peer < ports.size(); ++peer)
        for (unsigned i = 0; i < 10; ++i) {
            FlowSpec spec;
            spec.protocol = 6;
            spec.remote = ip("198.51.100.", peer + 1);
            spec.remote_port = static_cast<std::uint16_t>(40000 + i);
            spec.local_port = static_cast<std::uint16_t>(i % 2 == 0 ? 443 : 80);
            scene.receive(spec, ports[peer]);
        }
    const std::vector<BondView> views = bond_views(scene.input());
    const SwitchHash hash = infer_switch_hash(placed_flows(views[0], Direction::rx), 2);
    ASSERT_EQ(hash.supported.size(), 1U);
    EXPECT_EQ(hash.supported[0].fields, only(Field::src_ip));
    EXPECT_EQ(hash.supported[0].values, 12U);
    EXPECT_EQ(hash.supported[0].agreements, 108U); // 120 flows less the first of each peer
    const AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), ElementsAre("switch.rx-imbalanced"));
    EXPECT_EQ(worst(result), Severity::warning);
    EXPECT_THAT(result.findings[0].seen, HasSubstr("a function of src-ip (12 values, 108 flows agree)"));
}

TEST(SwitchHash, NeedsTwoFields) {
    // By the parity of source plus destination port: neither alone decides.
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    for (unsigned i = 0; i < 128; ++i) {
        FlowSpec spec;
        spec.remote_port = static_cast<std::uint16_t>(40000 + i % 4);
        spec.local_port = static_cast<std::uint16_t>(5000 + i / 4 % 4);
        spec.remote = ip("198.51.100.", i / 16 + 1);
        scene.receive(spec, (i % 4 + i / 4 % 4) % 2);
    }
    const std::vector<BondView> views = bond_views(scene.input());
    const SwitchHash hash = infer_switch_hash(placed_flows(views[0], Direction::rx), 2);
    ASSERT_EQ(hash.supported.size(), 1U);
    EXPECT_EQ(hash.supported[0].fields, only(Field::src_port) | only(Field::dst_port));
    EXPECT_EQ(hash.supported[0].values, 16U);
    EXPECT_EQ(hash.supported[0].agreements, 112U);
}

TEST(SwitchHash, RandomPlacementSupportsNothing) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    std::mt19937 random(11);
    for (unsigned i = 0; i < 200; ++i) {
        FlowSpec spec;
        spec.remote_port = static_cast<std::uint16_t>(40000 + i);
        spec.remote = ip("198.51.100.", i % 7 + 1);
        scene.receive(spec, random() % 2);
    }
    const std::vector<BondView> views = bond_views(scene.input());
    const SwitchHash hash = infer_switch_hash(placed_flows(views[0], Direction::rx), 2);
    EXPECT_THAT(hash.supported, IsEmpty());
    EXPECT_THAT(describe(hash), HasSubstr("do not tell"));
}

TEST(SwitchHash, FewFlowsTellNothing) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    for (unsigned i = 0; i < 15; ++i) {
        FlowSpec spec;
        spec.remote_port = static_cast<std::uint16_t>(40000 + i);
        scene.receive(spec, 0);
    }
    const std::vector<BondView> views = bond_views(scene.input());
    EXPECT_THAT(infer_switch_hash(placed_flows(views[0], Direction::rx), 2).supported, IsEmpty());
}

// Case 40: B forwards a broadcast from one port to the other.
TEST(Case40, OwnSourceAddressesComeBack) {
    Scene scene(BondMode::balance_xor, HashPolicy::layer34);
    FlowSpec spec;
    spec.packets = 25;
    spec.remote_mac = bond_mac; // the source of what is received
    scene.receive(spec, 1);
    const AuditResult result = scene.audit();
    const Finding* finding = find(result, "switch.loop");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->severity, Severity::critical);
    EXPECT_EQ(finding->slave, "a1");
    EXPECT_THAT(finding->seen, HasSubstr("25 frames received on a1"));
    EXPECT_EQ(result.status, ExitStatus::critical);
}

TEST(Case40, AGuestsAddressBehindABridgeCountsToo) {
    Scene scene(BondMode::balance_xor, HashPolicy::layer34);
    const MacAddress guest{0x02, 0, 0, 0, 0, 9};
    FlowSpec sent;
    sent.local_mac = guest;
    scene.send(sent);
    FlowSpec received;
    received.remote_mac = guest;
    received.local_port = 7;
    scene.receive(received, 0);
    EXPECT_THAT(ids(scene.audit()), Contains("switch.loop"));
}

TEST(Case40, AStandbySlaveHearsTheBondsBroadcasts) {
    Scene scene(BondMode::active_backup, HashPolicy::layer2);
    FlowSpec spec;
    spec.remote_mac = bond_mac;
    scene.receive(spec, 1).rx[0].inactive = true;
    EXPECT_THAT(ids(scene.audit()), Not(Contains("switch.loop")));
}

} // namespace
} // namespace bondtrace::test
