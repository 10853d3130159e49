// SPDX-License-Identifier: GPL-2.0-or-later
// What the sequence numbers and times in the datagrams of one UDP flow tell its receiver. Pure.
#pragma once

#include "user/traffic/results.h"

#include <array>
#include <cstdint>

namespace bondtrace::traffic {

class SequenceTracker {
  public:
    // A datagram with `sequence` (from 0), sent and received at these times of two clocks, nanoseconds.
    void arrived(std::uint64_t sequence, std::uint64_t sent_ns, std::uint64_t received_ns);

    // lost: numbers below the highest seen that never came. reordered: came after a higher one (RFC 4737, 3),
    // and for the first time. duplicated: came again. What comes later than `window` numbers behind the
    // highest cannot be told from a duplicate, and counts as reordered. jitter: RFC 3550, 6.4.1, over the
    // datagrams in the order of their arrival.
    [[nodiscard]] UdpFacts facts() const;

    // Datagrams that came, each number once.
    [[nodiscard]] std::uint64_t distinct() const { return distinct_; }

    static constexpr std::uint64_t window = 2048;

  private:
    bool mark(std::uint64_t sequence); // true when it had come before

    std::uint64_t next_ = 0; // one more than the highest number seen
    std::uint64_t distinct_ = 0, reordered_ = 0, duplicated_ = 0;
    std::uint64_t last_sent_ns_ = 0, last_received_ns_ = 0;
    double jitter_ns_ = 0;
    std::array<std::uint64_t, window / 64> seen_{}; // bit n % window: n has come
};

} // namespace bondtrace::traffic
