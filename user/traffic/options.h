// SPDX-License-Identifier: GPL-2.0-or-later
// What a test of the traffic generator is asked to do: plain data, shared by the command line, the control
// channel and the engine. Both ends work from the same TestOptions; the client's alone knows the flows.
#pragma once

#include "user/base/address.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace::traffic {

inline constexpr std::uint16_t default_port = 5477; // control and data
inline constexpr std::size_t max_flows = 50'000;

enum class Transport : std::uint8_t { tcp, udp };
// Seen from the client: up sends to the server.
enum class Direction : std::uint8_t { up, down, both };

// What a sender does between two sends of one flow.
struct Pace {
    enum class Kind : std::uint8_t { none, busy, yield, sleep };
    Kind kind = Kind::none;
    std::uint64_t amount = 0; // busy: multiplications; sleep: microseconds
};

// Known to both ends of a test and carried by every data flow, so that strays are told apart.
using Token = std::array<std::uint8_t, 16>;

struct TestOptions {
    Transport transport = Transport::tcp;
    Direction direction = Direction::up;
    std::chrono::nanoseconds duration = std::chrono::seconds(10); // 0: until `bytes` are sent
    std::uint64_t bytes = 0;                                      // for each flow and direction; 0: no limit
    std::uint32_t length = 0; // bytes a send (TCP) or a datagram's payload (UDP); 0: the engine's choice
    std::uint32_t window = 0; // SO_SNDBUF and SO_RCVBUF asked for, bytes; 0: the engine's choice
    double rate = 0;          // payload bit/s for each flow and direction; 0: as fast as it goes
    Pace pace;
    unsigned threads = 0;             // rings at each end; 0: the engine's choice
    std::vector<unsigned> cpus;       // where this end's threads are pinned; empty: nowhere
    std::string congestion;           // TCP congestion control, set before connect; empty: the system's
    std::optional<std::uint8_t> dscp; // 0 to 63
    bool no_copy = false;             // the receiver discards (MSG_TRUNC), the sender sends constant pages
    bool gso = false;                 // UDP: segmentation by the kernel (UDP_SEGMENT) and UDP_GRO
    std::chrono::nanoseconds interval = std::chrono::seconds(1); // of the progress reports
};

// One flow as the client opens it.
struct FlowAddress {
    IpAddress local, remote;
    std::uint16_t local_port = 0; // 0: the kernel chooses
    std::uint16_t remote_port = default_port;

    auto operator<=>(const FlowAddress&) const = default;
};

} // namespace bondtrace::traffic
