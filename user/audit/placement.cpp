// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/placement.h"

#include "user/hash/policy.h"

namespace bondtrace {
namespace {

const MacAddress* mac_of(const Host& host) {
    return std::get_if<MacAddress>(&host);
}

bool is_zero(const MacAddress& mac) {
    return mac == MacAddress{};
}

void set_detail(FlowTuple& tuple, const FlowDetail& detail) {
    if (const auto* ports = std::get_if<Ports>(&detail)) {
        tuple.src_port = ports->local;
        tuple.dst_port = ports->remote;
    } else if (const auto* icmp = std::get_if<IcmpMessage>(&detail)) {
        tuple.icmp_type = icmp->type;
        tuple.icmp_code = icmp->code;
        tuple.icmp_id = icmp->id.value_or(0);
    } else if (const auto* spi = std::get_if<Spi>(&detail)) {
        tuple.src_port = static_cast<std::uint16_t>(spi->value >> 16U);
        tuple.dst_port = static_cast<std::uint16_t>(spi->value);
    }
}

bool looks_at_addresses(HashPolicy policy) {
    return policy != HashPolicy::layer2 && policy != HashPolicy::vlan_srcmac;
}

void add_hash(PlacedFlow& placed, const BondView& view) {
    const HashPolicy policy = view.report->policy;
    const FrameOrigin& origin = placed.use->origin;
    if (policy == HashPolicy::encap34 && origin.l4_hash) {
        placed.hash = origin.skb_hash; // the kernel takes it as it is
        return;
    }
    const auto inputs = hash_inputs(sent_tuple(*placed.flow, *placed.use), policy, view.era);
    if (!inputs) return;
    placed.hash = hash_of(*inputs, policy, view.era);
    placed.by_mac = looks_at_addresses(policy) && inputs->flow.parsed != Parsed::ok;
}

} // namespace

FlowTuple sent_tuple(const Conversation& flow, const SlaveUse& use) {
    const ConversationKey& key = flow.key;
    FlowTuple tuple;
    tuple.ethertype = key.ethertype;
    tuple.outer_ethertype = use.origin.outer_ethertype ? use.origin.outer_ethertype : key.ethertype;
    tuple.protocol = key.protocol;
    if (const auto* local = std::get_if<IpAddress>(&key.local)) tuple.src = *local;
    if (const auto* remote = std::get_if<IpAddress>(&key.remote)) tuple.dst = *remote;
    set_detail(tuple, key.detail);
    tuple.fragment = key.fragment;
    tuple.extension_headers = use.origin.extension_headers;
    tuple.unparsed = key.unparsed;
    if (!is_zero(use.origin.local_mac) || !is_zero(use.origin.remote_mac)) {
        tuple.src_mac = use.origin.local_mac;
        tuple.dst_mac = use.origin.remote_mac;
    } else if (mac_of(key.local) && mac_of(key.remote)) {
        tuple.src_mac = *mac_of(key.local);
        tuple.dst_mac = *mac_of(key.remote);
    }
    if (use.origin.tci) tuple.tci = use.origin.tci;
    return tuple;
}

std::optional<std::uint32_t> hash_of_tuple(const FlowTuple& tuple, HashPolicy policy, const Era& era) {
    const auto inputs = hash_inputs(tuple, policy, era);
    if (!inputs) return std::nullopt;
    return hash_of(*inputs, policy, era);
}

std::vector<PlacedFlow> placed_flows(const BondView& view, Direction direction) {
    std::vector<PlacedFlow> all;
    if (!view.report || view.usable.empty()) return all;
    std::vector<std::uint64_t> load(view.usable.size());
    for (const Conversation* flow : view.flows) {
        PlacedFlow placed;
        placed.flow = flow;
        load.assign(load.size(), 0);
        for (const SlaveUse& use : direction == Direction::tx ? flow->tx : flow->rx) {
            const auto position = view.position(use.slave_ifindex);
            if (!position || use.inactive || use.counts.wire_packets == 0) continue;
            placed.packets += use.counts.wire_packets;
            placed.bytes += use.counts.wire_bytes;
            load[*position] += use.counts.wire_bytes;
            if (!placed.use || load[*position] > load[placed.slave]) {
                placed.use = &use;
                placed.slave = *position;
            }
        }
        if (!placed.use) continue;
        placed.whole = static_cast<double>(load[placed.slave]) >= 0.9 * static_cast<double>(placed.bytes);
        if (direction == Direction::tx && view.report->policy_used) add_hash(placed, view);
        all.push_back(placed);
    }
    return all;
}

} // namespace bondtrace
