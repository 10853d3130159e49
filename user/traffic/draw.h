// SPDX-License-Identifier: GPL-2.0-or-later
// Random numbers that are the same for the same seed, with every compiler and library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace bondtrace::traffic {

class Draw {
  public:
    explicit Draw(std::uint64_t seed) : engine_(seed) {}

    // Uniform in 0 .. count-1; `count` must not be 0. (The standard's distributions may differ between
    // libraries; its engines may not.)
    std::uint64_t below(std::uint64_t count) {
        const std::uint64_t unusable = (engine_.max() % count + 1) % count; // would favour small numbers
        std::uint64_t number = engine_();
        while (number > engine_.max() - unusable)
            number = engine_();
        return number % count;
    }

    // Moves a random choice of `count` elements, in random order, to the front (Fisher and Yates).
    template<typename Value> void shuffle_front(std::vector<Value>& values, std::size_t count) {
        for (std::size_t i = 0; i < count && i + 1 < values.size(); ++i)
            std::swap(values[i], values[i + static_cast<std::size_t>(below(values.size() - i))]);
    }

  private:
    std::mt19937_64 engine_;
};

} // namespace bondtrace::traffic
