// SPDX-License-Identifier: GPL-2.0-or-later
// The most that a test can carry: by its slaves, and by how its flows are split over them. Pure.
#pragma once

#include "user/traffic/end_trace.h"

#include <cstdint>
#include <optional>

namespace bondtrace {

// The part of a frame's time on the wire (preamble, frame, check sequence, gap) that payload has: TCP with
// timestamps in full segments, or UDP datagrams of `length` bytes (0: the longest that fit).
double payload_fraction(traffic::Transport transport, bool v6, std::uint32_t mtu, std::uint32_t length);

// In bit/s on the wire, one direction.
struct Capacity {
    std::optional<double>
        all_full; // every usable slave full, at the end with less; nullopt: a speed is unknown
    // What these flows can reach: each goes through one slave of the sender and one of the receiver, flows
    // share a slave, none exceeds `flow_limit`. The maximum flow from slaves to slaves.
    std::optional<double> split_allows;
};

// `sender` and `receiver` are traces of the same flows at the two ends; the sender's `tx` and the receiver's
// `rx` are looked at. Without a receiver only the sender's slaves limit. `flow_limit` in bit/s; 0: none.
Capacity capacity_of(const traffic::EndTrace& sender, const traffic::EndTrace* receiver, double flow_limit);

} // namespace bondtrace
