// SPDX-License-Identifier: GPL-2.0-or-later
// Findings that no saved state shows: those of a live bond, of a window, and of what is around the bond.
#include "user/audit/lacp_findings.h"
#include "user/audit/mode_findings.h"
#include "user/audit/state_findings.h"
#include "user/bond/dump_parser.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bondtrace {
namespace {

using testing::HasSubstr;

std::vector<Finding> audit(const Bond& bond, const StateWindow* window = nullptr) {
    std::vector<Finding> all = state_findings(bond, window);
    for (auto& more : {lacp_findings(bond, window), mode_findings(bond, window)})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

const Finding* find(const std::vector<Finding>& findings, std::string_view id, std::string_view slave = "") {
    const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
        return finding.id == id && (slave.empty() || finding.slave == slave);
    });
    return found == findings.end() ? nullptr : &*found;
}

Severity worst(const std::vector<Finding>& findings) {
    Severity severity = Severity::info;
    for (const Finding& finding : findings)
        severity = std::max(severity, finding.severity);
    return severity;
}

// A bond as netlink shows it, everything well.
Bond live(BondMode mode, int slaves = 2) {
    Bond bond;
    bond.ifindex = 10;
    bond.name = "bond0";
    bond.mode = mode;
    bond.carrier = bond.admin_up = true;
    bond.miimon_ms = 100;
    for (int i = 0; i < slaves; ++i) {
        Slave slave;
        slave.ifindex = 20 + i;
        slave.name = "a" + std::to_string(i);
        slave.mii_status = MiiStatus::up;
        slave.carrier = slave.admin_up = true;
        slave.speed_mbps = 10000;
        slave.duplex = Duplex::full;
        slave.perm_mac = MacAddress{0, 0, 0x5e, 0, 0x53, static_cast<std::uint8_t>(i)};
        slave.backup = mode == BondMode::active_backup && i > 0;
        bond.slaves.push_back(std::move(slave));
    }
    if (mode == BondMode::active_backup) bond.active_slave = 20;
    return bond;
}

// A saved bond to change.
Bond saved(const std::string& name, const std::string& without = "") {
    const std::ifstream file(BONDTRACE_SOURCE_DIR "/tests/fixtures/cases/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    std::string content = text.str();
    if (!without.empty()) content.erase(content.rfind(without), without.size());
    const auto dump = parse_dump(content, {.source = name, .name = "bond0"});
    EXPECT_TRUE(dump);
    return dump ? dump->bonds.front() : Bond{};
}

StateWindow window(std::vector<SlaveChange> changes, double seconds = 10) {
    return {.seconds = seconds, .slaves = std::move(changes)};
}

TEST(StateFindings, AHealthyBondHasNone) {
    for (const BondMode mode : {BondMode::active_backup, BondMode::balance_tlb})
        EXPECT_TRUE(audit(live(mode)).empty());
    EXPECT_EQ(worst(audit(live(BondMode::balance_xor))), Severity::info);
}

// Case 32, with its numbers: of 72 frames 39 came on the inactive slave.
TEST(ModeFindings, FramesOnTheInactiveSlave) {
    const Bond bond = live(BondMode::active_backup);
    const StateWindow seen =
        window({{.slave = "a0", .rx_packets = 33}, {.slave = "a1", .rx_packets = 39, .rx_inactive = 39}});
    const auto findings = audit(bond, &seen);
    const Finding* const found = find(findings, "mode.inactive-rx", "a1");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->severity, Severity::critical);
    EXPECT_THAT(found->summary, HasSubstr("54 % of the frames received are dropped"));
    EXPECT_THAT(found->seen, HasSubstr("39 of 72"));
    EXPECT_TRUE(std::any_of(found->fixes.begin(), found->fixes.end(), [](const Fix& fix) {
        return fix.where == "Cisco" && fix.command.find("no channel-group") != std::string::npos;
    }));
}

