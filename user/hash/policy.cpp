// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/hash/policy.h"

#include <cstring>

namespace bondtrace {
namespace {

std::uint32_t load(const std::uint8_t* bytes) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes, sizeof(word));
    return word;
}

std::uint32_t word_of(AddressKind kind, const std::array<std::uint8_t, 16>& address) {
    switch (kind) {
    case AddressKind::ipv4:
    case AddressKind::tipc:
        return load(address.data());
    case AddressKind::ipv6:
        return load(address.data()) ^ load(address.data() + 4) ^ load(address.data() + 8) ^
               load(address.data() + 12);
    case AddressKind::none:
        break;
    }
    return 0;
}

std::uint32_t vlan_srcmac_hash(const EthernetInputs& inputs) {
    if (!inputs.present) return 0;
    const auto& mac = inputs.src;
    const auto be24 = [&mac](std::size_t i) {
        return std::uint32_t{mac[i]} << 16U | std::uint32_t{mac[i + 1]} << 8U | mac[i + 2];
    };
    return inputs.tci ^ be24(0) ^ be24(3);
}

// Ports, or what the driver lays over them for ICMP: {u8 type; u8 code; u16 id in host order}.
std::uint32_t transport_word(const FlowInputs& flow) {
    if (flow.icmp_id == 0) return load(flow.ports.data());
    std::array<std::uint8_t, 4> icmp{flow.icmp_type, flow.icmp_code};
    std::memcpy(icmp.data() + 2, &flow.icmp_id, sizeof(flow.icmp_id));
    return load(icmp.data());
}

} // namespace

std::uint32_t address_word(const IpAddress& address) {
    return word_of(address.v6 ? AddressKind::ipv6 : AddressKind::ipv4, address.bytes);
}

std::uint32_t layer2_hash(const EthernetInputs& inputs, const Era& era) {
    if (!inputs.present) return 0;
    std::uint32_t type = inputs.ethertype;
    if (era.ethertype_raw && std::endian::native == std::endian::little)
        type = (type >> 8U | type << 8U) & 0xffffU;
    return static_cast<std::uint32_t>(inputs.dst[5] ^ inputs.src[5]) ^ type;
}

std::uint32_t hash_of(const HashInputs& inputs, HashPolicy policy, const Era& era) {
    if (policy == HashPolicy::vlan_srcmac) return vlan_srcmac_hash(inputs.ethernet);
    const FlowInputs& flow = inputs.flow;
    if (policy == HashPolicy::layer2 || flow.parsed != Parsed::ok) return layer2_hash(inputs.ethernet, era);
    const std::uint32_t hash = uses_ports(policy) ? transport_word(flow) : layer2_hash(inputs.ethernet, era);
    return fold(hash, word_of(flow.kind, flow.src),
                flow.kind == AddressKind::tipc ? 0 : word_of(flow.kind, flow.dst),
                low_bit_dropped(policy, era));
}

} // namespace bondtrace
