// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/report/sample_report.h"

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

SlaveDirection direction(Counts traced, Counts control, std::uint64_t counter) {
    SlaveDirection result;
    result.traced = traced;
    result.control = control;
    result.counter_packets = counter;
    return result;
}

// Measured on veth: 26 skbs on the bond are 208 frames; a slave with TSO counts 26, one
// without counts 208.
TEST(Coverage, FindsTheCountersUnit) {
    const Counts traced{26, 301716, 208, 313728};
    EXPECT_EQ(direction(traced, {}, 26).counter_unit(), CountUnit::skb);
    EXPECT_EQ(direction(traced, {}, 208).counter_unit(), CountUnit::wire);
    EXPECT_DOUBLE_EQ(direction(traced, {}, 26).coverage().value(), 1);
    EXPECT_DOUBLE_EQ(direction(traced, {}, 208).coverage().value(), 1);
}

TEST(Coverage, CountsControlFrames) {
    EXPECT_DOUBLE_EQ(direction({6, 600, 6, 600}, {2, 248, 2, 248}, 10).coverage().value(), 0.8);
    EXPECT_DOUBLE_EQ(direction({6, 600, 6, 600}, {2, 248, 2, 248}, 8).coverage().value(), 1);
}

TEST(Coverage, IsUnknownWithoutACounter) {
    EXPECT_EQ(direction({}, {}, 0).coverage(), std::nullopt);
    EXPECT_EQ(direction({1, 60, 1, 60}, {}, 0).coverage(), std::nullopt);
}

TEST(Share, IsThePartOfTheBytesOnTheWire) {
    BondReport bond;
    bond.slaves.resize(2);
    EXPECT_EQ(bond.share(bond.slaves[0], false), std::nullopt);
    bond.slaves[0].tx.traced = {1, 4000, 3, 300};
    bond.slaves[1].tx.traced = {1, 100, 1, 100};
    EXPECT_DOUBLE_EQ(bond.share(bond.slaves[0], false).value(), 0.75);
    EXPECT_DOUBLE_EQ(bond.share(bond.slaves[1], false).value(), 0.25);
    EXPECT_EQ(bond.share(bond.slaves[0], true), std::nullopt);
}

TEST(SlaveFlows, CountsAConversationOnceForEachSlave) {
    std::vector<BondReport> bonds(2);
    for (BondReport& bond : bonds) {
        bond.slaves.resize(2);
        bond.slaves[0].ifindex = 1;
        bond.slaves[1].ifindex = 2;
    }
    SlaveUse first, second, inactive;
    first.slave_ifindex = 1;
    second.slave_ifindex = inactive.slave_ifindex = 2;
    inactive.inactive = true;
    Conversation sprayed, received, elsewhere;
    sprayed.tx = {first, second};
    received.rx = {second, inactive};
    elsewhere.bond = 1;
    elsewhere.tx = {first};
    count_slave_flows(bonds, {sprayed, received, elsewhere});
    EXPECT_EQ(bonds[0].slaves[0].tx.flows, 1U);
    EXPECT_EQ(bonds[0].slaves[1].tx.flows, 1U);
    EXPECT_EQ(bonds[0].slaves[1].rx.flows, 1U);
    EXPECT_EQ(bonds[0].slaves[0].rx.flows, 0U);
    EXPECT_EQ(bonds[1].slaves[0].tx.flows, 1U);
}

TEST(AgreementCount, IsOfFlowsThatCanBeChecked) {
    FlowsReport report = test::sample_report();
    const Agreement& agreement = report.bonds[0].agreement;
    EXPECT_EQ(agreement.checked, 2U);
    EXPECT_EQ(agreement.agree, 1U);
    ASSERT_EQ(agreement.disagreements.size(), 1U);
    EXPECT_EQ(std::get<Ports>(agreement.disagreements[0].key.detail).local, 40002);
    EXPECT_EQ(report.bonds[1].agreement.checked, 0U);
    EXPECT_EQ(report.bonds[1].agreement.unchecked_why, "balance-rr sends packet by packet");
    // Counted again, not added up; what was only received is nobody's disagreement.
    report.flows[1].tx.clear();
    report.flows.insert(report.flows.end(), 200, report.flows[0]);
    for (std::size_t i = 15; i < report.flows.size(); ++i)
        report.flows[i].prediction = Prediction{"s0", false, ""};
    count_agreement(report.bonds, report.flows);
    EXPECT_EQ(agreement.checked, 201U);
    EXPECT_EQ(agreement.agree, 1U);
    EXPECT_EQ(agreement.disagreements.size(), Agreement::max_disagreements);
}

TEST(Names, AreThoseOfTheReport) {
    const FlowsReport report = test::sample_report();
    const Names names = report.names();
    EXPECT_EQ(names.bond(0), "bond0");
    EXPECT_EQ(names.bond(99), "");
    EXPECT_EQ(names.slave(0, 11), "s0");
    EXPECT_EQ(names.slave(0, 99), "");
    EXPECT_EQ(slave_name(report.bonds[0], 99), "if99");
}

} // namespace
} // namespace bondtrace
