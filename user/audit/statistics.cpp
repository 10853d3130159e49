// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace bondtrace {
namespace {

// Work that dynamic programming may take: slaves * flows^2 multiplications.
constexpr double exact_work = 4e6;

// ln(n!). Stirling's series from 256 on, where the first term left out is below 1e-18.
double log_factorial(std::uint64_t n) {
    static const std::array<double, 256> table = [] {
        std::array<double, 256> values{};
        for (std::size_t i = 2; i < values.size(); ++i)
            values[i] = values[i - 1] + std::log(static_cast<double>(i));
        return values;
    }();
    if (n < table.size()) return table[n];
    const double x = static_cast<double>(n);
    constexpr double half_log_two_pi = 0.91893853320467274178;
    return (x + 0.5) * std::log(x) - x + half_log_two_pi + 1 / (12 * x) - 1 / (360 * x * x * x) +
           1 / (1260 * std::pow(x, 5));
}

double binomial_pmf(std::uint64_t k, double p, std::uint64_t x) {
    if (p <= 0) return x == 0 ? 1 : 0;
    if (p >= 1) return x == k ? 1 : 0;
    return std::exp(log_factorial(k) - log_factorial(x) - log_factorial(k - x) +
                    static_cast<double>(x) * std::log(p) + static_cast<double>(k - x) * std::log1p(-p));
}

// All of pmf(0 ... k), outwards from the mode: no term loses more than rounding.
void binomial_row(std::uint64_t k, double p, std::vector<double>& row) {
    row.assign(k + 1, 0);
    if (p <= 0 || p >= 1) {
        row[p >= 1 ? k : 0] = 1;
        return;
    }
    const auto mode = std::min(k, static_cast<std::uint64_t>(std::floor((static_cast<double>(k) + 1) * p)));
    row[mode] = binomial_pmf(k, p, mode);
    const double odds = p / (1 - p);
    for (std::uint64_t x = mode; x < k && row[x] > 0; ++x)
        row[x + 1] = row[x] * odds * static_cast<double>(k - x) / static_cast<double>(x + 1);
    for (std::uint64_t x = mode; x > 0 && row[x] > 0; --x)
        row[x - 1] = row[x] / odds * static_cast<double>(x) / static_cast<double>(k - x + 1);
}

// P(X >= m) where that is the smaller tail: terms fall from m on.
double upper_sum(std::uint64_t k, double p, std::uint64_t m) {
    double term = binomial_pmf(k, p, m), sum = term;
    const double odds = p / (1 - p);
    for (std::uint64_t x = m; x < k && term > sum * 1e-17; ++x) {
        term *= odds * static_cast<double>(k - x) / static_cast<double>(x + 1);
        sum += term;
    }
    return std::min(sum, 1.0);
}

// P(some slave's count is in the bad range): the sum over slaves i of P(slaves before i are good, i is bad).
// Only additions, so that small probabilities keep their precision. `left` holds, for each number of flows
// not yet placed, the probability of having come there with good slaves only.
double some_bad(std::uint64_t k, std::span<const double> p, std::uint64_t good_from, std::uint64_t good_to) {
    std::vector<double> left(k + 1, 0), next, row;
    left[k] = 1;
    double bad = 0, remaining = 1;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const bool last = i + 1 == p.size();
        const double q = last ? 1 : std::clamp(p[i] / remaining, 0.0, 1.0);
        remaining -= p[i];
        next.assign(k + 1, 0);
        for (std::uint64_t j = 0; j <= k; ++j) {
            if (left[j] <= 0) continue;
            binomial_row(j, q, row);
            for (std::uint64_t x = 0; x <= j; ++x) {
                const double mass = left[j] * row[x];
                if (x < good_from || x > good_to)
                    bad += mass;
                else
                    next[j - x] += mass;
            }
        }
        left.swap(next);
    }
    return std::min(bad, 1.0);
}

