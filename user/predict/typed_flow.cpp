// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/predict/typed_flow.h"

#include "user/flow/protocols.h"
#include "user/hash/wire.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr const char* form = "PROTO SRC[:PORT] DST[:PORT], such as tcp 10.0.0.1:40000 10.0.0.2:443 or udp "
                             "[fd00::1]:5000 [fd00::2]:53";

template<typename Number> std::optional<Number> parse_number(std::string_view text) {
    Number value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size())
        return std::nullopt;
    return value;
}

bool has_ports(std::uint8_t protocol) {
    return ports_offset(protocol) && protocol != ipproto::esp && protocol != ipproto::ah;
}

bool is_icmp(std::uint8_t protocol) {
    return protocol == ipproto::icmp || protocol == ipproto::icmpv6;
}

struct TypedEnd {
    IpAddress address;
    std::optional<std::uint16_t> port;
};

// A v4-mapped address is what a dual-stack socket calls IPv4; on the wire it is IPv4.
IpAddress unmapped(const IpAddress& address) {
    constexpr std::size_t prefix = 12;
    IpAddress v4;
    const auto& bytes = address.bytes;
    const bool mapped = address.v6 &&
                        std::all_of(bytes.begin(), bytes.begin() + 10, [](auto b) { return b == 0; }) &&
                        bytes[10] == 0xff && bytes[11] == 0xff;
    if (!mapped) return address;
    std::copy_n(bytes.begin() + prefix, 4, v4.bytes.begin());
    return v4;
}

// An address, with or without brackets and "%interface".
std::optional<IpAddress> parse_address(std::string_view text) {
    // Interface names in use have no colon: what follows one is a port.
    if (const auto scope = text.find('%');
        scope != std::string_view::npos && text.find(':', scope) != std::string_view::npos)
        return std::nullopt;
    if (text.size() >= 2 && text.front() == '[') {
        const auto close = text.find(']');
        // ss puts the interface behind the bracket, others before it.
        if (close == std::string_view::npos || (close + 1 < text.size() && text[close + 1] != '%'))
            return std::nullopt;
        text = text.substr(1, close - 1);
    }
    const auto ip = parse_ip(text.substr(0, text.find('%')));
    if (!ip) return std::nullopt;
    return unmapped(*ip);
}

// nullopt: no address, or no port behind the colon.
std::optional<TypedEnd> parse_end(std::string_view text) {
    if (const auto whole = parse_address(text)) return TypedEnd{*whole, std::nullopt};
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view host = text.substr(0, colon);
    const auto address = parse_address(host);
    const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
    // Without brackets nobody can tell a port from a group.
    if (!address || !port || (address->v6 && host.front() != '[')) return std::nullopt;
    return TypedEnd{*address, *port};
}

std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view blanks = " \t\r\n";
    std::vector<std::string_view> words;
    for (auto start = line.find_first_not_of(blanks); start != std::string_view::npos;) {
        const auto end = std::min(line.find_first_of(blanks, start), line.size());
        words.push_back(line.substr(start, end - start));
        start = line.find_first_not_of(blanks, end);
    }
    return words;
}

// "Netid State Recv-Q Send-Q Local Peer ...": the state is in capitals, the queues are numbers.
bool is_ss_line(const std::vector<std::string_view>& words) {
    const auto capital = [](char c) { return (c >= 'A' && c <= 'Z') || c == '-' || (c >= '1' && c <= '2'); };
    return words.size() >= 6 && std::all_of(words[1].begin(), words[1].end(), capital) &&
           parse_number<std::uint64_t>(words[2]) && parse_number<std::uint64_t>(words[3]);
}

} // namespace

Result<std::uint8_t> parse_ip_protocol(std::string_view text) {
    if (const auto number = parse_number<std::uint8_t>(text)) return *number;
    const auto known = protocol_by_name(text);
    if (known && known->ip_protocol) return *known->ip_protocol;
    return fail(
        ErrorKind::usage, fmt::format("\"{}\" is no IP protocol", text),
        fmt::format("give tcp, udp, icmp, icmp6, sctp, esp, gre, ... or a number from 0 to 255; the form is "
                    "{}",
                    form));
}