// The same case: "a few broadcast per second" on both ports is well.
TEST(ModeFindings, BroadcastsOnTheInactiveSlaveAreNoFault) {
    const Bond bond = live(BondMode::active_backup);
    const StateWindow quiet =
        window({{.slave = "a0", .rx_packets = 40}, {.slave = "a1", .rx_packets = 30, .rx_inactive = 30}});
    EXPECT_FALSE(find(audit(bond, &quiet), "mode.inactive-rx"));
    const StateWindow busy = window(
        {{.slave = "a0", .rx_packets = 100000}, {.slave = "a1", .rx_packets = 900, .rx_inactive = 900}});
    EXPECT_FALSE(find(audit(bond, &busy), "mode.inactive-rx"));
    // A trace knows better than the counters, in both directions.
    StateWindow traced =
        window({{.slave = "a0", .rx_packets = 1000}, {.slave = "a1", .rx_packets = 900, .rx_inactive = 900}});
    traced.slaves[1].rx_inactive_unicast = 0;
    EXPECT_FALSE(find(audit(bond, &traced), "mode.inactive-rx"));
    traced.slaves[1].rx_inactive_unicast = 880;
    EXPECT_EQ(find(audit(bond, &traced), "mode.inactive-rx")->severity, Severity::critical);
}

TEST(ModeFindings, AllSlavesActiveDropsNothing) {
    Bond bond = live(BondMode::active_backup);
    bond.all_slaves_active = true;
    const StateWindow seen =
        window({{.slave = "a0", .rx_packets = 33}, {.slave = "a1", .rx_packets = 39, .rx_inactive = 39}});
    EXPECT_FALSE(find(audit(bond, &seen), "mode.inactive-rx"));
}

// Case 29: partner zero, and frames arrive on the port that is not active.
TEST(ModeFindings, LacpAgainstAStaticLag) {
    const Bond bond = saved("89-vm-peer-static-lag-6.12.txt");
    const StateWindow seen =
        window({{.slave = "a0", .rx_packets = 50}, {.slave = "a1", .rx_packets = 60, .rx_inactive = 60}});
    const auto findings = audit(bond, &seen);
    ASSERT_TRUE(find(findings, "mode.static-lag-mismatch", "a1"));
    EXPECT_EQ(find(findings, "mode.static-lag-mismatch")->severity, Severity::critical);
    EXPECT_TRUE(find(findings, "lacp.no-partner"));
    // With nothing arriving there the switch may as well have no LAG at all.
    const StateWindow idle = window({{.slave = "a0", .rx_packets = 50}, {.slave = "a1"}});
    EXPECT_FALSE(find(audit(bond, &idle), "mode.static-lag-mismatch"));
    // With a partner it is no matter of the pairing.
    const Bond partnered = saved("95-vm-speed-1000-vs-100-6.12.txt");
    EXPECT_FALSE(find(audit(partnered, &seen), "mode.static-lag-mismatch"));
}

// Cases 33 and 34.
TEST(ModeFindings, RoundRobin) {
    const Bond bond = live(BondMode::balance_rr);
    auto findings = audit(bond);
    EXPECT_EQ(find(findings, "mode.needs-static-lag")->severity, Severity::warning);
    EXPECT_THAT(find(findings, "mode.needs-static-lag")->summary, HasSubstr("cannot be seen from this host"));
    EXPECT_EQ(find(findings, "mode.rr-reordering")->severity, Severity::warning);
    StateWindow measured = window({});
    measured.reordered_share = 0.12;
    findings = audit(bond, &measured);
    EXPECT_THAT(find(findings, "mode.rr-reordering")->summary, HasSubstr("12.00 %"));
    measured.reordered_share = 0.0001;
    findings = audit(bond, &measured);
    EXPECT_EQ(find(findings, "mode.rr-reordering")->severity, Severity::info);
    EXPECT_FALSE(find(audit(live(BondMode::balance_rr, 1)), "mode.rr-reordering"));
}

// Case 35: from the topology alone.
TEST(ModeFindings, AdaptiveBondAsAPortOfABridge) {
    Bond bond = live(BondMode::balance_alb);
    bond.uppers = {{"br0", "bridge", 1}};
    auto findings = audit(bond);
    EXPECT_EQ(find(findings, "mode.bridge-port")->severity, Severity::warning);
    EXPECT_THAT(find(findings, "mode.bridge-port")->summary, HasSubstr("br0"));
    bond = live(BondMode::active_backup);
    bond.uppers = {{"br0", "bridge", 5}, {"bond0.100", "vlan", 0}};
    EXPECT_FALSE(find(audit(bond), "mode.bridge-port"));
}

