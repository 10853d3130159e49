// SPDX-License-Identifier: GPL-2.0-or-later
// Frames of these tests, put together from readable parts.
#pragma once

#include "user/base/address.h"
#include "user/hash/policy.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace bondtrace::test {

using Bytes = std::vector<std::uint8_t>;

inline Bytes operator+(Bytes left, const Bytes& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

// Bytes of hex digits; blanks are ignored.
inline Bytes hex(std::string_view text) {
    const auto digit = [](char c) {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        throw std::invalid_argument("not a lower-case hex digit");
    };
    Bytes out;
    int high = -1;
    for (const char c : text) {
        if (c == ' ') continue;
        if (high < 0) {
            high = digit(c);
        } else {
            out.push_back(static_cast<std::uint8_t>(high * 16 + digit(c)));
            high = -1;
        }
    }
    if (high >= 0) throw std::invalid_argument("half a byte");
    return out;
}

inline Bytes be16(unsigned value) {
    return {static_cast<std::uint8_t>(value >> 8U), static_cast<std::uint8_t>(value)};
}

inline Bytes ethernet(unsigned type) {
    return hex("020000000b02 02000000 0a01") + be16(type);
}

inline Bytes ethernet(std::string_view dst, std::string_view src, unsigned type) {
    const auto d = parse_mac(dst).value();
    const auto s = parse_mac(src).value();
    return Bytes(d.begin(), d.end()) + Bytes(s.begin(), s.end()) + be16(type);
}

inline Bytes address(std::string_view text) {
    const auto ip = parse_ip(text).value();
    return {ip.bytes.begin(), ip.bytes.begin() + (ip.v6 ? 16 : 4)};
}

// An IPv4 header without options; `fragment` is the field of flags and offset.
inline Bytes ipv4(unsigned protocol, std::string_view src, std::string_view dst, unsigned fragment = 0) {
    return hex("4500 0028 0001") + be16(fragment) + Bytes{64, static_cast<std::uint8_t>(protocol), 0, 0} +
           address(src) + address(dst);
}

inline Bytes ipv6(unsigned protocol, std::string_view src, std::string_view dst) {
    return hex("60000000 0014") + Bytes{static_cast<std::uint8_t>(protocol), 64} + address(src) +
           address(dst);
}

// The 8 bytes of a UDP header, which also begin a TCP or SCTP header as far as the hash goes.
inline Bytes ports(unsigned src, unsigned dst) {
    return be16(src) + be16(dst) + hex("001a 0000");
}

inline std::uint32_t hash(const Bytes& bytes, HashPolicy policy, const Era& era = newest_era,
                          std::optional<std::uint16_t> tci = std::nullopt,
                          FrameSource origin = FrameSource::wire) {
    return hash_of(hash_inputs(make_frame(bytes, tci, origin), policy, era), policy, era);
}

inline std::uint32_t index(const Bytes& bytes, HashPolicy policy, std::uint32_t usable,
                           const Era& era = newest_era) {
    return slave_index(hash(bytes, policy, era), usable).value();
}

inline Era era(std::string_view text) {
    return parse_era(text).value();
}

} // namespace bondtrace::test
