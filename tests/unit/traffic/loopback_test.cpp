// SPDX-License-Identifier: GPL-2.0-or-later
// Both ends of a test, over loopback.
#include "tests/unit/traffic/server_fixture.h"

#include <set>

#include <gmock/gmock.h>

namespace bondtrace::traffic {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace std::chrono_literals;

struct Kind {
    const char* name;
    Direction direction;
    bool no_copy;
    bool v6;
    const char* mask;
};

class TcpLoopback : public testing::TestWithParam<Kind> {};

TEST_P(TcpLoopback, EveryByteArrives) {
    TestServer server;
    ClientRequest request = request_to(server, 5, GetParam().v6);
    request.options.direction = GetParam().direction;
    request.options.no_copy = GetParam().no_copy;
    request.masked = *parse_features(GetParam().mask);
    const TestOutcome outcome = run(request);
    expect_complete(outcome);
    const Sums client = sums_of(outcome.client);
    EXPECT_EQ(client.sent > 0, GetParam().direction != Direction::down);
    EXPECT_EQ(client.received > 0, GetParam().direction != Direction::up);
    EXPECT_GT(outcome.client.elapsed_ns, 300'000'000U);
    EXPECT_GT(outcome.client.user_ns + outcome.client.system_ns, 0U);
    EXPECT_GT(outcome.server->user_ns + outcome.server->system_ns, 0U);
    EXPECT_FALSE(outcome.client.congestion.empty());
    const bool receives = GetParam().direction != Direction::up;
    const bool may_discard =
        GetParam().no_copy && std::string_view(GetParam().mask).find("msg-trunc") == std::string_view::npos;
    EXPECT_EQ(std::count(outcome.client.features.begin(), outcome.client.features.end(), "msg-trunc"),
              receives && may_discard ? 1 : 0);
    for (const FlowResult& flow : outcome.client.flows) {
        ASSERT_TRUE(flow.tcp);
        EXPECT_FALSE(flow.udp);
    }
}

INSTANTIATE_TEST_SUITE_P(All, TcpLoopback,
                         testing::Values(Kind{"up", Direction::up, false, false, ""},
                                         Kind{"down", Direction::down, false, false, ""},
                                         Kind{"both", Direction::both, false, false, ""},
                                         Kind{"up6", Direction::up, false, true, ""},
                                         Kind{"no_copy_up", Direction::up, true, false, ""},
                                         Kind{"no_copy_down", Direction::down, true, false, ""},
                                         Kind{"no_copy_both", Direction::both, true, false, ""},
                                         Kind{"no_trunc", Direction::both, true, false, "msg-trunc"},
                                         Kind{"no_sendfile", Direction::up, true, false, "sendfile"},
                                         Kind{"as_5_10", Direction::both, false, false,
                                              "single-issuer,defer-taskrun,coop-taskrun,registered-ring"}),
                         [](const auto& kind) { return kind.param.name; });

TEST(Loopback, BytesEndATest) {
    TestServer server;
    ClientRequest request = request_to(server, 3);
    request.options.direction = Direction::both;
    request.options.duration = 0ns;
    request.options.bytes = 1'000'003;
    const TestOutcome outcome = run(request);
    expect_complete(outcome);
    for (const FlowResult& flow : outcome.client.flows) {
        EXPECT_EQ(flow.sent_bytes, 1'000'003U);
        EXPECT_EQ(flow.received_bytes, 1'000'003U);
    }
}

TEST(Loopback, ManyFlowsOnOneThread) {
    TestServer server;
    ClientRequest request = request_to(server, 600);
    request.options.threads = 1;
    expect_complete(run(request));
}

TEST(Loopback, ThePortsThatWereAskedFor) {
    TestServer server;
    ClientRequest request = request_to(server, 4);
    std::set<std::uint16_t> ports;
    for (std::uint16_t i = 0; i < 4; ++i) {
        request.flows[i].local_port = static_cast<std::uint16_t>(21'000 + 3 * i);
        request.flows[i].local = *parse_ip("127.0.0.2");
        request.flows[i].remote = *parse_ip("127.0.0.3");
        ports.insert(request.flows[i].local_port);
    }
    for (int round = 0; round < 2; ++round) { // and again at once: nothing is left in TIME_WAIT
        const TestOutcome outcome = run(request);
        expect_complete(outcome);
        for (std::size_t i = 0; i < 4; ++i) {
            EXPECT_EQ(outcome.server->flows[i].address.remote_port, request.flows[i].local_port);
            EXPECT_EQ(to_text(outcome.server->flows[i].address.remote), "127.0.0.2");
            EXPECT_EQ(to_text(outcome.server->flows[i].address.local), "127.0.0.3");
        }
    }
}

TEST(Loopback, RateIsKept) {
    TestServer server;
    for (const double rate : {1e6, 50e6, 400e6}) {
        ClientRequest request = request_to(server, 2);
        request.options.duration = 1s;
        request.options.rate = rate;
        const TestOutcome outcome = run(request);
        expect_complete(outcome);
        for (const FlowResult& flow : outcome.server->flows) // within a second, but for a last send
            EXPECT_NEAR(static_cast<double>(flow.received_bytes) * 8, rate, rate * 0.02 + 12'000) << rate;
    }
}

TEST(Loopback, PacesBetweenSends) {
    TestServer server;
    ClientRequest request = request_to(server, 1);
    request.options.length = 2'000;
    request.options.pace = {Pace::Kind::sleep, 10'000};
    const TestOutcome outcome = run(request);
    expect_complete(outcome);
    // A send each 10 ms or a little more, for half a second.
    EXPECT_LE(sums_of(outcome.client).sent, 51U * 2'000);
    EXPECT_GE(sums_of(outcome.client).sent, 10U * 2'000);
}

TEST(Loopback, ARefusedFlowLeavesTheOthers) {
    TestServer server;
    ClientRequest request = request_to(server, 3);
    request.flows[1].remote_port = 1; // nothing listens there
    const TestOutcome outcome = run(request);
    EXPECT_EQ(outcome.asked, 3U);
    EXPECT_EQ(outcome.established, 2U);
    EXPECT_FALSE(outcome.client.flows[1].established);
    EXPECT_THAT(outcome.client.flows[1].failure, HasSubstr("ECONNREFUSED"));
    EXPECT_FALSE(outcome.server->flows[1].established);
    EXPECT_GT(outcome.server->flows[0].received_bytes, 0U);
    EXPECT_GT(outcome.server->flows[2].received_bytes, 0U);
}

TEST(Loopback, NoFlowAtAll) {
    TestServer server;
    ClientRequest request = request_to(server, 2);
    for (FlowAddress& flow : request.flows)
        flow.remote_port = 1;
    const auto outcome = run_client(request, {}, {});
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().what, HasSubstr("no flow could be opened"));
    EXPECT_THAT(outcome.error().what, HasSubstr("ECONNREFUSED"));
}

TEST(Loopback, NoServer) {
    std::uint16_t port = 0;
    {
        TestServer server;
        port = server.port();
    }
    ClientRequest request;
    request.host = *parse_ip("127.0.0.1");
    request.port = port;
    request.flows.resize(1);
    const auto outcome = run_client(request, {}, {});
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().what, HasSubstr("ECONNREFUSED"));
    EXPECT_THAT(outcome.error().advice, HasSubstr("traffic server"));
}

TEST(Loopback, TheClientIsStopped) {
    TestServer server;
    ClientRequest request = request_to(server, 2);
    request.options.direction = Direction::both;
    request.options.duration = 1h;
    StopSwitch stop;
    int ticks = 0;
    const auto outcome = run_client(
        request,
        [&](const Progress&) {
            if (++ticks == 3) stop.flip();
        },
        stop.token());
    ASSERT_TRUE(outcome) << outcome.error().what;
    EXPECT_TRUE(outcome->stopped);
    expect_complete(*outcome); // what was under way arrives, even so
    EXPECT_GE(ticks, 3);
    const auto finished = server.await(ServerEvent::Kind::finished);
    ASSERT_EQ(finished.size(), 1U);
    EXPECT_EQ(finished[0].event.text, "");
    EXPECT_EQ(sums_of(finished[0].result).received, sums_of(*outcome->server).received);
}

TEST(Loopback, TheServerIsStopped) {
    TestServer server;
    ClientRequest request = request_to(server, 2);
    request.options.duration = 1h;
    bool told = false;
    const auto outcome = run_client(request,
                                    [&](const Progress&) {
                                        if (!std::exchange(told, true)) server.begin_to_stop();
                                    },
                                    {});
    ASSERT_TRUE(outcome) << outcome.error().what;
    EXPECT_FALSE(outcome->stopped);
    EXPECT_THAT(outcome->stopped_by_server, HasSubstr("stopped"));
    expect_complete(*outcome);
    EXPECT_EQ(server.wait().tests, 1U);
}

TEST(Loopback, OnceIsOnce) {
    ServerConfig config;
    config.once = true;
    TestServer server(std::move(config));
    run(request_to(server, 1));
    const ServerReport report = server.wait();
    EXPECT_EQ(report.tests, 1U);
    EXPECT_EQ(report.partial, 0U);
    EXPECT_EQ(report.strays, 0U);
}

TEST(Loopback, TwoClientsAtOnce) {
    TestServer server;
    TestOutcome other;
    std::thread second([&] { other = run(request_to(server, 2)); });
    const TestOutcome outcome = run(request_to(server, 2));
    second.join();
    expect_complete(outcome);
    expect_complete(other);
}

TEST(Loopback, ProgressAndIntervalsAddUp) {
    TestServer server;
    ClientRequest request = request_to(server, 2);
    std::uint64_t seen = 0;
    const auto outcome =
        run_client(request, [&](const Progress& progress) { seen += progress.interval.sent_bytes; }, {});
    ASSERT_TRUE(outcome) << outcome.error().what;
    std::uint64_t sent = 0, received = 0, last = 0;
    for (const Interval& interval : outcome->client.intervals) {
        sent += interval.sent_bytes;
        EXPECT_EQ(interval.begin_ns, last);
        last = interval.end_ns;
    }
    for (const Interval& interval : outcome->server->intervals)
        received += interval.received_bytes;
    EXPECT_EQ(sent, sums_of(outcome->client).sent);
    EXPECT_LE(seen, sent);
    EXPECT_GT(seen, 0U);
    EXPECT_LE(received, sums_of(*outcome->server).received);
    EXPECT_GT(received, 0U);
}

class UdpLoopback : public testing::TestWithParam<Kind> {};

TEST_P(UdpLoopback, LosesNothingWhenPaced) {
    TestServer server;
    ClientRequest request = request_to(server, 8, GetParam().v6);
    request.options.transport = Transport::udp;
    request.options.direction = GetParam().direction;
    request.options.no_copy = GetParam().no_copy;
    request.options.gso = std::string_view(GetParam().name).find("gso") != std::string_view::npos;
    request.options.length = 200;
    request.options.rate = 1.6e6; // 1000 datagrams a second
    const TestOutcome outcome = run(request);
    expect_complete(outcome);
    for (const EndResult* end : {&outcome.client, &*outcome.server})
        for (const FlowResult& flow : end->flows) {
            EXPECT_EQ(flow.sent_bytes, 200 * flow.sent_packets);
            EXPECT_EQ(flow.received_bytes, 200 * flow.received_packets);
            EXPECT_FALSE(flow.tcp);
            const bool receives = (end == &outcome.client) == (GetParam().direction == Direction::down) ||
                                  GetParam().direction == Direction::both;
            ASSERT_EQ(flow.udp.has_value(), receives);
            if (!receives) continue;
            EXPECT_NEAR(static_cast<double>(flow.received_packets), 500, 50);
            EXPECT_EQ(flow.udp->lost, 0U);
            EXPECT_EQ(flow.udp->reordered, 0U);
            EXPECT_EQ(flow.udp->duplicated, 0U);
        }
}

INSTANTIATE_TEST_SUITE_P(All, UdpLoopback,
                         testing::Values(Kind{"up", Direction::up, false, false, ""},
                                         Kind{"down", Direction::down, false, false, ""},
                                         Kind{"both", Direction::both, false, false, ""},
                                         Kind{"both6", Direction::both, false, true, ""},
                                         Kind{"no_copy", Direction::both, true, false, ""},
                                         Kind{"gso", Direction::both, false, false, ""}),
                         [](const auto& kind) { return kind.param.name; });

TEST(Loopback, UdpAsFastAsItGoes) {
    TestServer server;
    for (const bool gso : {false, true}) {
        ClientRequest request = request_to(server, 4);
        request.options.transport = Transport::udp;
        request.options.length = 64;
        request.options.gso = gso;
        const TestOutcome outcome = run(request);
        ASSERT_TRUE(outcome.server);
        EXPECT_EQ(outcome.established, 4U);
        std::uint64_t received = 0;
        for (std::size_t i = 0; i < 4; ++i) { // what is lost is accounted for
            const FlowResult &client = outcome.client.flows[i], &flow = outcome.server->flows[i];
            ASSERT_TRUE(flow.udp);
            received += flow.received_packets;
            EXPECT_GT(client.sent_packets, 0U);
            EXPECT_EQ(flow.received_packets + flow.udp->lost - flow.udp->duplicated, client.sent_packets);
            EXPECT_EQ(flow.udp->duplicated, 0U);
        }
        // Not of each flow: the server's socket may be full whenever a flow that gets less of the CPU sends.
        EXPECT_GT(received, 0U);
        if (gso) {
            EXPECT_THAT(outcome.client.features, Contains("udp-segment"));
            EXPECT_THAT(outcome.server->features, Contains("udp-gro"));
        }
    }
}

TEST(Loopback, OneUdpTestAtATime) {
    TestServer server;
    ClientRequest request = request_to(server, 1);
    request.options.transport = Transport::udp;
    request.options.rate = 1e6;
    request.options.length = 100;
    request.options.duration = 1h;
    StopSwitch stop;
    std::string refusal;
    const auto outcome = run_client(
        request,
        [&](const Progress&) {
            if (!refusal.empty()) return;
            const auto second = run_client(request, {}, {});
            refusal = second ? "it was accepted" : second.error().what;
            stop.flip();
        },
        stop.token());
    ASSERT_TRUE(outcome) << outcome.error().what;
    EXPECT_THAT(refusal, HasSubstr("another UDP test is running"));
    EXPECT_TRUE(run_client(request_to(server, 1), {}, {})) << "and then another can have it";
}

} // namespace
} // namespace bondtrace::traffic
