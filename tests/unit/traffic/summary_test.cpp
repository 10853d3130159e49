// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/summary.h"

#include <gmock/gmock.h>

namespace bondtrace::traffic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

constexpr std::uint64_t second = 1'000'000'000;

FlowResult flow(std::uint16_t port, std::uint64_t sent, std::uint64_t received) {
    FlowResult result;
    result.established = true;
    result.address = {*parse_ip("10.0.0.1"), *parse_ip("10.0.0.2"), port, 5477};
    result.sent_bytes = sent;
    result.received_bytes = received;
    return result;
}

FlowResult seen_by_server(std::uint16_t port, std::uint64_t sent, std::uint64_t received) {
    FlowResult result = flow(port, sent, received);
    result.address = {*parse_ip("10.0.0.2"), *parse_ip("10.0.0.1"), 5477, port};
    return result;
}

EndResult end(std::vector<FlowResult> flows, std::uint64_t elapsed = second) {
    EndResult result;
    result.elapsed_ns = elapsed;
    result.flows = std::move(flows);
    return result;
}

TEST(Summary, GoodputOfEachEndByItsOwnClock) {
    const EndResult client = end({flow(1, 1000, 0), flow(2, 3000, 0)});
    const EndResult server = end({seen_by_server(1, 0, 1000), seen_by_server(2, 0, 2900)}, 2 * second);
    const auto summary = summarize({}, client, &server);
    EXPECT_EQ(summary.flows, 2U);
    EXPECT_EQ(summary.established, 2U);
    ASSERT_EQ(summary.directions.size(), 1U);
    const DirectionSummary& up = summary.directions[0];
    EXPECT_TRUE(up.upward);
    EXPECT_EQ(up.sent_bytes, 4000U);
    EXPECT_EQ(up.received_bytes, 3900U);
    EXPECT_THAT(up.sent_rate, Optional(32000.0));
    EXPECT_THAT(up.received_rate, Optional(15600.0));
    EXPECT_THAT(summary.rows[1].goodput, testing::DoubleEq(2900 * 8 / 2.0));
    EXPECT_THAT(summary.notes, IsEmpty());
}

// netperf: microseconds of CPU per KB of 1024 bytes. 1 s of CPU for 1 GiB is 0.9537 us/KB.
TEST(Summary, ServiceDemandAsNetperfDefinesIt) {
    EndResult client = end({flow(1, 1ULL << 30U, 0)}), server = end({seen_by_server(1, 0, 1ULL << 30U)});
    client.user_ns = second / 4;
    client.system_ns = 3 * second / 4;
    server.system_ns = second / 2;
    const auto summary = summarize({}, client, &server);
    EXPECT_NEAR(*summary.client.us_per_kb, 1e6 / (1 << 20), 1e-9);
    EXPECT_NEAR(*summary.server->us_per_kb, 0.5e6 / (1 << 20), 1e-9);
    EXPECT_NEAR(*summary.us_per_kb_both, 1.5e6 / (1 << 20), 1e-9);
    EXPECT_THAT(summary.client.cpus, Optional(1.0));
    EXPECT_THAT(summary.server->cpus, Optional(0.5));
    // What cannot be known is not 0.
    const EndResult nothing = end({flow(1, 0, 0)}, 0);
    const auto idle = summarize({}, nothing, &nothing);
    EXPECT_EQ(idle.client.us_per_kb, std::nullopt);
    EXPECT_EQ(idle.client.cpus, std::nullopt);
    EXPECT_EQ(idle.directions[0].sent_rate, std::nullopt);
    EXPECT_EQ(idle.directions[0].fairness, std::nullopt);
    EXPECT_EQ(idle.spread, std::nullopt);
}

