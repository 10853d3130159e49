// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/peer_path.h"

#include "user/bond/route_asker.h"

#include <array>
#include <cerrno>

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

namespace bondtrace {
namespace {

struct State {
    unsigned bit;
    PeerPath::Neighbour meaning;
    const char* name; // ip-neighbour(8)
};
constexpr std::array<State, 8> states{{
    {NUD_INCOMPLETE, PeerPath::Neighbour::asking, "INCOMPLETE"},
    {NUD_REACHABLE, PeerPath::Neighbour::answers, "REACHABLE"},
    {NUD_STALE, PeerPath::Neighbour::answers, "STALE"},
    {NUD_DELAY, PeerPath::Neighbour::answers, "DELAY"},
    {NUD_PROBE, PeerPath::Neighbour::answers, "PROBE"},
    {NUD_FAILED, PeerPath::Neighbour::failed, "FAILED"},
    {NUD_NOARP, PeerPath::Neighbour::assumed, "NOARP"},
    {NUD_PERMANENT, PeerPath::Neighbour::assumed, "PERMANENT"},
}};

Result<PeerPath> read(const IpAddress& peer) {
    auto asker = RouteAsker::open();
    if (!asker) return tl::make_unexpected(asker.error());
    PeerPath path;
    path.next_hop = peer;
    const auto answer = asker->route(peer, 0);
    if (!answer) return tl::make_unexpected(answer.error());
    if (!answer->route) {
        path.way = answer->error == ENETUNREACH ? PeerPath::Way::none : PeerPath::Way::refused;
        return path;
    }
    const Route& route = *answer->route;
    path.source = route.source;
    if (route.type == RTN_LOCAL) {
        path.way = PeerPath::Way::local;
        return path;
    }
    if (route.type != RTN_UNICAST && route.type != RTN_BROADCAST && route.type != RTN_MULTICAST &&
        route.type != RTN_ANYCAST) {
        path.way = PeerPath::Way::refused;
        return path;
    }
    path.way = PeerPath::Way::out;
    path.gateway = route.gateway.has_value();
    path.next_hop = route.gateway.value_or(peer);
    const auto link = asker->link(route.out_ifindex);
    if (!link) return tl::make_unexpected(link.error());
    path.device = link->name;
    const auto entry = asker->neighbour(route.out_ifindex, path.next_hop);
    if (!entry) return tl::make_unexpected(entry.error());
    if (!*entry) return path;
    path.mac = (*entry)->mac;
    for (const State& state : states)
        if (((*entry)->state & state.bit) != 0) {
            path.neighbour = state.meaning;
            path.neighbour_state = state.name;
        }
    return path;
}

} // namespace

Result<PeerPath> read_peer_path(const NetNs& netns, const IpAddress& peer) {
    return run_in(netns, [&] { return read(peer); });
}

} // namespace bondtrace
