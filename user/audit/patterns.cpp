// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/patterns.h"

#include "user/audit/balance.h"
#include "user/hash/policy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// Flows with different hashes, and where the hash sends them.
struct Sample {
    std::vector<FlowTuple> tuples;
    std::vector<std::uint32_t> hashes;
    std::uint64_t as_predicted = 0;

    [[nodiscard]] std::size_t size() const { return tuples.size(); }
};

// The flows that carry 99 % of the bytes, the largest first: a few packets of something else are no evidence
// against a pattern.
Sample take_sample(const BondView& view, const std::vector<PlacedFlow>& sent) {
    std::vector<const PlacedFlow*> flows;
    std::uint64_t total = 0;
    for (const PlacedFlow& flow : sent) {
        // The hash of a socket is no function of the tuple.
        const bool from_tuple = view.report->policy != HashPolicy::encap34 || !flow.use->origin.l4_hash;
        if (!flow.hash || !flow.whole || flow.by_mac || !from_tuple) continue;
        flows.push_back(&flow);
        total += flow.bytes;
    }
    std::stable_sort(flows.begin(), flows.end(),
                     [](const PlacedFlow* a, const PlacedFlow* b) { return a->bytes > b->bytes; });
    Sample sample;
    std::unordered_set<std::uint32_t> seen;
    std::uint64_t taken = 0;
    for (const PlacedFlow* flow : flows) {
        if (static_cast<double>(taken) >= 0.99 * static_cast<double>(total)) break;
        taken += flow->bytes;
        if (!seen.insert(*flow->hash).second) continue;
        sample.tuples.push_back(sent_tuple(*flow->flow, *flow->use));
        sample.hashes.push_back(*flow->hash);
        if (slave_index(*flow->hash, static_cast<std::uint32_t>(view.usable.size())) == flow->slave)
            ++sample.as_predicted;
    }
    return sample;
}

std::uint64_t largest_class(const std::vector<std::uint32_t>& hashes, std::size_t slaves) {
    std::vector<std::uint64_t> counts(slaves, 0);
    for (const std::uint32_t hash : hashes)
        ++counts[hash % slaves];
    return *std::max_element(counts.begin(), counts.end());
}

// A field as a number that can be counted up, its last 32 bits for IPv6.
struct Number {
    std::string_view name; // plural
    std::uint32_t (*get)(const FlowTuple&);
    void (*set)(FlowTuple&, std::uint32_t);
    bool port = false;
};

std::uint32_t low_word(const IpAddress& address) {
    const std::size_t at = address.v6 ? 12 : 0;
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 4; ++i)
        word = word << 8U | address.bytes[at + i];
    return word;
}

void set_low_word(IpAddress& address, std::uint32_t word) {
    const std::size_t at = address.v6 ? 12 : 0;
    for (std::size_t i = 0; i < 4; ++i)
        address.bytes[at + i] = static_cast<std::uint8_t>(word >> (24 - 8 * i));
}

constexpr std::array<Number, 4> numbers{{
    {"source ports", [](const FlowTuple& t) { return std::uint32_t{t.src_port}; },
     [](FlowTuple& t, std::uint32_t v) { t.src_port = static_cast<std::uint16_t>(v); }, true},
    {"destination ports", [](const FlowTuple& t) { return std::uint32_t{t.dst_port}; },
     [](FlowTuple& t, std::uint32_t v) { t.dst_port = static_cast<std::uint16_t>(v); }, true},
    {"destination addresses", [](const FlowTuple& t) { return low_word(t.dst); },
     [](FlowTuple& t, std::uint32_t v) { set_low_word(t.dst, v); }, false},
    {"source addresses", [](const FlowTuple& t) { return low_word(t.src); },
     [](FlowTuple& t, std::uint32_t v) { set_low_word(t.src, v); }, false},
}};

// Would the same flows spread if that field's values followed each other without gaps?
bool spreads_without_steps(const BondView& view, const Sample& sample, const Number& number,
                           std::uint32_t first, std::uint32_t step, std::uint64_t crowded) {
    std::vector<std::uint32_t> hashes;
    for (FlowTuple tuple : sample.tuples) {
        number.set(tuple, first + (number.get(tuple) - first) / step);
        const auto hash = hash_of_tuple(tuple, view.report->policy, view.era);
        if (!hash) return false;
        hashes.push_back(*hash);
    }
    const std::size_t slaves = view.usable.size(), flows = hashes.size();
    const std::uint64_t largest = largest_class(hashes, slaves);
    const std::size_t rounded_up = (flows + slaves - 1) / slaves;
    const double allowed = std::max(static_cast<double>(rounded_up + 1),
                                    even_enough * static_cast<double>(flows) / static_cast<double>(slaves));
    return largest < crowded && static_cast<double>(largest) <= allowed;
}

