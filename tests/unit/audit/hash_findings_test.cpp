// SPDX-License-Identifier: GPL-2.0-or-later
// The causes of uneven sending, each in a case that people met. Splits are those counted on real kernels (or
// given by the case as the model's); the audit must name the case's cause and no other.
#include "tests/unit/audit/scene.h"

#include <random>

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;
using Split = std::vector<std::uint64_t>;

// Case 01: iperf's even ports.
FlowSpec iperf() {
    FlowSpec spec;
    spec.protocol = 6;
    spec.local_port = 38986;
    return spec;
}

TEST(Case01, EvenPortsOnAKernelThatKeepsTheLowestBit) {
    Scene scene(BondMode::lacp, HashPolicy::layer34, 2, "4.14");
    scene.send_ports(iperf(), 4, 2);
    EXPECT_EQ(scene.split(), (Split{0, 4}));
    const AuditResult result = scene.audit();
    const Finding* finding = find(result, "hash.low-entropy");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->severity, Severity::warning);
    EXPECT_THAT(ids(result), ElementsAre("hash.low-entropy"));
    EXPECT_THAT(finding->seen, HasSubstr("all even"));
    EXPECT_THAT(finding->why, HasSubstr("keeps the lowest bit"));
}

TEST(Case01, EvenPortsAreNoFaultSince415) {
    for (const char* kernel : {"5.10", "6.12", "7.3"}) {
        Scene scene(BondMode::lacp, HashPolicy::layer34, 2, kernel);
        scene.send_ports(iperf(), 4, 2);
        EXPECT_EQ(scene.split(), (Split{2, 2})) << kernel;
        const AuditResult result = scene.audit();
        EXPECT_EQ(find(result, "hash.low-entropy"), nullptr) << kernel;
        EXPECT_EQ(worst(result), Severity::info) << kernel;
    }
}

TEST(Case03, Layer2AndOneGateway) {
    Scene scene(BondMode::lacp, HashPolicy::layer2);
    for (unsigned i = 1; i <= 64; ++i) {
        FlowSpec spec;
        spec.remote = ip("198.51.100.", i);
        scene.send(spec);
    }
    EXPECT_EQ(scene.split(), (Split{0, 64}));
    const AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), ElementsAre("hash.layer2-one-mac"));
    const Finding& finding = result.findings[0];
    EXPECT_EQ(finding.severity, Severity::warning);
    EXPECT_THAT(finding.seen, HasSubstr("1 destination MAC address,"));
    EXPECT_THAT(finding.seen, HasSubstr("64 peers"));
    ASSERT_FALSE(finding.fixes.empty());
    EXPECT_THAT(finding.fixes[0].command, HasSubstr("layer3+4"));
    EXPECT_EQ(result.status, ExitStatus::findings);
}

TEST(Case04, ATunnelWithOneOuterTuple) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    FlowSpec outer;
    outer.local_port = 55555;
    outer.remote_port = 4789;
    outer.packets = 64;
    scene.send(outer);
    EXPECT_EQ(scene.split(), (Split{0, 1}));
    const AuditResult result = scene.audit();
    const Finding* finding = find(result, "hash.tunnel");
    ASSERT_NE(finding, nullptr);
    EXPECT_THAT(finding->summary, HasSubstr("VXLAN"));
    EXPECT_THAT(finding->seen, HasSubstr("1 outer tuple"));
    EXPECT_THAT(finding->why, HasSubstr("layer3+4"));
    std::string fixes;
    for (const Fix& fix : finding->fixes)
        fixes += fix.command + "\n";
    EXPECT_THAT(fixes, HasSubstr("encap3+4"));
    EXPECT_THAT(fixes, HasSubstr("source port"));
    EXPECT_EQ(find(result, "hash.single-flow"), nullptr);
}

TEST(Case04, ATunnelWhoseSourcePortVariesIsNoFault) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    FlowSpec outer;
    outer.remote_port = 4789;
    scene.send_ports(outer, 64);
    EXPECT_EQ(scene.split(), (Split{32, 32}));
    EXPECT_THAT(scene.audit().findings, IsEmpty());
}

