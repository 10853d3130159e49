// SPDX-License-Identifier: GPL-2.0-or-later
// The whole document is held against docs/schema/flows.schema.json by the test report.schema.
#include "tests/unit/report/sample_report.h"
#include "user/report/json_writer.h"

#include <limits>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;

Json document(const FlowsReport& report) {
    return Json::parse(flows_json(report));
}

std::vector<std::string> members(const Json& object) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items())
        names.push_back(name);
    return names;
}

TEST(FlowsJson, BeginsLikeEveryDocument) {
    const Json json = document(test::sample_report());
    auto names = members(json);
    names.resize(5);
    EXPECT_THAT(names, ElementsAre("schema", "version", "time", "kernel", "attach"));
    EXPECT_EQ(json["schema"], "bondtrace.flows/1");
    EXPECT_EQ(json["attach"], "fentry");
}

TEST(FlowsJson, DescribesTheSlaves) {
    const Json json = document(test::sample_report());
    const Json& bond = json["bonds"][0];
    EXPECT_EQ(bond["name"], "bond0");
    EXPECT_EQ(bond["netns"], "bt-a");
    EXPECT_EQ(bond["mode"], "802.3ad");
    EXPECT_EQ(bond["xmit_hash_policy"], "layer3+4");
    const Json& slave = bond["slaves"][0];
    EXPECT_EQ(slave["name"], "s0");
    EXPECT_EQ(slave["speed_mbps"], 10000);
    EXPECT_EQ(slave["coverage"]["tx"], 1.0);
    EXPECT_EQ(slave["tx"]["control"]["packets"], 10);
    EXPECT_EQ(slave["counters"]["tx_packets"],
              slave["tx"]["wire_packets"].get<int>() + slave["tx"]["control"]["wire_packets"].get<int>());
    EXPECT_EQ(json["bonds"][1]["netns"], nullptr);
    EXPECT_EQ(json["bonds"][1]["slaves"][0]["coverage"]["rx"], nullptr);
    EXPECT_EQ(json["bonds"][2]["slaves"][1]["index"], nullptr);
    EXPECT_EQ(json["bonds"][2]["slaves"][1]["speed_mbps"], nullptr);
}

TEST(FlowsJson, DescribesTheFlows) {
    const Json flows = document(test::sample_report())["bonds"][0]["flows"];
    ASSERT_EQ(flows.size(), 13U);
    EXPECT_EQ(flows[0]["protocol"], "tcp");
    EXPECT_EQ(flows[0]["local"], "10.77.0.1");
    EXPECT_EQ(flows[0]["local_port"], 40001);
    EXPECT_EQ(flows[0]["tx"][0]["slave"], "s0");
    EXPECT_EQ(flows[0]["tx"][0]["wire_packets"], 992034);
    EXPECT_EQ(flows[0]["rx"][0]["slave"], "s1");
    EXPECT_EQ(flows[0]["predicted_slave"], "s0");
    EXPECT_EQ(flows[0]["agrees"], true);
    EXPECT_EQ(flows[1]["agrees"], false);
    EXPECT_EQ(flows[2]["predicted_slave"], nullptr);
    EXPECT_EQ(flows[2]["agrees"], nullptr);
    EXPECT_EQ(flows[2]["why"], "no prediction was made");
    EXPECT_EQ(flows[4]["vlan"], 100);
    EXPECT_EQ(flows[5]["fragment"], true);
    EXPECT_EQ(flows[5]["local_port"], nullptr);
    EXPECT_EQ(flows[6]["icmp"], (Json{{"type", 8}, {"code", 0}, {"id", 4711}}));
    EXPECT_EQ(flows[7]["icmp"]["id"], nullptr);
    EXPECT_EQ(flows[8]["spi"], 0xc0ffee01);
    EXPECT_EQ(flows[9]["moves"], 1);
    EXPECT_EQ(flows[10]["protocol"], "arp");
    EXPECT_EQ(flows[10]["remote"], "ff:ff:ff:ff:ff:ff");
    EXPECT_EQ(flows[12]["unparsed"], true);
    EXPECT_EQ(flows[12]["inner_vlan"], 7);
}

TEST(FlowsJson, MarksSprayedAndInactive) {
    const Json json = document(test::sample_report());
    EXPECT_EQ(json["bonds"][1]["flows"][0]["sprayed"], true);
    EXPECT_EQ(json["bonds"][1]["flows"][0]["tx"].size(), 5U);
    EXPECT_EQ(json["bonds"][2]["flows"][0]["rx"][1]["inactive"], true);
}

TEST(FlowsJson, StatesTheLosses) {
    const Json json = document(test::sample_report());
    EXPECT_EQ(json["losses"]["untracked_packets"], 12);
    EXPECT_EQ(json["losses"]["recursion_misses"], 0);
}

TEST(FlowsJson, SumsUpTheAgreement) {
    const Json json = document(test::sample_report());
    EXPECT_EQ(json["era"], (Json{{"name", "6.5"}, {"source", "assumed"}, {"why", "no probe"}}));
    const Json& agreement = json["bonds"][0]["agreement"];
    EXPECT_EQ(agreement["checked"], 2);
    EXPECT_EQ(agreement["agree"], 1);
    EXPECT_EQ(agreement["disagreements"], Json::array({json["bonds"][0]["flows"][1]}));
    EXPECT_EQ(json["bonds"][1]["agreement"]["unchecked_why"], "balance-rr sends packet by packet");
    const Json without = document(test::empty_report());
    EXPECT_EQ(without["era"], nullptr);
    EXPECT_EQ(without["bonds"][0]["agreement"], nullptr);
}

TEST(FlowsJson, IsValidWhateverTheNames) {
    FlowsReport report = test::sample_report();
    report.bonds[0].name = "b\"\\\x1b[2J\xff";
    report.bonds[0].slaves[0].name = "grün\n";
    report.seconds = std::numeric_limits<double>::quiet_NaN();
    report.flows[0].prediction = Prediction{"s0", true, "\xc0\x80"};
    const Json json = document(report);
    EXPECT_EQ(json["bonds"][0]["name"], "b\"\\\x1b[2J\xef\xbf\xbd");
    EXPECT_EQ(json["bonds"][0]["slaves"][0]["name"], "grün\n");
    EXPECT_EQ(json["window_seconds"], nullptr);
}

TEST(FlowsJson, WritesLargeNumbersWhole) {
    FlowsReport report = test::empty_report();
    report.bonds[0].slaves[0].tx.counter_bytes = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(document(report)["bonds"][0]["slaves"][0]["counters"]["tx_bytes"].get<std::uint64_t>(),
              std::numeric_limits<std::uint64_t>::max());
}

} // namespace
} // namespace bondtrace
