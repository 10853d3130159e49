// SPDX-License-Identifier: GPL-2.0-or-later
// How uneven chance alone makes a bond: k flows thrown independently at n slaves. Exact where that is
// affordable, and above that a bound that never makes luck look like a fault.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bondtrace {

// Of an event under chance. The truth is never above `bound` (beyond rounding, 1e-8 of it); `value` is the
// best estimate, which is the truth, to the same precision, when `exact`.
struct Probability {
    double value = 1;
    double bound = 1;
    bool exact = false;
};

// n times 1/n. The driver takes the hash as a 32-bit number modulo n (bonding.md, section 3.4), not a byte:
// with every source port in use and all else fixed, layer3+4 gives 32768 consecutive numbers, whose residues
// differ by one in 32768; layer2 with all 256 last bytes of a MAC by one in 256. Either is far less than what
// a p-value's verdict turns on (64 flows on 3 slaves, 30 or more on one: 0.05059 for 256 values against
// 0.05045), so audits assume slaves to be equally likely.
std::vector<double> equally_likely(unsigned slaves);

// How likely each residue modulo `slaves` is when the hash is uniform over 0 ... values - 1.
std::vector<double> residue_probabilities(std::uint64_t values, unsigned slaves);

// P(X >= m) and P(X <= m) of a binomial X with k trials of probability p in [0, 1]. Relative error below
// 1e-8.
double binomial_at_least(std::uint64_t k, double p, std::uint64_t m);
double binomial_at_most(std::uint64_t k, double p, std::uint64_t m);

// That some slave gets `m` or more of `k` flows, `p` being the slaves' probabilities (which add up to 1).
// Exact when m > k/2 (two slaves cannot both), and by dynamic programming while slaves * k^2 <= 4e6. Above,
// the union bound: the truth lies between 1 - prod(1 - B_i) and sum(B_i), B_i being slave i's own tail, since
// the counts are negatively associated (Joag-Dev and Proschan, Annals of Statistics 11, 1983); at a value of
// v that is less than v^2/2 apart.
Probability largest_at_least(std::uint64_t k, std::span<const double> p, std::uint64_t m);

// That some slave gets `m` or fewer; likewise.
Probability smallest_at_most(std::uint64_t k, std::span<const double> p, std::uint64_t m);

// That a split of flows over equally likely slaves is at least as uneven as `counts`: by the largest count
// for two slaves, else the smaller of the largest's and the smallest's probability, doubled. 1 for no flows
// or one slave.
Probability split_probability(std::span<const std::uint64_t> counts);

// That some slave gets at least `threshold` of the bytes when flows of these sizes are assigned at random to
// `slaves` equally likely slaves. Exact by enumeration while slaves^(flows - 1) <= 2^18. Above, `value` has
// the 12 largest flows enumerated and the sum of the others taken as normal, and `bound` is the union over
// slaves of Chernoff's bound, min over t of E exp(t S) / exp(t threshold), which is rigorous (sizes are
// rounded up by at most 1 % in it) and some three to ten times too large.
Probability bytes_at_least(std::span<const std::uint64_t> sizes, unsigned slaves, std::uint64_t threshold);

// The smallest number of flows from which on the largest of `slaves` equally likely slaves gets less than
// `permille` of them with probability `confidence` or more, by the union bound; nullopt when that is
// impossible (1000 / slaves or less) or takes more than a million flows.
std::optional<std::uint64_t> flows_needed(unsigned slaves, unsigned permille, double confidence);

// Shares that one slave has in the central `confidence` of cases.
struct Band {
    double low = 0;
    double high = 1;
};
// Of k flows, by the binomial's quantiles (1 - confidence) / 2 and (1 + confidence) / 2.
Band flow_band(std::uint64_t k, unsigned slaves, double confidence);
// Of the bytes of flows of these sizes: mean and standard deviation are exact, the shape is taken as normal,
// and the band is cut to 0 ... 1.
Band byte_band(std::span<const std::uint64_t> sizes, unsigned slaves, double confidence);

// Jain's fairness index, (sum x)^2 / (n sum x^2): 1 is even, 1/n is one for all (Jain, Chiu, Hawe,
// DEC-TR-301, 1984). 1 for nothing at all.
double jain_index(std::span<const std::uint64_t> amounts);

// How many flows of equal size would vary as much as these: (sum s)^2 / sum s^2; 0 for no bytes.
double effective_flows(std::span<const std::uint64_t> sizes);

// Pearson's test against equally likely slaves: the upper tail of chi-square with slaves - 1 degrees of
// freedom. Secondary: an approximation, poor below five flows a slave. 1 for no flows or one slave.
double chi_square_probability(std::span<const std::uint64_t> counts);

// Shannon's entropy, in bits, of a field whose values occurred this often.
double entropy_bits(std::span<const std::uint64_t> occurrences);

} // namespace bondtrace
