// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/flow/entry.h"

#include "user/flow/protocols.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include <netinet/in.h>

namespace bondtrace {

FlowEntry entry_of(const Conversation& conversation, const SlaveUse& use, bool received, std::uint16_t slot) {
    const ConversationKey& key = conversation.key;
    FlowEntry entry{};
    entry.bond = conversation.bond;
    entry.slave_ifindex = use.slave_ifindex;
    entry.key.slot = slot;
    entry.key.ethertype = key.ethertype;
    entry.key.protocol = key.protocol;
    if (key.vlan) entry.key.vlan = BT_VLAN_PRESENT | (*key.vlan & vlan_id_mask);
    if (key.inner_vlan) entry.key.inner_vlan = BT_VLAN_PRESENT | (*key.inner_vlan & vlan_id_mask);
    unsigned flags = received ? BT_KEY_RX : 0;
    if (key.fragment) flags |= BT_KEY_FRAGMENT;
    if (key.unparsed) flags |= BT_KEY_UNPARSED;
    if (use.inactive) flags |= BT_KEY_INACTIVE;
    if (key.unparsed && key.ip && key.protocol == 0) flags |= BT_KEY_EXTHDR; // see has_ip_addresses()
    entry.key.flags = static_cast<std::uint8_t>(flags);
    const auto copy_host = [](const Host& host, __u8(&bytes)[16]) {
        std::visit(
            [&](const auto& address) {
                if constexpr (std::is_same_v<std::decay_t<decltype(address)>, IpAddress>)
                    std::copy(address.bytes.begin(), address.bytes.end(), bytes);
                else
                    std::copy(address.begin(), address.end(), bytes);
            },
            host);
    };
    copy_host(key.local, received ? entry.key.dst : entry.key.src);
    copy_host(key.remote, received ? entry.key.src : entry.key.dst);
    if (const auto* ports = std::get_if<Ports>(&key.detail)) {
        entry.key.src_port = htons(received ? ports->remote : ports->local);
        entry.key.dst_port = htons(received ? ports->local : ports->remote);
    } else if (const auto* icmp = std::get_if<IcmpMessage>(&key.detail)) {
        const std::uint8_t type = received ? icmp_counterpart(key.protocol, icmp->type) : icmp->type;
        entry.key.dst_port = htons(static_cast<std::uint16_t>(type << 8 | icmp->code));
        entry.key.src_port = htons(icmp->id.value_or(0));
    } else if (const auto* spi = std::get_if<Spi>(&key.detail)) {
        entry.key.src_port = htons(static_cast<std::uint16_t>(spi->value >> 16));
        entry.key.dst_port = htons(static_cast<std::uint16_t>(spi->value));
    }
    const auto more = [](std::uint64_t wire, std::uint64_t own) { return wire > own ? wire - own : 0; };
    const Counts& counts = use.counts;
    entry.value.count = {counts.packets, counts.bytes, more(counts.wire_packets, counts.packets),
                         more(counts.wire_bytes, counts.bytes)};
    entry.value.first_ns = use.first_ns;
    entry.value.last_ns = use.last_ns;
    const MacAddress &from = received ? use.origin.remote_mac : use.origin.local_mac,
                     &to = received ? use.origin.local_mac : use.origin.remote_mac;
    std::copy(from.begin(), from.end(), entry.value.src_mac);
    std::copy(to.begin(), to.end(), entry.value.dst_mac);
    if (received) return entry;
    entry.value.tci = use.origin.tci;
    entry.value.outer_ethertype = use.origin.outer_ethertype;
    entry.value.skb_hash = use.origin.skb_hash;
    entry.value.protocol = use.origin.protocol;
    if (use.origin.extension_headers) entry.key.flags |= BT_KEY_EXTHDR;
    if (use.origin.l4_hash) entry.value.hash_flags |= BT_HASH_L4;
    if (use.origin.offloaded) entry.value.hash_flags |= BT_HASH_OFFLOADED;
    if (const auto& note = use.origin.bond) {
        entry.value.hash_flags |= BT_HASH_NOTED;
        entry.value.mode = static_cast<__u8>(note->mode);
        entry.value.policy = static_cast<__u8>(note->policy);
        if (note->tlb_dynamic_lb) entry.value.hash_flags |= BT_HASH_TLB_DYNAMIC;
        if (note->active_slave) entry.value.hash_flags |= BT_HASH_HAS_ACTIVE;
        if (note->active_slave.value_or(false)) entry.value.hash_flags |= BT_HASH_ACTIVE;
    }
    entry.value.usable_index = use.origin.usable_index.value_or(BT_NO_INDEX);
    if (use.origin.usable_count) {
        entry.value.hash_flags |= BT_HASH_USABLE;
        entry.value.usable_count = *use.origin.usable_count;
    }
    return entry;
}

} // namespace bondtrace