TEST(StateFindings, NothingWatchesTheLinks) {
    Bond bond = live(BondMode::balance_xor);
    bond.miimon_ms = 0;
    EXPECT_EQ(find(audit(bond), "bond.no-miimon")->severity, Severity::warning);
    bond.unknown.miimon = true;
    EXPECT_FALSE(find(audit(bond), "bond.no-miimon"));
}

TEST(StateFindings, FailuresInTheWindow) {
    Bond bond = live(BondMode::active_backup);
    bond.slaves[1].link_failures = 2;
    EXPECT_EQ(find(audit(bond), "slave.flapping", "a1")->severity, Severity::info);
    const StateWindow seen = window({{.slave = "a1", .failures = 1}});
    const auto findings = audit(bond, &seen);
    EXPECT_EQ(find(findings, "slave.flapping", "a1")->severity, Severity::warning);
    EXPECT_THAT(find(findings, "slave.flapping")->seen, HasSubstr("1 of them within 10 s"));
}

// Case 49: the link is up and the bond does not use it yet.
TEST(StateFindings, TheBondsViewAndTheLinks) {
    Bond bond = live(BondMode::balance_xor);
    bond.updelay_ms = 10000;
    bond.slaves[1].mii_status = MiiStatus::going_back;
    auto findings = audit(bond);
    EXPECT_EQ(find(findings, "slave.down", "a1")->severity, Severity::warning);
    EXPECT_THAT(find(findings, "slave.down")->seen,
                testing::AllOf(HasSubstr("going back"), HasSubstr("carrier up"), HasSubstr("10000 ms")));
    bond.slaves[1].mii_status = MiiStatus::up;
    bond.slaves[1].carrier = false;
    findings = audit(bond);
    EXPECT_THAT(find(findings, "slave.down", "a1")->summary, HasSubstr("has not noticed"));
}

TEST(StateFindings, DownSlavesWeighByMode) {
    for (const auto& [mode, severity] : {std::pair{BondMode::balance_xor, Severity::critical},
                                         std::pair{BondMode::active_backup, Severity::warning}}) {
        Bond bond = live(mode);
        bond.slaves[1].mii_status = MiiStatus::down;
        bond.slaves[1].carrier = false;
        EXPECT_EQ(find(audit(bond), "slave.down", "a1")->severity, severity);
    }
}

// Case 48.
TEST(StateFindings, ASlaveWithoutDevice) {
    Bond bond = live(BondMode::balance_xor);
    bond.missing_slaves = {"eth9"};
    EXPECT_TRUE(find(audit(bond), "slave.missing", "eth9"));
    bond.slaves.clear();
    EXPECT_FALSE(find(audit(bond), "bond.no-slaves"));
}

// Case 26, and the same in other modes.
TEST(StateFindings, HalfDuplexAndUnknownSpeed) {
    for (const auto& [mode, severity] : {std::pair{BondMode::lacp, Severity::critical},
                                         std::pair{BondMode::active_backup, Severity::warning}}) {
        Bond bond = live(mode);
        bond.slaves[1].duplex = Duplex::half;
        EXPECT_EQ(find(audit(bond), "slave.duplex-half", "a1")->severity, severity);
    }
    // Case 47: information in active-backup, a blocker in 802.3ad.
    for (const auto& [mode, severity] : {std::pair{BondMode::lacp, Severity::critical},
                                         std::pair{BondMode::active_backup, Severity::info}}) {
        Bond bond = live(mode);
        bond.slaves[1].speed_mbps.reset();
        bond.slaves[1].speed_undetermined = true;
        EXPECT_EQ(find(audit(bond), "slave.speed-unknown", "a1")->severity, severity);
        // A port without link has none, and that is all.
        bond.slaves[1].mii_status = MiiStatus::down;
        bond.slaves[1].carrier = false;
        EXPECT_FALSE(find(audit(bond), "slave.speed-unknown"));
    }
}

TEST(StateFindings, MinLinksThatAreKnown) {
    Bond bond = saved("90-vm-lacp-good-rate-asymmetric-6.12.txt");
    bond.min_links = 2;
    EXPECT_FALSE(find(audit(bond), "bond.min-links"));
    bond.min_links = 3;
    bond.carrier = false;
    const auto findings = audit(bond);
    EXPECT_EQ(find(findings, "bond.min-links")->severity, Severity::critical);
    EXPECT_THAT(find(findings, "bond.min-links")->summary, HasSubstr("needs 3 links and has 2"));
    EXPECT_TRUE(find(findings, "bond.down"));
}

