// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/flow/flow_builder.h"
#include "user/prove/match.h"

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using traffic::FlowAddress;
using traffic::TracedUse;
using traffic::Transport;

SlaveReport slave(const char* name, int ifindex) {
    SlaveReport report;
    report.name = name;
    report.ifindex = ifindex;
    report.index = static_cast<unsigned>(ifindex - 10);
    report.speed_mbps = 25'000;
    return report;
}

FlowsReport report() {
    FlowsReport report;
    report.header.attach = "fentry";
    report.bonds.resize(2);
    report.bonds[0].name = "bond0";
    report.bonds[0].mode = BondMode::lacp;
    report.bonds[0].policy = HashPolicy::layer34;
    report.bonds[0].policy_used = true;
    report.bonds[0].slaves = {slave("eth0", 10), slave("eth1", 11)};
    const auto add = [&](std::uint8_t protocol, std::uint16_t port, std::size_t bond) -> Conversation& {
        Conversation flow = conversation(protocol, "10.0.0.1", port, "10.0.0.2", 5477);
        flow.bond = bond;
        report.flows.push_back(flow);
        return report.flows.back();
    };
    add(6, 40'000, 0).tx = {use(10, 0, 1, 1'000, 10)};
    report.flows.back().rx = {use(11, 0, 1, 600, 9)};
    add(17, 40'000, 0).tx = {use(11, 0, 1, 7, 1)}; // another protocol
    add(6, 40'000, 1).tx = {use(11, 0, 1, 7, 1)};  // another bond
    Conversation& moved = add(6, 40'001, 0);
    moved.tx = {use(10, 0, 1, 100, 1), use(11, 1, 2, 900, 9)};
    // The same under a tag, and on a slave that the bond drops from.
    Conversation& tagged = add(6, 40'001, 0);
    tagged.key.vlan = 100;
    tagged.tx = {use(10, 0, 1, 50, 1)};
    tagged.rx = {use(11, 0, 1, 60, 1)};
    tagged.rx.front().inactive = true;
    return report;
}

const IpAddress here = *parse_ip("10.0.0.1"), there = *parse_ip("10.0.0.2");

TEST(Match, FindsTheFlowsOfATest) {
    const std::vector<FlowAddress> flows{
        {here, there, 40'001, 5477}, {here, there, 40'000, 5477}, {here, there, 40'002, 5477}};
    EXPECT_THAT(match_flows(report(), 0, Transport::tcp, flows),
                ElementsAre(ElementsAre(3, 4), ElementsAre(0), IsEmpty()));
    EXPECT_THAT(match_flows(report(), 0, Transport::udp, flows),
                ElementsAre(IsEmpty(), ElementsAre(1), IsEmpty()));
    EXPECT_THAT(match_flows(report(), 1, Transport::tcp, flows),
                ElementsAre(IsEmpty(), ElementsAre(2), IsEmpty()));
}

TEST(Match, AddsUpWhatEachSlaveCarried) {
    const traffic::EndTrace trace = trace_of(report(), 0, {{3, 4}, {0}, {}});
    EXPECT_EQ(trace.bond, "bond0");
    EXPECT_EQ(trace.mode, "802.3ad");
    EXPECT_EQ(trace.policy, "layer3+4");
    EXPECT_EQ(trace.attach, "fentry");
    ASSERT_EQ(trace.slaves.size(), 2U);
    EXPECT_EQ(trace.slaves[1].name, "eth1");
    EXPECT_EQ(trace.slaves[1].speed_mbps, 25'000U);
    EXPECT_TRUE(trace.slaves[1].usable);
    ASSERT_EQ(trace.flows.size(), 3U);
    EXPECT_THAT(trace.flows[0].tx, ElementsAre(TracedUse{1, 9, 900}, TracedUse{0, 2, 150}))
        << "most bytes first";
    EXPECT_THAT(trace.flows[0].rx, IsEmpty()) << "what an inactive slave received, the bond has dropped";
    EXPECT_THAT(trace.flows[1].tx, ElementsAre(TracedUse{0, 10, 1'000}));
    EXPECT_THAT(trace.flows[1].rx, ElementsAre(TracedUse{1, 9, 600}));
    EXPECT_TRUE(trace.flows[2].tx.empty());
    EXPECT_THAT(trace.notes, IsEmpty());
}

TEST(Match, SaysWhatMakesTheNumbersIncomplete) {
    FlowsReport incomplete = report();
    incomplete.losses.untracked_packets = 7;
    incomplete.losses.recursion_misses = 3;
    EXPECT_THAT(trace_of(incomplete, 0, {}).notes,
                ElementsAre(testing::StartsWith("7 frames were counted for their slaves but not by flow"),
                            testing::StartsWith("3 frames were not seen")));
}

} // namespace
} // namespace bondtrace::test
