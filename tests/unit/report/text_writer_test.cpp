// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/report/sample_report.h"
#include "user/base/text.h"
#include "user/report/address_text.h"
#include "user/report/losses_text.h"
#include "user/report/text_writer.h"

#include <regex>

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        lines.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return lines;
}

// The line that has both pieces.
std::string line_with(const std::string& text, const std::string& first, const std::string& second = "") {
    for (const std::string& line : lines_of(text))
        if (line.find(first) != std::string::npos && line.find(second) != std::string::npos) return line;
    return {};
}

std::string without_sgr(const std::string& text) {
    return std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m"), "");
}

TEST(FlowsText, FitsEveryWidth) {
    const FlowsReport report = test::sample_report();
    for (unsigned width = 64; width <= 240; ++width) {
        for (const bool ascii : {false, true}) {
            for (const std::string& line : lines_of(flows_text(report, {width, ascii, false}))) {
                EXPECT_LE(display_width(line), width) << line;
                EXPECT_FALSE(line.ends_with(' ')) << line;
            }
        }
    }
}

TEST(FlowsText, FitsLongNames) {
    FlowsReport report = test::sample_report();
    for (SlaveReport& slave : report.bonds[0].slaves)
        slave.name = "enp129s0f" + slave.name + "np1";
    for (const unsigned width : {80U, 100U, 120U})
        for (const std::string& line : lines_of(flows_text(report, {width, false, false})))
            EXPECT_LE(display_width(line), width) << line;
}

// A port, a VLAN ID, a count or an address is shown whole or not at all, at any width.
TEST(FlowsText, NeverBreaksNumbers) {
    FlowsReport report = test::sample_report();
    for (unsigned width = 64; width <= 200; ++width) {
        const std::string text = flows_text(report, {width, false, false});
        EXPECT_THAT(line_with(text, "tcp", ":40001"), HasSubstr(":5201 ")) << width;
        EXPECT_THAT(line_with(text, ":65535"), HasSubstr(":5678]:65535")) << width;
        EXPECT_THAT(line_with(text, ":65535"), HasSubstr(":aaaa]:443")) << width;
        EXPECT_THAT(line_with(text, ":40001"), ContainsRegex("1\\.57 GB")) << width;
    }
}

TEST(FlowsText, ShowsWhoIsWhere) {
    const std::string text = flows_text(test::sample_report(), {200, false, false});
    EXPECT_THAT(text, HasSubstr("bond0  802.3ad  layer3+4  2 slaves  in namespace bt-a\n"));
    EXPECT_THAT(text, HasSubstr("bond1  balance-rr  5 slaves\n"));
    EXPECT_THAT(line_with(text, ":40001", "10.77"),
                ContainsRegex(
                    "tcp +10.77.0.1:40001 +→ 10.77.0.2:5201 +→ s0 +1.57 GB +992 k +← s1 +2.71 MB +41003 +✓"));
    EXPECT_THAT(line_with(text, ":40002"), HasSubstr("✗ s0"));
    EXPECT_THAT(text, HasSubstr("[2001:db8:1234:5678:9abc:def0:1234:5678]:65535"));
    EXPECT_THAT(line_with(text, "fragments"), HasSubstr("udp"));
    EXPECT_THAT(text, HasSubstr("10.77.0.2 echo id 4711"));
    EXPECT_THAT(text, HasSubstr("spi 0xc0ffee01"));
    EXPECT_THAT(line_with(text, "4789"), HasSubstr("→ s0→s1"));
    EXPECT_THAT(line_with(text, "cut"), HasSubstr("100.7"));
    EXPECT_THAT(text, HasSubstr("→ r0 r1 +3"));
    EXPECT_THAT(text, HasSubstr("← eno1 eno2!"));
}

TEST(FlowsText, SumsUpTheSlaves) {
    const std::string text = flows_text(test::sample_report(), {120, false, false});
    const std::string line = line_with(text, "s0 ", "TX");
    EXPECT_THAT(
        line,
        ContainsRegex(
            "s0 +0  active  10 Gbit/s  TX +1036391 +1.63 GB +1.31 Gbit/s +54 % +7 +10 +1036401 +100 %"));
}

