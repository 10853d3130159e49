// SPDX-License-Identifier: GPL-2.0-or-later
// What the two ends of a test say to each other on the control connection, as JSON texts. Pure: the frames
// around the texts are control_channel.h's.
//
//   client                          server
//   hello                    ->
//                            <-     hello, or refusal
//   request                  ->
//                            <-     accepted, or refusal
//   (data flows are opened)
//   start                    ->
//                            <-     started
//   progress, at times       <->    progress, each interval
//                            <-     ended: everything is sent, or sending was stopped
//   finish                   ->
//                            <-     summary, flows (as often as it takes)
//                            <-     trace, traced (as often as it takes), when the test was traced
//                            <-     done
#pragma once

#include "user/base/result.h"
#include "user/traffic/end_trace.h"
#include "user/traffic/options.h"
#include "user/traffic/results.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bondtrace::traffic {

inline constexpr std::uint32_t protocol_version = 2;

// What a message may be at most.
inline constexpr std::size_t max_message_size = 262'144; // bytes of JSON
inline constexpr std::size_t max_nesting = 8;
inline constexpr std::size_t max_failure = 300;     // bytes of why a flow failed
inline constexpr std::size_t max_text = 1024;       // bytes of one string
inline constexpr std::size_t max_flows_chunk = 128; // flows in one message
inline constexpr std::size_t max_traced_chunk = 64; // traced flows in one message
inline constexpr std::size_t max_notes = 64, max_features = 64;

struct HelloMessage {
    std::uint32_t protocol = protocol_version;
    std::string version; // of the program, for messages
};
struct RefusalMessage {
    std::string reason, advice;
};
struct RequestMessage {
    TestOptions options; // `cpus` are each end's own and do not travel
    std::uint32_t flows = 0;
    bool trace = false; // on a bond of the server
};
struct AcceptedMessage {
    Token token{};
    std::string untraced; // why the test is not traced although that was asked for; empty: it is
};
struct StartMessage {
    std::uint32_t flows = 0; // that the client has established
};
struct StartedMessage {
    std::uint32_t flows = 0; // that the server has as well
};
struct ProgressMessage {
    Interval interval;
};
struct EndedMessage {
    std::string reason; // empty: time or bytes are over
};
struct FinishMessage {};
struct SummaryMessage {
    EndResult result; // without the flows
    std::uint32_t flows = 0;
};
struct FlowsMessage {
    std::uint32_t first = 0; // position of flows[0]
    std::vector<FlowResult> flows;
};
struct TraceMessage {
    EndTrace trace; // without the flows
    std::uint32_t flows = 0;
    std::string failure; // why there is none although it was begun; empty: there is
};
struct TracedMessage {
    std::uint32_t first = 0; // position of flows[0]
    std::vector<TracedFlow> flows;
};
struct DoneMessage {};

using Message = std::variant<HelloMessage, RefusalMessage, RequestMessage, AcceptedMessage, StartMessage,
                             StartedMessage, ProgressMessage, EndedMessage, FinishMessage, SummaryMessage,
                             FlowsMessage, TraceMessage, TracedMessage, DoneMessage>;

// "hello", "refusal", ...
std::string_view type_name(const Message& message);

std::string encode(const Message& message);

// Checks everything that a hostile peer could send: sizes, nesting, ranges, types. The error says what is
// wrong and where.
Result<Message> decode(std::string_view text);

} // namespace bondtrace::traffic
