// SPDX-License-Identifier: GPL-2.0-or-later
// The state findings on real bonds: the cases that a pair of namespaces can reproduce.
#include "tests/kernel/support/namespace.h"
#include "user/audit/lacp_findings.h"
#include "user/audit/mode_findings.h"
#include "user/audit/state_findings.h"
#include "user/bond/netlink_reader.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bondtrace {
namespace {

using test::Namespace;
using testing::HasSubstr;

Bond read(const Namespace& space, const std::string& name = "bond0") {
    const auto reader = LinkReader::open(space.open());
    EXPECT_TRUE(reader) << reader.error().what;
    const auto bonds = reader->find_bonds({name});
    EXPECT_TRUE(bonds) << bonds.error().what;
    return bonds && !bonds->empty() ? bonds->front() : Bond{};
}

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

Severity worst(const std::vector<Finding>& findings) {
    Severity severity = Severity::info;
    for (const Finding& finding : findings)
        severity = std::max(severity, finding.severity);
    return severity;
}

// A host and its "switch", joined by two cables a0-b0 and a1-b1.
struct Pair {
    Namespace host{"host"}, peer{"switch"};

    Pair() {
        for (int i = 0; i < 2; ++i)
            EXPECT_TRUE(
                host.ip(fmt::format("link add a{0} type veth peer name b{0} netns {1}", i, peer.name())));
    }
    static void bond(const Namespace& space, const std::string& options,
                     const std::vector<std::string>& slaves, const std::string& name = "bond0") {
        ASSERT_TRUE(space.ip(fmt::format("link add {} type bond {}", name, options)));
        for (const std::string& slave : slaves)
            ASSERT_TRUE(space.ip(fmt::format("link set {} master {}", slave, name)));
        ASSERT_TRUE(space.ip(fmt::format("link set {} up", name)));
    }
    // Addresses at both ends, and neighbours that need no ARP.
    void address() const {
        ASSERT_TRUE(host.ip("address add 192.0.2.1/24 dev bond0"));
        ASSERT_TRUE(peer.ip("address add 192.0.2.2/24 dev bond0"));
        ASSERT_TRUE(peer.ip("neigh replace 192.0.2.1 lladdr " + host.sys("bond0", "address") +
                            " dev bond0 nud permanent"));
    }
    // The peer sends 40 frames, which its layer2 policy puts on one cable; the window on the host.
    [[nodiscard]] StateWindow send() const {
        const Bond before = read(host);
        (void)peer.exec(
            {"ping", "-q", "-c40", "-i0.01", "-W1", "192.0.2.1"}); // whether it is answered is no matter
        return compare(before, read(host), 1);
    }
};

bool lacp_is_up(const Bond& bond) {
    return !bond.slaves.empty() &&
           std::all_of(bond.slaves.begin(), bond.slaves.end(), [](const Slave& slave) {
               return (slave.actor_port_state.value_or(0) & slave.partner_port_state.value_or(0) &
                       lacp_state::carrying) == lacp_state::carrying;
           });
}

bool settled_alone(const Bond& bond) {
    return bond.aggregator && std::all_of(bond.slaves.begin(), bond.slaves.end(), [](const Slave& slave) {
               return slave.mii_status == MiiStatus::up &&
                      (slave.actor_port_state.value_or(0) & lacp_state::defaulted) != 0;
           });
}

constexpr const char* lacp = "mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4";

TEST(StateFindingsInKernel, AGoodLacpBondHasNone) {
    const Pair pair;
    ASSERT_NO_FATAL_FAILURE(Pair::bond(pair.host, lacp, {"a0", "a1"}));
    ASSERT_NO_FATAL_FAILURE(Pair::bond(pair.peer, lacp, {"b0", "b1"}));
    ASSERT_TRUE(test::await([&] { return lacp_is_up(read(pair.host)); }));
    const auto findings = audit(read(pair.host));
    EXPECT_EQ(worst(findings), Severity::info) << describe(findings);
}

// Case 32: with the right counters.
TEST(StateFindingsInKernel, StaticLagAgainstActiveBackup) {
    const Pair pair;
    ASSERT_NO_FATAL_FAILURE(Pair::bond(pair.host, "mode active-backup miimon 100", {"a0", "a1"}));
    ASSERT_NO_FATAL_FAILURE(
        Pair::bond(pair.peer, "mode balance-xor xmit_hash_policy layer2 miimon 100", {"b0", "b1"}));
    ASSERT_NO_FATAL_FAILURE(pair.address());
    ASSERT_TRUE(test::await([&] {
        const Bond bond = read(pair.host);
        return bond.active() && std::all_of(bond.slaves.begin(), bond.slaves.end(), is_up) &&
               read(pair.peer).carrier;
    }));
    StateWindow window = pair.send();
    const bool second = window.find("a1")->rx_packets > window.find("a0")->rx_packets;
    // Make the other one active, whichever cable the peer has chosen.
    ASSERT_TRUE(pair.host.ip(fmt::format("link set bond0 type bond active_slave {}", second ? "a0" : "a1")));
    window = pair.send();
    const auto findings = audit(read(pair.host), &window);
    const Finding* const found = find(findings, "mode.inactive-rx");
    ASSERT_TRUE(found) << describe(findings);
    EXPECT_EQ(found->severity, Severity::critical);
    EXPECT_EQ(found->slave, second ? "a1" : "a0");
    EXPECT_GE(window.find(*found->slave)->rx_inactive, 40U);
    // On the right cable there is no fault.
    ASSERT_TRUE(pair.host.ip(fmt::format("link set bond0 type bond active_slave {}", second ? "a1" : "a0")));
    window = pair.send();
    EXPECT_FALSE(find(audit(read(pair.host), &window), "mode.inactive-rx"));
}

// Case 29.
TEST(StateFindingsInKernel, StaticLagAgainstLacp) {
    const Pair pair;
    ASSERT_NO_FATAL_FAILURE(Pair::bond(pair.host, lacp, {"a0", "a1"}));
    ASSERT_NO_FATAL_FAILURE(
        Pair::bond(pair.peer, "mode balance-xor xmit_hash_policy layer2 miimon 100", {"b0", "b1"}));
    ASSERT_NO_FATAL_FAILURE(pair.address());
    ASSERT_TRUE(test::await([&] { return settled_alone(read(pair.host)) && read(pair.peer).carrier; }));
    StateWindow window = pair.send();
    auto findings = audit(read(pair.host), &window);
    EXPECT_TRUE(find(findings, "lacp.no-partner")) << describe(findings);
    EXPECT_TRUE(find(findings, "lacp.aggregators-differ")) << describe(findings);
    if (!find(findings, "mode.static-lag-mismatch")) {
        // The peer's frames came on the active port: with another address of its own they take the other.
        ASSERT_TRUE(pair.peer.ip("link set bond0 address 02:00:00:00:00:10"));
        window = pair.send();
        if (!find(audit(read(pair.host), &window), "mode.static-lag-mismatch")) {
            ASSERT_TRUE(pair.peer.ip("link set bond0 address 02:00:00:00:00:11"));
            window = pair.send();
        }
        findings = audit(read(pair.host), &window);
    }
    ASSERT_TRUE(find(findings, "mode.static-lag-mismatch")) << describe(findings);
    EXPECT_EQ(find(findings, "mode.static-lag-mismatch")->severity, Severity::critical);
}

// Case 24: a bridge in each cable keeps LACPDUs to itself.
TEST(StateFindingsInKernel, ALinuxBridgeEatsLacp) {
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
    ASSERT_NO_FATAL_FAILURE(Pair::bond(host, lacp, {"a0", "a1"}));
    ASSERT_NO_FATAL_FAILURE(Pair::bond(peer, lacp, {"b0", "b1"}));
    ASSERT_TRUE(test::await([&] { return settled_alone(read(host)); }));
    const auto findings = audit(read(host));
    const Finding* const found = find(findings, "lacp.no-partner");
    ASSERT_TRUE(found) << describe(findings);
    EXPECT_EQ(found->severity, Severity::critical);
    EXPECT_THAT(found->summary, HasSubstr("a0 and a1"));
    EXPECT_FALSE(find(findings, "lacp.partner-differs"));
}

// Case 98: two LAGs where one was meant.
TEST(StateFindingsInKernel, TwoPartners) {
    const Pair pair;
    ASSERT_NO_FATAL_FAILURE(Pair::bond(pair.host, lacp, {"a0", "a1"}));
    ASSERT_NO_FATAL_FAILURE(Pair::bond(pair.peer, lacp, {"b0"}, "one"));
    ASSERT_NO_FATAL_FAILURE(Pair::bond(pair.peer, lacp, {"b1"}, "two"));
    ASSERT_TRUE(test::await([&] {
        const auto findings = audit(read(pair.host));
        const Finding* const out = find(findings, "lacp.aggregators-differ");
        return find(findings, "lacp.partner-differs") && out && out->slave &&
               out->summary.find("another system") != std::string::npos;
    })) << describe(audit(read(pair.host)));
}

// Case 88.
TEST(StateFindingsInKernel, MinLinks) {
    const Pair pair;
    ASSERT_NO_FATAL_FAILURE(Pair::bond(pair.host, std::string(lacp) + " min_links 2", {"a0", "a1"}));
    ASSERT_NO_FATAL_FAILURE(Pair::bond(pair.peer, lacp, {"b0", "b1"}));
    ASSERT_TRUE(test::await([&] { return lacp_is_up(read(pair.host)) && read(pair.host).carrier; }));
    EXPECT_FALSE(find(audit(read(pair.host)), "bond.min-links"));
    ASSERT_TRUE(pair.peer.ip("link set b1 down"));
    ASSERT_TRUE(test::await([&] { return !read(pair.host).carrier; }));
    const auto findings = audit(read(pair.host));
    ASSERT_TRUE(find(findings, "bond.min-links")) << describe(findings);
    EXPECT_THAT(find(findings, "bond.min-links")->summary, HasSubstr("needs 2 links and has 1"));
    EXPECT_TRUE(find(findings, "bond.down"));
    ASSERT_TRUE(find(findings, "slave.down"));
    EXPECT_EQ(find(findings, "slave.down")->slave, "a1");
}

// Cases 33, 35 and 27.
TEST(StateFindingsInKernel, ModesBridgesAndEmptyBonds) {
    const Pair pair;
    for (const char* name : {"b0", "b1"})
        ASSERT_TRUE(pair.peer.ip(fmt::format("link set {} up", name)));
    ASSERT_NO_FATAL_FAILURE(Pair::bond(pair.host, "mode balance-rr miimon 100", {"a0", "a1"}));
    ASSERT_TRUE(
        test::await([&] { return find(audit(read(pair.host)), "mode.needs-static-lag") != nullptr; }));
    EXPECT_EQ(find(audit(read(pair.host)), "mode.needs-static-lag")->severity, Severity::warning);
    ASSERT_TRUE(pair.host.ip("link delete bond0"));

    ASSERT_NO_FATAL_FAILURE(Pair::bond(pair.host, "mode balance-alb miimon 100", {"a0", "a1"}));
    ASSERT_TRUE(pair.host.ip("link add br0 type bridge"));
    ASSERT_TRUE(pair.host.ip("link add tap0 type dummy"));
    for (const char* port : {"bond0", "tap0"})
        ASSERT_TRUE(pair.host.ip(fmt::format("link set {} master br0", port)));
    const auto findings = audit(read(pair.host));
    ASSERT_TRUE(find(findings, "mode.bridge-port")) << describe(findings);
    EXPECT_EQ(find(findings, "mode.bridge-port")->severity, Severity::warning);
    EXPECT_THAT(find(findings, "mode.bridge-port")->seen, HasSubstr("1 other ports on br0"));

    ASSERT_TRUE(pair.host.ip("link add bond9 type bond mode 802.3ad"));
    ASSERT_TRUE(pair.host.ip("link set bond9 up"));
    const auto empty = audit(read(pair.host, "bond9"));
    EXPECT_TRUE(find(empty, "bond.no-slaves") && find(empty, "bond.down")) << describe(empty);
}

} // namespace
} // namespace bondtrace
