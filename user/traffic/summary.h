// SPDX-License-Identifier: GPL-2.0-or-later
// What both ends of a test measured, added up and joined flow by flow. Pure.
#pragma once

#include "user/traffic/options.h"
#include "user/traffic/results.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace::traffic {

// One direction of the data: from its sender to its receiver, which may be either end.
struct DirectionSummary {
    bool upward = true;                                   // the client sends
    std::uint64_t sent_bytes = 0, received_bytes = 0;     // payload
    std::uint64_t sent_packets = 0, received_packets = 0; // UDP datagrams
    // Payload in bit/s and datagrams a second, each by its end's own time; nullopt: that end had none.
    std::optional<double> sent_rate, received_rate;
    std::optional<double> sent_pps, received_pps;
    std::uint64_t retransmits = 0, reordering = 0;         // TCP: segments, events, at the sender
    std::uint64_t lost = 0, reordered = 0, duplicated = 0; // UDP: datagrams, at the receiver
    std::optional<double> jitter_us;                       // UDP: mean over flows
    // Jain, Chiu and Hawe 1984: (sum x)^2 / (n sum x^2) of the bytes that the receiver got of each flow that
    // was established: 1 all alike, 1/n one has all. nullopt: nothing was received.
    std::optional<double> fairness;
};

// The rates of the progress intervals, in bit/s, as the receivers saw them. Intervals shorter than half the
// usual (the last one) are left out.
struct SpreadOverTime {
    std::size_t intervals = 0;
    double least = 0, mean = 0, most = 0;
    double deviation = 0; // of the sample; 0 with one interval
};

struct EndSummary {
    std::uint64_t elapsed_ns = 0, user_ns = 0, system_ns = 0;
    std::optional<double> cpus; // CPU time by elapsed time: 1 is one CPU, all of the time
    // CPU time per KB of payload sent and received at this end, as netperf defines its service demand (1 KB =
    // 1024 bytes). nullopt: no payload, or no CPU time known.
    std::optional<double> us_per_kb;
};

// A flow as both ends saw it. The addresses are the client's.
struct FlowRow {
    std::size_t index = 0; // in the test
    FlowAddress address;
    bool established = false;                                                     // at both ends
    std::string failure;                                                          // of either end
    std::uint64_t up_sent = 0, up_received = 0, down_sent = 0, down_received = 0; // bytes
    std::uint64_t up_sent_packets = 0, up_received_packets = 0;                   // UDP
    std::uint64_t down_sent_packets = 0, down_received_packets = 0;
    double goodput = 0;                       // received payload of both directions, bit/s
    std::optional<std::uint64_t> retransmits; // TCP: of both ends
    std::optional<std::uint32_t> rtt_min_us, rtt_avg_us,
        rtt_max_us; // of the end that sends (the client's for both)
    std::optional<std::uint64_t> reordering;
    std::optional<UdpFacts> up_udp, down_udp;
    std::uint64_t stalled_intervals = 0; // the greater of both ends'
};

struct TrafficSummary {
    std::size_t flows = 0, established = 0;
    std::vector<DirectionSummary> directions; // up, down, or both in this order
    EndSummary client;
    std::optional<EndSummary> server;     // nullopt: the server did not report
    std::optional<double> us_per_kb_both; // CPU time of both ends per KB that was received
    std::optional<SpreadOverTime> spread;
    std::size_t stalled_flows = 0; // established, without a byte in some interval
    std::vector<FlowRow> rows;     // in the test's order
    std::vector<std::string> notes;
};

// `server` nullptr: it did not report; what it would have said is missing then, and rates are the sender's
// where the receiver's are not known.
TrafficSummary summarize(const TestOptions& options, const EndResult& client, const EndResult* server);

// Positions in `rows` of established flows: the `count` with the highest goodput, descending, and the `count`
// with the lowest, ascending, none of the former. With up to 2 * `count` rows all are in `top`, those that
// failed last; with more, those that failed are nowhere, unless all have.
struct Extremes {
    std::vector<std::size_t> top, bottom;
};
Extremes extremes(const std::vector<FlowRow>& rows, std::size_t count);

} // namespace bondtrace::traffic
