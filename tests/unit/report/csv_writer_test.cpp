// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/report/sample_report.h"
#include "user/report/csv_writer.h"

#include <map>

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

// A reader after RFC 4180, section 2.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
    std::vector<std::vector<std::string>> lines;
    std::vector<std::string> line{""};
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c != '"')
                line.back() += c;
            else if (i + 1 < text.size() && text[i + 1] == '"')
                line.back() += text[++i];
            else
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == ',') {
            line.emplace_back();
        } else if (c == '\n') {
            lines.push_back(std::move(line));
            line = {""};
        } else {
            line.back() += c;
        }
    }
    return lines;
}

std::vector<std::map<std::string, std::string>> rows(const FlowsReport& report) {
    const auto lines = read_csv(flows_csv(report));
    std::vector<std::map<std::string, std::string>> result;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        EXPECT_EQ(lines[i].size(), lines[0].size());
        auto& row = result.emplace_back();
        for (std::size_t column = 0; column < lines[0].size(); ++column)
            row[lines[0][column]] = lines[i].at(column);
    }
    return result;
}

TEST(FlowsCsv, HasALineForEveryFlow) {
    const auto table = rows(test::sample_report());
    ASSERT_EQ(table.size(), 15U);
    EXPECT_EQ(table[0].at("bond"), "bond0");
    EXPECT_EQ(table[0].at("netns"), "bt-a");
    EXPECT_EQ(table[0].at("protocol"), "tcp");
    EXPECT_EQ(table[0].at("local_port"), "40001");
    EXPECT_EQ(table[0].at("tx_slaves"), "s0");
    EXPECT_EQ(table[0].at("tx_wire_packets"), "992034");
    EXPECT_EQ(table[0].at("agrees"), "true");
    EXPECT_EQ(table[1].at("why"), "layer3+4 gives index 0 of 2, which is s0");
    EXPECT_EQ(table[2].at("agrees"), "");
    EXPECT_EQ(table[4].at("vlan"), "100");
    EXPECT_EQ(table[5].at("fragment"), "true");
    EXPECT_EQ(table[5].at("local_port"), "");
    EXPECT_EQ(table[6].at("icmp_id"), "4711");
    EXPECT_EQ(table[8].at("spi"), "3237998081");
    EXPECT_EQ(table[9].at("moves"), "1");
    EXPECT_EQ(table[10].at("ethertype"), "0x0806");
    EXPECT_EQ(table[13].at("sprayed"), "true");
    EXPECT_EQ(table[13].at("tx_slaves"), "r0 r1 r2 r3 r4");
    EXPECT_EQ(table[14].at("rx_slaves"), "eno1 eno2");
    EXPECT_EQ(table[14].at("rx_wire_packets"), "114");
    EXPECT_EQ(table[14].at("rx_inactive_packets"), "57");
}

TEST(FlowsCsv, QuotesAndMakesHarmless) {
    FlowsReport report = test::sample_report();
    report.bonds[0].name = "a,\"b\"\x1b\n";
    const std::string text = flows_csv(report);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_THAT(text, testing::HasSubstr("\n\"a,\"\"b\"\"??\","));
    EXPECT_EQ(rows(report).at(0).at("bond"), "a,\"b\"??");
}

TEST(FlowsCsv, HasAHeaderWithoutFlows) {
    const std::string text = flows_csv(test::empty_report());
    EXPECT_THAT(text, testing::StartsWith("bond,netns,protocol,"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

} // namespace
} // namespace bondtrace