bool affordable(std::uint64_t k, std::size_t slaves) {
    const double flows = static_cast<double>(k);
    return static_cast<double>(slaves) * flows * flows <= exact_work;
}

Probability exactly(double value) {
    return {value, value, true};
}

// Of the union of negatively associated events.
Probability union_of(std::span<const double> tails) {
    double sum = 0, log_none = 0;
    for (const double tail : tails) {
        sum += tail;
        log_none += std::log1p(-std::min(tail, 1.0));
    }
    return {-std::expm1(log_none), std::min(sum, 1.0), false};
}

// Regularised upper incomplete gamma function Q(a, x): the series for P below a + 1, the continued fraction
// above (Abramowitz and Stegun 6.5.29 and 6.5.31).
double upper_gamma(double a, double x) {
    if (x <= 0) return 1;
    // ln Gamma(a) for a multiple of one half, by the recurrence from Gamma(1) or Gamma(1/2).
    double log_gamma = std::fmod(a, 1) > 0.25 ? 0.57236494292470008707 : 0;
    const double first = std::fmod(a, 1) > 0.25 ? 0.5 : 1;
    for (int step = 0; first + step < a - 0.25; ++step)
        log_gamma += std::log(first + step);
    const double scale = std::exp(a * std::log(x) - x - log_gamma);
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int n = 1; n < 10000 && term > sum * 1e-16; ++n) {
            term *= x / (a + n);
            sum += term;
        }
        return std::max(0.0, 1 - sum * scale);
    }
    constexpr double tiny = 1e-300;
    double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d; // modified Lentz
    for (int n = 1; n < 10000; ++n) {
        const double an = -n * (n - a);
        b += 2;
        d = an * d + b;
        if (std::abs(d) < tiny) d = tiny;
        c = b + an / c;
        if (std::abs(c) < tiny) c = tiny;
        d = 1 / d;
        const double factor = d * c;
        h *= factor;
        if (std::abs(factor - 1) < 1e-15) break;
    }
    return std::min(1.0, h * scale);
}

} // namespace

std::vector<double> equally_likely(unsigned slaves) {
    return std::vector<double>(slaves, slaves == 0 ? 0 : 1.0 / slaves);
}

std::vector<double> residue_probabilities(std::uint64_t values, unsigned slaves) {
    std::vector<double> p(slaves, 0);
    for (unsigned r = 0; r < slaves && values > 0; ++r) {
        const std::uint64_t hits = values / slaves + (r < values % slaves ? 1 : 0);
        p[r] = static_cast<double>(hits) / static_cast<double>(values);
    }
    return p;
}

double binomial_at_least(std::uint64_t k, double p, std::uint64_t m) {
    if (m == 0) return 1;
    if (m > k || p <= 0) return 0;
    if (p >= 1) return 1;
    if (static_cast<double>(m) > static_cast<double>(k) * p) return upper_sum(k, p, m);
    return 1 - upper_sum(k, 1 - p, k - m + 1);
}

double binomial_at_most(std::uint64_t k, double p, std::uint64_t m) {
    return m >= k ? 1 : binomial_at_least(k, 1 - p, k - m);
}

Probability largest_at_least(std::uint64_t k, std::span<const double> p, std::uint64_t m) {
    if (p.empty() || m > k) return exactly(0);
    if (m <= (k + p.size() - 1) / p.size()) return exactly(1); // some slave gets at least the mean
    std::vector<double> tails;
    for (const double slave : p)
        tails.push_back(binomial_at_least(k, slave, m));
    if (2 * m > k) return exactly(std::min(1.0, std::accumulate(tails.begin(), tails.end(), 0.0)));
    if (affordable(k, p.size())) return exactly(some_bad(k, p, 0, m - 1));
    return union_of(tails);
}

Probability smallest_at_most(std::uint64_t k, std::span<const double> p, std::uint64_t m) {
    if (p.empty()) return exactly(0);
    if (m >= k / p.size()) return exactly(1);
    if (affordable(k, p.size())) return exactly(some_bad(k, p, m + 1, k));
    std::vector<double> tails;
    for (const double slave : p)
        tails.push_back(binomial_at_most(k, slave, m));
    return union_of(tails);
}

