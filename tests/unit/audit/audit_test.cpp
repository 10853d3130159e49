// SPDX-License-Identifier: GPL-2.0-or-later
// Slave health, the tracing's own limits, and what all of it comes to: order, status and the plug-in's line.
#include "tests/unit/audit/scene.h"

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Scene even_scene() {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    FlowSpec spec;
    spec.protocol = 6;
    spec.remote_port = 443;
    scene.send_ports(spec, 64);
    for (Conversation& flow : scene.traffic().flows)
        flow.rx = flow.tx;
    return scene;
}

TEST(Audit, AllIsWell) {
    Scene scene = even_scene();
    const AuditResult result = scene.audit();
    EXPECT_THAT(result.findings, IsEmpty());
    EXPECT_EQ(result.status, ExitStatus::fine);
    EXPECT_EQ(result.bonds[0].tx.word, BalanceWord::balanced);
    EXPECT_EQ(result.bonds[0].rx.word, BalanceWord::balanced);
    EXPECT_EQ(result.line,
              "BONDTRACE OK - bond0: TX balanced: 50 % of 6.4 MB on a0, 64 flows, p = 1, RX balanced: 50 % "
              "of 6.4 MB on "
              "a0, 64 flows, p = 1 | 'bond0_tx_a0'=50.0%;;;0;100 'bond0_tx_a1'=50.0%;;;0;100 "
              "'bond0_tx_flows'=64;;;0; "
              "'bond0_rx_a0'=50.0%;;;0;100 'bond0_rx_a1'=50.0%;;;0;100 'bond0_rx_flows'=64;;;0;");
}

TEST(Audit, NoTrafficIsUnknownAndStateStands) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    AuditResult result = scene.audit();
    EXPECT_EQ(result.status, ExitStatus::cannot_tell);
    EXPECT_THAT(
        result.line,
        StartsWith(
            "BONDTRACE UNKNOWN - bond0: TX no traffic, RX no traffic; audit again while many flows run"));

    Finding down;
    down.id = "slave.down";
    down.severity = Severity::critical;
    down.bond = "bond0";
    down.summary = "a1 is down";
    result = audit(scene.input(), {down});
    EXPECT_EQ(result.status, ExitStatus::critical);
    EXPECT_THAT(result.line, StartsWith("BONDTRACE CRITICAL - bond0: a1 is down |"));
}

TEST(Audit, MostSevereFirst) {
    Scene scene(BondMode::lacp, HashPolicy::layer2);
    for (unsigned i = 1; i <= 64; ++i) {
        FlowSpec spec;
        spec.remote = ip("198.51.100.", i);
        scene.send(spec);
    }
    Finding note, down;
    note.id = "bond.no-miimon";
    down.id = "slave.down";
    down.severity = Severity::critical;
    const AuditResult result = audit(scene.input(), {note, down});
    EXPECT_THAT(ids(result), ElementsAre("slave.down", "hash.layer2-one-mac", "bond.no-miimon"));
}

TEST(Audit, NobodyWatched) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    AuditInput input = scene.input();
    input.traffic.reset();
    const AuditResult result = audit(input, {});
    EXPECT_EQ(result.status, ExitStatus::fine);
    EXPECT_EQ(result.line, "BONDTRACE OK - bond0: traffic not watched");
    EXPECT_FALSE(result.bonds[0].watched);
}

TEST(Audit, NoBonds) {
    const AuditResult result = audit(AuditInput{}, {});
    EXPECT_EQ(result.status, ExitStatus::cannot_tell);
    EXPECT_EQ(result.line, "BONDTRACE UNKNOWN - no bonds");
}

TEST(Audit, NamesCannotBreakThePluginsLine) {
    Scene scene = even_scene();
    scene.bond().name = "b|=\n'x";
    const std::string line = scene.audit().line;
    EXPECT_THAT(line, Not(HasSubstr("\n")));
    EXPECT_THAT(line, HasSubstr(" | 'b/_?_x_tx_a0'=50.0%"));
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 1);
}

TEST(Audit, ActiveBackupHasNothingToBalance) {
    Scene scene(BondMode::active_backup, HashPolicy::layer2);
    scene.send_on(FlowSpec{}, 0);
    const AuditResult result = scene.audit();
    EXPECT_THAT(result.findings, IsEmpty());
    EXPECT_EQ(result.status, ExitStatus::fine);
}

