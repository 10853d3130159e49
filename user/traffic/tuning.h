// SPDX-License-Identifier: GPL-2.0-or-later
// The numbers that the engine chooses where the user leaves them to it, from measurements
// (docs/performance.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bondtrace::traffic {

// TCP connections of one client that are being made at once: what a server holds without knowing what they
// are for (ServerLimits::handshakes) is more.
inline constexpr std::size_t connects_at_a_time = 256;

// A path with a shorter round trip than this needs no large windows: all in flight fits a cache.
inline constexpr std::uint32_t short_path_us = 2'000;
inline constexpr std::uint32_t capped_from_flows = 4;

// SO_SNDBUF (as the kernel reports it) for each of many flows on a short path, bytes.
constexpr std::uint32_t send_buffer_cap(std::uint32_t flows) {
    return std::clamp<std::uint32_t>(256U * 1024 * 1024 / std::max(flows, 1U), 24U * 1024, 512U * 1024);
}

// SO_RCVBUF likewise, where there are so many that what receivers have not taken yet might fill the memory.
// Many times what a sender has under way: with little more than that, segments are dropped for want of room
// (TCPRcvQDrop), and flows wait for timers, for seconds in the end.
inline constexpr std::uint32_t receive_capped_from_flows = 1024;
inline constexpr std::uint32_t receive_buffer_cap = 256 * 1024;

// Bytes of a send, of a receive, and of a receive that discards, which touches no memory.
inline constexpr std::uint32_t default_chunk = 128 * 1024;
inline constexpr std::uint32_t receive_size = 128 * 1024, discard_size = 1024 * 1024;

// Bytes that wake up the receiver of an unpaced flow, as long as there are few enough flows for that much to
// come at once.
inline constexpr int low_water = 64 * 1024;
inline constexpr std::uint32_t low_water_flows = 256;

// A paced flow sends as much at once as its rate gives in this time.
// Held up, it makes good what that much time would have given, at once: the rate is kept over a test, and a
// burst is bounded.
inline constexpr std::uint64_t most_debt_ns = 200'000'000;
inline constexpr double paced_chunk_seconds = 0.001;

// UDP: messages moved by one system call, and the same where each holds many datagrams (UDP_SEGMENT,
// UDP_GRO).
inline constexpr std::size_t udp_batch = 64, udp_joined_batch = 16;
inline constexpr std::size_t udp_max_payload = 65'000;
inline constexpr std::size_t udp_max_segments = 64; // UDP_MAX_SEGMENTS of older kernels

} // namespace bondtrace::traffic
