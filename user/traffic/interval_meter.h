// SPDX-License-Identifier: GPL-2.0-or-later
// Cuts what an end has carried into its progress intervals. Pure.
#pragma once

#include "user/traffic/results.h"
#include "user/traffic/worker.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace bondtrace::traffic {

class IntervalMeter {
  public:
    // More are not kept; the last one stands for itself.
    static constexpr std::size_t most_kept = 100'000;

    // `totals` are what was carried before the test began.
    void begin(const Worker::Totals& totals) { last_ = totals; }

    // The interval from the last one's end to `now_ns` after the test's begin, in which totals grew to these.
    const Interval& cut(std::uint64_t now_ns, const Worker::Totals& totals) {
        const Interval interval{last_end_ns_,
                                now_ns,
                                totals.sent_bytes - last_.sent_bytes,
                                totals.received_bytes - last_.received_bytes,
                                totals.sent_packets - last_.sent_packets,
                                totals.received_packets - last_.received_packets};
        last_ = totals;
        last_end_ns_ = now_ns;
        if (intervals_.size() == most_kept) intervals_.pop_back();
        return intervals_.emplace_back(interval);
    }

    [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }

  private:
    Worker::Totals last_;
    std::uint64_t last_end_ns_ = 0;
    std::vector<Interval> intervals_;
};

} // namespace bondtrace::traffic