TEST(FlowsText, SaysWhatIsNotCounted) {
    const std::string text = flows_text(test::sample_report(), {200, false, false});
    EXPECT_THAT(text, HasSubstr("coverage TX 100 %  RX 100 %"));
    EXPECT_THAT(text, HasSubstr("coverage TX 99.94 %  RX 100 %"));
    EXPECT_THAT(text, HasSubstr("control: 20 packets sent and 20 received by the bonding driver itself"));
    EXPECT_THAT(text, HasSubstr("r2 TX: 3 packets in the kernel's counter were not seen"));
    EXPECT_THAT(text, HasSubstr("inactive: 57 packets"));
    EXPECT_THAT(text, HasSubstr("12 packets belong to no flow here: the table of 65536 flows was full"));
    EXPECT_THAT(text, HasSubstr("1 packet had headers"));
    EXPECT_THAT(text, Not(HasSubstr("were swallowed")));
}

TEST(FlowsText, SumsUpTheAgreementAndShowsWhatDisagrees) {
    FlowsReport report = test::sample_report();
    std::string text = flows_text(report, {200, false, false});
    EXPECT_THAT(text, HasSubstr("agreement 1/2  flows that took the slave"));
    EXPECT_THAT(text, HasSubstr("(era 6.5, assumed (no probe))"));
    EXPECT_THAT(
        text, HasSubstr("✗ tcp 10.77.0.1:40002 → 10.77.0.2:5201: layer3+4 gives index 0 of 2, which is s0"));
    EXPECT_THAT(text, HasSubstr("no flow's slave is predictable: balance-rr sends packet by packet"));
    report.bonds[0].agreement.checked = 18235;
    report.bonds[0].agreement.agree = 18234;
    EXPECT_THAT(flows_text(report, {200, false, false}), HasSubstr("agreement 18 234/18 235"));
    // Whatever is shown of the flows.
    report.flows.clear();
    EXPECT_THAT(flows_text(report, {200, false, false}), HasSubstr("✗ tcp 10.77.0.1:40002"));
    report.era.reset();
    EXPECT_THAT(flows_text(report, {200, false, false}), Not(HasSubstr("agreement")));
    report = test::sample_report();
    report.bonds[0].agreement.disagreements.resize(1);
    report.bonds[0].agreement.checked = 50;
    report.bonds[0].agreement.agree = 10;
    EXPECT_THAT(flows_text(report, {200, false, false}), HasSubstr("and 20 more"));
}

TEST(FlowsText, NamesEveryLoss) {
    FlowsReport report = test::empty_report();
    report.losses = {1, 2, 3, 4, 5, 7, 6};
    const std::string text = losses_text(report, {200, false, false});
    for (const char* expected :
         {"1 packet belong", "2 packets had headers", "3 packets were not seen", "4 packets were not counted",
          "5 packets were swallowed", "6 packets were counted by the kernel", "7 bonds were made meanwhile"})
        EXPECT_THAT(text, HasSubstr(expected));
}

// The case of the lab: veth counts skbs, and 208 frames were 26 of them.
TEST(FlowsText, CountsAsTheDeviceDoes) {
    FlowsReport report = test::empty_report();
    SlaveDirection& direction = report.bonds[0].slaves[0].tx;
    direction.traced = {26, 301716, 208, 313728};
    direction.counter_packets = 26;
    direction.counter_bytes = 301716;
    const std::string text = flows_text(report, {120, false, false});
    EXPECT_THAT(line_with(text, "s0 ", "TX"),
                ContainsRegex("TX +26 +302 kB +251 kbit/s +100 % +0 +26 +100 %"));
    EXPECT_THAT(text, HasSubstr("TX packets and bytes are those of unsegmented packets"));
}

