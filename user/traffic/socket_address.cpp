// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/socket_address.h"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace bondtrace::traffic {

SocketAddress to_socket_address(const IpAddress& address, std::uint16_t port) {
    SocketAddress result;
    if (address.v6) {
        sockaddr_in6 in6{};
        in6.sin6_family = AF_INET6;
        in6.sin6_port = htons(port);
        std::memcpy(&in6.sin6_addr, address.bytes.data(), sizeof(in6.sin6_addr));
        std::memcpy(&result.storage, &in6, sizeof(in6));
        result.length = sizeof(in6);
        return result;
    }
    sockaddr_in in4{};
    in4.sin_family = AF_INET;
    in4.sin_port = htons(port);
    std::memcpy(&in4.sin_addr, address.bytes.data(), sizeof(in4.sin_addr));
    std::memcpy(&result.storage, &in4, sizeof(in4));
    result.length = sizeof(in4);
    return result;
}

std::optional<std::pair<IpAddress, std::uint16_t>> from_socket_address(const SocketAddress& address) {
    IpAddress ip;
    if (address.storage.ss_family == AF_INET) {
        sockaddr_in in4{};
        std::memcpy(&in4, &address.storage, sizeof(in4));
        std::memcpy(ip.bytes.data(), &in4.sin_addr, sizeof(in4.sin_addr));
        return std::pair{ip, ntohs(in4.sin_port)};
    }
    if (address.storage.ss_family != AF_INET6) return std::nullopt;
    sockaddr_in6 in6{};
    std::memcpy(&in6, &address.storage, sizeof(in6));
    if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) {
        std::memcpy(ip.bytes.data(), &in6.sin6_addr.s6_addr[12], 4);
    } else {
        ip.v6 = true;
        std::memcpy(ip.bytes.data(), &in6.sin6_addr, sizeof(in6.sin6_addr));
    }
    return std::pair{ip, ntohs(in6.sin6_port)};
}

} // namespace bondtrace::traffic
