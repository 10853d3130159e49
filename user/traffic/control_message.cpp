// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/control_message.h"

#include "user/base/text.h"
#include "user/traffic/control_reader.h"
#include "user/traffic/control_trace.h"
#include "user/traffic/option_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bondtrace::traffic {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, std::variant_size_v<Message>> type_names{
    "hello", "refusal", "request", "accepted", "start", "started", "progress",
    "ended", "finish",  "summary", "flows",    "trace", "traced",  "done"};

// The longest test: what keeps nanoseconds and sums of bytes far from overflowing.
constexpr std::uint64_t max_duration_ns = 7ULL * 24 * 3600 * 1'000'000'000;
constexpr std::uint64_t min_interval_ns = 10'000'000;
constexpr double max_rate = 1e13;
constexpr std::uint32_t max_length = 64U * 1024 * 1024;
constexpr std::uint32_t max_window = 1U << 30;
constexpr std::uint32_t max_threads = 1024;

std::string hex(const Token& token) {
    std::string text;
    for (const std::uint8_t byte : token)
        text += fmt::format("{:02x}", byte);
    return text;
}

// --- writing

json to_json(const TestOptions& options) {
    json value{{"transport", name_of(options.transport)},
               {"direction", name_of(options.direction)},
               {"duration_ns", options.duration.count()},
               {"bytes", options.bytes},
               {"length", options.length},
               {"window", options.window},
               {"rate", options.rate},
               {"pace", name_of(options.pace.kind)},
               {"pace_amount", options.pace.amount},
               {"threads", options.threads},
               {"congestion", safe(options.congestion)},
               {"no_copy", options.no_copy},
               {"gso", options.gso},
               {"interval_ns", options.interval.count()}};
    if (options.dscp) value["dscp"] = *options.dscp;
    return value;
}

json to_json(const Interval& interval) {
    return {{"begin_ns", interval.begin_ns},         {"end_ns", interval.end_ns},
            {"sent_bytes", interval.sent_bytes},     {"received_bytes", interval.received_bytes},
            {"sent_packets", interval.sent_packets}, {"received_packets", interval.received_packets}};
}

json to_json(const FlowResult& flow) {
    json value{{"established", flow.established},           {"local", to_text(flow.address.local)},
               {"remote", to_text(flow.address.remote)},    {"local_port", flow.address.local_port},
               {"remote_port", flow.address.remote_port},   {"sent_bytes", flow.sent_bytes},
               {"received_bytes", flow.received_bytes},     {"sent_packets", flow.sent_packets},
               {"received_packets", flow.received_packets}, {"stalled_intervals", flow.stalled_intervals}};
    if (!flow.failure.empty()) value["failure"] = safe(flow.failure.substr(0, max_failure));
    if (flow.tcp)
        value["tcp"] = {{"retransmits", flow.tcp->retransmits},
                        {"rtt_min_us", flow.tcp->rtt_min_us},
                        {"rtt_avg_us", flow.tcp->rtt_avg_us},
                        {"rtt_max_us", flow.tcp->rtt_max_us},
                        {"reordering", flow.tcp->reordering}};
    if (flow.udp)
        value["udp"] = {{"lost", flow.udp->lost},
                        {"reordered", flow.udp->reordered},
                        {"duplicated", flow.udp->duplicated},
                        {"jitter_us", flow.udp->jitter_us}};
    return value;
}

json to_json(const SummaryMessage& message) {
    const EndResult& result = message.result;
    json value{{"flows", message.flows},
               {"elapsed_ns", result.elapsed_ns},
               {"user_ns", result.user_ns},
               {"system_ns", result.system_ns},
               {"features", result.features},
               {"congestion", safe(result.congestion)},
               {"pacing", result.pacing},
               {"send_buffer", result.send_buffer},
               {"receive_buffer", result.receive_buffer},
               {"notes", json::array()}};
    for (std::size_t i = 0; i < std::min(result.notes.size(), max_notes); ++i)
        value["notes"].push_back(safe(result.notes[i]));
    return value;
}

