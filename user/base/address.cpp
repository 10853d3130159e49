// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/address.h"

#include <charconv>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace bondtrace {

std::string to_text(const MacAddress& mac) {
    return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac[0], mac[1], mac[2], mac[3], mac[4],
                       mac[5]);
}

std::optional<MacAddress> parse_mac(std::string_view text) {
    MacAddress mac{};
    if (text.size() != 17) return std::nullopt;
    for (std::size_t i = 0; i < mac.size(); ++i) {
        const char* begin = text.data() + i * 3;
        const auto [end, error] = std::from_chars(begin, begin + 2, mac[i], 16);
        if (error != std::errc{} || end != begin + 2) return std::nullopt;
        if (i + 1 < mac.size() && *end != ':') return std::nullopt;
    }
    return mac;
}

std::string to_text(const IpAddress& ip) {
    // glibc prints IPv6 as RFC 5952 asks: lower case, longest zero run shortened.
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (!inet_ntop(ip.v6 ? AF_INET6 : AF_INET, ip.bytes.data(), text.data(), text.size())) return "?";
    return text.data();
}

std::string endpoint_text(const IpAddress& ip, std::uint16_t port) {
    return ip.v6 ? fmt::format("[{}]:{}", to_text(ip), port) : fmt::format("{}:{}", to_text(ip), port);
}

std::optional<IpAddress> parse_ip(std::string_view text) {
    const std::string zero_terminated(text);
    IpAddress ip;
    if (inet_pton(AF_INET, zero_terminated.c_str(), ip.bytes.data()) == 1) return ip;
    ip = IpAddress{};
    ip.v6 = true;
    if (inet_pton(AF_INET6, zero_terminated.c_str(), ip.bytes.data()) == 1) return ip;
    return std::nullopt;
}

bool IpPrefix::contains(const IpAddress& ip) const {
    if (ip.v6 != address.v6) return false;
    const unsigned whole = length / 8;
    for (unsigned i = 0; i < whole; ++i)
        if (ip.bytes[i] != address.bytes[i]) return false;
    const unsigned rest = length % 8;
    if (rest == 0) return true;
    const unsigned mask = 0xffU << (8 - rest) & 0xffU;
    return (ip.bytes[whole] & mask) == (address.bytes[whole] & mask);
}

std::optional<IpPrefix> parse_prefix(std::string_view text) {
    const auto slash = text.find('/');
    const auto address = parse_ip(text.substr(0, slash));
    if (!address) return std::nullopt;
    IpPrefix prefix{*address, address->v6 ? 128U : 32U};
    if (slash == std::string_view::npos) return prefix;
    const std::string_view digits = text.substr(slash + 1);
    unsigned length = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (error != std::errc{} || end != digits.data() + digits.size() || length > prefix.length)
        return std::nullopt;
    prefix.length = length;
    return prefix;
}

} // namespace bondtrace
