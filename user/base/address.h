// SPDX-License-Identifier: GPL-2.0-or-later
// IP and MAC addresses as values, in network byte order, with their canonical text.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bondtrace {

using MacAddress = std::array<std::uint8_t, 6>;

// "02:00:00:00:0a:01".
std::string to_text(const MacAddress& mac);
// Parses six colon-separated hex bytes; nullopt for anything else.
std::optional<MacAddress> parse_mac(std::string_view text);

struct IpAddress {
    bool v6 = false;
    std::array<std::uint8_t, 16> bytes{}; // an IPv4 address uses the first four, the rest is zero

    auto operator<=>(const IpAddress&) const = default;
};

// Canonical text, RFC 5952 for IPv6.
std::string to_text(const IpAddress& ip);
// "192.0.2.1:5477", "[2001:db8::1]:5477".
std::string endpoint_text(const IpAddress& ip, std::uint16_t port);
// Parses IPv4 dotted quad or IPv6 text (no zone); nullopt for anything else.
std::optional<IpAddress> parse_ip(std::string_view text);

struct IpPrefix {
    IpAddress address;
    unsigned length = 0;

    // True when `ip` is of the same family and within the prefix.
    [[nodiscard]] bool contains(const IpAddress& ip) const;
};

// Parses "10.0.0.0/8", "fd00::/8" or a bare address (full length); nullopt for anything else.
std::optional<IpPrefix> parse_prefix(std::string_view text);

} // namespace bondtrace