TEST(Case04, GreAndIpip) {
    for (const std::uint8_t protocol : {std::uint8_t{47}, std::uint8_t{4}}) {
        Scene scene(BondMode::lacp, HashPolicy::layer34);
        FlowSpec outer;
        outer.protocol = protocol;
        outer.packets = 64;
        scene.send(outer);
        EXPECT_EQ(scene.split(), (Split{0, 1}));
        EXPECT_THAT(ids(scene.audit()), Contains("hash.tunnel"));
    }
}

TEST(Case05And08, FewFlowsAreJudgedByChance) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    FlowSpec spec;
    spec.protocol = 6;
    scene.send_ports(spec, 2); // 40000 and 40001 collide since 4.15
    EXPECT_THAT(scene.split(), UnorderedElementsAre(0, 2));
    const AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), ElementsAre("hash.too-few-flows"));
    EXPECT_EQ(worst(result), Severity::info);
    EXPECT_THAT(result.findings[0].seen, HasSubstr("50 %"));
    EXPECT_EQ(result.bonds[0].tx.word, BalanceWord::too_few);
    EXPECT_EQ(result.status, ExitStatus::cannot_tell);
}

TEST(Case07, OnePeerUnderLayer23) {
    for (const auto& [kernel, split] : {std::pair{"5.10", Split{0, 64}}, std::pair{"6.12", Split{64, 0}}}) {
        Scene scene(BondMode::lacp, HashPolicy::layer23, 2, kernel);
        FlowSpec spec;
        spec.protocol = 6;
        spec.remote_port = 5201;
        scene.send_ports(spec, 64);
        EXPECT_EQ(scene.split(), split);
        const AuditResult result = scene.audit();
        EXPECT_THAT(ids(result), ElementsAre("hash.layer2+3-one-address"));
        EXPECT_EQ(worst(result), Severity::warning);
        EXPECT_THAT(result.findings[0].summary, HasSubstr("ignores ports"));
        EXPECT_THAT(result.findings[0].seen, HasSubstr("1 peer "));
        EXPECT_THAT(result.findings[0].fixes[0].command, HasSubstr("layer3+4"));
    }
}

Scene even_neighbours(const char* kernel) {
    Scene scene(BondMode::lacp, HashPolicy::layer23, 2, kernel);
    for (unsigned i = 10; i <= 24; i += 2) {
        FlowSpec spec;
        spec.remote = ip("198.51.100.", i);
        scene.send(spec);
    }
    return scene;
}

TEST(Case12, EvenAddressesUnderLayer23) {
    Scene old = even_neighbours("5.10");
    EXPECT_EQ(old.split(), (Split{4, 4}));
    EXPECT_THAT(ids(old.audit()), Not(Contains("hash.low-entropy")));

    Scene recent = even_neighbours("6.12");
    EXPECT_EQ(recent.split(), (Split{8, 0}));
    const AuditResult result = recent.audit();
    const Finding* finding = find(result, "hash.low-entropy");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->severity, Severity::info); // eight addresses may be even by luck: 1 in 128
    EXPECT_THAT(finding->seen, HasSubstr("8 destination addresses in steps of 2"));
}

TEST(CaseA1, AddressesThatCancelMacAddresses) {
    for (const auto& [kernel, split] : {std::pair{"5.10", Split{0, 4}}, std::pair{"6.12", Split{4, 0}}}) {
        Scene scene(BondMode::lacp, HashPolicy::layer23, 2, kernel);
        for (unsigned i = 10; i <= 13; ++i) {
            FlowSpec spec;
            spec.remote = ip("192.0.2.", i);
            spec.remote_mac[5] = static_cast<std::uint8_t>(i);
            scene.send(spec);
        }
        EXPECT_EQ(scene.split(), split);
        const AuditResult result = scene.audit();
        const Finding* finding = find(result, "hash.low-entropy");
        ASSERT_NE(finding, nullptr);
        EXPECT_THAT(finding->seen, HasSubstr("cancel"));
    }
}

TEST(CaseA2, DoubleTags) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    FlowSpec spec;
    spec.outer_ethertype = 0x8100;
    for (unsigned i = 0; i < 64; ++i) {
        Conversation& flow = scene.send(spec);
        flow.key.vlan = 100;
        flow.key.inner_vlan = 200;
        ++spec.local_port;
    }
    EXPECT_EQ(scene.split(), (Split{0, 64}));
    const AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), Contains("hash.not-ip"));
    const Finding* finding = find(result, "hash.not-ip");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->severity, Severity::warning);
    EXPECT_THAT(finding->summary, HasSubstr("policy layer3+4 not applied: double VLAN tag"));
    EXPECT_EQ(find(result, "hash.imbalanced"), nullptr);
}

