// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/netlink_socket.h"

#include <cerrno>

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace bondtrace {
namespace {

// The kernel builds dumps in pieces of the largest buffer it has seen us use, up to 32 KiB (netlink_dump()).
constexpr std::size_t buffer_size = 64UL * 1024;
// Room for a burst of link changes while the reader is busy; the kernel doubles and limits it as it sees fit.
constexpr int multicast_room = 1024 * 1024;

} // namespace

void NetlinkSocket::Close::operator()(mnl_socket* socket) const {
    ::mnl_socket_close(socket);
}

NetlinkSocket::NetlinkSocket(mnl_socket* socket, Wait wait, std::chrono::seconds timeout)
    : socket_(socket), wait_(wait), timeout_(timeout), buffer_(buffer_size) {}

Result<NetlinkSocket> NetlinkSocket::open(std::uint32_t groups, Wait wait, std::chrono::seconds timeout,
                                          Protocol protocol) {
    mnl_socket* const opened =
        ::mnl_socket_open2(protocol == Protocol::generic ? NETLINK_GENERIC : NETLINK_ROUTE,
                           SOCK_CLOEXEC | (wait == Wait::never ? SOCK_NONBLOCK : 0));
    if (!opened) return fail_errno(errno, "opening a netlink socket");
    NetlinkSocket socket(opened, wait, timeout);
    if (::mnl_socket_bind(opened, groups, MNL_SOCKET_AUTOPID) != 0)
        return fail_errno(errno, "binding a netlink socket");
    const timeval limit{.tv_sec = timeout.count(), .tv_usec = 0};
    if (wait == Wait::block && ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0)
        return fail_errno(errno, "setting the time limit of a netlink socket");
    // Without privilege SO_RCVBUFFORCE is refused and SO_RCVBUF gives what net.core.rmem_max allows; a small
    // buffer means a reported overflow sooner, nothing worse.
    if (groups != 0 &&
        ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUFFORCE, &multicast_room, sizeof(multicast_room)) != 0 &&
        ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &multicast_room, sizeof(multicast_room)) != 0)
        return fail_errno(errno, "enlarging the buffer of a netlink socket");
    return socket;
}

int NetlinkSocket::fd() const {
    return ::mnl_socket_get_fd(socket_.get());
}

std::uint32_t NetlinkSocket::port() const {
    return ::mnl_socket_get_portid(socket_.get());
}

Result<void> NetlinkSocket::send(std::span<const std::byte> message) {
    const ssize_t sent = ::mnl_socket_sendto(socket_.get(), message.data(), message.size());
    if (sent < 0) return fail_errno(errno, "asking the kernel by netlink");
    if (static_cast<std::size_t>(sent) != message.size())
        return fail(ErrorKind::internal,
                    fmt::format("netlink took {} of {} bytes of a request", sent, message.size()));
    return {};
}

Result<NetlinkSocket::Datagram> NetlinkSocket::receive() {
    for (;;) {
        sockaddr_nl sender{};
        socklen_t length = sizeof(sender);
        // MSG_TRUNC: the true length is returned, also of a datagram that did not fit.
        const ssize_t received = ::recvfrom(fd(), buffer_.data(), buffer_.size(), MSG_TRUNC,
                                            reinterpret_cast<sockaddr*>(&sender), &length);
        if (received < 0) {
            if (errno == EINTR) continue;
            if (errno == ENOBUFS) return Datagram{.bytes = {}, .overflow = true};
            if (errno != EAGAIN) return fail_errno(errno, "reading from netlink");
            if (wait_ == Wait::never) return Datagram{.bytes = {}, .nothing = true};
            return fail(ErrorKind::unavailable,
                        fmt::format("the kernel has not answered by netlink within {} s", timeout_.count()),
                        "something holds the kernel's network configuration lock (RTNL)");
        }
        // Processes may write to this socket as well; only the kernel has port 0.
        if (length != sizeof(sender) || sender.nl_family != AF_NETLINK || sender.nl_pid != 0) continue;
        const auto size = static_cast<std::size_t>(received);
        if (size > buffer_.size())
            return fail(ErrorKind::internal,
                        fmt::format("a netlink datagram of {} bytes is larger than expected", size));
        return Datagram{.bytes = std::span<const std::byte>(buffer_.data(), size)};
    }
}

} // namespace bondtrace