TEST(FlowsText, SaysWhenThereIsNothing) {
    const std::string text = flows_text(test::empty_report(), {80, false, false});
    EXPECT_THAT(text, HasSubstr("no flows: the bond carried no traffic in 10 s"));
    FlowsReport filtered = test::sample_report();
    filtered.flows.clear();
    filtered.flows_matching = 0;
    EXPECT_THAT(flows_text(filtered, {80, false, false}),
                HasSubstr("no flow of this bond matches the filter"));
    EXPECT_THAT(flows_text(filtered, {80, false, false}),
                HasSubstr("0 flows shown, 0 match the filter, 15 in all"));
    FlowsReport none;
    EXPECT_THAT(flows_text(none, {80, false, false}), HasSubstr("no bond was traced"));
    FlowsReport slaveless = test::empty_report();
    slaveless.bonds[0].slaves.clear();
    EXPECT_THAT(flows_text(slaveless, {80, false, false}), HasSubstr("this bond has no slaves"));
}

TEST(FlowsText, SaysWhatWasLeftOut) {
    FlowsReport report = test::sample_report();
    report.flows.resize(3);
    EXPECT_THAT(flows_text(report, {80, false, false}), HasSubstr("3 flows shown, 15 in all"));
    report.interrupted = true;
    EXPECT_THAT(flows_text(report, {100, false, false}), HasSubstr("10 s (interrupted)"));
}

TEST(FlowsText, IsPlainAsciiWhenAsked) {
    FlowsReport report = test::sample_report();
    report.bonds[0].slaves[0].name = "grün";
    for (const char c : flows_text(report, {100, true, false}))
        ASSERT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f));
}

TEST(FlowsText, MakesNamesHarmless) {
    FlowsReport report = test::sample_report();
    report.bonds[0].name = report.bonds[0].slaves[0].name = report.bonds[0].netns = "\x1b[31m\n\xff";
    report.bonds[0].slaves[0].state = report.header.kernel = "\x9b";
    Prediction prediction = *report.flows[1].prediction;
    prediction.slave = "\x1b";
    report.flows[1].prediction = prediction;
    for (const bool ascii : {false, true}) {
        const std::string text = flows_text(report, {200, ascii, false});
        EXPECT_EQ(text.find('\x1b'), std::string::npos);
        EXPECT_EQ(valid_utf8(text), text);
    }
}

TEST(FlowsText, AlignsNamesOfEveryScript) {
    FlowsReport report = test::sample_report();
    report.bonds[0].slaves[0].name = "網路";
    const std::string text = flows_text(report, {120, false, false});
    const auto column = [&](const std::string& line) {
        return display_width(line.substr(0, line.find("active")));
    };
    EXPECT_EQ(column(line_with(text, "網路", "active")), column(line_with(text, "s1", "active")));
}

TEST(FlowsText, ColoursAddNothingElse) {
    const FlowsReport report = test::sample_report();
    const std::string coloured = flows_text(report, {100, false, true});
    EXPECT_THAT(coloured, HasSubstr("\x1b[38;5;214ms0\x1b[0m"));
    EXPECT_EQ(without_sgr(coloured), flows_text(report, {100, false, false}));
}

TEST(EndText, LeavesOutWholeGroups) {
    ConversationKey key;
    key.ip = true;
    key.local = *parse_ip("2001:db8:1234:5678:9abc:def0:1234:5678");
    key.remote = *parse_ip("192.168.100.200");
    key.detail = Ports{65535, 443};
    EXPECT_EQ(end_text(key, true, unlimited, "…"), "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535");
    EXPECT_EQ(end_text(key, true, 26, "…"), "[2001:…:1234:5678]:65535");
    EXPECT_EQ(end_text(key, true, 20, "…"), "[2001:…:5678]:65535");
    EXPECT_EQ(end_text(key, true, 15, "…"), "[…:5678]:65535");
    EXPECT_EQ(end_text(key, true, 0, "…"), "[…:5678]:65535");
    EXPECT_EQ(end_text(key, false, 20, "…"), "192.168.100.200:443");
    EXPECT_EQ(end_text(key, false, 14, "…"), "192.….200:443");
    key.detail = std::monostate{};
    EXPECT_EQ(end_text(key, true, 20, "*"), "2001:db8:*:1234:5678");
}

} // namespace
} // namespace bondtrace
