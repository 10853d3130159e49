// SPDX-License-Identifier: GPL-2.0-or-later
// Bounded reads from a packet, and the numbers of protocols that both parsers and the typed inputs name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace bondtrace {

// Bytes of a packet. Every read is preceded by has().
class Wire {
  public:
    explicit Wire(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    // True when `length` bytes stand at `offset`.
    [[nodiscard]] bool has(std::size_t offset, std::size_t length) const {
        return offset <= bytes_.size() && bytes_.size() - offset >= length;
    }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    [[nodiscard]] std::uint8_t u8(std::size_t offset) const { return bytes_[offset]; }
    [[nodiscard]] std::uint16_t be16(std::size_t offset) const {
        return static_cast<std::uint16_t>(bytes_[offset] << 8U | bytes_[offset + 1]);
    }
    void copy(void* to, std::size_t offset, std::size_t length) const {
        std::memcpy(to, bytes_.data() + offset, length);
    }

  private:
    std::span<const std::uint8_t> bytes_;
};

inline constexpr std::size_t ethernet_header = 14;
inline constexpr std::size_t vlan_header = 4;
inline constexpr std::size_t ipv4_header = 20;
inline constexpr std::size_t ipv6_header = 40;
inline constexpr std::size_t icmp_header = 8;

// The length of the IPv4 header that begins at `offset`, as it states it: 0 to 60.
inline std::size_t ipv4_header_length(const Wire& wire, std::size_t offset) {
    return std::size_t{4} * (wire.u8(offset) & 0x0fU);
}

// Ethertypes (include/uapi/linux/if_ether.h).
namespace ethertype {
inline constexpr std::uint16_t ipv4 = 0x0800, arp = 0x0806, batman = 0x4305, teb = 0x6558, rarp = 0x8035,
                               vlan = 0x8100, ipv6 = 0x86dd, ppp = 0x880b, mpls = 0x8847,
                               mpls_multicast = 0x8848, pppoe_session = 0x8864, service_vlan = 0x88a8,
                               tipc = 0x88ca, ptp = 0x88f7, prp = 0x88fb, cfm = 0x8902, fcoe = 0x8906,
                               hsr = 0x892f;
// A tag that eth_type_vlan() recognises.
constexpr bool is_vlan(std::uint16_t type) {
    return type == vlan || type == service_vlan;
}
constexpr bool is_ip(std::uint16_t type) {
    return type == ipv4 || type == ipv6;
}
} // namespace ethertype

// IP protocols (include/uapi/linux/in.h, include/net/ipv6.h).
namespace ipproto {
inline constexpr std::uint8_t hop_by_hop = 0, icmp = 1, igmp = 2, ipip = 4, tcp = 6, udp = 17, dccp = 33,
                              ipv6 = 41, routing = 43, fragment = 44, gre = 47, esp = 50, ah = 51,
                              icmpv6 = 58, destination_options = 60, sctp = 132, udplite = 136, mpls = 137;
} // namespace ipproto

// Where the four bytes of ports (or SPI) stand in the header of `protocol`; nullopt: it has none
// (proto_ports_offset).
constexpr std::optional<std::size_t> ports_offset(std::uint8_t protocol) {
    switch (protocol) {
    case ipproto::tcp:
    case ipproto::udp:
    case ipproto::dccp:
    case ipproto::esp:
    case ipproto::sctp:
    case ipproto::udplite:
        return 0;
    case ipproto::ah:
        return 4;
    default:
        return std::nullopt;
    }
}

// Types with an identifier. The number alone decides, for ICMP and ICMPv6 alike (icmp_has_id).
constexpr bool icmp_has_id(std::uint8_t type) {
    return type == 0 || type == 8 || type == 13 || type == 14 || type == 128 || type == 129;
}

// Errors, which embed the packet they report (icmp_is_err, icmpv6_is_err).
constexpr bool icmp_is_error(std::uint8_t protocol, std::uint8_t type) {
    if (protocol == ipproto::icmp) return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
    return type >= 1 && type <= 4;
}

// The identifier as hashed: 0 means none, so that a 0 on the wire counts as 1 (skb_flow_get_icmp_tci).
constexpr std::uint16_t icmp_hashed_id(std::uint8_t type, std::uint16_t id) {
    if (!icmp_has_id(type)) return 0;
    return id ? id : std::uint16_t{1};
}

} // namespace bondtrace
