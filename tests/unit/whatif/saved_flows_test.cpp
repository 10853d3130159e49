// SPDX-License-Identifier: GPL-2.0-or-later
// What `bondtrace flows --json` wrote is read back.
#include "tests/unit/report/sample_report.h"
#include "user/report/json_writer.h"
#include "user/whatif/saved_flows.h"
#include "user/whatif/units.h"

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

using testing::HasSubstr;

FlowsReport sample() {
    FlowsReport report = test::sample_report();
    for (Conversation& flow : report.flows)
        for (SlaveUse& use : flow.tx) {
            use.origin.outer_ethertype = flow.key.ethertype;
            if (flow.key.vlan) use.origin.tci = static_cast<std::uint16_t>(0x6000U | *flow.key.vlan);
        }
    report.flows[0].tx[0].origin.l4_hash = true;
    report.flows[0].tx[0].origin.skb_hash = 0xdeadbeef;
    report.flows[2].tx[0].origin.extension_headers = true;
    return report;
}

TEST(SavedFlows, AreWhatWasWritten) {
    const FlowsReport report = sample();
    const auto saved = parse_saved_flows(flows_json(report));
    ASSERT_TRUE(saved) << saved.error().what;
    EXPECT_TRUE(saved->complete);
    EXPECT_EQ(saved->era->era, newest_era);
    EXPECT_NEAR(saved->seconds, 10.003, 1e-9);
    ASSERT_EQ(saved->bonds.size(), report.bonds.size());
    EXPECT_EQ(saved->bonds[0].name, "bond0");
    EXPECT_EQ(saved->bonds[0].netns, "bt-a");
    EXPECT_EQ(saved->bonds[0].policy, HashPolicy::layer34);
    EXPECT_TRUE(saved->bonds[0].policy_used);
    EXPECT_THAT(saved->bonds[0].usable, testing::ElementsAre("s0", "s1"));
    EXPECT_THAT(saved->bonds[2].usable, testing::ElementsAre("eno1"));
    // The same units as of the flows themselves, in every bond.
    for (std::size_t bond = 0; bond < report.bonds.size(); ++bond) {
        const WhatifUnits direct = units_of(report.flows, bond, newest_era);
        const WhatifUnits read = units_of(saved->flows, bond, newest_era);
        ASSERT_EQ(read.units.size(), direct.units.size());
        for (std::size_t i = 0; i < direct.units.size(); ++i) {
            EXPECT_EQ(read.units[i].hash, direct.units[i].hash) << i;
            EXPECT_EQ(read.units[i].known, direct.units[i].known) << i;
            EXPECT_EQ(read.units[i].socket_hash, direct.units[i].socket_hash) << i;
            EXPECT_EQ(read.units[i].bytes, direct.units[i].bytes) << i;
            EXPECT_EQ(read.units[i].packets, direct.units[i].packets) << i;
            EXPECT_EQ(read.keys[i], direct.keys[i]) << i;
        }
    }
}

TEST(SavedFlows, KnowThatSomeWereLeftOut) {
    FlowsReport report = sample();
    report.flows.resize(3);
    EXPECT_FALSE(parse_saved_flows(flows_json(report))->complete);
}

TEST(SavedFlows, RejectEverythingElse) {
    const std::string good = flows_json(sample());
    // In the list of flows, or before it.
    const auto replaced = [&](const std::string& what, const std::string& by) {
        std::string text = good;
        auto at = text.find(what, text.find("\"flows\":["));
        if (at == std::string::npos) at = text.find(what);
        EXPECT_NE(at, std::string::npos) << what;
        if (at != std::string::npos) text.replace(at, what.size(), by);
        return text;
    };
    const auto error = [](const std::string& text) {
        const auto saved = parse_saved_flows(text);
        EXPECT_FALSE(saved);
        if (saved) return std::string();
        EXPECT_EQ(saved.error().kind, ErrorKind::usage);
        return saved.error().what;
    };
    EXPECT_THAT(error(""), HasSubstr("no JSON"));
    EXPECT_THAT(error("[1,2"), HasSubstr("no JSON"));
    EXPECT_THAT(error("[]"), HasSubstr("no JSON document"));
    EXPECT_THAT(error("{}"), HasSubstr("bondtrace.flows/1"));
    EXPECT_THAT(error(replaced("bondtrace.flows/1", "bondtrace.flows/2")), HasSubstr("bondtrace.flows/1"));
    EXPECT_THAT(error(replaced("\"layer3+4\"", "\"layer7\"")), HasSubstr("not known"));
    EXPECT_THAT(error(replaced("\"local\":\"10.77.0.1\"", "\"local\":\"10.77.0\"")), HasSubstr("no address"));
    EXPECT_THAT(error(replaced("\"hash_inputs\":{", "\"hash_outputs\":{")), HasSubstr("hash_inputs"));
    EXPECT_THAT(error(replaced("\"local_port\":40001", "\"local_port\":70000")), HasSubstr("local_port"));
    EXPECT_THAT(error(replaced("\"tx\":[{", "\"tx\":[7,{")), HasSubstr("tx"));
    EXPECT_THAT(error(R"({"schema":"bondtrace.flows/1"})"), HasSubstr("no bonds"));
    EXPECT_THAT(error(R"({"schema":"bondtrace.flows/1","bonds":[3]})"), HasSubstr("has no flows"));
    EXPECT_THAT(error(R"({"schema":"bondtrace.flows/1","bonds":[{"flows":[3]}]})"), HasSubstr("bonds[0]"));
    // Cut anywhere, it is no document; and nothing else happens.
    for (std::size_t size = 0; size < good.size() - 2; size += 101)
        EXPECT_FALSE(parse_saved_flows(std::string_view(good).substr(0, size)));
}

} // namespace
} // namespace bondtrace
