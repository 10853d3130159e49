// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/hash/choice.h"

#include "user/hash/policy.h"
#include "user/hash/wire.h"

#include <algorithm>

namespace bondtrace {
namespace {

using Inputs = tl::expected<HashInputs, std::string_view>;

constexpr MacAddress broadcast_mac{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr MacAddress all_nodes_mac{0x33, 0x33, 0x00, 0x00, 0x00, 0x01};
constexpr std::uint8_t neighbour_solicitation = 135, neighbour_advertisement = 136;

constexpr bool is_neighbour_discovery(std::uint8_t icmp_type) {
    return icmp_type == neighbour_solicitation || icmp_type == neighbour_advertisement;
}

void set_mac(PacketTraits& traits, const MacAddress& dst) {
    traits.multicast_mac = (dst[0] & 1U) != 0;
    traits.broadcast_mac = dst == broadcast_mac;
    traits.all_nodes_mac = dst == all_nodes_mac;
}

template<typename Bytes> bool all_are(const Bytes& bytes, std::size_t count, std::uint8_t value) {
    return std::all_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count),
                       [value](std::uint8_t byte) { return byte == value; });
}

Choice none(std::string_view reason) {
    return {ChoiceKind::none, 0, 0, reason};
}

Choice active(std::string_view reason) {
    return {ChoiceKind::active_slave, 0, 0, reason};
}

constexpr std::string_view no_slave = "the bond has no usable slave and drops the packet";

// bond_xmit_hash() and the modulo.
Choice by_hash(const ChoiceContext& bond, const Inputs& inputs) {
    if (bond.usable == 0) return none(no_slave);
    if (bond.policy == HashPolicy::encap34) {
        if (!bond.l4_hash)
            return none("encap3+4 takes the socket's or the NIC's hash where the packet carries one, and it "
                        "is not known "
                        "whether this one does");
        if (*bond.l4_hash) {
            if (!bond.skb_hash)
                return none("encap3+4 takes the hash that the socket (local TCP and connected UDP: a random "
                            "number) or the NIC "
                            "gave the packet");
            return {ChoiceKind::index, *bond.skb_hash % bond.usable, *bond.skb_hash, {}};
        }
    }
    const bool encap = bond.policy == HashPolicy::encap23 || bond.policy == HashPolicy::encap34;
    if (encap && bond.flow_dissector)
        return none(
            "a BPF flow dissector is attached (or it could not be seen that none is) and decides what "
            "the policy hashes");
    if (!inputs) return none(inputs.error());
    if (inputs->flow.random && inputs->flow.parsed == Parsed::ok)
        return none("TIPC keep-alive messages are hashed with a random number");
    const std::uint32_t hash = hash_of(*inputs, bond.policy, bond.era);
    return {ChoiceKind::index, hash % bond.usable, hash, {}};
}

// balance-tlb and balance-alb leave some packets to the active slave (bond_xmit_tlb_slave_get,
// bond_xmit_alb_slave_get).
Choice by_load(const ChoiceContext& bond, const Inputs& inputs, const PacketTraits& packet) {
    const bool alb = bond.mode == BondMode::balance_alb;
    if (alb && packet.protocol == ethertype::arp)
        return none("balance-alb spreads ARP by a table of its own, to balance what is received");
    if (!ethertype::is_ip(packet.protocol)) return active("the mode balances IP only");
    if (alb ? packet.broadcast_mac : packet.multicast_mac)
        return active(alb ? "the mode does not balance broadcast" : "the mode does not balance multicast");
    if (packet.cut) return none("the IP header is cut, and what the mode does with it depends on the kernel");
    if (alb) {
        if (packet.igmp) return active("the mode does not balance IGMP");
        if (packet.limited_broadcast || packet.all_nodes_mac)
            return active("the mode does not balance broadcast");
    }
    if (packet.neighbour_discovery)
        return none("older kernels balance neighbour discovery, newer ones leave it to the active slave");
    if (alb && packet.unspecified_source) return active("the mode does not balance packets from ::");
    if (bond.tlb_dynamic_lb)
        return none(
            "with tlb_dynamic_lb the slave depends on the load at the moment, not on the packet alone");
    return by_hash(bond, inputs);
}

Choice pick(const ChoiceContext& bond, const Inputs& inputs, const PacketTraits& packet) {
    const bool overridable = bond.mode == BondMode::balance_rr || bond.mode == BondMode::active_backup;
    if (overridable && bond.queue_override)
        return none("a slave has a queue_id: packets that carry that queue's number go through it");
    if (bond.tls_offload) return none("the socket's TLS offload has bound it to one slave");
    switch (bond.mode) {
    case BondMode::balance_rr:
        if (packet.protocol == ethertype::ipv4 && packet.igmp) return active("IGMP does not rotate");
        return none("balance-rr sends packet by packet, whatever the flow");
    case BondMode::active_backup:
        return active({});
    case BondMode::broadcast:
        return {ChoiceKind::all_slaves, 0, 0, {}};
    case BondMode::lacp:
        if (bond.broadcast_neighbor && (packet.protocol == ethertype::arp || packet.neighbour_discovery))
            return {ChoiceKind::all_slaves, 0, 0,
                    "broadcast_neighbor copies neighbour messages to every slave"};
        return by_hash(bond, inputs);
    case BondMode::balance_xor:
        return by_hash(bond, inputs);
    case BondMode::balance_tlb:
    case BondMode::balance_alb:
        return by_load(bond, inputs, packet);
    }
    return none("a mode that this program does not know");
}

} // namespace

