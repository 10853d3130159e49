// SPDX-License-Identifier: GPL-2.0-or-later
// The part of statistics.h that weighs flows by their bytes.
#include "user/audit/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace bondtrace {
namespace {

constexpr double exact_outcomes = 1U << 18U;
constexpr std::size_t enumerated_flows = 12;

// Assigns flow after flow, the first one to any slave (they are alike), and adds up the assignments in which
// some slave reaches the threshold. A subtree is counted at once when it has been reached, or cannot be.
class Enumeration {
  public:
    Enumeration(std::span<const std::uint64_t> sizes, unsigned slaves, std::uint64_t threshold)
        : sizes_(sizes), loads_(slaves, 0), left_(sizes.size() + 1, 0), threshold_(threshold) {
        for (std::size_t i = sizes.size(); i > 0; --i)
            left_[i - 1] = left_[i] + sizes[i - 1];
    }

    double probability() {
        loads_[0] = sizes_.empty() ? 0 : sizes_[0];
        return below(sizes_.empty() ? 0 : 1);
    }

  private:
    double below(std::size_t flow) {
        const std::uint64_t most = *std::max_element(loads_.begin(), loads_.end());
        if (most >= threshold_) return 1;
        if (most + left_[flow] < threshold_) return 0;
        double sum = 0;
        for (std::uint64_t& load : loads_) {
            load += sizes_[flow];
            sum += below(flow + 1);
            load -= sizes_[flow];
        }
        return sum / static_cast<double>(loads_.size());
    }

    std::span<const std::uint64_t> sizes_;
    std::vector<std::uint64_t> loads_;
    std::vector<std::uint64_t> left_;
    std::uint64_t threshold_;
};

// P(one slave's bytes >= threshold): the largest flows enumerated, the rest normal.
double one_slave_estimate(std::span<const std::uint64_t> sizes, double p, double threshold) {
    const std::size_t large = std::min(enumerated_flows, sizes.size());
    double mean = 0, variance = 0;
    for (const std::uint64_t size : sizes.subspan(large)) {
        const double bytes = static_cast<double>(size);
        mean += p * bytes;
        variance += p * (1 - p) * bytes * bytes;
    }
    const double scale = std::sqrt(2 * variance);
    const std::function<double(std::size_t, double)> tail = [&](std::size_t flow, double load) -> double {
        if (flow == large) {
            const double missing = threshold - load - mean;
            return scale > 0 ? 0.5 * std::erfc(missing / scale) : (missing <= 0 ? 1 : 0);
        }
        return p * tail(flow + 1, load + static_cast<double>(sizes[flow])) + (1 - p) * tail(flow + 1, load);
    };
    return tail(0, 0);
}

// Flows whose sizes differ by less than 1 % as one class of the larger size: rounding sizes up can only make
// it likelier to reach the threshold. `sizes` fall.
struct SizeClass {
    double bytes = 0;
    double flows = 0;
};
std::vector<SizeClass> size_classes(std::span<const std::uint64_t> sizes) {
    std::vector<SizeClass> classes;
    for (const std::uint64_t size : sizes) {
        const double bytes = static_cast<double>(size);
        if (classes.empty() || bytes < classes.back().bytes * 0.99) classes.push_back({bytes, 0});
        classes.back().flows += 1;
    }
    return classes;
}

// Chernoff's bound of the same. The exponent is convex in t: the minimum is found where its derivative, the
// tilted mean minus the threshold, changes its sign.
double one_slave_bound(const std::vector<SizeClass>& classes, double p, double threshold) {
    double mean = 0, total = 0;
    for (const SizeClass& c : classes) {
        mean += p * c.flows * c.bytes;
        total += c.flows * c.bytes;
    }
    if (threshold <= mean) return 1;
    if (threshold > total) return 0;
    const auto tilted_mean = [&](double t) {
        double sum = 0;
        for (const SizeClass& c : classes)
            sum += c.flows * c.bytes / (1 + (1 - p) / p * std::exp(-t * c.bytes));
        return sum;
    };
    double low = 0, high = 1 / classes.front().bytes;
    for (int i = 0; i < 64 && tilted_mean(high) < threshold; ++i)
        high *= 2;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (tilted_mean(middle) < threshold ? low : high) = middle;
    }
    const double t = low; // any t >= 0 gives a bound
    double exponent = -t * threshold;
    for (const SizeClass& c : classes) {
        // ln(1 - p + p exp(x)) without overflow
        const double x = t * c.bytes;
        exponent += c.flows * (x + std::log(p + (1 - p) * std::exp(-x)));
    }
    return std::min(1.0, std::exp(exponent));
}

} // namespace

Probability bytes_at_least(std::span<const std::uint64_t> sizes, unsigned slaves, std::uint64_t threshold) {
    std::vector<std::uint64_t> falling(sizes.begin(), sizes.end());
    std::erase(falling, 0U);
    std::sort(falling.begin(), falling.end(), std::greater<>());
    std::uint64_t total = 0;
    for (const std::uint64_t size : falling)
        total += size;
    if (slaves == 0 || threshold > total) return {0, 0, true};
    // The largest flow is on some slave, and some slave has the mean.
    const double mean = static_cast<double>(total) / slaves;
    if (slaves == 1 || falling.empty() || falling.front() >= threshold ||
        static_cast<double>(threshold) <= mean)
        return {1, 1, true};

    if (std::pow(slaves, static_cast<double>(falling.size()) - 1) <= exact_outcomes) {
        const double value = Enumeration(falling, slaves, threshold).probability();
        return {value, value, true};
    }
    const double p = 1.0 / slaves, wanted = static_cast<double>(threshold);
    const double one = one_slave_estimate(falling, p, wanted);
    const bool alone = threshold > total / 2; // two slaves cannot both have it
    Probability result;
    result.value =
        alone ? std::min(1.0, slaves * one) : -std::expm1(slaves * std::log1p(-std::min(one, 1.0)));
    result.bound = std::min(1.0, slaves * one_slave_bound(size_classes(falling), p, wanted));
    result.value = std::min(result.value, result.bound);
    return result;
}

Band byte_band(std::span<const std::uint64_t> sizes, unsigned slaves, double confidence) {
    const double flows = effective_flows(sizes);
    if (flows <= 0 || slaves == 0) return {};
    const double p = 1.0 / slaves, deviation = std::sqrt(p * (1 - p) / flows);
    // The normal quantile, by bisection of erfc.
    double low = 0, high = 10;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (std::erfc(middle / std::sqrt(2.0)) > 1 - confidence ? low : high) = middle;
    }
    return {std::max(0.0, p - low * deviation), std::min(1.0, p + low * deviation)};
}

double effective_flows(std::span<const std::uint64_t> sizes) {
    double sum = 0, squares = 0;
    for (const std::uint64_t size : sizes) {
        const double bytes = static_cast<double>(size);
        sum += bytes;
        squares += bytes * bytes;
    }
    return squares > 0 ? sum * sum / squares : 0;
}

} // namespace bondtrace
