// SPDX-License-Identifier: GPL-2.0-or-later
// What a test of the traffic generator measured, at one end and for each flow: plain data, filled by the
// engine, carried by the control channel, summed up and written by the reports. A flow has the same position
// in the vectors of both ends.
#pragma once

#include "user/traffic/options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace::traffic {

// TCP_INFO at the end of the test, as this end's socket saw it.
struct TcpFacts {
    std::uint64_t retransmits = 0; // segments
    std::uint32_t rtt_min_us = 0;  // tcpi_min_rtt
    std::uint32_t rtt_avg_us = 0;  // mean of tcpi_rtt over the progress intervals
    std::uint32_t rtt_max_us = 0;  // greatest tcpi_rtt seen at a progress interval
    std::uint64_t reordering = 0;  // tcpi_reord_seen: reordering events
};

// One direction of a UDP flow as its receiver saw it, by the sequence number and time in each datagram.
struct UdpFacts {
    std::uint64_t lost = 0, reordered = 0, duplicated = 0; // datagrams
    double jitter_us = 0;                                  // RFC 3550, 6.4.1
};

// One flow at one end.
struct FlowResult {
    bool established = false;
    std::string failure; // why it did not start or ended early, in the user's words; empty: nothing failed
    FlowAddress address; // as in force (the local port the kernel chose)
    std::uint64_t sent_bytes = 0, received_bytes = 0;     // payload
    std::uint64_t sent_packets = 0, received_packets = 0; // UDP datagrams; 0 for TCP
    std::uint64_t stalled_intervals = 0;                  // progress intervals in which no byte moved
    std::optional<TcpFacts> tcp;
    std::optional<UdpFacts> udp; // of what this end received
};

// Sums of one progress interval at one end.
struct Interval {
    std::uint64_t begin_ns = 0, end_ns = 0; // since the test's start
    std::uint64_t sent_bytes = 0, received_bytes = 0;
    std::uint64_t sent_packets = 0, received_packets = 0;
};

// One end of a test.
struct EndResult {
    std::uint64_t elapsed_ns = 0;             // from the first to the last data operation
    std::uint64_t user_ns = 0, system_ns = 0; // CPU time of the threads that carried data
    std::vector<FlowResult> flows;
    std::vector<Interval> intervals;
    std::vector<std::string> features; // of io_uring and sockets that were used: "single-issuer", "msg-trunc"
    std::string congestion;            // in force (TCP)
    bool pacing = false;               // the kernel paces these sockets by itself
    std::uint32_t send_buffer = 0, receive_buffer = 0; // bytes got, as SO_SNDBUF and SO_RCVBUF report them
    std::vector<std::string>
        notes; // what a reader of the numbers must know, such as which limit cut the window
};

} // namespace bondtrace::traffic