// Jain's index: k of n flows with equal shares and the others with nothing is k/n.
TEST(Summary, Fairness) {
    const auto fairness = [](const std::vector<std::uint64_t>& bytes) {
        EndResult client = end({}), server = end({});
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            client.flows.push_back(flow(static_cast<std::uint16_t>(i + 1), bytes[i], 0));
            server.flows.push_back(seen_by_server(static_cast<std::uint16_t>(i + 1), 0, bytes[i]));
        }
        return *summarize({}, client, &server).directions[0].fairness;
    };
    EXPECT_DOUBLE_EQ(fairness({5, 5, 5, 5}), 1.0);
    EXPECT_DOUBLE_EQ(fairness({5, 5, 0, 0}), 0.5);
    EXPECT_DOUBLE_EQ(fairness({7, 0, 0, 0, 0, 0, 0, 0}), 0.125);
    EXPECT_DOUBLE_EQ(fairness({1, 2, 3}), 36.0 / (3 * 14));
    EXPECT_NEAR(fairness({UINT64_MAX / 8, UINT64_MAX / 8}), 1.0, 1e-12);
}

TEST(Summary, FlowsThatFailedDoNotCount) {
    EndResult client = end({flow(1, 100, 0), flow(2, 0, 0), flow(3, 50, 0)});
    EndResult server = end({seen_by_server(1, 0, 100)});
    client.flows[1].established = false;
    client.flows[1].failure = "nobody listens";
    const auto summary = summarize({}, client, &server);
    EXPECT_EQ(summary.flows, 3U);
    EXPECT_EQ(summary.established, 1U);
    EXPECT_EQ(summary.rows[1].failure, "nobody listens");
    EXPECT_EQ(summary.rows[2].failure, "the server knows nothing of it");
    EXPECT_THAT(summary.directions[0].fairness, Optional(1.0));
    server.flows.resize(3);
    server.flows[2].failure = "reset";
    EXPECT_EQ(summarize({}, client, &server).rows[2].failure, "the server: reset");
}

TEST(Summary, DownAndBoth) {
    TestOptions options;
    options.direction = Direction::down;
    EndResult client = end({flow(1, 0, 900)}), server = end({seen_by_server(1, 1000, 0)});
    client.flows[0].tcp = TcpFacts{0, 1, 2, 3, 0};
    server.flows[0].tcp = TcpFacts{7, 40, 50, 60, 2};
    auto summary = summarize(options, client, &server);
    ASSERT_EQ(summary.directions.size(), 1U);
    EXPECT_FALSE(summary.directions[0].upward);
    EXPECT_EQ(summary.directions[0].sent_bytes, 1000U);
    EXPECT_EQ(summary.directions[0].received_bytes, 900U);
    EXPECT_EQ(summary.directions[0].retransmits, 7U);
    EXPECT_EQ(summary.directions[0].reordering, 2U);
    EXPECT_THAT(summary.rows[0].rtt_min_us, Optional(40U)); // of the end that sends
    EXPECT_THAT(summary.rows[0].retransmits, Optional(7U));
    EXPECT_DOUBLE_EQ(summary.rows[0].goodput, 7200);

    options.direction = Direction::both;
    client.flows[0].sent_bytes = 100;
    server.flows[0].received_bytes = 100;
    summary = summarize(options, client, &server);
    ASSERT_EQ(summary.directions.size(), 2U);
    EXPECT_TRUE(summary.directions[0].upward);
    EXPECT_DOUBLE_EQ(summary.rows[0].goodput, 8000);
    EXPECT_THAT(summary.rows[0].rtt_max_us, Optional(3U));
}

TEST(Summary, UdpFactsAreTheReceivers) {
    TestOptions options;
    options.transport = Transport::udp;
    EndResult client = end({flow(1, 640, 0), flow(2, 640, 0)});
    EndResult server = end({seen_by_server(1, 0, 512), seen_by_server(2, 0, 640)}, second / 2);
    for (FlowResult& result : client.flows)
        result.sent_packets = 10;
    server.flows[0].received_packets = 8;
    server.flows[0].udp = UdpFacts{2, 1, 0, 10};
    server.flows[1].received_packets = 10;
    server.flows[1].udp = UdpFacts{0, 0, 3, 30};
    const auto summary = summarize(options, client, &server);
    const DirectionSummary& up = summary.directions[0];
    EXPECT_THAT(up.sent_pps, Optional(20.0));
    EXPECT_THAT(up.received_pps, Optional(36.0));
    EXPECT_EQ(up.lost, 2U);
    EXPECT_EQ(up.reordered, 1U);
    EXPECT_EQ(up.duplicated, 3U);
    EXPECT_THAT(up.jitter_us, Optional(20.0));
    EXPECT_EQ(summary.rows[0].up_udp->lost, 2U);
    EXPECT_EQ(summary.rows[0].down_udp, std::nullopt);
    EXPECT_EQ(summary.rows[0].retransmits, std::nullopt);
}

