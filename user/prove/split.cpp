// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/prove/split.h"

#include "user/audit/balance.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace bondtrace {
namespace {

using namespace traffic;

std::vector<std::uint64_t> of_usable(const EndTrace& trace, const std::vector<std::uint64_t>& amounts) {
    std::vector<std::uint64_t> usable;
    for (std::size_t i = 0; i < trace.slaves.size(); ++i)
        if (trace.slaves[i].usable) usable.push_back(amounts[i]);
    return usable;
}

} // namespace

std::optional<std::uint32_t> carrier_of(const std::vector<TracedUse>& uses) {
    std::uint64_t total = 0;
    for (const TracedUse& use : uses)
        total += use.bytes;
    if (uses.empty() || total == 0) return std::nullopt;
    const auto most = std::max_element(
        uses.begin(), uses.end(), [](const TracedUse& a, const TracedUse& b) { return a.bytes < b.bytes; });
    if (most->bytes < total - total / 10) return std::nullopt;
    return most->slave;
}

Split split_of(const EndTrace& trace, bondtrace::Direction side) {
    Split split;
    split.flows.resize(trace.slaves.size());
    split.bytes.resize(trace.slaves.size());
    for (const TracedFlow& flow : trace.flows) {
        const auto& uses = side == bondtrace::Direction::tx ? flow.tx : flow.rx;
        if (uses.empty()) continue;
        ++split.seen;
        for (const TracedUse& use : uses)
            split.bytes[use.slave] += use.bytes;
        if (const auto slave = carrier_of(uses))
            ++split.flows[*slave];
        else
            ++split.spread;
    }
    const auto counts = of_usable(trace, split.flows);
    if (counts.size() < 2 || split.whole() == 0 || split.spread > split.whole()) return split;
    split.luck = split_probability(counts);
    constexpr double usual = 0.95;
    split.expected = flow_band(split.whole(), static_cast<unsigned>(counts.size()), usual);
    return split;
}

SplitWord judge_split(const EndTrace& trace, const Split& split) {
    const auto counts = of_usable(trace, split.flows);
    if (split.seen == 0) return SplitWord::nothing;
    if (split.spread > split.whole()) return SplitWord::spread;
    if (counts.size() < 2 || !split.luck) return SplitWord::one_slave;
    const auto flows = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    const auto largest = *std::max_element(counts.begin(), counts.end());
    const double mean = static_cast<double>(flows) / static_cast<double>(counts.size());
    // No luck is no luck, however few they are.
    if (split.luck->bound<luck_ends&& static_cast<double>(largest)> even_enough * mean)
        return SplitWord::uneven;
    if (flows < flows_per_slave_to_judge * counts.size()) return SplitWord::too_few;
    return static_cast<double>(largest) <= even_enough * mean ? SplitWord::balanced : SplitWord::chance;
}

std::string describe(const EndTrace& trace, const Split& split) {
    std::string text;
    for (std::size_t i = 0; i < trace.slaves.size(); ++i)
        if (trace.slaves[i].usable || split.flows[i] != 0)
            text += fmt::format("{}{} {} flow{}", text.empty() ? "" : ", ", trace.slaves[i].name,
                                split.flows[i], split.flows[i] == 1 ? "" : "s");
    if (split.spread != 0) text += fmt::format(", {} on several slaves", split.spread);
    if (split.luck) text += "; " + format_probability(*split.luck);
    return text;
}

} // namespace bondtrace