struct Body {
    json operator()(const HelloMessage& message) const {
        return {{"protocol", message.protocol}, {"version", safe(message.version)}};
    }
    json operator()(const RefusalMessage& message) const {
        return {{"reason", safe(message.reason)}, {"advice", safe(message.advice)}};
    }
    json operator()(const RequestMessage& message) const {
        return {{"flows", message.flows}, {"options", to_json(message.options)}, {"trace", message.trace}};
    }
    json operator()(const AcceptedMessage& message) const {
        return {{"token", hex(message.token)}, {"untraced", safe(message.untraced)}};
    }
    json operator()(const StartMessage& message) const { return {{"flows", message.flows}}; }
    json operator()(const StartedMessage& message) const { return {{"flows", message.flows}}; }
    json operator()(const ProgressMessage& message) const {
        return {{"interval", to_json(message.interval)}};
    }
    json operator()(const EndedMessage& message) const { return {{"reason", safe(message.reason)}}; }
    json operator()(const FinishMessage&) const { return json::object(); }
    json operator()(const SummaryMessage& message) const { return to_json(message); }
    json operator()(const FlowsMessage& message) const {
        json flows = json::array();
        for (const FlowResult& flow : message.flows)
            flows.push_back(to_json(flow));
        return {{"first", message.first}, {"flows", std::move(flows)}};
    }
    json operator()(const TraceMessage& message) const { return trace_body(message); }
    json operator()(const TracedMessage& message) const { return trace_body(message); }
    json operator()(const DoneMessage&) const { return json::object(); }
};

// --- reading

TestOptions read_options(const ControlReader& from) {
    TestOptions options;
    options.transport = from.word("transport", parse_transport);
    options.direction = from.word("direction", parse_direction);
    options.duration = std::chrono::nanoseconds(from.number<std::uint64_t>("duration_ns", max_duration_ns));
    options.bytes = from.number<std::uint64_t>("bytes", std::uint64_t{1} << 60);
    options.length = from.number<std::uint32_t>("length", max_length);
    options.window = from.number<std::uint32_t>("window", max_window);
    options.rate = from.real("rate", max_rate);
    options.pace.kind = from.word("pace", parse_pace_kind);
    options.pace.amount = from.number<std::uint64_t>("pace_amount", 1'000'000'000);
    options.threads = from.number<unsigned>("threads", max_threads);
    options.congestion = from.text("congestion", 15); // TCP_CA_NAME_MAX and its end
    if (from.has("dscp")) options.dscp = from.number<std::uint8_t>("dscp", 63);
    options.no_copy = from.truth("no_copy");
    options.gso = from.truth("gso");
    options.interval = std::chrono::nanoseconds(from.number<std::uint64_t>("interval_ns", max_duration_ns));
    if (static_cast<std::uint64_t>(options.interval.count()) < min_interval_ns)
        from.complain("interval_ns", "is less than 10 ms");
    if (options.duration.count() == 0 && options.bytes == 0)
        from.complain("duration_ns", "and bytes are both 0: the test would have no end");
    return options;
}

Interval read_interval(const ControlReader& from) {
    return {from.number<std::uint64_t>("begin_ns"),     from.number<std::uint64_t>("end_ns"),
            from.number<std::uint64_t>("sent_bytes"),   from.number<std::uint64_t>("received_bytes"),
            from.number<std::uint64_t>("sent_packets"), from.number<std::uint64_t>("received_packets")};
}

FlowResult read_flow(const ControlReader& from, Wrong& wrong) {
    FlowResult flow;
    flow.established = from.truth("established");
    if (from.has("failure")) flow.failure = from.text("failure", 3 * max_failure);
    flow.address = {from.address("local"), from.address("remote"), from.number<std::uint16_t>("local_port"),
                    from.number<std::uint16_t>("remote_port")};
    flow.sent_bytes = from.number<std::uint64_t>("sent_bytes");
    flow.received_bytes = from.number<std::uint64_t>("received_bytes");
    flow.sent_packets = from.number<std::uint64_t>("sent_packets");
    flow.received_packets = from.number<std::uint64_t>("received_packets");
    flow.stalled_intervals = from.number<std::uint64_t>("stalled_intervals");
    if (from.has("tcp"))
        if (const auto tcp = from.object("tcp", wrong))
            flow.tcp =
                TcpFacts{tcp->number<std::uint64_t>("retransmits"), tcp->number<std::uint32_t>("rtt_min_us"),
                         tcp->number<std::uint32_t>("rtt_avg_us"), tcp->number<std::uint32_t>("rtt_max_us"),
                         tcp->number<std::uint64_t>("reordering")};
    if (from.has("udp"))
        if (const auto udp = from.object("udp", wrong))
            flow.udp = UdpFacts{udp->number<std::uint64_t>("lost"), udp->number<std::uint64_t>("reordered"),
                                udp->number<std::uint64_t>("duplicated"), udp->real("jitter_us", 1e12)};
    return flow;
}

SummaryMessage read_summary(const ControlReader& from) {
    SummaryMessage message;
    message.flows = from.number<std::uint32_t>("flows", max_flows);
    message.result.elapsed_ns = from.number<std::uint64_t>("elapsed_ns");
    message.result.user_ns = from.number<std::uint64_t>("user_ns");
    message.result.system_ns = from.number<std::uint64_t>("system_ns");
    message.result.features = from.texts("features", max_features);
    message.result.congestion = from.text("congestion");
    message.result.pacing = from.truth("pacing");
    message.result.send_buffer = from.number<std::uint32_t>("send_buffer");
    message.result.receive_buffer = from.number<std::uint32_t>("receive_buffer");
    message.result.notes = from.texts("notes", max_notes);
    return message;
}

Token read_token(const ControlReader& from) {
    Token token{};
    const std::string text = from.text("token");
    bool good = text.size() == 2 * token.size();
    for (std::size_t i = 0; good && i < token.size(); ++i) {
        const char* const begin = text.data() + 2 * i;
        const auto [end, error] = std::from_chars(begin, begin + 2, token[i], 16);
        good = error == std::errc{} && end == begin + 2;
    }
    if (!good) from.complain("token", "is no token of 32 hex digits");
    return token;
}

FlowsMessage read_flows(const ControlReader& from, Wrong& wrong) {
    FlowsMessage message;
    message.first = from.number<std::uint32_t>("first", max_flows);
    const json* const flows = from.array("flows", max_flows_chunk);
    if (!flows) return message;
    for (const json& flow : *flows) {
        if (!flow.is_object()) {
            from.complain("flows", "has something that is no object");
            break;
        }
        message.flows.push_back(read_flow(ControlReader(flow, "flow", wrong), wrong));
    }
    return message;
}

constexpr auto flow_limit = static_cast<std::uint32_t>(max_flows);

Message read_body(std::size_t type, const ControlReader& from, Wrong& wrong) {
    switch (type) {
    case 0:
        return HelloMessage{from.number<std::uint32_t>("protocol"), from.text("version")};
    case 1:
        return RefusalMessage{from.text("reason"), from.text("advice")};
    case 2: {
        RequestMessage message;
        message.flows = from.number<std::uint32_t>("flows", flow_limit);
        if (message.flows == 0) from.complain("flows", "is 0");
        if (const auto options = from.object("options", wrong)) message.options = read_options(*options);
        message.trace = from.truth("trace");
        return message;
    }
    case 3:
        return AcceptedMessage{read_token(from), from.text("untraced")};
    case 4:
        return StartMessage{from.number<std::uint32_t>("flows", flow_limit)};
    case 5:
        return StartedMessage{from.number<std::uint32_t>("flows", flow_limit)};
    case 6: {
        ProgressMessage message;
        if (const auto interval = from.object("interval", wrong)) message.interval = read_interval(*interval);
        return message;
    }
    case 7:
        return EndedMessage{from.text("reason")};
    case 8:
        return FinishMessage{};
    case 9:
        return read_summary(from);
    case 10:
        return read_flows(from, wrong);
    case 11:
        return read_trace(from, wrong);
    case 12:
        return read_traced(from);
    default:
        return DoneMessage{};
    }
}

// Brackets that are open at once, before the text is parsed.
bool too_deep(std::string_view text) {
    std::size_t depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\') ++i;
            if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > max_nesting) return true;
        } else if ((c == '}' || c == ']') && depth > 0) {
            --depth;
        }
    }
    return false;
}

} // namespace

