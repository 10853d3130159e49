// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/bench/packets.h"

#include <algorithm>

namespace bondtrace::bench {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes ipv4(std::uint8_t protocol) {
    return {0x45, 0, 0, 46, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2};
}

Bytes ipv6(std::uint8_t protocol) {
    Bytes header(40);
    header[0] = 0x60;
    header[6] = protocol;
    header[7] = 64;
    for (const std::size_t address : {8U, 24U}) {
        header[address] = 0x20;
        header[address + 1] = 0x01;
        header[address + 15] = static_cast<std::uint8_t>(address / 8);
    }
    return header;
}

const Bytes tcp{0x9c, 0x40, 1, 0xbb, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 3, 0xe8, 0, 0, 0, 0};
const Bytes udp{0x9c, 0x40, 1, 0xbb, 0, 26, 0, 0};

} // namespace

std::vector<Packet> make_packets(std::size_t size) {
    const auto frame = [&](std::string name, const Bytes& types, const Bytes& network,
                           const Bytes& transport) {
        Bytes bytes{0x02, 0, 0, 0, 0x0b, 0x02, 0x02, 0, 0, 0, 0x0a, 0x01};
        for (const Bytes& part : {types, network, transport})
            bytes.insert(bytes.end(), part.begin(), part.end());
        const auto ports =
            transport.empty() ? 0U : static_cast<std::uint32_t>(bytes.size() - transport.size());
        bytes.resize(std::max(size, bytes.size()));
        return Packet{std::move(name), std::move(bytes), ports};
    };
    const Bytes ip{0x08, 0x00}, ip6{0x86, 0xdd};
    return {frame("IPv4 TCP", ip, ipv4(6), tcp),
            frame("IPv4 UDP", ip, ipv4(17), udp),
            frame("IPv6 TCP", ip6, ipv6(6), tcp),
            frame("IPv6 UDP", ip6, ipv6(17), udp),
            frame("VLAN IPv4 TCP", {0x81, 0, 0, 100, 0x08, 0x00}, ipv4(6), tcp),
            frame("QinQ IPv4 TCP", {0x88, 0xa8, 0, 200, 0x81, 0, 0, 100, 0x08, 0x00}, ipv4(6), tcp),
            frame("LLDP", {0x88, 0xcc}, Bytes(46), {})};
}

} // namespace bondtrace::bench
