// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/flow_view.h"

#include "user/base/text.h"
#include "user/flow/protocols.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// Smaller comes first; equal ones by id.
struct Rank {
    std::uint64_t key = 0;
    std::uint64_t id = 0;
    std::uint32_t row = 0;
};

std::uint64_t descending(std::uint64_t value) {
    return std::numeric_limits<std::uint64_t>::max() - value;
}

std::uint64_t total_bytes(const FlowRow& row, LiveDirection direction) {
    std::uint64_t bytes = 0;
    if (direction != LiveDirection::rx) bytes += row.flow.tx_total().wire_bytes;
    if (direction != LiveDirection::tx) bytes += row.flow.rx_total().wire_bytes;
    return bytes;
}

// Places of the slaves of all bonds in the order of their names, then of their bonds.
std::map<std::pair<std::size_t, int>, std::uint64_t> slave_places(const LiveModel& model) {
    std::vector<std::pair<std::string, std::pair<std::size_t, int>>> slaves;
    const auto& bonds = model.reading().report.bonds;
    for (std::size_t bond = 0; bond < bonds.size(); ++bond)
        for (const SlaveReport& slave : bonds[bond].slaves)
            slaves.push_back({slave.name, {bond, slave.ifindex}});
    std::sort(slaves.begin(), slaves.end());
    std::map<std::pair<std::size_t, int>, std::uint64_t> places;
    for (std::size_t place = 0; place < slaves.size(); ++place)
        places[slaves[place].second] = place;
    return places;
}

// Numbers for the sorts that go by numbers.
class Keys {
  public:
    Keys(const LiveModel& model, const ViewSettings& settings) : settings_(settings) {
        if (settings.sort == LiveSort::tx_slave || settings.sort == LiveSort::rx_slave)
            slaves_ = slave_places(model);
    }

    [[nodiscard]] std::uint64_t operator()(const FlowRow& row) const {
        const auto direction = static_cast<std::size_t>(settings_.direction);
        switch (settings_.sort) {
        case LiveSort::rate:
            return descending(row.bytes_order[direction].level);
        case LiveSort::packets:
            return descending(row.packets_order[direction].level);
        case LiveSort::total:
            return descending(total_bytes(row, settings_.direction));
        case LiveSort::age:
            return row.first_ns;
        case LiveSort::moves:
            return descending(row.moves);
        case LiveSort::tx_slave:
        case LiveSort::rx_slave: {
            const int slave = settings_.sort == LiveSort::tx_slave ? row.tx_slave : row.rx_slave;
            const auto place = slaves_.find({row.flow.bond, slave});
            return place != slaves_.end() ? place->second : std::numeric_limits<std::uint64_t>::max();
        }
        default: // compared by what they are
            return 0;
        }
    }

  private:
    const ViewSettings& settings_;
    std::map<std::pair<std::size_t, int>, std::uint64_t> slaves_;
};

int port_of(const ConversationKey& key, bool local) {
    const auto* ports = std::get_if<Ports>(&key.detail);
    return !ports ? -1 : local ? ports->local : ports->remote;
}

// By address and port; for the sorts that have no number.
bool end_before(const FlowRow& a, const FlowRow& b, bool local) {
    const Host& left = local ? a.flow.key.local : a.flow.key.remote;
    const Host& right = local ? b.flow.key.local : b.flow.key.remote;
    if (left != right) return left < right;
    return std::pair(port_of(a.flow.key, local), a.id) < std::pair(port_of(b.flow.key, local), b.id);
}

// Protocols by name: a number for each, and the rank of its name.
std::uint64_t protocol_number(const ConversationKey& key) {
    return key.ip ? std::uint64_t{key.protocol} : std::uint64_t{key.ethertype} + 256;
}

void rank_protocols(std::vector<Rank>& ranks, const std::vector<FlowRow>& rows) {
    std::map<std::uint64_t, std::string> names;
    for (const Rank& rank : ranks)
        if (const ConversationKey& key = rows[rank.row].flow.key; !names.contains(protocol_number(key)))
            names.emplace(protocol_number(key), protocol_name(key));
    std::vector<std::pair<std::string, std::uint64_t>> sorted;
    sorted.reserve(names.size());
    for (const auto& [number, name] : names)
        sorted.emplace_back(name, number);
    std::sort(sorted.begin(), sorted.end());
    std::map<std::uint64_t, std::uint64_t> places;
    for (std::size_t place = 0; place < sorted.size(); ++place)
        places[sorted[place].second] = place;
    for (Rank& rank : ranks)
        rank.key = places[protocol_number(rows[rank.row].flow.key)];
}

} // namespace

Result<LiveSort> parse_live_sort(std::string_view text) {
    std::string names;
    for (const NamedSort& known : live_sorts) {
        if (known.name == text) return known.sort;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    }
    constexpr std::size_t shown = 40;
    return fail(ErrorKind::usage,
                fmt::format("\"{}\" is no sort key", shorten_end(sanitize(text), shown, "...")),
                fmt::format("sort by one of {}", names));
}

std::string_view to_text(LiveSort sort) {
    return live_sorts[static_cast<std::size_t>(sort)].name;
}

void FlowView::rebuild(const LiveModel& model, const ViewSettings& settings) {
    const std::vector<FlowRow>& rows = model.flows().rows();
    const Names names = model.reading().report.names();
    const Keys key_of(model, settings);
    std::vector<Rank> ranks;
    ranks.reserve(rows.size());
    total_ = idle_ = 0;
    for (std::uint32_t index = 0; index < rows.size(); ++index) {
        const FlowRow& row = rows[index];
        if (settings.bond && row.flow.bond != *settings.bond) continue;
        if (model.is_idle(row)) {
            ++idle_;
            continue;
        }
        ++total_;
        if (!settings.filter.matches(row.flow, names)) continue;
        ranks.push_back({key_of(row), row.id, index});
    }
    if (settings.sort == LiveSort::proto) rank_protocols(ranks, rows);
    if (settings.sort == LiveSort::local || settings.sort == LiveSort::remote)
        std::sort(ranks.begin(), ranks.end(), [&](const Rank& a, const Rank& b) {
            return end_before(rows[a.row], rows[b.row], settings.sort == LiveSort::local);
        });
    else
        std::sort(ranks.begin(), ranks.end(),
                  [](const Rank& a, const Rank& b) { return a.key != b.key ? a.key < b.key : a.id < b.id; });
    if (settings.reverse) std::reverse(ranks.begin(), ranks.end());
    rows_.clear();
    rows_.reserve(ranks.size());
    for (const Rank& rank : ranks)
        rows_.push_back(rank.row);
}

std::optional<std::size_t> FlowView::place_of(const LiveModel& model, std::uint64_t id) const {
    const std::vector<FlowRow>& rows = model.flows().rows();
    for (std::size_t place = 0; place < rows_.size(); ++place)
        if (rows[rows_[place]].id == id) return place;
    return std::nullopt;
}

FlowView::Sum FlowView::sum(const LiveModel& model, std::size_t from, std::size_t to) const {
    const std::vector<FlowRow>& rows = model.flows().rows();
    Sum sum;
    for (std::size_t place = from; place < std::min(to, rows_.size()); ++place) {
        sum.tx = sum.tx + rows[rows_[place]].tx;
        sum.rx = sum.rx + rows[rows_[place]].rx;
    }
    return sum;
}

} // namespace bondtrace
