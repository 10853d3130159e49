// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/fields.h"

#include "user/audit/statistics.h"

#include <map>
#include <unordered_map>

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::array<std::string_view, field_count> names{"vlan",   "src-mac",  "dst-mac", "src-ip",
                                                          "dst-ip", "src-port", "dst-port"};

std::uint64_t number_of(const MacAddress& mac) {
    std::uint64_t number = 0;
    for (const std::uint8_t byte : mac)
        number = number << 8U | byte;
    return number;
}

std::size_t index(Field field) {
    return static_cast<std::size_t>(field);
}

// Gives out numbers for values in the order in which they come.
template<typename Map> std::uint32_t numbered(Map& map, const typename Map::key_type& value) {
    return map.try_emplace(value, static_cast<std::uint32_t>(map.size())).first->second;
}

struct Dictionaries {
    std::unordered_map<std::uint64_t, std::uint32_t> vlans, local_macs, remote_macs, local_ports,
        remote_ports;
    std::map<Host, std::uint32_t> locals, remotes;
};

// Ports, or what stands in their place, so that flows of different kinds do not share a value.
std::pair<std::uint64_t, std::uint64_t> ports_of(const ConversationKey& key) {
    if (const auto* ports = std::get_if<Ports>(&key.detail)) return {ports->local, ports->remote};
    if (const auto* spi = std::get_if<Spi>(&key.detail))
        return {1U << 20U, std::uint64_t{1} << 32U | spi->value};
    if (const auto* icmp = std::get_if<IcmpMessage>(&key.detail))
        return {(1U << 21U) + icmp->id.value_or(0), (1U << 21U) + icmp->type};
    return {1U << 22U, 1U << 22U};
}

} // namespace

std::string_view to_text(Field field) {
    return names[index(field)];
}

std::string to_text(FieldSet fields) {
    std::string text;
    for (std::size_t i = 0; i < field_count; ++i) {
        if ((fields & only(static_cast<Field>(i))) == 0) continue;
        if (!text.empty()) text += " and ";
        text += names[i];
    }
    return text;
}

FieldTable::FieldTable(const std::vector<PlacedFlow>& flows, Direction direction) {
    Dictionaries known;
    rows_.reserve(flows.size());
    for (const PlacedFlow& placed : flows) {
        const ConversationKey& key = placed.flow->key;
        const auto [local_port, remote_port] = ports_of(key);
        const std::uint64_t vlan =
            std::uint64_t{key.vlan.value_or(0xffff)} << 16U | key.inner_vlan.value_or(0xffff);
        const std::uint32_t local_mac = numbered(known.local_macs, number_of(placed.use->origin.local_mac));
        const std::uint32_t remote_mac =
            numbered(known.remote_macs, number_of(placed.use->origin.remote_mac));
        const std::uint32_t local = numbered(known.locals, key.local),
                            remote = numbered(known.remotes, key.remote);
        const std::uint32_t local_number = numbered(known.local_ports, local_port);
        const std::uint32_t remote_number = numbered(known.remote_ports, remote_port);
        const bool sent = direction == Direction::tx;
        if (key.vlan) present_ |= only(Field::vlan);
        if (placed.use->origin.local_mac != MacAddress{})
            present_ |= only(sent ? Field::src_mac : Field::dst_mac);
        if (placed.use->origin.remote_mac != MacAddress{})
            present_ |= only(sent ? Field::dst_mac : Field::src_mac);
        if (key.ip) {
            present_ |= only(Field::src_ip);
            present_ |= only(Field::dst_ip);
        }
        if (!std::holds_alternative<std::monostate>(key.detail)) {
            present_ |= only(Field::src_port);
            present_ |= only(Field::dst_port);
        }
        rows_.push_back({numbered(known.vlans, vlan), sent ? local_mac : remote_mac,
                         sent ? remote_mac : local_mac, sent ? local : remote, sent ? remote : local,
                         sent ? local_number : remote_number, sent ? remote_number : local_number});
    }
    for (const Row& row : rows_)
        for (std::size_t i = 0; i < field_count; ++i)
            distinct_[i] = std::max(distinct_[i], std::uint64_t{row[i]} + 1);
}

double FieldTable::entropy(Field field) const {
    std::vector<std::uint64_t> occurrences(distinct(field), 0);
    for (const Row& row : rows_)
        ++occurrences[row[index(field)]];
    return entropy_bits(occurrences);
}

std::string describe(const FieldTable& fields) {
    std::string text;
    for (std::size_t i = 0; i < field_count; ++i) {
        const auto field = static_cast<Field>(i);
        if ((fields.present() & only(field)) == 0) continue;
        text += fmt::format("{}{} {}", text.empty() ? "values (entropy) " : ", ", to_text(field),
                            fields.distinct(field));
        if (fields.distinct(field) > 1) text += fmt::format(" ({:.3g} bits)", fields.entropy(field));
    }
    return text;
}

} // namespace bondtrace
