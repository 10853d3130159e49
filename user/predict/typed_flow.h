// SPDX-License-Identifier: GPL-2.0-or-later
// Flows as people type them and as ss(8) lists them. Pure.
#pragma once

#include "user/base/address.h"
#include "user/base/result.h"
#include "user/hash/tuple.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bondtrace {

struct TypedFlow {
    std::uint8_t protocol = 0;
    IpAddress src, dst;
    std::optional<std::uint16_t> src_port, dst_port;
    std::optional<std::uint8_t> icmp_type, icmp_code;
    std::optional<std::uint16_t> icmp_id;
    std::optional<std::uint32_t> spi; // ESP, AH

    bool operator==(const TypedFlow&) const = default;
};

// "tcp", "udp", "icmp", ..., or a number; usage error for what is no IP protocol.
Result<std::uint8_t> parse_ip_protocol(std::string_view text);

// PROTO SRC[:PORT] DST[:PORT], IPv6 with port as [ADDRESS]:PORT, as three words. Usage error that names what
// is wrong: no address, a port out of range or where the protocol has none, addresses of two families.
Result<TypedFlow> parse_typed_flow(std::string_view protocol, std::string_view src, std::string_view dst);

// One line of a list: the three words (an arrow may stand between the ends), or a line of `ss -Htun`.
// nullopt: nothing to predict (blank, a comment with #, ss's heading, a socket without a peer).
Result<std::optional<TypedFlow>> parse_flow_line(std::string_view line);

// "tcp 10.0.0.1:40000 10.0.0.2:443", in the form that parse_typed_flow() reads.
std::string to_text(const TypedFlow& flow);

// What is missing of the flow for a policy that hashes ports: "the source port is not given"; empty: nothing.
std::string_view missing_for_ports(const TypedFlow& flow);

// The tuple; what is missing is 0.
FlowTuple to_tuple(const TypedFlow& flow);

} // namespace bondtrace
