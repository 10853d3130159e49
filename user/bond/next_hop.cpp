// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/next_hop.h"

#include "user/bond/netlink_request.h"
#include "user/bond/netlink_socket.h"
#include "user/bond/route_message.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace bondtrace {
namespace {

using Bytes = std::span<const std::byte>;
using netlink::Request;

constexpr std::chrono::seconds answer_timeout{10};
constexpr MacAddress broadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

void put_address(const Request& request, std::uint16_t type, const IpAddress& address) {
    mnl_attr_put(request.header, type, address.v6 ? 16 : 4, address.bytes.data());
}

std::uint8_t family_of(const IpAddress& address) {
    return address.v6 ? AF_INET6 : AF_INET;
}

class Asker {
  public:
    explicit Asker(NetlinkSocket socket) : socket_(std::move(socket)) {}

    // Calls `use` with every message that answers; ends at the first one unless a list was asked for. A
    // negative answer is returned as its errno.
    Result<int> ask(Request& request, const std::function<Result<void>(Bytes)>& use) {
        const bool list = (request.header->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
        request.header->nlmsg_seq = ++sequence_;
        const auto sent =
            socket_.send(std::as_bytes(std::span(request.buffer.data(), request.header->nlmsg_len)));
        if (!sent) return tl::make_unexpected(sent.error());
        const auto deadline = std::chrono::steady_clock::now() + answer_timeout;
        while (std::chrono::steady_clock::now() < deadline) {
            const auto datagram = socket_.receive();
            if (!datagram) return tl::make_unexpected(datagram.error());
            if (datagram->overflow)
                return fail(ErrorKind::unavailable, "the kernel's answer by route netlink did not fit");
            Bytes rest = datagram->bytes;
            while (rest.size() >= NLMSG_HDRLEN) {
                nlmsghdr header{};
                std::memcpy(&header, rest.data(), sizeof(header));
                if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > rest.size()) break;
                const Bytes message = rest.first(header.nlmsg_len);
                rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), rest.size()));
                if (header.nlmsg_seq != sequence_ || header.nlmsg_pid != socket_.port()) continue;
                if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE) {
                    std::int32_t error = 0;
                    if (message.size() >= NLMSG_HDRLEN + sizeof(error))
                        std::memcpy(&error, message.data() + NLMSG_HDRLEN, sizeof(error));
                    return error < 0 ? -error : 0;
                }
                if (const auto used = use(message); !used) return tl::make_unexpected(used.error());
                if (!list) return 0;
            }
        }
        return fail(
            ErrorKind::unavailable,
            fmt::format("the kernel has not answered by route netlink within {} s", answer_timeout.count()));
    }

    // nullopt: there is no route.
    Result<std::optional<Route>> route(const IpAddress& to, int out_ifindex) {
        Request request(RTM_GETROUTE, 0);
        auto* const fixed = request.put<rtmsg>();
        fixed->rtm_family = family_of(to);
        fixed->rtm_dst_len = to.v6 ? 128 : 32;
        put_address(request, RTA_DST, to);
        if (out_ifindex != 0)
            mnl_attr_put_u32(request.header, RTA_OIF, static_cast<std::uint32_t>(out_ifindex));
        std::optional<Route> found;
        const auto error = ask(request, [&](Bytes message) -> Result<void> {
            auto route = parse_route_message(message);
            if (!route) return tl::make_unexpected(route.error());
            found = *route;
            return {};
        });
        if (!error) return tl::make_unexpected(error.error());
        return found;
    }

    Result<std::optional<MacAddress>> neighbour(int ifindex, const IpAddress& address) {
        Request request(RTM_GETNEIGH, NLM_F_DUMP);
        auto* const fixed = request.put<ndmsg>();
        fixed->ndm_family = family_of(address);
        constexpr unsigned has_none = NUD_INCOMPLETE | NUD_FAILED;
        std::optional<MacAddress> mac;
        const auto error = ask(request, [&](Bytes message) -> Result<void> {
            const auto entry = parse_neighbour_message(message);
            // Tables hold entries of other kinds as well (tunnels, proxies), which are passed over.
            if (entry && entry->ifindex == ifindex && entry->address == address &&
                (entry->state & has_none) == 0 && entry->mac)
                mac = entry->mac;
            return {};
        });
        if (!error) return tl::make_unexpected(error.error());
        if (*error != 0) return fail_errno(*error, "reading the neighbour table");
        return mac;
    }

    Result<Egress> link(int ifindex) {
        Request request(RTM_GETLINK, 0);
        auto* const fixed = request.put<ifinfomsg>();
        fixed->ifi_family = AF_UNSPEC;
        fixed->ifi_index = ifindex;
        Result<Egress> found = fail(ErrorKind::internal, "the kernel described no interface");
        const auto error = ask(request, [&](Bytes message) -> Result<void> {
            found = parse_egress_message(message);
            return {};
        });
        if (!error) return tl::make_unexpected(error.error());
        if (*error != 0) return fail_errno(*error, "asking about an interface");
        return found;
    }

  private:
    NetlinkSocket socket_;
    std::uint32_t sequence_ = 0;
};

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
    auto socket = NetlinkSocket::open(0, NetlinkSocket::Wait::block, answer_timeout);
    if (!socket) return tl::make_unexpected(socket.error());
    Asker asker(std::move(*socket));
    NextHop hop;
    const auto own = asker.route(src, 0);
    if (!own) return tl::make_unexpected(own.error());
    hop.local_source = *own && (*own)->type == RTN_LOCAL;

    const auto route = asker.route(dst, needs_interface(dst) ? bond.ifindex : 0);
    if (!route) return tl::make_unexpected(route.error());
    if (!*route) return no_way(hop, fmt::format("there is no route to {} here", to_text(dst)));
    const Route& way = **route;
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
    const auto mac = asker.neighbour(out->ifindex, neighbour);
    if (!mac) return tl::make_unexpected(mac.error());
    if (!*mac)
        return no_way(hop,
                      fmt::format("next hop's MAC unknown: {} on {} is not in the neighbour table",
                                  to_text(neighbour), out->name),
                      fmt::format("ping {} and ask again, or give --dst-mac", to_text(neighbour)));
    hop.dst_mac = *mac;
    return hop;
}

} // namespace

Result<NextHop> find_next_hop(const NetNs& netns, const Bond& bond, const IpAddress& src,
                              const IpAddress& dst) {
    return run_in(netns, [&] { return find(bond, src, dst); });
}

} // namespace bondtrace
