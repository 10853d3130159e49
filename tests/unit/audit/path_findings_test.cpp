// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/audit/scene.h"
#include "user/audit/path_findings.h"

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// The state as it was before the window: counters at zero.
AuditInput& with_window(Scene& scene, LinkCounters first, LinkCounters second) {
    AuditInput& input = scene.input();
    for (Slave& slave : input.bonds[0].slaves)
        slave.counters = {};
    input.before = input.bonds;
    input.bonds[0].slaves[0].counters = first;
    input.bonds[0].slaves[1].counters = second;
    return input;
}

std::vector<Finding> lossy(const AuditResult& result) {
    std::vector<Finding> found;
    for (const Finding& finding : result.findings)
        if (finding.id == "slave.lossy") found.push_back(finding);
    return found;
}

TEST(LossySlaves, ErrorsOnOneAreAWarningThatNamesIt) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    const auto found = lossy(
        audit(with_window(scene, {.rx_packets = 100'000}, {.rx_packets = 100'000, .rx_errors = 500}), {}));
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity, Severity::warning);
    EXPECT_EQ(found[0].slave, "a1");
    EXPECT_THAT(found[0].seen, HasSubstr("RX 500 errors and 0 drops"));
    EXPECT_THAT(found[0].fixes.at(0).command, HasSubstr("ethtool -S a1"));
}

TEST(LossySlaves, AFewErrorsAreAWordAndNoFault) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    const auto found = lossy(
        audit(with_window(scene, {.rx_packets = 1'000'000}, {.rx_packets = 1'000'000, .rx_errors = 3}), {}));
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity, Severity::info);
}

TEST(LossySlaves, DropsCountWhenTheOthersHaveNone) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    auto found = lossy(
        audit(with_window(scene, {.rx_packets = 10'000, .rx_dropped = 1'000}, {.rx_packets = 10'000}), {}));
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity, Severity::warning);
    EXPECT_EQ(found[0].slave, "a0");
    // Frames of a protocol that nobody here speaks come on every port alike.
    found = lossy(audit(with_window(scene, {.rx_packets = 10'000, .rx_dropped = 1'000},
                                    {.rx_packets = 10'000, .rx_dropped = 1'100}),
                        {}));
    EXPECT_THAT(found, IsEmpty());
}

TEST(LossySlaves, OldErrorsAndCountersThatWereResetAreNone) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    AuditInput& input = with_window(scene, {.rx_packets = 10'000, .rx_errors = 700}, {.rx_packets = 10});
    input.before[0].slaves[0].counters.rx_errors = 700;
    input.before[0].slaves[1].counters.tx_errors = 900;
    EXPECT_THAT(lossy(audit(input, {})), IsEmpty());
    input.before.clear();
    EXPECT_THAT(lossy(audit(input, {})), IsEmpty());
}

TEST(ForeignPrograms, AreListedAndAreNoFault) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    scene.bond().programs.found = {{ProgramHook::tc_egress, "bpf", "cil_to_netdev", 42, {}}};
    scene.bond().slaves[1].programs.found = {{ProgramHook::xdp, "driver", "", 7, {}}};
    const AuditResult result = scene.audit();
    const Finding* const found = find(result, "trace.foreign-program");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->severity, Severity::info);
    EXPECT_EQ(found->seen, "tc egress bpf cil_to_netdev (program 42) on bond0; XDP driver (program 7) on a1");
}

TEST(ForeignPrograms, ExplainWhatTheHooksDoNotSee) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    scene.send_ports({}, 64);
    scene.bond().slaves[0].programs.found = {{ProgramHook::xdp, "driver", "", 7, {}}};
    scene.bond().slaves[1].offloads = Offloads{.hw_tc = true};
    AuditInput& input = scene.input();
    for (SlaveReport& slave : input.traffic->bonds[0].slaves)
        slave.rx.counter_packets = 1'000'000;
    const AuditResult result = audit(input, {});
    std::vector<std::string> seen;
    for (const Finding& finding : result.findings)
        if (finding.id == "trace.bypass") seen.push_back(finding.seen);
    ASSERT_THAT(seen, SizeIs(2));
    EXPECT_THAT(seen[0], HasSubstr("XDP driver (program 7) on a0"));
    EXPECT_THAT(seen[1], HasSubstr("tc rules can run in the hardware of a1"));
    EXPECT_THAT(seen[1], Not(HasSubstr("XDP")));
}

// 64 flows of 100 packets in VLAN 2001, and what its interface says it sent.
AuditResult audit_vlan(std::uint64_t sent, std::uint64_t refused, bool traced) {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    scene.send_ports({}, 64);
    for (Conversation& flow : scene.traffic().flows)
        flow.key.vlan = traced ? 2001 : 2002;
    AuditInput& input = scene.input();
    input.bonds[0].uppers = {{"storage", "vlan", 0, 20, 2001, LinkCounters{}}};
    input.before = input.bonds;
    input.bonds[0].uppers[0].counters = LinkCounters{.tx_packets = sent, .tx_dropped = refused};
    return audit(input, {});
}

TEST(VlanLosses, AreWhatLeavesTheVlanAndReachesNoSlave) {
    for (const std::uint64_t sent : {6400U, 6410U}) { // a few are on their way
        const AuditResult fine = audit_vlan(sent, 0, true);
        EXPECT_FALSE(find(fine, "bond.vlan-loses"));
    }
    const AuditResult part = audit_vlan(6400, 6400, true);
    const Finding* found = find(part, "bond.vlan-loses");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->severity, Severity::warning);
    EXPECT_THAT(found->summary, HasSubstr("storage"));
    const AuditResult all = audit_vlan(0, 6400, false);
    found = find(all, "bond.vlan-loses");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->severity, Severity::critical);
    EXPECT_EQ(found->summary, "nothing that storage sends reaches a slave");
}

} // namespace
} // namespace bondtrace::test
