// SPDX-License-Identifier: GPL-2.0-or-later
// What the generator's own bytes on the wire look like: the greeting of a connection, which tells control
// from data; the greeting of a data flow; the header of each UDP datagram. Pure. All numbers are big-endian.
#pragma once

#include "user/traffic/options.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace bondtrace::traffic {

// The first bytes of every TCP connection to a server.
inline constexpr std::size_t greeting_size = 8;
inline constexpr std::array<char, greeting_size> control_greeting{'b', 't', 'c', 't', 'r', 'l', '1', '\n'};
inline constexpr std::array<char, greeting_size> data_greeting{'b', 't', 'd', 'a', 't', 'a', '1', '\n'};

// A TCP data flow begins with this, from the client; the generator's payload follows.
struct DataHello {
    Token token{};
    std::uint32_t flow = 0;
};
inline constexpr std::size_t data_hello_size = greeting_size + sizeof(Token) + 4;
std::array<std::uint8_t, data_hello_size> encode(const DataHello& hello);
// nullopt unless `bytes` are exactly one greeting of a data flow.
std::optional<DataHello> decode_data_hello(std::span<const std::uint8_t> bytes);

// What a UDP datagram is for.
enum class DatagramKind : std::uint8_t {
    hello = 1,  // client: here is flow N; repeated until it is answered
    answer = 2, // server: flow N is known
    data = 3,
};

// The first bytes of a UDP datagram's payload.
struct DatagramHeader {
    DatagramKind kind = DatagramKind::data;
    std::uint32_t flow = 0;
    std::uint64_t tag = 0;      // of the test: see datagram_tag()
    std::uint64_t sequence = 0; // from 0 in each flow and direction; data only
    std::uint64_t sent_ns = 0;  // CLOCK_MONOTONIC of the sender; only differences mean anything
};
inline constexpr std::size_t datagram_header_size = 4 + 4 + 8 + 8 + 8;
void encode(const DatagramHeader& header, std::span<std::uint8_t, datagram_header_size> bytes);
// nullopt for what is too short or begins differently.
std::optional<DatagramHeader> decode_datagram(std::span<const std::uint8_t> bytes);

// The half of a test's token that its datagrams carry.
std::uint64_t datagram_tag(const Token& token);

} // namespace bondtrace::traffic