TEST(CaseA3, PortsInStepsOfFour) {
    for (const char* kernel : {"5.10", "6.12", "7.3"}) {
        Scene scene(BondMode::lacp, HashPolicy::layer34, 2, kernel);
        scene.send_ports(FlowSpec{}, 64, 4);
        EXPECT_THAT(scene.split(), UnorderedElementsAre(0, 64));
        const AuditResult result = scene.audit();
        EXPECT_THAT(ids(result), ElementsAre("hash.low-entropy"));
        EXPECT_EQ(worst(result), Severity::warning);
        EXPECT_THAT(result.findings[0].seen, HasSubstr("64 source ports in steps of 4"));
        EXPECT_THAT(result.findings[0].seen, HasSubstr("dst-ip 1, src-port 64 (6 bits), dst-port 1"));
        EXPECT_EQ(result.bonds[0].tx.word, BalanceWord::uneven);
    }
}

TEST(CaseA4, ThreeSlavesAreNeverExactlyEven) {
    Scene scene(BondMode::lacp, HashPolicy::layer34, 3);
    scene.send_ports(FlowSpec{}, 64);
    EXPECT_EQ(scene.split(), (Split{24, 16, 24}));
    const AuditResult result = scene.audit();
    EXPECT_THAT(result.findings, IsEmpty());
    EXPECT_EQ(result.status, ExitStatus::fine);
}

// Flows of random tuples, as many on each slave as asked for.
Scene random_flows(Split wanted) {
    Scene scene(BondMode::lacp, HashPolicy::layer34, static_cast<unsigned>(wanted.size()));
    std::mt19937 random(7);
    while (std::any_of(wanted.begin(), wanted.end(), [](std::uint64_t left) { return left > 0; })) {
        FlowSpec spec;
        spec.protocol = 6;
        spec.local_port = static_cast<std::uint16_t>(32768 + random() % 28232);
        spec.remote = ip("203.0.113.", static_cast<unsigned>(random() % 256));
        spec.remote_port = static_cast<std::uint16_t>(1 + random() % 60000);
        std::uint64_t& left = wanted[scene.slave_of(spec)];
        if (left == 0) continue;
        --left;
        scene.send(spec);
    }
    return scene;
}

TEST(Luck, SixAndTwoOfEightIsNone) {
    Scene scene = random_flows({6, 2});
    EXPECT_EQ(scene.split(), (Split{6, 2}));
    const AuditResult result = scene.audit();
    EXPECT_EQ(worst(result), Severity::info);
    EXPECT_THAT(ids(result), ElementsAre("hash.too-few-flows"));
    EXPECT_THAT(result.findings[0].seen, HasSubstr("28.9 %")); // 74 / 256
}

TEST(Luck, HundredAndFiftyOfTwoHundredIsNot) {
    Scene scene = random_flows({150, 50});
    const AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), ElementsAre("hash.imbalanced"));
    EXPECT_EQ(worst(result), Severity::warning);
    EXPECT_EQ(result.bonds[0].tx.word, BalanceWord::uneven);
    EXPECT_NEAR(result.bonds[0].tx.by_flows.value / 8.393020875604761e-13, 1, 1e-6);
    EXPECT_EQ(result.status, ExitStatus::findings);
}

TEST(Luck, SignificantButHarmlessIsBalanced) {
    // 52 to 48 per cent of 20000 flows: p = 1.6e-8, and nobody loses anything.
    Scene scene = random_flows({10400, 9600});
    const AuditResult result = scene.audit();
    EXPECT_THAT(result.findings, IsEmpty());
    EXPECT_EQ(result.bonds[0].tx.word, BalanceWord::balanced);
}

TEST(Luck, EvenFlowsWhoseBytesAreNot) {
    // 100 flows on each slave, but those of the first are four times as large: 80 % of the bytes.
    Scene scene = random_flows({100, 100});
    for (Conversation& flow : scene.traffic().flows)
        if (flow.tx[0].slave_ifindex == 1) flow.tx[0].counts.wire_bytes *= 4;
    const AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), ElementsAre("hash.imbalanced"));
    EXPECT_GT(result.bonds[0].tx.by_flows.value, 0.9);
    EXPECT_LT(result.bonds[0].tx.by_bytes.bound, 1e-6);
}

