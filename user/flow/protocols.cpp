// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/flow/protocols.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <netinet/in.h>

namespace bondtrace {
namespace {

struct IpProtocol {
    std::uint8_t number;
    std::string_view name;
};
// IANA protocol numbers; the names are those of /etc/protocols but for icmp6 (ipv6-icmp there), as tcpdump
// has it.
constexpr std::array ip_protocols = {
    IpProtocol{6, "tcp"},    IpProtocol{17, "udp"},      IpProtocol{1, "icmp"},  IpProtocol{58, "icmp6"},
    IpProtocol{132, "sctp"}, IpProtocol{50, "esp"},      IpProtocol{51, "ah"},   IpProtocol{47, "gre"},
    IpProtocol{2, "igmp"},   IpProtocol{33, "dccp"},     IpProtocol{4, "ipip"},  IpProtocol{41, "ip6ip"},
    IpProtocol{103, "pim"},  IpProtocol{136, "udplite"}, IpProtocol{112, "vrrp"}};

struct EtherType {
    std::uint16_t number;
    std::string_view name;
};
// include/uapi/linux/if_ether.h; "lacp" is the slow protocols' type, of which LACP is nearly all.
constexpr std::array ethertypes = {
    EtherType{ethertype_ipv4, "ip"}, EtherType{ethertype_ipv6, "ip6"}, EtherType{0x0806, "arp"},
    EtherType{0x8035, "rarp"},       EtherType{0x88cc, "lldp"},        EtherType{0x8809, "lacp"},
    EtherType{0x8847, "mpls"},       EtherType{0x8863, "pppoe-disc"},  EtherType{0x8864, "pppoe"},
    EtherType{0x888e, "eapol"},      EtherType{0x88e5, "macsec"},      EtherType{0x8906, "fcoe"},
    EtherType{0x8914, "fip"},        EtherType{0x8915, "roce"}};

// IEEE 802.3: below this the field is a length and an LLC header follows.
constexpr std::uint16_t first_ethertype = 0x0600;

constexpr std::string_view numbered_prefix = "ip-";

} // namespace

std::string ip_protocol_name(std::uint8_t protocol) {
    for (const IpProtocol& known : ip_protocols)
        if (known.number == protocol) return std::string(known.name);
    return fmt::format("{}{}", numbered_prefix, protocol);
}

std::string ethertype_name(std::uint16_t ethertype) {
    for (const EtherType& known : ethertypes)
        if (known.number == ethertype) return std::string(known.name);
    if (ethertype > 0 && ethertype < first_ethertype) return "llc";
    return fmt::format("0x{:04x}", ethertype);
}

std::optional<ProtocolId> protocol_by_name(std::string_view name) {
    if (name == "llc") return ProtocolId{{}, {}, true};
    if (name == "ipv4") return ProtocolId{{}, ethertype_ipv4};
    if (name == "ipv6") return ProtocolId{{}, ethertype_ipv6};
    for (const IpProtocol& known : ip_protocols)
        if (known.name == name) return ProtocolId{known.number, {}};
    for (const EtherType& known : ethertypes)
        if (known.name == name) return ProtocolId{{}, known.number};
    if (!name.starts_with(numbered_prefix)) return std::nullopt;
    const std::string_view digits = name.substr(numbered_prefix.size());
    std::uint8_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return ProtocolId{number, {}};
}

std::string protocol_names() {
    std::string names;
    for (const IpProtocol& known : ip_protocols)
        names += std::string(known.name) + ", ";
    for (const EtherType& known : ethertypes)
        names += std::string(known.name) + ", ";
    return names + "llc";
}

std::uint8_t icmp_counterpart(std::uint8_t protocol, std::uint8_t type) {
    if (protocol == IPPROTO_ICMP) {
        switch (type) {
        case 8:
            return 0;
        case 0:
            return 8;
        case 13:
            return 14;
        case 14:
            return 13;
        default:
            return type;
        }
    }
    return type == 128 ? 129 : type == 129 ? 128 : type;
}

} // namespace bondtrace