std::optional<Pattern> find_step(const BondView& view, const Sample& sample, std::uint64_t crowded) {
    for (const Number& number : numbers) {
        if (number.port && !uses_ports(view.report->policy)) continue;
        std::set<std::uint32_t> values;
        for (const FlowTuple& tuple : sample.tuples)
            values.insert(number.get(tuple));
        if (values.size() < 3) continue;
        const std::uint32_t first = *values.begin();
        std::uint32_t step = 0;
        for (const std::uint32_t value : values)
            step = std::gcd(step, value - first);
        if (step < 2 || !spreads_without_steps(view, sample, number, first, step, crowded)) continue;

        Pattern pattern;
        pattern.kind = PatternKind::step;
        pattern.luck = std::pow(step, -static_cast<double>(values.size() - 1));
        pattern.low_bit = number.port && step % 2 == 0 && view.era.low_bit == LowBit::kept;
        if (number.port)
            pattern.text = fmt::format("{} {} in steps of {}, from {} to {}", values.size(), number.name,
                                       step, first, *values.rbegin());
        else
            pattern.text = fmt::format("{} {} in steps of {}", values.size(), number.name, step);
        if (step == 2 && number.port) pattern.text += first % 2 == 0 ? " (all even)" : " (all odd)";
        return pattern;
    }
    return std::nullopt;
}

// With a power of two slaves, only low bits of the hash matter. When they hardly vary though the flows do,
// the fields' differences cancel each other there.
std::optional<Pattern> find_cancelling(const BondView& view, const Sample& sample) {
    constexpr std::size_t few = 4;
    // The last fold leaves its result in the lowest byte, of which a shift takes one bit.
    const std::uint32_t values = low_bit_dropped(view.report->policy, view.era) ? 128 : 256;
    if (sample.size() < few) return std::nullopt;
    std::set<std::uint32_t> low_bytes;
    for (const std::uint32_t hash : sample.hashes)
        low_bytes.insert(hash % values);
    if (low_bytes.size() > std::max<std::size_t>(1, std::min<std::size_t>(sample.size(), values) / 8))
        return std::nullopt;
    std::set<IpAddress> addresses;
    std::set<MacAddress> macs;
    for (const FlowTuple& tuple : sample.tuples) {
        addresses.insert(tuple.dst);
        if (tuple.dst_mac) macs.insert(*tuple.dst_mac);
    }
    Pattern pattern;
    pattern.kind = PatternKind::cancel;
    pattern.luck =
        std::pow(static_cast<double>(low_bytes.size()) / values, static_cast<double>(sample.size() - 1));
    pattern.text = fmt::format("{} different flows whose hashes share {} low byte{}", sample.size(),
                               low_bytes.size(), low_bytes.size() == 1 ? "" : "s");
    if (macs.size() > 1 && addresses.size() > 1)
        pattern.text +=
            fmt::format(": the last bytes of {} MAC addresses and {} IP addresses rise together and cancel "
                        "each other",
                        macs.size(), addresses.size());
    return pattern;
}

} // namespace

std::optional<Pattern> find_pattern(const BondView& view, const std::vector<PlacedFlow>& sent) {
    const std::size_t slaves = view.usable.size();
    if (!view.report || !view.report->policy_used || slaves < 2) return std::nullopt;
    const Sample sample = take_sample(view, sent);
    if (sample.size() < 3) return std::nullopt;
    const auto flows = static_cast<double>(sample.size());
    if (static_cast<double>(sample.as_predicted) < 0.95 * flows) return std::nullopt;
    const std::uint64_t crowded = largest_class(sample.hashes, slaves);
    if (static_cast<double>(crowded) < 0.9 * flows) return std::nullopt;

    std::optional<Pattern> pattern = find_step(view, sample, crowded);
    if (!pattern) pattern = find_cancelling(view, sample);
    if (!pattern && sample.size() >= flows_per_slave_to_judge * slaves) {
        pattern.emplace();
        pattern->kind = PatternKind::polarized;
        pattern->luck =
            largest_at_least(sample.size(), equally_likely(static_cast<unsigned>(slaves)), crowded).bound;
        pattern->text =
            fmt::format("{} of {} different hashes leave the same remainder modulo {}, chance would leave "
                        "about {:.0f}",
                        crowded, sample.size(), slaves, flows / static_cast<double>(slaves));
    }
    if (pattern) pattern->flows = sample.size();
    return pattern;
}

} // namespace bondtrace