// Case 50: a slave that says nothing is no slave that agrees.
TEST(LacpFindings, AMissingAggregator) {
    const Bond bond = saved("90-vm-lacp-good-rate-asymmetric-6.12.txt", "Aggregator ID: 1\n");
    const auto findings = audit(bond);
    EXPECT_EQ(find(findings, "lacp.aggregator-unknown", "a1")->severity, Severity::warning);
    EXPECT_GE(worst(findings), Severity::warning);
}

// Case 25: two readings, or the EXPIRED bit.
TEST(LacpFindings, Unstable) {
    Bond bond = saved("90-vm-lacp-good-rate-asymmetric-6.12.txt");
    EXPECT_EQ(worst(audit(bond)), Severity::info);
    bond.slaves[0].actor_port_state = 63 | lacp_state::expired;
    EXPECT_EQ(find(audit(bond), "lacp.unstable", "a0")->severity, Severity::warning);
    Bond before = saved("90-vm-lacp-good-rate-asymmetric-6.12.txt"), after = before;
    for (Bond* one : {&before, &after})
        for (int i = 0; i < 2; ++i)
            one->slaves[static_cast<std::size_t>(i)].ifindex = 20 + i;
    after.slaves[1].partner_port_state = 61 & ~lacp_state::synchronization;
    after.slaves[0].actor_churn_count = 1;
    const StateWindow seen = compare(before, after, 10);
    const auto findings = audit(after, &seen);
    EXPECT_TRUE(find(findings, "lacp.unstable", "a1"));
    EXPECT_TRUE(find(findings, "lacp.unstable", "a0"));
    EXPECT_THAT(find(findings, "lacp.not-distributing", "a1")->summary,
                HasSubstr("the partner is not in sync"));
}

// What the unprivileged are not shown is no fault.
TEST(LacpFindings, HiddenDetails) {
    Bond bond = saved("90-vm-lacp-good-rate-asymmetric-6.12.txt");
    bond.privileged = false;
    bond.aggregator.reset();
    bond.unknown.aggregator = true;
    bond.system_mac.reset();
    for (Slave& slave : bond.slaves) {
        slave.actor.reset();
        slave.partner.reset();
        slave.actor_port_state.reset();
        slave.partner_port_state.reset();
    }
    auto findings = audit(bond);
    EXPECT_TRUE(find(findings, "lacp.details-hidden"));
    EXPECT_EQ(worst(findings), Severity::info);
    // Different aggregators show all the same.
    bond.slaves[1].aggregator_id = 2;
    findings = audit(bond);
    EXPECT_EQ(find(findings, "lacp.aggregators-differ")->severity, Severity::critical);
}

TEST(StateWindow, IsTheDifferenceOfTwoReadings) {
    Bond before = live(BondMode::active_backup), after = before;
    before.slaves[0].counters.rx_packets = 100;
    after.slaves[0].counters.rx_packets = 133;
    after.slaves[1].counters.rx_packets = 39;
    after.slaves[1].counters.rx_nohandler = 39;
    before.slaves[1].link_failures = 1;
    after.slaves[1].link_failures = 3;
    after.slaves[1].name = "ren0";              // renamed meanwhile
    before.slaves[0].counters.rx_nohandler = 7; // ran backwards
    const StateWindow seen = compare(before, after, 2.5);
    ASSERT_EQ(seen.slaves.size(), 2U);
    EXPECT_EQ(seen.find("a0")->rx_packets, 33U);
    EXPECT_EQ(seen.find("a0")->rx_inactive, 0U);
    EXPECT_EQ(seen.find("ren0")->rx_inactive, 39U);
    EXPECT_EQ(seen.find("ren0")->failures, 2U);
    EXPECT_FALSE(seen.find("a1"));
    EXPECT_EQ(seen.seconds, 2.5);
}

TEST(StateFindings, AMissingBond) {
    const Finding finding = missing_bond("bond7", "bonds here: bond0");
    EXPECT_EQ(finding.id, "bond.missing");
    EXPECT_EQ(finding.severity, Severity::critical);
    EXPECT_EQ(finding.bond, "bond7");
}

} // namespace
} // namespace bondtrace
