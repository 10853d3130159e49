// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/data_header.h"

#include <algorithm>
#include <cstring>

#include <endian.h>

namespace bondtrace::traffic {
namespace {

// "bd", the version of the format, the kind: the first four bytes of a datagram.
constexpr std::array<std::uint8_t, 3> datagram_magic{'b', 'd', 1};

void put32(std::uint8_t* to, std::uint32_t value) {
    value = htobe32(value);
    std::memcpy(to, &value, sizeof(value));
}

void put64(std::uint8_t* to, std::uint64_t value) {
    value = htobe64(value);
    std::memcpy(to, &value, sizeof(value));
}

std::uint32_t get32(const std::uint8_t* from) {
    std::uint32_t value = 0;
    std::memcpy(&value, from, sizeof(value));
    return be32toh(value);
}

std::uint64_t get64(const std::uint8_t* from) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, sizeof(value));
    return be64toh(value);
}

} // namespace

std::array<std::uint8_t, data_hello_size> encode(const DataHello& hello) {
    std::array<std::uint8_t, data_hello_size> bytes{};
    std::memcpy(bytes.data(), data_greeting.data(), greeting_size);
    std::memcpy(bytes.data() + greeting_size, hello.token.data(), hello.token.size());
    put32(bytes.data() + greeting_size + hello.token.size(), hello.flow);
    return bytes;
}

std::optional<DataHello> decode_data_hello(std::span<const std::uint8_t> bytes) {
    if (bytes.size() != data_hello_size) return std::nullopt;
    if (std::memcmp(bytes.data(), data_greeting.data(), greeting_size) != 0) return std::nullopt;
    DataHello hello;
    std::memcpy(hello.token.data(), bytes.data() + greeting_size, hello.token.size());
    hello.flow = get32(bytes.data() + greeting_size + hello.token.size());
    return hello;
}

void encode(const DatagramHeader& header, std::span<std::uint8_t, datagram_header_size> bytes) {
    std::copy(datagram_magic.begin(), datagram_magic.end(), bytes.begin());
    bytes[3] = static_cast<std::uint8_t>(header.kind);
    put32(bytes.data() + 4, header.flow);
    put64(bytes.data() + 8, header.tag);
    put64(bytes.data() + 16, header.sequence);
    put64(bytes.data() + 24, header.sent_ns);
}

std::optional<DatagramHeader> decode_datagram(std::span<const std::uint8_t> bytes) {
    if (bytes.size() < datagram_header_size) return std::nullopt;
    if (!std::equal(datagram_magic.begin(), datagram_magic.end(), bytes.begin())) return std::nullopt;
    if (bytes[3] < 1 || bytes[3] > 3) return std::nullopt;
    return DatagramHeader{static_cast<DatagramKind>(bytes[3]), get32(bytes.data() + 4),
                          get64(bytes.data() + 8), get64(bytes.data() + 16), get64(bytes.data() + 24)};
}

std::uint64_t datagram_tag(const Token& token) {
    return get64(token.data());
}

} // namespace bondtrace::traffic
