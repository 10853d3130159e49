// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/route_message.h"

#include "user/bond/netlink_attributes.h"

#include <fmt/format.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace bondtrace {
namespace {

using netlink::Bytes;
using netlink::for_each_attribute;
using netlink::read;

tl::unexpected<Error> damaged(const char* what) {
    return fail(ErrorKind::internal,
                fmt::format("a {} message of rtnetlink does not fit its description", what));
}

// The fixed part behind the header, and the attributes behind that.
template<typename Fixed> std::optional<Bytes> split(Bytes message, std::uint16_t type, Fixed& fixed) {
    nlmsghdr header{};
    if (message.size() < NLMSG_HDRLEN + sizeof(Fixed)) return std::nullopt;
    std::memcpy(&header, message.data(), sizeof(header));
    if (header.nlmsg_type != type) return std::nullopt;
    std::memcpy(&fixed, message.data() + NLMSG_HDRLEN, sizeof(fixed));
    return message.subspan(std::min<std::size_t>(NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(Fixed)), message.size()));
}

std::optional<IpAddress> read_address(Bytes payload, int family) {
    const std::size_t size = family == AF_INET ? 4 : family == AF_INET6 ? 16 : 0;
    if (size == 0 || payload.size() != size) return std::nullopt;
    IpAddress address;
    address.v6 = family == AF_INET6;
    std::memcpy(address.bytes.data(), payload.data(), size);
    return address;
}

// struct rtvia: a family and an address of it.
std::optional<IpAddress> read_via(Bytes payload) {
    std::uint16_t family = 0;
    if (payload.size() < sizeof(family)) return std::nullopt;
    std::memcpy(&family, payload.data(), sizeof(family));
    return read_address(payload.subspan(sizeof(family)), family);
}

void read_vlan(Bytes data, Egress& egress) {
    for_each_attribute(data, [&](std::uint16_t type, Bytes payload) {
        if (type == IFLA_VLAN_ID) read(payload, egress.vlan_id);
        if (type == IFLA_VLAN_EGRESS_QOS) egress.egress_priorities = true;
    });
}

void read_link_info(Bytes nest, Egress& egress) {
    Bytes data;
    for_each_attribute(nest, [&](std::uint16_t type, Bytes payload) {
        if (type == IFLA_INFO_KIND) egress.kind = netlink::read_text(payload);
        if (type == IFLA_INFO_DATA) data = payload;
    });
    if (egress.kind == "vlan") read_vlan(data, egress);
}

} // namespace

Result<Route> parse_route_message(std::span<const std::byte> message) {
    rtmsg fixed{};
    const auto attributes = split(message, RTM_NEWROUTE, fixed);
    if (!attributes) return damaged("route");
    Route route;
    route.type = fixed.rtm_type;
    const bool fits = for_each_attribute(*attributes, [&](std::uint16_t type, Bytes payload) {
        if (type == RTA_OIF) route.out_ifindex = netlink::read_ifindex(payload);
        if (type == RTA_GATEWAY) route.gateway = read_address(payload, fixed.rtm_family);
        if (type == RTA_PREFSRC) route.source = read_address(payload, fixed.rtm_family);
        if (type == RTA_VIA) route.gateway = read_via(payload);
    });
    if (!fits) return damaged("route");
    return route;
}

Result<Neighbour> parse_neighbour_message(std::span<const std::byte> message) {
    ndmsg fixed{};
    const auto attributes = split(message, RTM_NEWNEIGH, fixed);
    if (!attributes) return damaged("neighbour");
    Neighbour neighbour;
    neighbour.ifindex = fixed.ndm_ifindex;
    neighbour.state = fixed.ndm_state;
    std::optional<IpAddress> address;
    const bool fits = for_each_attribute(*attributes, [&](std::uint16_t type, Bytes payload) {
        if (type == NDA_DST) address = read_address(payload, fixed.ndm_family);
        if (type == NDA_LLADDR) read(payload, neighbour.mac);
    });
    if (!fits || !address) return damaged("neighbour");
    neighbour.address = *address;
    return neighbour;
}

Result<Egress> parse_egress_message(std::span<const std::byte> message) {
    ifinfomsg fixed{};
    const auto attributes = split(message, RTM_NEWLINK, fixed);
    if (!attributes) return damaged("link");
    Egress egress;
    egress.ifindex = fixed.ifi_index;
    const bool fits = for_each_attribute(*attributes, [&](std::uint16_t type, Bytes payload) {
        switch (type) {
        case IFLA_IFNAME:
            egress.name = netlink::read_text(payload);
            break;
        case IFLA_LINK:
            egress.parent = netlink::read_ifindex(payload);
            break;
        case IFLA_MASTER:
            egress.master = netlink::read_ifindex(payload);
            break;
        case IFLA_ADDRESS:
            read(payload, egress.mac);
            break;
        case IFLA_LINKINFO:
            read_link_info(payload, egress);
            break;
        default:
            break;
        }
    });
    if (!fits) return damaged("link");
    return egress;
}

std::optional<MacAddress> multicast_mac(const IpAddress& address) {
    const auto& bytes = address.bytes;
    if (address.v6) {
        if (bytes[0] != 0xff) return std::nullopt;
        return MacAddress{0x33, 0x33, bytes[12], bytes[13], bytes[14], bytes[15]};
    }
    if ((bytes[0] & 0xf0U) != 0xe0U) return std::nullopt;
    return MacAddress{0x01, 0x00, 0x5e, static_cast<std::uint8_t>(bytes[1] & 0x7fU), bytes[2], bytes[3]};
}

} // namespace bondtrace
