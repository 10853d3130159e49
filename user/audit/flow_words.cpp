// SPDX-License-Identifier: GPL-2.0-or-later
// Names for single flows, as findings spell them.
#include "user/audit/hash_findings.h"
#include "user/hash/wire.h"

#include <array>

#include <fmt/format.h>

namespace bondtrace {
namespace {

struct UdpTunnel {
    std::uint16_t port;
    std::string_view name;
};
// IANA's service names; 8472 is Linux' own old default for VXLAN.
constexpr std::array<UdpTunnel, 9> udp_tunnels{{
    {4789, "VXLAN"},
    {8472, "VXLAN"},
    {6081, "Geneve"},
    {51820, "WireGuard"},
    {4500, "IPsec NAT traversal"},
    {1701, "L2TP"},
    {2152, "GTP-U"},
    {6635, "MPLS in UDP"},
    {1194, "OpenVPN"},
}};

std::string host_text(const Host& host) {
    const auto* ip = std::get_if<IpAddress>(&host);
    return ip && ip->v6 ? "[" + to_text(host) + "]" : to_text(host);
}

} // namespace

std::string_view tunnel_name(const ConversationKey& key) {
    if (!key.ip) return {};
    switch (key.protocol) {
    case ipproto::ipip:
        return "IP in IP";
    case ipproto::ipv6:
        return "IPv6 in IP";
    case ipproto::gre:
        return "GRE";
    case ipproto::esp:
        return "ESP";
    case ipproto::ah:
        return "AH";
    case ipproto::udp:
        break;
    default:
        return {};
    }
    const auto* ports = std::get_if<Ports>(&key.detail);
    for (const UdpTunnel& tunnel : udp_tunnels)
        if (ports && (ports->remote == tunnel.port || ports->local == tunnel.port)) return tunnel.name;
    return {};
}

std::string describe(const ConversationKey& key) {
    if (const auto* ports = std::get_if<Ports>(&key.detail))
        return fmt::format("{} {}:{} -> {}:{}", protocol_name(key), host_text(key.local), ports->local,
                           host_text(key.remote), ports->remote);
    return fmt::format("{} {} -> {}", protocol_name(key), to_text(key.local), to_text(key.remote));
}

} // namespace bondtrace