// Case 10: counters of 1e12 bytes beside flows of 1e6.
TEST(Case10, WhatDoesNotPassTheDriver) {
    Scene scene = even_scene();
    AuditInput& input = scene.input();
    SlaveDirection& first = input.traffic->bonds[0].slaves[0].tx;
    first.counter_bytes = 1'000'000'000'000;
    first.counter_packets = 700'000'000;
    const AuditResult result = audit(input, {});
    ASSERT_THAT(ids(result), ElementsAre("trace.bypass"));
    EXPECT_EQ(result.findings[0].slave, "a0");
    EXPECT_THAT(result.findings[0].seen, HasSubstr("1 TB"));
    EXPECT_THAT(result.findings[0].why, HasSubstr("RDMA"));
    EXPECT_EQ(result.bonds[0].tx.word, BalanceWord::not_seen);
    EXPECT_EQ(result.bonds[0].rx.word, BalanceWord::balanced);
}

TEST(Trace, CoverageBeyondTheReadingsUncertainty) {
    Scene scene = even_scene(); // 3200 packets a slave
    AuditInput& input = scene.input();
    SlaveDirection& first = input.traffic->bonds[0].slaves[0].tx;
    first.counter_packets += 400;
    EXPECT_THAT(ids(audit(input, {})), ElementsAre("trace.coverage"));
    EXPECT_EQ(worst(audit(input, {})), Severity::info);
    input.traffic->losses.reading_skew = 400;
    EXPECT_THAT(ids(audit(input, {})), IsEmpty());
}

// A slave that came up in the middle carries few of the flows: nobody is to blame.
TEST(Audit, SlavesThatCameOrWentAreNoImbalance) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    FlowSpec spec;
    for (unsigned i = 0; i < 200; ++i, ++spec.local_port)
        scene.send_on(spec, 0).tx[0].origin.usable_count = 1;
    AuditResult result = scene.audit();
    EXPECT_THAT(result.findings, IsEmpty());
    EXPECT_EQ(result.bonds[0].tx.word, BalanceWord::changed);
    EXPECT_EQ(result.status, ExitStatus::cannot_tell);

    // The same with both slaves there all the time.
    for (Conversation& flow : scene.traffic().flows)
        flow.tx[0].origin.usable_count = 2;
    EXPECT_EQ(worst(scene.audit()), Severity::critical);

    for (Conversation& flow : scene.traffic().flows)
        flow.tx[0].origin.usable_count.reset();
    SlaveReport& left = scene.report().slaves.emplace_back();
    left.name = "a2";
    left.ifindex = 3;
    left.state = "gone";
    scene.send_on(spec, 2);
    EXPECT_EQ(scene.audit().bonds[0].tx.word, BalanceWord::changed);
}

// Case 32: 72 frames, 39 of them on the standby slave, because the other end is a LAG.
TEST(Case32, FramesOnTheStandbySlaveAreSeenByTheTrace) {
    Scene scene(BondMode::active_backup, HashPolicy::layer2);
    for (unsigned i = 0; i < 72; ++i) {
        FlowSpec spec;
        spec.remote_port = static_cast<std::uint16_t>(40000 + i);
        spec.packets = 1;
        spec.bytes = 142;
        const unsigned slave = i < 33 ? 0 : 1;
        scene.receive(spec, slave).rx[0].inactive = slave == 1;
    }
    const AuditResult result = scene.audit();
    ASSERT_THAT(ids(result), ElementsAre("mode.inactive-rx"));
    EXPECT_EQ(result.findings[0].severity, Severity::critical);
    EXPECT_THAT(result.findings[0].summary, HasSubstr("54 %"));
    EXPECT_THAT(result.findings[0].seen, HasSubstr("39 of 72"));
    EXPECT_EQ(result.bonds[0].rx.word, BalanceWord::not_expected);
}

