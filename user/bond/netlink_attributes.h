// SPDX-License-Identifier: GPL-2.0-or-later
// Reading netlink attributes out of bytes that need be neither aligned nor whole. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include <linux/netlink.h>

namespace bondtrace::netlink {

using Bytes = std::span<const std::byte>;

// Calls `use(type, payload)` for each attribute. False when one does not fit into `attributes`.
template<typename Use> bool for_each_attribute(Bytes attributes, Use use) {
    while (attributes.size() >= NLA_HDRLEN) {
        nlattr header{};
        // Copied rather than cast: bytes from a file or a fuzzer need not be aligned.
        std::memcpy(&header, attributes.data(), sizeof(header));
        if (header.nla_len < NLA_HDRLEN || header.nla_len > attributes.size()) return false;
        use(static_cast<std::uint16_t>(header.nla_type & NLA_TYPE_MASK),
            attributes.subspan(NLA_HDRLEN, header.nla_len - std::size_t{NLA_HDRLEN}));
        attributes = attributes.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), attributes.size()));
    }
    return true; // fewer bytes than a header: padding
}

// A value of exactly T's size; anything else leaves `value` alone.
template<typename T> bool read(Bytes payload, T& value) {
    if (payload.size() != sizeof(T)) return false;
    std::memcpy(&value, payload.data(), sizeof(T));
    return true;
}

template<typename T> void read(Bytes payload, std::optional<T>& value) {
    T read_value{};
    if (read(payload, read_value)) value = read_value;
}

// An interface index; 0 when it is none.
inline int read_ifindex(Bytes payload) {
    std::int32_t index = 0;
    return read(payload, index) && index > 0 ? index : 0;
}

// Text with or without its terminating zero.
inline std::string read_text(Bytes payload) {
    const auto* const begin = reinterpret_cast<const char*>(payload.data());
    return {begin, ::strnlen(begin, payload.size())};
}

} // namespace bondtrace::netlink
