// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/flow_socket.h"

#include "user/traffic/socket_address.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace bondtrace::traffic {
namespace {

template<typename Value> bool set(int fd, int level, int name, const Value& value) {
    return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

int get_int(int fd, int level, int name) {
    int value = 0;
    socklen_t length = sizeof(value);
    return getsockopt(fd, level, name, &value, &length) == 0 ? value : 0;
}

std::optional<SocketFailure> set_congestion(const std::string& name, int fd) {
    if (name.empty()) return std::nullopt;
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0)
        return std::nullopt;
    return SocketFailure{Step::congestion, errno};
}

} // namespace

std::optional<SocketFailure> set_common_options(const TestOptions& options, bool v6, int fd) {
    if (options.window != 0) {
        const int size = static_cast<int>(options.window);
        // Cut to net.core.wmem_max and rmem_max without an error: what was got is reported.
        if (!set(fd, SOL_SOCKET, SO_SNDBUF, size)) return SocketFailure{Step::buffer, errno};
        if (!set(fd, SOL_SOCKET, SO_RCVBUF, size)) return SocketFailure{Step::buffer, errno};
    }
    if (options.dscp) {
        const int traffic_class = *options.dscp << 2;
        const bool done = v6 ? set(fd, IPPROTO_IPV6, IPV6_TCLASS, traffic_class)
                             : set(fd, IPPROTO_IP, IP_TOS, traffic_class);
        if (!done) return SocketFailure{Step::dscp, errno};
    }
    return std::nullopt;
}

tl::expected<Fd, SocketFailure> open_flow_socket(const TestOptions& options, const FlowAddress& flow) {
    const auto failed = [](Step step) { return tl::make_unexpected(SocketFailure{step, errno}); };
    const bool tcp = options.transport == Transport::tcp;
    Fd fd(socket(flow.remote.v6 ? AF_INET6 : AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0));
    if (!fd.valid()) return failed(Step::open);
    // Before the connection is made: BBR switches a socket to pacing for good when it starts.
    if (tcp)
        if (const auto refused = set_congestion(options.congestion, fd.get()))
            return tl::make_unexpected(*refused);
    if (const auto refused = set_common_options(options, flow.remote.v6, fd.get()))
        return tl::make_unexpected(*refused);
    const bool any_local = flow.local == IpAddress{flow.remote.v6, {}};
    if (any_local && flow.local_port == 0) return fd;
    if (flow.local_port != 0) {
        // A port of a run that has just ended may still be in TIME_WAIT.
        if (!set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1)) return failed(Step::bind);
    } else if (tcp) {
        // The port is chosen at connect, when the kernel knows the other end: as many flows as there are
        // tuples, not as many as there are ports.
        set(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    }
    const SocketAddress local =
        to_socket_address(any_local ? IpAddress{flow.remote.v6, {}} : flow.local, flow.local_port);
    if (bind(fd.get(), local.get(), local.length) != 0) return failed(Step::bind);
    return fd;
}

std::optional<SocketFailure> set_accepted_options(const TestOptions& options, int fd) {
    if (const auto refused = set_congestion(options.congestion, fd)) return refused;
    SocketAddress local;
    const bool v6 = getsockname(fd, local.get(), &local.length) == 0 && local.storage.ss_family == AF_INET6;
    if (options.dscp && v6) { // an IPv4 peer of an IPv6 socket
        const int traffic_class = *options.dscp << 2;
        set(fd, IPPROTO_IP, IP_TOS, traffic_class);
    }
    return set_common_options(options, v6, fd);
}

std::optional<std::pair<IpAddress, std::uint16_t>> local_of(int fd) {
    SocketAddress local;
    if (getsockname(fd, local.get(), &local.length) != 0) return std::nullopt;
    return from_socket_address(local);
}

std::uint32_t send_buffer_of(int fd) {
    return static_cast<std::uint32_t>(get_int(fd, SOL_SOCKET, SO_SNDBUF));
}

std::uint32_t receive_buffer_of(int fd) {
    return static_cast<std::uint32_t>(get_int(fd, SOL_SOCKET, SO_RCVBUF));
}

std::optional<TcpSample> tcp_sample(int fd) {
    tcp_info info{};
    socklen_t length = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
    // An older kernel writes less of it; what it does not write stays 0.
    return TcpSample{info.tcpi_rtt, info.tcpi_min_rtt, info.tcpi_total_retrans, info.tcpi_reord_seen};
}

std::string congestion_of(int fd) {
    std::array<char, 16> name{}; // TCP_CA_NAME_MAX
    socklen_t length = name.size();
    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), &length) != 0) return {};
    return {name.data(), strnlen(name.data(), name.size())};
}

bool paces(std::string_view congestion) {
    return congestion.starts_with("bbr");
}

} // namespace bondtrace::traffic
