// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/control_message.h"

#include <limits>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace bondtrace::traffic {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

template<typename T> T round_trip(const T& message) {
    const std::string text = encode(message);
    EXPECT_LE(text.size(), max_message_size);
    const auto decoded = decode(text);
    EXPECT_TRUE(decoded.has_value()) << decoded.error().what << "\n" << text;
    if (!decoded) return {};
    EXPECT_TRUE(std::holds_alternative<T>(*decoded));
    return std::get<T>(*decoded);
}

std::string error_of(const std::string& text) {
    const auto decoded = decode(text);
    EXPECT_FALSE(decoded.has_value()) << text;
    return decoded ? "" : decoded.error().what;
}

TEST(ControlMessage, RequestKeepsEveryOption) {
    RequestMessage request;
    request.flows = 50'000;
    request.options.transport = Transport::udp;
    request.options.direction = Direction::both;
    request.options.duration = std::chrono::milliseconds(2'500);
    request.options.bytes = 1ULL << 40;
    request.options.length = 1'400;
    request.options.window = 1U << 20;
    request.options.rate = 1.25e9;
    request.options.pace = {Pace::Kind::busy, 1'000};
    request.options.threads = 4;
    request.options.cpus = {1, 2};
    request.options.congestion = "cubic";
    request.options.dscp = 46;
    request.options.no_copy = true;
    request.options.gso = true;
    request.options.interval = std::chrono::milliseconds(100);
    const RequestMessage back = round_trip(request);
    EXPECT_EQ(back.flows, 50'000U);
    EXPECT_EQ(back.options.transport, Transport::udp);
    EXPECT_EQ(back.options.direction, Direction::both);
    EXPECT_EQ(back.options.duration, std::chrono::milliseconds(2'500));
    EXPECT_EQ(back.options.bytes, 1ULL << 40);
    EXPECT_EQ(back.options.length, 1'400U);
    EXPECT_EQ(back.options.window, 1U << 20);
    EXPECT_EQ(back.options.rate, 1.25e9);
    EXPECT_EQ(back.options.pace.kind, Pace::Kind::busy);
    EXPECT_EQ(back.options.pace.amount, 1'000U);
    EXPECT_EQ(back.options.threads, 4U);
    EXPECT_TRUE(back.options.cpus.empty()) << "the CPUs of one end mean nothing at the other";
    EXPECT_EQ(back.options.congestion, "cubic");
    EXPECT_EQ(back.options.dscp, 46);
    EXPECT_TRUE(back.options.no_copy);
    EXPECT_TRUE(back.options.gso);
    EXPECT_EQ(back.options.interval, std::chrono::milliseconds(100));
}

TEST(ControlMessage, ResultsKeepEveryNumber) {
    FlowsMessage flows;
    flows.first = 256;
    FlowResult flow;
    flow.established = true;
    flow.failure = "receive: Connection reset by peer (ECONNRESET)";
    flow.address = {*parse_ip("2001:db8::1"), *parse_ip("2001:db8::2"), 40'000, 5'477};
    flow.sent_bytes = std::numeric_limits<std::uint64_t>::max();
    flow.received_bytes = 2;
    flow.sent_packets = 3;
    flow.received_packets = 4;
    flow.stalled_intervals = 5;
    flow.tcp = TcpFacts{6, 7, 8, 9, 10};
    flow.udp = UdpFacts{11, 12, 13, 14.5};
    flows.flows = {flow, FlowResult{}};
    const FlowsMessage back = round_trip(flows);
    EXPECT_EQ(back.first, 256U);
    ASSERT_EQ(back.flows.size(), 2U);
    const FlowResult& first = back.flows[0];
    EXPECT_TRUE(first.established);
    EXPECT_EQ(first.failure, flow.failure);
    EXPECT_EQ(first.address, flow.address);
    EXPECT_EQ(first.sent_bytes, std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(first.received_bytes, 2U);
    EXPECT_EQ(first.sent_packets, 3U);
    EXPECT_EQ(first.received_packets, 4U);
    EXPECT_EQ(first.stalled_intervals, 5U);
    ASSERT_TRUE(first.tcp);
    EXPECT_EQ(first.tcp->retransmits, 6U);
    EXPECT_EQ(first.tcp->rtt_min_us, 7U);
    EXPECT_EQ(first.tcp->rtt_avg_us, 8U);
    EXPECT_EQ(first.tcp->rtt_max_us, 9U);
    EXPECT_EQ(first.tcp->reordering, 10U);
    ASSERT_TRUE(first.udp);
    EXPECT_EQ(first.udp->lost, 11U);
    EXPECT_EQ(first.udp->reordered, 12U);
    EXPECT_EQ(first.udp->duplicated, 13U);
    EXPECT_EQ(first.udp->jitter_us, 14.5);
    EXPECT_FALSE(back.flows[1].established);
    EXPECT_FALSE(back.flows[1].tcp || back.flows[1].udp);
}

TEST(ControlMessage, TraceKeepsEveryNumber) {
    TraceMessage message;
    message.flows = 2;
    message.failure = "why";
    message.trace.bond = "bond1";
    message.trace.mode = "802.3ad";
    message.trace.policy = "layer3+4";
    message.trace.attach = "kprobe";
    message.trace.notes = {"a note"};
    message.trace.slaves = {{"p0", true, 25'000, 1, 2, 3, 4, 1.0, 0.25},
                            {"p1", false, {}, 5, 6, 7, 8, {}, {}}};
    const TraceMessage back = round_trip(message);
    EXPECT_EQ(back.flows, 2U);
    EXPECT_EQ(back.failure, "why");
    EXPECT_EQ(back.trace.bond, "bond1");
    EXPECT_EQ(back.trace.mode, "802.3ad");
    EXPECT_EQ(back.trace.policy, "layer3+4");
    EXPECT_EQ(back.trace.attach, "kprobe");
    EXPECT_THAT(back.trace.notes, ElementsAre("a note"));
    ASSERT_EQ(back.trace.slaves.size(), 2U);
    const TracedSlave& first = back.trace.slaves[0];
    EXPECT_EQ(first.name, "p0");
    EXPECT_TRUE(first.usable);
    EXPECT_EQ(first.speed_mbps, 25'000U);
    EXPECT_EQ(first.tx_bytes, 1U);
    EXPECT_EQ(first.rx_bytes, 2U);
    EXPECT_EQ(first.tx_counter_bytes, 3U);
    EXPECT_EQ(first.rx_counter_bytes, 4U);
    EXPECT_EQ(first.tx_coverage, 1.0);
    EXPECT_EQ(first.rx_coverage, 0.25);
    EXPECT_FALSE(back.trace.slaves[1].speed_mbps || back.trace.slaves[1].tx_coverage);

    TracedMessage flows;
    flows.first = 64;
    flows.flows = {{{{0, 10, 1'000}, {1, 1, 60}}, {{1, 9, 900}}}, {}};
    const TracedMessage traced = round_trip(flows);
    EXPECT_EQ(traced.first, 64U);
    ASSERT_EQ(traced.flows.size(), 2U);
    EXPECT_THAT(traced.flows[0].tx, ElementsAre(TracedUse{0, 10, 1'000}, TracedUse{1, 1, 60}));
    EXPECT_THAT(traced.flows[0].rx, ElementsAre(TracedUse{1, 9, 900}));
    EXPECT_TRUE(traced.flows[1].tx.empty() && traced.flows[1].rx.empty());
}

TEST(ControlMessage, ATraceThatCannotBeIsRefused) {
    TracedMessage flows;
    flows.flows = {{{{0, 1, 2}}, {}}};
    const json good = json::parse(encode(flows));
    const auto with_uses = [&](const json& uses) {
        json changed = good;
        changed["flows"][0]["tx"] = uses;
        return changed.dump();
    };
    EXPECT_TRUE(decode(with_uses(json::parse("[[63,1,2]]"))).has_value());
    EXPECT_THAT(error_of(with_uses(json::parse("[[64,1,2]]"))), HasSubstr("traced.flows"));
    EXPECT_THAT(error_of(with_uses(json::parse("[[-1,1,2]]"))), HasSubstr("traced.flows"));
    EXPECT_THAT(error_of(with_uses(json::parse("[[0,1]]"))), HasSubstr("traced.flows"));
    EXPECT_THAT(error_of(with_uses(json::parse("[0,1,2]"))), HasSubstr("traced.flows"));
    EXPECT_THAT(error_of(with_uses(json::parse("{}"))), HasSubstr("traced.flows"));
    json many = json::array();
    for (std::size_t i = 0; i <= max_traced_uses; ++i)
        many.push_back({0, 1, 2});
    EXPECT_THAT(error_of(with_uses(many)), HasSubstr("traced.flows"));
}

TEST(ControlMessage, SummaryKeepsEveryNumber) {
    SummaryMessage summary;
    summary.flows = 3;
    summary.result.elapsed_ns = 10'000'000'001;
    summary.result.user_ns = 1;
    summary.result.system_ns = 2;
    summary.result.features = {"single-issuer", "msg-trunc"};
    summary.result.congestion = "bbr";
    summary.result.pacing = true;
    summary.result.send_buffer = 425'984;
    summary.result.receive_buffer = 131'072;
    summary.result.notes = {"cut by net.core.wmem_max"};
    const SummaryMessage back = round_trip(summary);
    EXPECT_EQ(back.flows, 3U);
    EXPECT_EQ(back.result.elapsed_ns, 10'000'000'001U);
    EXPECT_EQ(back.result.user_ns, 1U);
    EXPECT_EQ(back.result.system_ns, 2U);
    EXPECT_THAT(back.result.features, ElementsAre("single-issuer", "msg-trunc"));
    EXPECT_EQ(back.result.congestion, "bbr");
    EXPECT_TRUE(back.result.pacing);
    EXPECT_EQ(back.result.send_buffer, 425'984U);
    EXPECT_EQ(back.result.receive_buffer, 131'072U);
    EXPECT_THAT(back.result.notes, ElementsAre("cut by net.core.wmem_max"));
}

TEST(ControlMessage, SmallOnes) {
    EXPECT_EQ(round_trip(HelloMessage{7, "0.1.0"}).protocol, 7U);
    EXPECT_EQ(round_trip(RefusalMessage{"busy", "later"}).advice, "later");
    AcceptedMessage accepted;
    for (std::uint8_t i = 0; i < 16; ++i)
        accepted.token[i] = static_cast<std::uint8_t>(i * 17);
    EXPECT_EQ(round_trip(accepted).token, accepted.token);
    EXPECT_EQ(round_trip(StartMessage{9}).flows, 9U);
    EXPECT_EQ(round_trip(StartedMessage{8}).flows, 8U);
    EXPECT_EQ(round_trip(ProgressMessage{{1, 2, 3, 4, 5, 6}}).interval.received_packets, 6U);
    EXPECT_EQ(round_trip(EndedMessage{"stopped"}).reason, "stopped");
    round_trip(FinishMessage{});
    round_trip(DoneMessage{});
}

TEST(ControlMessage, TheLargestChunkFitsAMessage) {
    FlowsMessage flows;
    flows.first = 49'999;
    FlowResult flow;
    flow.established = true;
    flow.failure.assign(max_failure, '"'); // doubled by quoting
    flow.address = {*parse_ip("2001:db8:1111:2222:3333:4444:5555:6666"),
                    *parse_ip("2001:db8:1111:2222:3333:4444:5555:7777"), 65'535, 65'535};
    flow.sent_bytes = flow.received_bytes = flow.sent_packets = flow.received_packets =
        flow.stalled_intervals = std::numeric_limits<std::uint64_t>::max();
    flow.tcp = TcpFacts{~0ULL, ~0U, ~0U, ~0U, ~0ULL};
    flow.udp = UdpFacts{~0ULL, ~0ULL, ~0ULL, 1.2345678901234567e9};
    flows.flows.assign(max_flows_chunk, flow);
    EXPECT_LE(encode(flows).size(), max_message_size);
    EXPECT_EQ(round_trip(flows).flows.size(), max_flows_chunk);
}

TEST(ControlMessage, RefusesWhatIsNoMessage) {
    EXPECT_THAT(error_of(""), HasSubstr("no JSON object"));
    EXPECT_THAT(error_of("[]"), HasSubstr("no JSON object"));
    EXPECT_THAT(error_of("{"), HasSubstr("no JSON object"));
    EXPECT_THAT(error_of("{}"), HasSubstr("no type"));
    EXPECT_THAT(error_of(R"({"type":1})"), HasSubstr("no type"));
    EXPECT_THAT(error_of(R"({"type":"reboot"})"), HasSubstr("'reboot'"));
    EXPECT_THAT(error_of("{\"type\":\"a\\u001b[2Jb\"}"), testing::Not(HasSubstr("\x1b")));
}

TEST(ControlMessage, RefusesTooMuch) {
    EXPECT_THAT(error_of(std::string(max_message_size + 1, ' ')), HasSubstr("longer than"));
    std::string deep = R"({"type":)";
    for (std::size_t i = 0; i < max_nesting; ++i)
        deep += '[';
    EXPECT_THAT(error_of(deep), HasSubstr("nested"));
    EXPECT_THAT(error_of(std::string(200'000, '[')), HasSubstr("nested"));
    // Brackets within text are text.
    EXPECT_EQ(
        std::get<RefusalMessage>(*decode(R"({"type":"refusal","reason":"[[[[[[[[[[[[\"{{{{{{","advice":""})"))
            .reason,
        "[[[[[[[[[[[[\"{{{{{{");
    json long_text{{"type", "hello"}, {"protocol", 1}, {"version", std::string(max_text + 1, 'x')}};
    EXPECT_THAT(error_of(long_text.dump()), HasSubstr("hello.version"));
    json many{{"type", "flows"}, {"first", 0}, {"flows", json::array()}};
    for (std::size_t i = 0; i <= max_flows_chunk; ++i)
        many["flows"].push_back(json::object());
    EXPECT_THAT(error_of(many.dump()), HasSubstr("flows.flows"));
}

// The request of a test, with one member changed.
std::string changed(const char* name, const json& value) {
    json request = json::parse(encode(RequestMessage{TestOptions{}, 1}));
    (std::string_view(name) == "flows" ? request : request["options"])[name] = value;
    return request.dump();
}

TEST(ControlMessage, RefusesNumbersOutOfRange) {
    ASSERT_TRUE(decode(encode(RequestMessage{TestOptions{}, 1})));
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, json>>{
             {"flows", 0},
             {"flows", 50'001},
             {"flows", -1},
             {"flows", 1.5},
             {"flows", "1"},
             {"duration_ns", -1},
             {"duration_ns", 1e30},
             {"duration_ns", 8ULL * 24 * 3600 * 1'000'000'000},
             {"length", 65U * 1024 * 1024},
             {"window", (1ULL << 30) + 1},
             {"rate", -1.0},
             {"rate", 1e14},
             {"rate", nullptr},
             {"threads", 1'025},
             {"dscp", 64},
             {"interval_ns", 9'999'999},
             {"no_copy", 1},
             {"transport", "sctp"},
             {"direction", "sideways"},
             {"pace", "sprint"},
             {"congestion", std::string(16, 'c')},
         })
        EXPECT_THAT(error_of(changed(name, value)), HasSubstr(name)) << value;
    json endless = json::parse(changed("duration_ns", 0));
    EXPECT_THAT(error_of(endless.dump()), HasSubstr("no end"));
}

TEST(ControlMessage, RefusesABadToken) {
    for (const std::string token :
         {"", "00", "zz0102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e0f00"})
        EXPECT_THAT(error_of(json{{"type", "accepted"}, {"token", token}}.dump()), HasSubstr("token"));
}

TEST(ControlMessage, TextThatIsNoUtf8IsMended) {
    EXPECT_EQ(round_trip(EndedMessage{"a\xff"
                                      "b"})
                  .reason,
              "a\uFFFD"
              "b");
}

} // namespace
} // namespace bondtrace::traffic
