// SPDX-License-Identifier: GPL-2.0-or-later
// The last minute of a rate, second by second.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bondtrace {

class History {
  public:
    static constexpr std::size_t seconds = 60;

    // `amount` in the time from `begin_ns` to `end_ns`, spread evenly over it.
    void add(std::uint64_t begin_ns, std::uint64_t end_ns, double amount) {
        if (end_ns <= begin_ns) return;
        const double per_ns = amount / static_cast<double>(end_ns - begin_ns);
        const std::uint64_t last = end_ns / second_ns;
        advance(last);
        // What lies more than a minute back is of no interest, however long the interval.
        const std::uint64_t oldest = last >= seconds ? last - seconds + 1 : 0;
        for (std::uint64_t second = std::max(begin_ns / second_ns, oldest); second <= last; ++second) {
            const std::uint64_t from = std::max(begin_ns, second * second_ns);
            const std::uint64_t to = std::min(end_ns, (second + 1) * second_ns);
            if (to > from) amounts_[second % seconds] += per_ns * static_cast<double>(to - from);
        }
    }

    // The minute in `count` equal parts, oldest first, each as an amount a second. The second that is not
    // over yet is left out.
    [[nodiscard]] std::vector<double> parts(std::size_t count) const {
        std::vector<double> result(std::min(count, seconds - 1));
        for (std::size_t part = 0; part < result.size(); ++part) {
            const std::size_t from = part * (seconds - 1) / result.size();
            const std::size_t to = (part + 1) * (seconds - 1) / result.size();
            double sum = 0;
            for (std::size_t i = from; i < to; ++i) // i seconds after the oldest
                sum += amounts_[(last_ + 1 + i) % seconds];
            result[part] = sum / static_cast<double>(to - from);
        }
        return result;
    }

  private:
    static constexpr std::uint64_t second_ns = 1'000'000'000;

    void advance(std::uint64_t second) {
        if (second <= last_) return;
        const std::uint64_t steps = std::min<std::uint64_t>(second - last_, seconds);
        for (std::uint64_t i = 0; i < steps; ++i)
            amounts_[(second - i) % seconds] = 0;
        last_ = second;
    }

    std::array<double, seconds> amounts_{};
    std::uint64_t last_ = 0;
};

} // namespace bondtrace
