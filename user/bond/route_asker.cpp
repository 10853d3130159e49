// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/route_asker.h"

#include "user/bond/netlink_request.h"

#include <algorithm>
#include <chrono>
#include <cstring>

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

void put_address(const Request& request, std::uint16_t type, const IpAddress& address) {
    mnl_attr_put(request.header, type, address.v6 ? 16 : 4, address.bytes.data());
}

std::uint8_t family_of(const IpAddress& address) {
    return address.v6 ? AF_INET6 : AF_INET;
}

} // namespace

Result<RouteAsker> RouteAsker::open() {
    auto socket = NetlinkSocket::open(0, NetlinkSocket::Wait::block, answer_timeout);
    if (!socket) return tl::make_unexpected(socket.error());
    return RouteAsker(std::move(*socket));
}

Result<int> RouteAsker::ask(Request& request, const std::function<Result<void>(Bytes)>& use) {
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

Result<RouteAnswer> RouteAsker::route(const IpAddress& to, int out_ifindex) {
    Request request(RTM_GETROUTE, 0);
    auto* const fixed = request.put<rtmsg>();
    fixed->rtm_family = family_of(to);
    fixed->rtm_dst_len = to.v6 ? 128 : 32;
    put_address(request, RTA_DST, to);
    if (out_ifindex != 0) mnl_attr_put_u32(request.header, RTA_OIF, static_cast<std::uint32_t>(out_ifindex));
    RouteAnswer answer;
    const auto error = ask(request, [&](Bytes message) -> Result<void> {
        auto route = parse_route_message(message);
        if (!route) return tl::make_unexpected(route.error());
        answer.route = *route;
        return {};
    });
    if (!error) return tl::make_unexpected(error.error());
    answer.error = *error;
    return answer;
}

Result<std::optional<Neighbour>> RouteAsker::neighbour(int ifindex, const IpAddress& address) {
    Request request(RTM_GETNEIGH, NLM_F_DUMP);
    auto* const fixed = request.put<ndmsg>();
    fixed->ndm_family = family_of(address);
    std::optional<Neighbour> found;
    const auto error = ask(request, [&](Bytes message) -> Result<void> {
        // Tables hold entries of other kinds as well (tunnels, proxies), which are passed over.
        const auto entry = parse_neighbour_message(message);
        if (entry && entry->ifindex == ifindex && entry->address == address) found = *entry;
        return {};
    });
    if (!error) return tl::make_unexpected(error.error());
    if (*error != 0) return fail_errno(*error, "reading the neighbour table");
    return found;
}

Result<Egress> RouteAsker::link(int ifindex) {
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

} // namespace bondtrace
