// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/sequence_tracker.h"

#include <algorithm>
#include <cmath>

namespace bondtrace::traffic {

bool SequenceTracker::mark(std::uint64_t sequence) {
    std::uint64_t& word = seen_[sequence % window / 64];
    const std::uint64_t bit = 1ULL << (sequence % 64);
    const bool before = (word & bit) != 0;
    word |= bit;
    return before;
}

void SequenceTracker::arrived(std::uint64_t sequence, std::uint64_t sent_ns, std::uint64_t received_ns) {
    if (last_received_ns_ != 0) {
        const auto transit = static_cast<std::int64_t>(received_ns - sent_ns) -
                             static_cast<std::int64_t>(last_received_ns_ - last_sent_ns_);
        jitter_ns_ += (std::abs(static_cast<double>(transit)) - jitter_ns_) / 16;
    }
    last_sent_ns_ = sent_ns;
    last_received_ns_ = received_ns;
    if (sequence >= next_) {
        // What lies between has not come yet, and stands where older numbers stood.
        const std::uint64_t skipped = sequence - next_;
        if (skipped >= window)
            seen_.fill(0);
        else
            for (std::uint64_t missing = next_; missing <= sequence; ++missing)
                seen_[missing % window / 64] &= ~(1ULL << (missing % 64));
        mark(sequence);
        next_ = sequence + 1;
        ++distinct_;
    } else if (next_ - sequence <= window && mark(sequence)) {
        ++duplicated_;
    } else {
        ++reordered_;
        ++distinct_;
    }
}

UdpFacts SequenceTracker::facts() const {
    UdpFacts facts;
    facts.lost = next_ > distinct_ ? next_ - distinct_ : 0;
    facts.reordered = reordered_;
    facts.duplicated = duplicated_;
    facts.jitter_us = jitter_ns_ / 1e3;
    return facts;
}

} // namespace bondtrace::traffic
