// SPDX-License-Identifier: GPL-2.0-or-later
// Names of IP protocols and EtherTypes, as every table and the filter spell them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bondtrace {

inline constexpr std::uint16_t ethertype_ipv4 = 0x0800;
inline constexpr std::uint16_t ethertype_ipv6 = 0x86dd;

// "tcp"; "ip-89" for a protocol that has no name here.
std::string ip_protocol_name(std::uint8_t protocol);

// "arp"; "llc" for an 802.3 length; "0x88f7" for a type that has no name here.
std::string ethertype_name(std::uint16_t ethertype);

// What a protocol's name or number stands for: one of the two is set.
struct ProtocolId {
    std::optional<std::uint8_t> ip_protocol;
    std::optional<std::uint16_t> ethertype;
    bool llc = false; // every 802.3 length

    auto operator<=>(const ProtocolId&) const = default;
};

// A name ("tcp", "arp", "ip", "ip6", "ip-89", "llc"); nullopt when there is no such name.
std::optional<ProtocolId> protocol_by_name(std::string_view name);

// All names, comma-separated, for messages.
std::string protocol_names();

// The type of the ICMP or ICMPv6 message that answers `type`, or asks for it; `type` itself when there is
// none. RFC 792, RFC 4443.
std::uint8_t icmp_counterpart(std::uint8_t protocol, std::uint8_t type);

// The VLAN ID in a tag's control information (IEEE 802.1Q).
inline constexpr std::uint16_t vlan_id_mask = 0x0fff;

} // namespace bondtrace
