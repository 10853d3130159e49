// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/switch_hash.h"

#include "user/audit/balance.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::size_t most_flows = 4096;
constexpr unsigned all_fields = (1U << field_count) - 1;

struct RowHash {
    std::size_t operator()(const FieldTable::Row& row) const {
        std::uint64_t hash = 0x9e3779b97f4a7c15U;
        for (const std::uint32_t value : row)
            hash = (hash ^ value) * 0x100000001b3U;
        return static_cast<std::size_t>(hash ^ hash >> 32U);
    }
};

// The hypothesis, or nullopt when two flows with the same values took different ports.
std::optional<FieldHypothesis> test(FieldSet fields, const FieldTable& table,
                                    const std::vector<PlacedFlow>& flows) {
    std::unordered_map<FieldTable::Row, std::size_t, RowHash> ports;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        FieldTable::Row row = table.rows()[i];
        for (std::size_t f = 0; f < field_count; ++f)
            if ((fields & only(static_cast<Field>(f))) == 0) row[f] = 0;
        if (ports.try_emplace(row, flows[i].slave).first->second != flows[i].slave) return std::nullopt;
    }
    return FieldHypothesis{fields, ports.size(), flows.size() - ports.size()};
}

std::vector<PlacedFlow> largest_flows(const std::vector<PlacedFlow>& received) {
    std::vector<PlacedFlow> flows;
    for (const PlacedFlow& flow : received)
        if (flow.whole) flows.push_back(flow);
    std::stable_sort(flows.begin(), flows.end(),
                     [](const PlacedFlow& a, const PlacedFlow& b) { return a.bytes > b.bytes; });
    if (flows.size() > most_flows) flows.resize(most_flows);
    return flows;
}

// Probability that two flows share a port when ports are chosen independently of everything.
double meeting(const std::vector<PlacedFlow>& flows, std::size_t slaves) {
    std::vector<double> counts(slaves, 0);
    for (const PlacedFlow& flow : flows)
        counts[flow.slave] += 1;
    double sum = 0;
    for (const double count : counts)
        sum += count * count;
    const auto k = static_cast<double>(flows.size());
    return sum / (k * k);
}

} // namespace

SwitchHash infer_switch_hash(const std::vector<PlacedFlow>& received, std::size_t slaves) {
    SwitchHash result;
    const std::vector<PlacedFlow> flows = largest_flows(received);
    result.flows = flows.size();
    if (slaves < 2 || flows.size() < flows_per_slave_to_judge * slaves) return result;
    const FieldTable table(flows, Direction::rx);
    const double meet = meeting(flows, slaves);
    result.one_port = meet >= 1;
    // Where only one port was used, agreement is no evidence by itself; the alternative is then that the
    // ports were drawn independently and all fell together.
    const double each = result.one_port ? 1.0 / static_cast<double>(slaves) : meet;
    const auto luck = [&](std::uint64_t agreements) {
        return std::pow(each, static_cast<double>(agreements));
    };

    // Subsets before supersets: by the number of fields.
    std::vector<FieldSet> sets;
    for (unsigned set = 1; set <= all_fields; ++set)
        if ((set & ~unsigned{table.present()}) == 0) sets.push_back(static_cast<FieldSet>(set));
    std::stable_sort(sets.begin(), sets.end(),
                     [](FieldSet a, FieldSet b) { return __builtin_popcount(a) < __builtin_popcount(b); });
    for (const FieldSet set : sets) {
        const bool has_smaller =
            std::any_of(result.supported.begin(), result.supported.end(),
                        [&](const FieldHypothesis& h) { return (h.fields & set) == h.fields; });
        if (has_smaller) continue;
        const auto hypothesis = test(set, table, flows);
        if (hypothesis && luck(hypothesis->agreements) < luck_ends) result.supported.push_back(*hypothesis);
    }
    if (result.one_port) {
        for (std::size_t f = 0; f < field_count; ++f) {
            const std::uint64_t values = table.distinct(static_cast<Field>(f));
            if (values > 1 && luck(values - 1) < luck_ends) result.not_used.push_back(static_cast<Field>(f));
        }
        // What one field that is not used explains only because everything is on one port is no explanation.
        std::erase_if(result.supported,
                      [&](const FieldHypothesis& h) { return luck(h.values - 1) < luck_ends; });
    }
    return result;
}

std::string describe(const SwitchHash& hash) {
    if (hash.flows == 0) return "no flow stayed on one port";
    if (hash.supported.empty() && hash.not_used.empty())
        return fmt::format("{} flows do not tell which fields the switch hashes on", hash.flows);
    std::string text;
    for (const FieldHypothesis& h : hash.supported) {
        text += text.empty() ? "" : hash.one_port ? ", " : "; or ";
        // On one port all flows agree about everything.
        text += hash.one_port ? to_text(h.fields)
                              : fmt::format("{} ({} values, {} flows agree)", to_text(h.fields), h.values,
                                            h.agreements);
    }
    if (hash.one_port)
        text = fmt::format("the switch uses this port only{}",
                           text.empty() ? "" : ", or a hash of what hardly varies here: " + text);
    else
        text = "the port is a function of " + text;
    for (const Field field : hash.not_used)
        text +=
            fmt::format("{}{}", field == hash.not_used.front() ? "; not a hash of " : ", ", to_text(field));
    if (!hash.not_used.empty()) text += hash.not_used.size() == 1 ? ", which varies" : ", which vary";
    return text;
}

} // namespace bondtrace
