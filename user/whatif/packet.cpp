// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/whatif/packet.h"

#include "user/hash/wire.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bondtrace {
namespace {

constexpr std::uint8_t has_src_mac = 1, has_dst_mac = 2;
constexpr std::uint16_t arphrd_ethernet = 1, cooked_outgoing = 4; // LINUX_SLL_OUTGOING
constexpr std::size_t cooked_header = 16, cooked2_header = 20, longest_packet = 262144;

PacketKey::Inner inner_of(const FlowInputs& flow) {
    PacketKey::Inner inner;
    inner.parsed = flow.parsed;
    if (flow.parsed != Parsed::ok) return inner; // hashed by MAC addresses: nothing else counts
    inner.src = flow.src;
    inner.dst = flow.dst;
    inner.ports = flow.ports;
    inner.icmp_id = flow.icmp_id;
    // The ports stand where these are, unless there is an id.
    if (flow.icmp_id != 0) {
        inner.ports = {};
        inner.icmp_type = flow.icmp_type;
        inner.icmp_code = flow.icmp_code;
    }
    inner.kind = flow.kind;
    inner.random = flow.random;
    return inner;
}

bool same(const PacketKey::Inner& a, const PacketKey::Inner& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

// Whether the dissector comes to what the other parser came to: plain TCP and UDP and their like, whole,
// whose IPv4 header is long enough to please it. Everything else is dissected.
bool dissects_alike(const Frame& frame, const PacketKey& key, std::size_t network) {
    const Wire wire(frame.bytes);
    switch (key.protocol) {
    case ipproto::tcp:
    case ipproto::udp:
    case ipproto::sctp:
    case ipproto::dccp:
    case ipproto::udplite:
        break;
    default:
        return false;
    }
    if (key.plain.parsed != Parsed::ok || key.fragment != 0) return false;
    if (frame.protocol == ethertype::ipv4) {
        const std::size_t length = ipv4_header_length(wire, network);
        return length >= ipv4_header && wire.has(network + length, 4);
    }
    return frame.protocol == ethertype::ipv6 && wire.has(network + ipv6_header, 4);
}

} // namespace

HashInputs inputs_of(const PacketKey& key, HashPolicy policy) {
    const bool encap = policy == HashPolicy::encap23 || policy == HashPolicy::encap34;
    const PacketKey::Inner& inner = encap ? key.encap : key.plain;
    HashInputs inputs;
    inputs.ethernet = {true, key.dst_mac, key.src_mac, key.ethertype, key.tci};
    inputs.flow.parsed = inner.parsed;
    inputs.flow.kind = inner.kind;
    inputs.flow.src = inner.src;
    inputs.flow.dst = inner.dst;
    inputs.flow.ports = inner.ports;
    inputs.flow.icmp_id = inner.icmp_id;
    inputs.flow.icmp_type = inner.icmp_type;
    inputs.flow.icmp_code = inner.icmp_code;
    inputs.flow.random = inner.random != 0;
    return inputs;
}

ConversationKey conversation_key(const PacketKey& key) {
    ConversationKey result;
    result.ethertype = key.ethertype;
    const PacketKey::Inner& inner = key.plain;
    const bool ip = inner.parsed == Parsed::ok;
    if (key.tci != 0) result.vlan = static_cast<std::uint16_t>(key.tci & 0x0fffU);
    if (!ip) {
        result.local = key.src_mac;
        result.remote = key.dst_mac;
        return result;
    }
    result.ip = true;
    result.protocol = key.protocol;
    result.fragment = key.fragment != 0;
    const bool v6 = inner.kind == AddressKind::ipv6;
    result.local = IpAddress{v6, inner.src};
    result.remote = IpAddress{v6, inner.dst};
    const auto word = [&](std::size_t at) {
        return static_cast<std::uint16_t>(inner.ports[at] << 8U | inner.ports[at + 1]);
    };
    if (result.fragment) return result;
    if (key.protocol == ipproto::esp || key.protocol == ipproto::ah)
        result.detail = Spi{std::uint32_t{word(0)} << 16U | word(2)};
    else if (ports_offset(key.protocol))
        result.detail = Ports{word(0), word(2)};
    else if (inner.icmp_id != 0)
        result.detail = IcmpMessage{inner.icmp_type, inner.icmp_code, inner.icmp_id};
    return result;
}

std::uint64_t PacketReader::wire_bytes(const CapturedPacket& packet) {
    const std::uint64_t length = packet.length;
    const auto without = [&](std::size_t header) { return length > header ? length - header : 0; };
    switch (packet.link) {
    case LinkType::linux_cooked:
        return without(cooked_header) + ethernet_header;
    case LinkType::linux_cooked2:
        return without(cooked2_header) + ethernet_header;
    case LinkType::raw_ip:
        return length + ethernet_header;
    case LinkType::ethernet:
        break;
    }
    return length;
}

std::optional<std::span<const std::uint8_t>> PacketReader::frame_of(const CapturedPacket& packet,
                                                                    PacketKey& key) {
    std::span<const std::uint8_t> bytes = packet.bytes;
    const Wire wire(bytes);
    std::size_t header = 0;
    std::uint16_t type = 0;
    switch (packet.link) {
    case LinkType::ethernet: {
        if (!wire.has(0, ethernet_header)) return std::nullopt;
        key.macs = has_src_mac | has_dst_mac;
        wire.copy(key.dst_mac.data(), 0, 6);
        wire.copy(key.src_mac.data(), 6, 6);
        type = wire.be16(12);
        if (!ethertype::is_vlan(type) || !wire.has(0, ethernet_header + vlan_header)) {
            key.ethertype = type;
            return bytes;
        }
        // Without the tag, as the bond gets the frame.
        key.tci = wire.be16(14);
        key.ethertype = wire.be16(16);
        scratch_.assign(bytes.begin(), bytes.begin() + 12);
        scratch_.insert(scratch_.end(), bytes.begin() + 16, bytes.end());
        return std::span<const std::uint8_t>(scratch_);
    }
    case LinkType::linux_cooked:
        if (!wire.has(0, cooked_header) || wire.be16(0) != cooked_outgoing) return std::nullopt;
        if (wire.be16(2) == arphrd_ethernet && wire.be16(4) == 6) {
            key.macs = has_src_mac;
            wire.copy(key.src_mac.data(), 6, 6);
        }
        type = wire.be16(14);
        header = cooked_header;
        break;
    case LinkType::linux_cooked2:
        if (!wire.has(0, cooked2_header) || wire.u8(10) != cooked_outgoing) return std::nullopt;
        if (wire.be16(8) == arphrd_ethernet && wire.u8(11) == 6) {
            key.macs = has_src_mac;
            wire.copy(key.src_mac.data(), 12, 6);
        }
        type = wire.be16(0);
        header = cooked2_header;
        break;
    case LinkType::raw_ip:
        if (!wire.has(0, 1)) return std::nullopt;
        switch (wire.u8(0) >> 4U) {
        case 4:
            type = ethertype::ipv4;
            break;
        case 6:
            type = ethertype::ipv6;
            break;
        default:
            return std::nullopt;
        }
        break;
    }
    bytes = bytes.subspan(header);
    if (ethertype::is_vlan(type) && bytes.size() >= vlan_header) {
        key.tci = static_cast<std::uint16_t>(bytes[0] << 8U | bytes[1]);
        type = static_cast<std::uint16_t>(bytes[2] << 8U | bytes[3]);
        bytes = bytes.subspan(vlan_header);
    }
    key.ethertype = type;
    scratch_.assign(12, 0);
    scratch_.push_back(static_cast<std::uint8_t>(type >> 8U));
    scratch_.push_back(static_cast<std::uint8_t>(type));
    scratch_.insert(scratch_.end(), bytes.begin(), bytes.end());
    return std::span<const std::uint8_t>(scratch_);
}

void PacketReader::parse(const Frame& frame, std::size_t missing, PacketKey& key) {
    key.plain = inner_of(flow_inputs(frame, era_));
    const Wire wire(frame.bytes);
    const std::size_t network = frame.network_offset;
    if (frame.protocol == ethertype::ipv4 && wire.has(network, ipv4_header)) {
        constexpr std::uint16_t more_fragments_or_offset = 0x3fff;
        key.protocol = wire.u8(network + 9);
        key.fragment = (wire.be16(network + 6) & more_fragments_or_offset) != 0;
    } else if (frame.protocol == ethertype::ipv6 && wire.has(network, ipv6_header)) {
        key.protocol = wire.u8(network + 6);
        key.fragment = key.protocol == ipproto::fragment;
    }
    if (dissects_alike(frame, key, network)) {
        key.encap = key.plain;
        return;
    }
    key.encap = inner_of(encap_inputs(frame, era_));
    if (missing == 0) return;
    // The capture is cut: where two different continuations are hashed alike, what is missing does not
    // matter.
    constexpr std::size_t most_looked_at = 512;
    for (const std::uint8_t filler : {std::uint8_t{0x00}, std::uint8_t{0xff}}) {
        longer_.assign(frame.bytes.begin(), frame.bytes.end());
        longer_.resize(longer_.size() + std::min(missing, most_looked_at), filler);
        Frame whole = frame;
        whole.bytes = longer_;
        if (!same(inner_of(flow_inputs(whole, era_)), key.plain)) key.plain.unknown = 1;
        if (!same(inner_of(encap_inputs(whole, era_)), key.encap)) key.encap.unknown = 1;
        if (key.plain.unknown && key.encap.unknown) break;
    }
    // Unknown ones differ by what is known.
}

bool PacketReader::read(const CapturedPacket& packet, PacketKey& key) {
    key = {};
    CapturedPacket bounded = packet;
    bounded.bytes = bounded.bytes.first(std::min(bounded.bytes.size(), longest_packet));
    const auto bytes = frame_of(bounded, key);
    if (!bytes) return false;
    Frame frame{*bytes, key.tci != 0 ? std::optional(key.tci) : std::nullopt, key.ethertype, ethernet_header};
    const std::size_t missing =
        packet.length > bounded.bytes.size() ? packet.length - bounded.bytes.size() : 0;
    parse(frame, missing, key);
    return true;
}

} // namespace bondtrace
