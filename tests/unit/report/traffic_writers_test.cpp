// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/report/sample_traffic.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace bondtrace::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string text(const char* which, unsigned width = 0, bool ascii = false) {
    return traffic_text(sample_traffic(which), {.width = width, .ascii = ascii, .colour = false});
}

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(TrafficText, SaysWhatWasMeasured) {
    const std::string all = text("tcp");
    EXPECT_THAT(all, HasSubstr("twelve \"flows\" of a sample\n"));
    EXPECT_THAT(all, HasSubstr("12 tcp flows to 10.0.0.2 port 5477, up, 10 s, ports balanced"));
    // 15 GB in 10 s.
    EXPECT_THAT(all, HasSubstr("received 12 Gbit/s (15 GB), 66 retransmits, 2 reorderings"));
    // 9.1 s of CPU here, 8.2 s there, for 15 GB: 0.621 and 0.560 us/KB, together 1.181.
    EXPECT_THAT(all, AllOf(HasSubstr("0.10 s user + 9.00 s system = 0.91 CPUs, 0.621 us/KB"),
                           HasSubstr("0.20 s user + 8.00 s system = 0.82 CPUs, 0.560 us/KB"),
                           HasSubstr("together 1.181 us/KB received")));
    EXPECT_THAT(all, HasSubstr("1.0000 up over 12 flows"));
    EXPECT_THAT(all, HasSubstr("10 intervals of 12 Gbit/s"));
    EXPECT_THAT(all, HasSubstr("eth0 4, eth1 4, eth2 4 flows"));
    EXPECT_THAT(all, HasSubstr("cubic, not paced, buffers 524 kB to send, 426 kB to receive"));
    EXPECT_THAT(all, HasSubstr("10.0.0.1:40011"));
    EXPECT_THAT(all, HasSubstr("40/55/120"));
    EXPECT_THAT(all, Not(HasSubstr("msg-trunc"))); // -v
    EXPECT_THAT(all, Not(HasSubstr("failed")));
}

TEST(TrafficText, IsReadableWithTenThousandFlows) {
    const std::string all = text("many", 120);
    EXPECT_LT(lines_of(all), 90U);
    EXPECT_THAT(all, HasSubstr("the fastest 10 of 10000 flows"));
    EXPECT_THAT(all, HasSubstr("the slowest 10 of 10000 flows"));
    EXPECT_THAT(all, HasSubstr("[fd00::1]:40000  [fd00::2]:5477"));      // the very slowest
    EXPECT_THAT(all, Not(HasSubstr("[fd00::1]:40007  [fd00::2]:5477"))); // failed: counted below
    EXPECT_THAT(all, HasSubstr("9900 of 10000 flows ran"));
    EXPECT_THAT(all, HasSubstr("50 flows: nobody listens on fd00::2 port 5477 (ECONNREFUSED)"));
    EXPECT_THAT(all, HasSubstr("50 flows: the process may not open more files (EMFILE)"));
    EXPECT_THAT(all, HasSubstr("1 flow stood still"));
    EXPECT_THAT(all, HasSubstr("(interrupted)"));
    EXPECT_THAT(all, HasSubstr("the server ended the test: it was stopped"));
    EXPECT_THAT(all, HasSubstr("single-issuer, defer-taskrun, msg-trunc"));
    EXPECT_THAT(all, AllOf(HasSubstr("host.socket-buffer"), HasSubstr("host.fd-limit"),
                           HasSubstr("prlimit --pid $$ --nofile=10100:10100")));
    // Whatever stands in a note, a terminal is not harmed.
    EXPECT_THAT(all, Not(HasSubstr("\x1b")));
    for (const unsigned width : {64U, 80U, 120U}) {
        std::istringstream lines(text("many", width, true));
        for (std::string line; std::getline(lines, line);) {
            EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c < 127; }))
                << line;
            // Commands are never broken.
            if (line.find("          ") == std::string::npos) {
                EXPECT_LE(line.size(), width) << line;
            }
        }
    }
}

TEST(TrafficText, UdpShowsWhatTheReceiverSaw) {
    const std::string all = text("udp", 240);
    EXPECT_THAT(all, HasSubstr("33 lost (1.1 %), 9 reordered, 3 duplicated, jitter 12.5 us"));
    EXPECT_THAT(all, HasSubstr("300 packets/s sent"));
    EXPECT_THAT(all, HasSubstr("UDP segmentation offload"));
    EXPECT_THAT(all, Not(HasSubstr("retransmits")));
    EXPECT_THAT(all, Not(HasSubstr("cubic")));
}

TEST(TrafficText, WithoutTheServersReport) {
    const std::string all = text("alone");
    EXPECT_THAT(all, HasSubstr("received unknown"));
    EXPECT_THAT(all, HasSubstr("the control connection ended early: the server was not heard of for 10 s"));
    EXPECT_THAT(all, HasSubstr("the server has not reported"));
    EXPECT_THAT(all, HasSubstr("host.no-route-vs-reject"));
}

TEST(TrafficJson, HasEveryFlowAndTheSameNumbers) {
    const auto json = nlohmann::json::parse(traffic_json(sample_traffic("many")));
    EXPECT_EQ(json.at("schema"), "bondtrace.traffic/1");
    EXPECT_EQ(json.at("flows").size(), 10000U);
    EXPECT_EQ(json.at("flows_established"), 9900);
    EXPECT_EQ(json.at("flows_wanted"), 10000);
    EXPECT_EQ(json.at("flows")[7].at("established"), false);
    EXPECT_EQ(json.at("flows")[7].at("failure"), "nobody listens on fd00::2 port 5477 (ECONNREFUSED)");
    EXPECT_EQ(json.at("flows")[9].at("up").at("received_bytes"), 10000);
    EXPECT_EQ(json.at("flows")[9].at("down").at("received_bytes"), 5000);
    EXPECT_EQ(json.at("flows")[9].at("bits_per_second"), 15000 * 8 / 10.0);
    EXPECT_EQ(json.at("directions").size(), 2U);
    EXPECT_EQ(json.at("findings").size(), 2U);
    EXPECT_EQ(json.at("options").at("dscp"), 46);
    EXPECT_EQ(json.at("server_end").at("features")[2], "msg-trunc");

    const auto tcp = nlohmann::json::parse(traffic_json(sample_traffic("tcp")));
    EXPECT_EQ(tcp.at("ports").at("choice"), "balanced");
    EXPECT_EQ(tcp.at("ports").at("slaves")[1], (nlohmann::json{{"name", "eth1"}, {"flows", 4}}));
    EXPECT_EQ(tcp.at("flows")[4].at("planned_slave"), "eth1");
    EXPECT_NEAR(tcp.at("client").at("service_demand_us_per_kb").get<double>(),
                9.1e6 / ((15e9 + 66000) / 1024), 1e-9);
    EXPECT_EQ(tcp.at("directions")[0].at("received").at("bits_per_second"), 12e9);
    EXPECT_FALSE(tcp.at("flows")[0].contains("down"));
    const auto alone = nlohmann::json::parse(traffic_json(sample_traffic("alone")));
    EXPECT_TRUE(alone.at("server_end").is_null());
    EXPECT_TRUE(alone.at("directions")[0].at("received").at("bits_per_second").is_null());
}

} // namespace
} // namespace bondtrace::test
