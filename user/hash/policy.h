// SPDX-License-Identifier: GPL-2.0-or-later
// The bonding driver's transmit hash (__bond_xmit_hash in drivers/net/bonding/bond_main.c) and its way to a
// slave.
#pragma once

#include "user/bond/model.h"
#include "user/hash/frame.h"

#include <bit>
#include <cstdint>
#include <optional>

namespace bondtrace {

// The kernel's 32-bit hash of a packet with these inputs; they must have been made for the same policy and
// era. Words of the packet are loaded in the byte order of this host, as the kernel loads them: on a
// big-endian host the result is that of a big-endian kernel, and differs from a little-endian one's. Not
// covered, since it is no function of the packet: encap3+4 of a packet with skb->l4_hash (see choice.h).
std::uint32_t hash_of(const HashInputs& inputs, HashPolicy policy, const Era& era);

// dst[5] ^ src[5] ^ ethertype; 0 for a frame shorter than an Ethernet header.
std::uint32_t layer2_hash(const EthernetInputs& inputs, const Era& era);

// The last steps of every policy that hashes addresses: `hash` (layer 2, or the ports) with both addresses'
// words, spread downwards. `drop_low_bit` as low_bit_dropped() says.
constexpr std::uint32_t fold(std::uint32_t hash, std::uint32_t src, std::uint32_t dst, bool drop_low_bit) {
    hash ^= dst ^ src;
    hash ^= hash >> 16U;
    hash ^= hash >> 8U;
    return hash >> (drop_low_bit ? 1U : 0U);
}

constexpr bool low_bit_dropped(HashPolicy policy, const Era& era) {
    if (era.low_bit == LowBit::dropped_by_ports)
        return policy == HashPolicy::layer34 || policy == HashPolicy::encap34;
    return era.low_bit == LowBit::dropped;
}

// Whether ports (or an ICMP id) enter the hash.
constexpr bool uses_ports(HashPolicy policy) {
    return policy == HashPolicy::layer34 || policy == HashPolicy::encap34;
}

// Position among the usable slaves, in the kernel's order; nullopt without any (the packet is dropped).
constexpr std::optional<std::uint32_t> slave_index(std::uint32_t hash, std::uint32_t usable) {
    if (usable == 0) return std::nullopt;
    return hash % usable;
}

// Four bytes of a packet as the kernel loads them.
constexpr std::uint32_t native_word(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    const std::uint32_t big = std::uint32_t{a} << 24U | std::uint32_t{b} << 16U | std::uint32_t{c} << 8U | d;
    if constexpr (std::endian::native == std::endian::big) return big;
    return (big >> 24U) | (big >> 8U & 0xff00U) | (big << 8U & 0xff0000U) | (big << 24U);
}

// The word of two ports given in host order.
constexpr std::uint32_t ports_word(std::uint16_t src, std::uint16_t dst) {
    return native_word(static_cast<std::uint8_t>(src >> 8U), static_cast<std::uint8_t>(src),
                       static_cast<std::uint8_t>(dst >> 8U), static_cast<std::uint8_t>(dst));
}

// The word of an IPv4 address; for IPv6 the four words of the address on each other (flow_get_u32_src).
std::uint32_t address_word(const IpAddress& address);

} // namespace bondtrace
