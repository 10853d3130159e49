// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/next_hop.h"

#include "user/bond/route_asker.h"
#include "user/bond/route_message.h"

#include <fmt/format.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

namespace bondtrace {
namespace {

constexpr MacAddress broadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

constexpr const char* give_macs = "give the MAC addresses with --src-mac and --dst-mac (and --vlan)";

NextHop no_way(NextHop hop, std::string problem, std::string advice = give_macs) {
    hop.problem = std::move(problem);
    hop.advice = std::move(advice);
    return hop;
}

bool needs_interface(const IpAddress& to) {
    if (!to.v6) return (to.bytes[0] & 0xf0U) == 0xe0U;
    const bool link_local = to.bytes[0] == 0xfe && (to.bytes[1] & 0xc0U) == 0x80U;
    return link_local || to.bytes[0] == 0xff;
}

Result<NextHop> find(const Bond& bond, const IpAddress& src, const IpAddress& dst) {
    auto opened = RouteAsker::open();
    if (!opened) return tl::make_unexpected(opened.error());
    RouteAsker& asker = *opened;
    NextHop hop;
    const auto own = asker.route(src, 0);
    if (!own) return tl::make_unexpected(own.error());
    hop.local_source = own->route && own->route->type == RTN_LOCAL;

    const auto route = asker.route(dst, needs_interface(dst) ? bond.ifindex : 0);
    if (!route) return tl::make_unexpected(route.error());
    if (!route->route) return no_way(hop, fmt::format("there is no route to {} here", to_text(dst)));
    const Route& way = *route->route;
    if (way.type == RTN_LOCAL)
        return no_way(
            hop, fmt::format("{} is an address of this host: nothing leaves through the bond", to_text(dst)));
    if (way.type != RTN_UNICAST && way.type != RTN_BROADCAST && way.type != RTN_MULTICAST)
        return no_way(hop, fmt::format("there is no way to {} here (unreachable, prohibited or a black hole)",
                                       to_text(dst)));

    const auto out = asker.link(way.out_ifindex);
    if (!out) return tl::make_unexpected(out.error());
    const bool direct = out->ifindex == bond.ifindex;
    const bool vlan = out->kind == "vlan" && out->parent == bond.ifindex && out->vlan_id;
    bool bridge = false;
    if (!direct && !vlan && out->kind == "bridge") {
        const auto port = asker.link(bond.ifindex);
        if (!port) return tl::make_unexpected(port.error());
        bridge = port->master == out->ifindex;
    }
    if (!direct && !vlan && !bridge)
        return no_way(hop,
                      fmt::format("packets to {} leave through {}, not through {}, a VLAN on it, or a bridge "
                                  "over it",
                                  to_text(dst), out->name, bond.name));
    if (vlan) {
        hop.tci = out->vlan_id;
        hop.tci_known = !out->egress_priorities;
    }
    if (bridge && !hop.local_source)
        return no_way(hop,
                      fmt::format("{} is no address of this host, and whoever has it is bridged: its MAC "
                                  "address is unknown here",
                                  to_text(src)));
    hop.src_mac = out->mac;

    if (way.type == RTN_BROADCAST) {
        hop.dst_mac = broadcast;
        return hop;
    }
    if (const auto multicast = multicast_mac(dst)) {
        hop.dst_mac = multicast;
        return hop;
    }
    const IpAddress& neighbour = way.gateway.value_or(dst);
    const auto entry = asker.neighbour(out->ifindex, neighbour);
    if (!entry) return tl::make_unexpected(entry.error());
    constexpr unsigned has_none = NUD_INCOMPLETE | NUD_FAILED;
    if (!*entry || ((*entry)->state & has_none) != 0 || !(*entry)->mac)
        return no_way(hop,
                      fmt::format("next hop's MAC unknown: {} on {} is not in the neighbour table",
                                  to_text(neighbour), out->name),
                      fmt::format("ping {} and ask again, or give --dst-mac", to_text(neighbour)));
    hop.dst_mac = (*entry)->mac;
    return hop;
}

} // namespace

Result<NextHop> find_next_hop(const NetNs& netns, const Bond& bond, const IpAddress& src,
                              const IpAddress& dst) {
    return run_in(netns, [&] { return find(bond, src, dst); });
}

} // namespace bondtrace