// Frames to all are what every port gets: 39 broadcasts on the standby slave beside as many on the active
// one.
TEST(Case32, BroadcastsOnTheStandbySlaveAreNoFault) {
    Scene scene(BondMode::active_backup, HashPolicy::layer2);
    FlowSpec spec;
    spec.local_mac = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}; // the destination of what is received
    spec.packets = 39;
    scene.receive(spec, 0);
    scene.receive(spec, 1).rx[0].inactive = true;
    EXPECT_THAT(scene.audit().findings, IsEmpty());
}

// Case 42: what the bond's own counters say is no finding, and not added to the slaves'.
TEST(Case42, BondCountersAreNotAdded) {
    Scene scene = even_scene();
    scene.bond().counters.tx_bytes = 12'800'000;
    scene.bond().counters.tx_packets = 12'800;
    const AuditResult result = scene.audit();
    EXPECT_THAT(result.findings, IsEmpty());
    EXPECT_EQ(result.bonds[0].tx.slaves[0].bytes + result.bonds[0].tx.slaves[1].bytes, 6'400'000U);
}

TEST(Trace, FullTableAndFallback) {
    Scene scene = even_scene(); // 12800 packets
    AuditInput& input = scene.input();
    input.traffic->max_flows = 64;
    input.traffic->header.attach = "kprobe";
    input.traffic->losses.untracked_packets = 12;
    AuditResult result = audit(input, {});
    EXPECT_THAT(ids(result), ElementsAre("trace.map-full", "trace.attach-fallback"));
    EXPECT_EQ(worst(result), Severity::info);
    EXPECT_EQ(result.findings[0].fixes[0].command, "--max-flows 256");
    input.traffic->losses.untracked_packets = 1200; // nearly a tenth
    result = audit(input, {});
    EXPECT_EQ(find(result, "trace.map-full")->severity, Severity::warning);
}

// Connections to one service: those through a0 all answered, those through a1 none.
Scene half_dead(unsigned through_a1) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    FlowSpec spec;
    spec.protocol = 6;
    spec.remote_port = 443;
    unsigned dead = 0;
    for (unsigned i = 0; i < 64; ++i, ++spec.local_port) {
        const unsigned slave = scene.slave_of(spec);
        if (slave == 1 && ++dead > through_a1) continue;
        Conversation& flow = scene.send(spec);
        if (slave == 0) flow.rx = flow.tx;
    }
    return scene;
}

TEST(Blackhole, ProvedByAnswersThroughTheOtherSlave) {
    Scene scene = half_dead(32);
    const AuditResult result = scene.audit();
    const Finding* finding = find(result, "slave.blackhole");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->severity, Severity::critical);
    EXPECT_EQ(finding->slave, "a1");
    EXPECT_THAT(finding->seen, HasSubstr("32 TCP connections sent through a1 got no packet back; 32 of 32"));
}

TEST(Blackhole, NotProvedByFewConnectionsOrASilentHost) {
    Scene few = half_dead(7);
    EXPECT_THAT(ids(few.audit()), Not(testing::Contains("slave.blackhole")));

    // A host that answers nobody is silent through every slave.
    Scene silent = half_dead(32);
    for (Conversation& flow : silent.traffic().flows)
        flow.rx.clear();
    EXPECT_THAT(ids(silent.audit()), Not(testing::Contains("slave.blackhole")));

    // Nor does a service that leaves every other connection unanswered.
    Scene flaky = half_dead(32);
    for (std::size_t i = 0; i < flaky.traffic().flows.size(); i += 4)
        flaky.traffic().flows[i].rx.clear();
    EXPECT_THAT(ids(flaky.audit()), Not(testing::Contains("slave.blackhole")));

    // Of the service that answers, one connection only went through a1; the rest are of another host.
    Scene mixed = half_dead(32);
    bool first = true;
    for (Conversation& flow : mixed.traffic().flows) {
        if (!flow.rx.empty()) continue;
        if (!first) flow.key.remote = ip("192.0.2.77");
        first = false;
    }
    EXPECT_THAT(ids(mixed.audit()), Not(testing::Contains("slave.blackhole")));

    // Another host's silence proves nothing about the slave.
    Scene other = half_dead(32);
    for (Conversation& flow : other.traffic().flows)
        if (flow.rx.empty()) flow.key.remote = ip("192.0.2.77");
    EXPECT_THAT(ids(other.audit()), Not(testing::Contains("slave.blackhole")));
}

} // namespace
} // namespace bondtrace::test
