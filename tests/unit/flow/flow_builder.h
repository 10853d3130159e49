// SPDX-License-Identifier: GPL-2.0-or-later
// Entries of the flow table as the kernel writes them, and conversations, for the tests.
#pragma once

#include "user/flow/join.h"

#include <cstring>
#include <utility>

#include <arpa/inet.h>

namespace bondtrace::test {

// A key of an IP packet; ports in host order, as they are in the packet.
inline bt_flow_key ip_key(std::uint8_t protocol, const char* src, std::uint16_t src_port, const char* dst,
                          std::uint16_t dst_port, std::uint8_t flags = 0) {
    bt_flow_key key{};
    const IpAddress from = *parse_ip(src), to = *parse_ip(dst);
    std::memcpy(key.src, from.bytes.data(), 16);
    std::memcpy(key.dst, to.bytes.data(), 16);
    key.ethertype = from.v6 ? 0x86dd : 0x0800;
    key.protocol = protocol;
    key.src_port = htons(src_port);
    key.dst_port = htons(dst_port);
    key.flags = flags;
    return key;
}

// ICMP: the id is where the source port is, type and code are bytes one and two of the destination port.
inline bt_flow_key icmp_key(std::uint8_t protocol, const char* src, const char* dst, std::uint8_t type,
                            std::uint8_t code, std::uint16_t id, std::uint8_t flags = 0) {
    bt_flow_key key = ip_key(protocol, src, id, dst, 0, flags);
    const std::uint8_t bytes[2] = {type, code};
    std::memcpy(&key.dst_port, bytes, 2);
    return key;
}

inline bt_flow_key mac_key(std::uint16_t ethertype, const MacAddress& src, const MacAddress& dst,
                           std::uint8_t flags = 0) {
    bt_flow_key key{};
    std::memcpy(key.src, src.data(), 6);
    std::memcpy(key.dst, dst.data(), 6);
    key.ethertype = ethertype;
    key.flags = flags;
    return key;
}

inline FlowEntry entry(const bt_flow_key& key, int slave, std::uint64_t packets = 1,
                       std::uint64_t bytes = 100, std::uint64_t first_ns = 0, std::uint64_t last_ns = 0) {
    FlowEntry result{};
    result.key = key;
    result.slave_ifindex = slave;
    result.value.count.packets = packets;
    result.value.count.bytes = bytes;
    result.value.first_ns = first_ns;
    result.value.last_ns = last_ns;
    result.value.usable_index = BT_NO_INDEX;
    return result;
}

inline SlaveUse use(int slave, std::uint64_t first_ns, std::uint64_t last_ns, std::uint64_t bytes = 0,
                    std::uint64_t packets = 0) {
    SlaveUse result;
    result.slave_ifindex = slave;
    result.first_ns = first_ns;
    result.last_ns = last_ns;
    result.counts = {packets, bytes, packets, bytes};
    return result;
}

inline Conversation conversation(std::uint8_t protocol, const char* local, std::uint16_t local_port,
                                 const char* remote, std::uint16_t remote_port) {
    Conversation result;
    result.key.ip = true;
    result.key.protocol = protocol;
    result.key.local = *parse_ip(local);
    result.key.remote = *parse_ip(remote);
    result.key.ethertype = std::get<IpAddress>(result.key.local).v6 ? 0x86dd : 0x0800;
    result.key.detail = Ports{local_port, remote_port};
    return result;
}

} // namespace bondtrace::test