std::string_view type_name(const Message& message) {
    return type_names[message.index()];
}

std::string encode(const Message& message) {
    json body = std::visit(Body{}, message);
    body["type"] = type_name(message);
    return body.dump();
}

Result<Message> decode(std::string_view text) {
    const auto bad = [](const std::string& what) {
        return fail(ErrorKind::unavailable, "a message of the other end cannot be understood: " + what,
                    "is it bondtrace that answers there?");
    };
    if (text.size() > max_message_size)
        return bad(fmt::format("it is longer than {} bytes", max_message_size));
    if (too_deep(text)) return bad("it is nested too deeply");
    const json document = json::parse(text, nullptr, false);
    if (!document.is_object()) return bad("it is no JSON object");
    const auto type = document.find("type");
    const auto* const name = type == document.end() ? nullptr : type->get_ptr<const std::string*>();
    if (!name) return bad("it has no type");
    const auto known = std::find(type_names.begin(), type_names.end(), *name);
    if (known == type_names.end()) return bad(fmt::format("its type is '{}'", sanitize(name->substr(0, 32))));
    Wrong wrong;
    Message message = read_body(static_cast<std::size_t>(known - type_names.begin()),
                                ControlReader(document, *name, wrong), wrong);
    if (wrong) return bad(wrong->what);
    return message;
}

} // namespace bondtrace::traffic