PacketTraits packet_traits(const Frame& frame) {
    const Wire wire(frame.bytes);
    PacketTraits traits;
    traits.protocol = frame.protocol;
    if (!wire.has(0, ethernet_header)) {
        traits.cut = true;
        return traits;
    }
    MacAddress dst{};
    wire.copy(dst.data(), 0, dst.size());
    set_mac(traits, dst);
    const std::size_t ip = frame.network_offset;
    if (frame.protocol == ethertype::ipv4) {
        traits.cut = !wire.has(ip, ipv4_header);
        if (traits.cut) return traits;
        traits.igmp = wire.u8(ip + 9) == ipproto::igmp;
        std::array<std::uint8_t, 4> to{};
        wire.copy(to.data(), ip + 16, to.size());
        traits.limited_broadcast = all_are(to, to.size(), 0xff);
    } else if (frame.protocol == ethertype::ipv6) {
        traits.cut = !wire.has(ip, ipv6_header);
        if (traits.cut) return traits;
        std::array<std::uint8_t, 16> from{};
        wire.copy(from.data(), ip + 8, from.size());
        traits.unspecified_source = all_are(from, from.size(), 0);
        if (wire.u8(ip + 6) == ipproto::icmpv6) {
            traits.cut = !wire.has(ip + ipv6_header, icmp_header);
            traits.neighbour_discovery = !traits.cut && is_neighbour_discovery(wire.u8(ip + ipv6_header));
        }
    }
    return traits;
}

PacketTraits packet_traits(const FlowTuple& tuple) {
    PacketTraits traits;
    traits.protocol = tuple.outer_ethertype;
    traits.cut = tuple.unparsed;
    if (tuple.dst_mac) set_mac(traits, *tuple.dst_mac);
    if (tuple.outer_ethertype == ethertype::ipv4) {
        traits.igmp = tuple.protocol == ipproto::igmp;
        traits.limited_broadcast = all_are(tuple.dst.bytes, 4, 0xff);
    } else if (tuple.outer_ethertype == ethertype::ipv6) {
        traits.unspecified_source = all_are(tuple.src.bytes, 16, 0);
        traits.neighbour_discovery = !tuple.extension_headers && tuple.protocol == ipproto::icmpv6 &&
                                     is_neighbour_discovery(tuple.icmp_type);
    }
    return traits;
}

Choice choose(const ChoiceContext& bond, const HashInputs& inputs, const PacketTraits& packet) {
    return pick(bond, inputs, packet);
}

Choice choose(const ChoiceContext& bond, const Frame& frame) {
    return pick(bond, hash_inputs(frame, bond.policy, bond.era), packet_traits(frame));
}

Choice choose(const ChoiceContext& bond, const FlowTuple& tuple) {
    return pick(bond, hash_inputs(tuple, bond.policy, bond.era), packet_traits(tuple));
}

} // namespace bondtrace