Probability split_probability(std::span<const std::uint64_t> counts) {
    const std::uint64_t k = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    if (k == 0 || counts.size() < 2) return exactly(1);
    const std::vector<double> p = equally_likely(static_cast<unsigned>(counts.size()));
    const Probability most = largest_at_least(k, p, *std::max_element(counts.begin(), counts.end()));
    if (counts.size() == 2) return most;
    const Probability least = smallest_at_most(k, p, *std::min_element(counts.begin(), counts.end()));
    const Probability& smaller = least.bound < most.bound ? least : most;
    return {std::min(1.0, 2 * smaller.value), std::min(1.0, 2 * smaller.bound), smaller.exact};
}

std::optional<std::uint64_t> flows_needed(unsigned slaves, unsigned permille, double confidence) {
    constexpr double most_flows = 1e6;
    if (slaves < 2) return slaves == 1 && permille > 1000 ? std::optional<std::uint64_t>{1} : std::nullopt;
    if (permille > 1000) return 1;
    const double distance = permille / 1000.0 - 1.0 / slaves, allowed = 1 - confidence;
    if (distance <= 0 || allowed <= 0) return std::nullopt;
    // From here on Hoeffding's inequality says so for every number of flows. The probability is a saw-tooth
    // of that number, so the search goes down from there to the last number that does not do.
    const double surely = std::ceil(std::log(slaves / allowed) / (2 * distance * distance));
    if (surely > most_flows) return std::nullopt;
    auto k = static_cast<std::uint64_t>(std::max(1.0, surely));
    for (; k > 1; --k) {
        const std::uint64_t fewer = k - 1, m = (fewer * permille + 999) / 1000;
        if (m <= 1 || slaves * binomial_at_least(fewer, 1.0 / slaves, m) > allowed) break;
    }
    return k;
}

Band flow_band(std::uint64_t k, unsigned slaves, double confidence) {
    if (k == 0 || slaves == 0) return {};
    const double p = 1.0 / slaves, flows = static_cast<double>(k);
    // The smallest x with P(X <= x) >= quantile, by bisection.
    const auto quantile = [&](double wanted) {
        std::uint64_t low = 0, high = k;
        while (low < high) {
            const std::uint64_t middle = low + (high - low) / 2;
            if (binomial_at_most(k, p, middle) >= wanted)
                high = middle;
            else
                low = middle + 1;
        }
        return static_cast<double>(low) / flows;
    };
    return {quantile((1 - confidence) / 2), quantile((1 + confidence) / 2)};
}

double jain_index(std::span<const std::uint64_t> amounts) {
    double sum = 0, squares = 0;
    for (const std::uint64_t amount : amounts) {
        const double x = static_cast<double>(amount);
        sum += x;
        squares += x * x;
    }
    return squares > 0 ? sum * sum / (static_cast<double>(amounts.size()) * squares) : 1;
}

double chi_square_probability(std::span<const std::uint64_t> counts) {
    const auto k = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
    if (k <= 0 || counts.size() < 2) return 1;
    const double slaves = static_cast<double>(counts.size()), expected = k / slaves;
    double statistic = 0;
    for (const std::uint64_t count : counts) {
        const double difference = static_cast<double>(count) - expected;
        statistic += difference * difference / expected;
    }
    return upper_gamma((slaves - 1) / 2, statistic / 2);
}

double entropy_bits(std::span<const std::uint64_t> occurrences) {
    const auto total =
        static_cast<double>(std::accumulate(occurrences.begin(), occurrences.end(), std::uint64_t{0}));
    double bits = 0;
    for (const std::uint64_t count : occurrences)
        if (count > 0) {
            const double part = static_cast<double>(count) / total;
            bits -= part * std::log2(part);
        }
    return bits;
}

} // namespace bondtrace
