// SPDX-License-Identifier: GPL-2.0-or-later
// IpAddress and port as the socket calls want them.
#pragma once

#include "user/base/address.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <sys/socket.h>

namespace bondtrace::traffic {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = sizeof(sockaddr_storage);

    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress to_socket_address(const IpAddress& address, std::uint16_t port);

// Address and port; an IPv4 address mapped into IPv6 becomes IPv4. nullopt for other families.
std::optional<std::pair<IpAddress, std::uint16_t>> from_socket_address(const SocketAddress& address);

} // namespace bondtrace::traffic