Result<TypedFlow> parse_typed_flow(std::string_view protocol, std::string_view src, std::string_view dst) {
    TypedFlow flow;
    const auto number = parse_ip_protocol(protocol);
    if (!number) return tl::make_unexpected(number.error());
    flow.protocol = *number;
    const auto from = parse_end(src), to = parse_end(dst);
    for (const auto& [end, text] : {std::pair{from, src}, std::pair{to, dst}}) {
        if (!end)
            return fail(ErrorKind::usage, fmt::format("\"{}\" is no address with or without a port", text),
                        form);
        if (end->port && !has_ports(flow.protocol))
            return fail(ErrorKind::usage,
                        fmt::format("\"{}\": {} has no ports", text, ip_protocol_name(flow.protocol)));
    }
    if (from->address.v6 != to->address.v6)
        return fail(ErrorKind::usage, fmt::format("{} and {} are of two families", src, dst));
    flow.src = from->address;
    flow.dst = to->address;
    flow.src_port = from->port;
    flow.dst_port = to->port;
    return flow;
}

Result<std::optional<TypedFlow>> parse_flow_line(std::string_view line) {
    constexpr std::size_t longest = 4096;
    if (line.size() > longest)
        return fail(ErrorKind::usage, fmt::format("a line of {} characters is no flow", line.size()), form);
    const std::vector<std::string_view> words = words_of(line.substr(0, line.find('#')));
    if (words.empty() || words[0] == "Netid") return std::nullopt;
    const auto parsed = [](std::string_view protocol, std::string_view src,
                           std::string_view dst) -> Result<std::optional<TypedFlow>> {
        auto flow = parse_typed_flow(protocol, src, dst);
        if (!flow) return tl::make_unexpected(flow.error());
        return *flow;
    };
    if (is_ss_line(words)) {
        if (words[5].ends_with(":*")) return std::nullopt; // listening, or not connected
        return parsed(words[0], words[4], words[5]);
    }
    if (words.size() == 3) return parsed(words[0], words[1], words[2]);
    if (words.size() == 4 && (words[2] == "->" || words[2] == ">" || words[2] == "→"))
        return parsed(words[0], words[1], words[3]);
    return fail(ErrorKind::usage, fmt::format("\"{}\" is no flow", line.substr(0, 200)),
                fmt::format("a line is {}, or one of `ss -Htun`", form));
}

std::string to_text(const TypedFlow& flow) {
    const auto end = [](const IpAddress& address, const std::optional<std::uint16_t>& port) {
        if (!port) return to_text(address);
        return address.v6 ? fmt::format("[{}]:{}", to_text(address), *port)
                          : fmt::format("{}:{}", to_text(address), *port);
    };
    return fmt::format("{} {} {}", ip_protocol_name(flow.protocol), end(flow.src, flow.src_port),
                       end(flow.dst, flow.dst_port));
}

std::string_view missing_for_ports(const TypedFlow& flow) {
    if (has_ports(flow.protocol)) {
        if (!flow.src_port) return "the policy hashes ports, and the source port is not given";
        if (!flow.dst_port) return "the policy hashes ports, and the destination port is not given";
    }
    if (ports_offset(flow.protocol) && !has_ports(flow.protocol) && !flow.spi)
        return "the policy hashes the SPI, and it is not given (--spi)";
    if (is_icmp(flow.protocol)) {
        if (!flow.icmp_type) return "the policy hashes the ICMP type, and it is not given (--icmp-type)";
        if (icmp_has_id(*flow.icmp_type) && !flow.icmp_id)
            return "the policy hashes the ICMP id, and it is not given (--icmp-id)";
    }
    return {};
}

FlowTuple to_tuple(const TypedFlow& flow) {
    FlowTuple tuple =
        make_tuple(flow.protocol, flow.src, flow.src_port.value_or(0), flow.dst, flow.dst_port.value_or(0));
    if (flow.spi) {
        tuple.src_port = static_cast<std::uint16_t>(*flow.spi >> 16U);
        tuple.dst_port = static_cast<std::uint16_t>(*flow.spi);
    }
    tuple.icmp_type = flow.icmp_type.value_or(0);
    tuple.icmp_code = flow.icmp_code.value_or(0);
    tuple.icmp_id = flow.icmp_id.value_or(0);
    return tuple;
}

} // namespace bondtrace
