// SPDX-License-Identifier: GPL-2.0-or-later
// What the counters alone tell of frames on inactive slaves, as where nothing may be attached: cases 29 and
// 32 without a trace (with one: case_mode_test.cpp).
#include "tests/kernel/support/pair.h"
#include "user/audit/lacp_findings.h"
#include "user/audit/mode_findings.h"
#include "user/audit/state_findings.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace bondtrace {
namespace {

using test::await;
using test::Pair;
using test::read_bond;

std::vector<Finding> audit(const Bond& bond, const StateWindow* window = nullptr) {
    std::vector<Finding> all = state_findings(bond, window);
    for (auto& more : {lacp_findings(bond, window), mode_findings(bond, window)})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

const Finding* find(const std::vector<Finding>& findings, std::string_view id) {
    const auto found = std::find_if(findings.begin(), findings.end(),
                                    [&](const Finding& finding) { return finding.id == id; });
    return found == findings.end() ? nullptr : &*found;
}

std::string describe(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings)
        text += fmt::format("{} {}: {} ({})\n", static_cast<int>(finding.severity), finding.id,
                            finding.summary, finding.seen);
    return text;
}

// The peer sends 40 frames, which its layer2 policy puts on one cable; the window on the host.
StateWindow send(const Pair& pair) {
    const Bond before = read_bond(pair.host);
    // Whether it is answered is no matter.
    (void)pair.peer.exec({"ping", "-q", "-c40", "-i0.01", "-W1", "192.0.2.1"});
    return compare(before, read_bond(pair.host), 1);
}

constexpr const char* lacp = "mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4";

// Case 32: with the right counters.
TEST(StateFindingsInKernel, StaticLagAgainstActiveBackup) {
    const Pair pair;
    pair.bond_host("mode active-backup miimon 100");
    pair.bond_peer("mode balance-xor xmit_hash_policy layer2 miimon 100");
    pair.address();
    ASSERT_TRUE(await([&] {
        const Bond bond = read_bond(pair.host);
        return bond.active() && test::all_up(bond) && test::all_up(read_bond(pair.peer));
    }));
    StateWindow window = send(pair);
    const bool second = window.find("a1")->rx_packets > window.find("a0")->rx_packets;
    // Make the other one active, whichever cable the peer has chosen.
    ASSERT_TRUE(pair.host.ip(fmt::format("link set bond0 type bond active_slave {}", second ? "a0" : "a1")));
    window = send(pair);
    const auto findings = audit(read_bond(pair.host), &window);
    const Finding* const found = find(findings, "mode.inactive-rx");
    ASSERT_TRUE(found) << describe(findings);
    EXPECT_EQ(found->severity, Severity::critical);
    EXPECT_EQ(found->slave, second ? "a1" : "a0");
    EXPECT_GE(window.find(*found->slave)->rx_inactive, 40U);
    // On the right cable there is no fault.
    ASSERT_TRUE(pair.host.ip(fmt::format("link set bond0 type bond active_slave {}", second ? "a1" : "a0")));
    window = send(pair);
    EXPECT_FALSE(find(audit(read_bond(pair.host), &window), "mode.inactive-rx"));
}

// Case 29.
TEST(StateFindingsInKernel, StaticLagAgainstLacp) {
    const Pair pair;
    pair.bond_host(lacp);
    pair.bond_peer("mode balance-xor xmit_hash_policy layer2 miimon 100");
    pair.address();
    ASSERT_TRUE(await(
        [&] { return test::settled_alone(read_bond(pair.host)) && test::all_up(read_bond(pair.peer)); }));
    StateWindow window = send(pair);
    auto findings = audit(read_bond(pair.host), &window);
    EXPECT_TRUE(find(findings, "lacp.no-partner")) << describe(findings);
    EXPECT_TRUE(find(findings, "lacp.aggregators-differ")) << describe(findings);
    // The peer's frames may have come on the active port: of two addresses of its own that differ in the
    // lowest bit, one takes the other. The kernel forgets all neighbours when an address changes.
    for (const char* mac : {"02:00:00:00:00:10", "02:00:00:00:00:11"}) {
        if (find(findings, "mode.static-lag-mismatch")) break;
        ASSERT_TRUE(pair.peer.ip(fmt::format("link set bond0 address {}", mac)));
        ASSERT_TRUE(pair.peer.ip(fmt::format("neigh replace 192.0.2.1 lladdr {} dev bond0 nud permanent",
                                             pair.host.sys("bond0", "address"))));
        window = send(pair);
        findings = audit(read_bond(pair.host), &window);
    }
    ASSERT_TRUE(find(findings, "mode.static-lag-mismatch")) << describe(findings);
    EXPECT_EQ(find(findings, "mode.static-lag-mismatch")->severity, Severity::critical);
}

} // namespace
} // namespace bondtrace