TEST(Polarized, OneResidueClassAndNothingRegular) {
    Scene scene = random_flows({64, 0});
    const AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), ElementsAre("hash.polarized"));
    EXPECT_EQ(worst(result), Severity::warning);
}

TEST(Imbalanced, ASlaveThatTheHashUsesAndTheBondDoesNotIsCritical) {
    Scene model = random_flows({32, 32});
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    for (Conversation flow : model.traffic().flows) {
        flow.tx[0].slave_ifindex = 1;
        scene.traffic().flows.push_back(flow);
    }
    const AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), ElementsAre("hash.imbalanced"));
    EXPECT_EQ(worst(result), Severity::critical);
    EXPECT_EQ(result.findings[0].slave, "a1");
    EXPECT_EQ(result.status, ExitStatus::critical);
}

TEST(SingleFlow, AnElephantAmongMice) {
    Scene scene = random_flows({32, 32});
    FlowSpec elephant;
    elephant.protocol = 6;
    elephant.bytes = 1'000'000'000; // 0.8 Gbit/s of 10
    scene.send(elephant);
    AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), ElementsAre("hash.single-flow"));
    EXPECT_EQ(worst(result), Severity::info);
    EXPECT_EQ(result.bonds[0].tx.word, BalanceWord::chance);
    EXPECT_EQ(result.status, ExitStatus::fine);

    for (SlaveReport& slave : scene.report().slaves)
        slave.speed_mbps = 1000; // now it fills its slave
    result = scene.audit();
    EXPECT_EQ(worst(result), Severity::warning);
}

TEST(Fragments, AreHashedWithoutPorts) {
    Scene scene = random_flows({32, 32});
    FlowSpec fragments;
    fragments.fragment = true;
    fragments.bytes = 3'000'000;
    scene.send(fragments);
    const AuditResult result = scene.audit();
    const Finding* finding = find(result, "hash.fragments");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->severity, Severity::warning);
}

TEST(TooFew, APolicyThatSeesFewFlowsInMany) {
    // 60 connections to five peers: layer2+3 throws five times.
    Scene scene(BondMode::lacp, HashPolicy::layer23);
    for (unsigned peer : {3U, 7U, 12U, 40U, 77U}) {
        FlowSpec spec;
        spec.remote = ip("192.0.2.", peer);
        scene.send_ports(spec, 12);
    }
    const AuditResult result = scene.audit();
    const Finding* finding = find(result, "hash.too-few-flows");
    ASSERT_NE(finding, nullptr);
    EXPECT_THAT(finding->summary, HasSubstr("60 flows as 5"));
    EXPECT_THAT(finding->fixes[0].command, HasSubstr("layer3+4"));
    EXPECT_EQ(worst(result), Severity::info);
}

TEST(Case33And34, RoundRobinIsNotJudgedByItsHash) {
    Scene scene(BondMode::balance_rr, HashPolicy::layer2);
    Conversation& flow = scene.send_on(FlowSpec{}, 0);
    flow.tx.push_back(flow.tx[0]);
    flow.tx[1].slave_ifindex = 2;
    const AuditResult result = scene.audit();
    EXPECT_THAT(ids(result), Each(StartsWith("mode."))); // what it asks of the switch, and reordering
    EXPECT_EQ(worst(result), Severity::warning);
    EXPECT_EQ(result.bonds[0].tx.word, BalanceWord::not_expected);
}

// Cases 24, 29 and 30: without a partner, or with two speeds, one port is all that LACP uses. That is the
// state's finding; the traffic on one usable slave is as it must be.
TEST(Case24And29And30, OneUsableSlaveHasNothingToBalance) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    for (unsigned i = 0; i < 64; ++i) {
        FlowSpec spec;
        spec.local_port = static_cast<std::uint16_t>(40000 + i);
        scene.send_on(spec, 0);
    }
    scene.report().slaves[1].index.reset();
    const AuditResult result = scene.audit();
    EXPECT_THAT(result.findings, IsEmpty());
    EXPECT_EQ(result.bonds[0].tx.word, BalanceWord::not_expected);
}

} // namespace
} // namespace bondtrace::test
