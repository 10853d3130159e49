// SPDX-License-Identifier: GPL-2.0-or-later
// Asks the kernel about routes, neighbours and links by rtnetlink, one question after another.
#pragma once

#include "user/base/address.h"
#include "user/base/result.h"
#include "user/bond/netlink_socket.h"
#include "user/bond/route_message.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace bondtrace {

namespace netlink {
struct Request;
}

// What the kernel says about the way to an address: a route, or the errno with which it refuses one
// (ENETUNREACH: there is none; EHOSTUNREACH, EACCES, EINVAL: it is of type unreachable, prohibit, blackhole).
struct RouteAnswer {
    std::optional<Route> route;
    int error = 0;
};

class RouteAsker {
  public:
    // In the network namespace of the calling thread.
    static Result<RouteAsker> open();

    // `out_ifindex` 0: whichever the route leads through.
    Result<RouteAnswer> route(const IpAddress& to, int out_ifindex);
    // The entry of the neighbour table; nullopt: there is none.
    Result<std::optional<Neighbour>> neighbour(int ifindex, const IpAddress& address);
    Result<Egress> link(int ifindex);

  private:
    explicit RouteAsker(NetlinkSocket socket) : socket_(std::move(socket)) {}

    // Calls `use` with every message that answers; ends at the first one unless a list was asked for. A
    // negative answer is returned as its errno.
    Result<int> ask(netlink::Request& request,
                    const std::function<Result<void>(std::span<const std::byte>)>& use);

    NetlinkSocket socket_;
    std::uint32_t sequence_ = 0;
};

} // namespace bondtrace