TEST(Summary, SpreadLeavesOutTheShortEnd) {
    EndResult client = end({flow(1, 0, 0)}), server = client;
    for (std::uint64_t i = 0; i < 4; ++i)
        server.intervals.push_back({i * second, (i + 1) * second, 0, 1000 + 500 * i, 0, 0});
    server.intervals.push_back({4 * second, 4 * second + 1000, 0, 1, 0, 0});
    const auto spread = *summarize({}, client, &server).spread;
    EXPECT_EQ(spread.intervals, 4U);
    EXPECT_DOUBLE_EQ(spread.least, 8000);
    EXPECT_DOUBLE_EQ(spread.most, 20000);
    EXPECT_DOUBLE_EQ(spread.mean, 14000);
    EXPECT_NEAR(spread.deviation, 5163.98, 0.01); // of 8, 12, 16, 20 kbit/s
    TestOptions both;
    both.direction = Direction::both;
    client.intervals.assign(2, {0, second, 0, 1000, 0, 0});
    EXPECT_DOUBLE_EQ(summarize(both, client, &server).spread->most, 20000); // 12000 + 8000
}

TEST(Summary, WithoutTheServer) {
    EndResult client = end({flow(1, 1000, 0)});
    client.intervals.push_back({0, second, 1000, 0, 0, 0});
    const auto summary = summarize({}, client, nullptr);
    EXPECT_EQ(summary.server, std::nullopt);
    EXPECT_EQ(summary.established, 1U);
    EXPECT_EQ(summary.directions[0].received_rate, std::nullopt);
    EXPECT_DOUBLE_EQ(summary.rows[0].goodput, 8000);
    EXPECT_DOUBLE_EQ(summary.spread->mean, 8000);
    EXPECT_THAT(summary.notes, ElementsAre(HasSubstr("has not reported")));
}

TEST(Summary, SeesTranslatedAddresses) {
    const EndResult client = end({flow(1, 1, 0), flow(2, 1, 0)});
    EndResult server = end({seen_by_server(1, 0, 1), seen_by_server(61000, 0, 1)});
    EXPECT_THAT(summarize({}, client, &server).notes, ElementsAre(HasSubstr("1 flows reach the server")));
}

TEST(Extremes, TopAndBottom) {
    std::vector<FlowRow> rows(7);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].index = i;
        rows[i].established = true;
        rows[i].goodput = static_cast<double>((i * 3) % 7); // 0 3 6 2 5 1 4
    }
    rows[2].established = false; // it would be the best
    const auto few = extremes(rows, 2);
    EXPECT_THAT(few.top, ElementsAre(4, 6));
    EXPECT_THAT(few.bottom, ElementsAre(0, 5)); // not the one that failed
    const auto all = extremes(rows, 4);
    EXPECT_THAT(all.top, ElementsAre(4, 6, 1, 3, 5, 0, 2));
    EXPECT_THAT(all.bottom, IsEmpty());
    EXPECT_THAT(extremes({}, 4).top, IsEmpty());
    for (FlowRow& row : rows)
        row.established = row.index == 3;
    EXPECT_THAT(extremes(rows, 2).top, ElementsAre(3));
    EXPECT_THAT(extremes(rows, 2).bottom, IsEmpty());
    rows[3].established = false;
    EXPECT_EQ(extremes(rows, 2).top.size(), 4U);
}

} // namespace
} // namespace bondtrace::traffic
