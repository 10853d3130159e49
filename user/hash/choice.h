// SPDX-License-Identifier: GPL-2.0-or-later
// Which slave a bond sends a packet through (__bond_start_xmit and the pickers behind it): known from the
// packet, or not, and then why not. Never a guess.
#pragma once

#include "user/bond/model.h"
#include "user/hash/era.h"
#include "user/hash/frame.h"
#include "user/hash/tuple.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include <tl/expected.hpp>

namespace bondtrace {

// What else than the hash decides in some modes, from the packet.
struct PacketTraits {
    std::uint16_t protocol = 0; // skb->protocol, host order
    bool multicast_mac = false; // destination; broadcast as well
    bool broadcast_mac = false;
    bool all_nodes_mac = false;     // 33:33:00:00:00:01
    bool igmp = false;              // over IPv4
    bool limited_broadcast = false; // to 255.255.255.255
    bool neighbour_discovery =
        false; // ICMPv6 neighbour solicitation or advertisement, no extension header before it
    bool unspecified_source = false; // IPv6 from ::, as in duplicate address detection
    bool cut = false;                // the IP header is not complete
};

PacketTraits packet_traits(const Frame& frame);
// As far as the tuple says; a tuple without a destination MAC counts as unicast.
PacketTraits packet_traits(const FlowTuple& tuple);

// The bond, as far as it decides.
struct ChoiceContext {
    BondMode mode = BondMode::balance_xor;
    HashPolicy policy = HashPolicy::layer2;
    Era era = newest_era;
    std::uint32_t usable = 0;        // usable slaves now
    bool tlb_dynamic_lb = true;      // balance-tlb and balance-alb
    bool queue_override = false;     // some slave has a queue_id; balance-rr and active-backup only
    bool broadcast_neighbor = false; // 802.3ad's option of that name
    bool flow_dissector = false;     // a BPF flow dissector is attached to the network namespace, or may be;
                                     // encap policies only
    bool tls_offload = false; // the packet is of a socket whose TLS transmission a slave has taken over
    // skb->l4_hash; nullopt: not known. The kernel sets it for local TCP and connected UDP sockets (to a
    // random number of the socket's), and for received packets that a NIC has hashed. encap3+4 only.
    std::optional<bool> l4_hash;
    std::optional<std::uint32_t> skb_hash; // skb->hash, when it was read
};

enum class ChoiceKind : std::uint8_t {
    index,        // the slave at `index` among the usable ones
    active_slave, // the bond's active slave
    all_slaves,   // a copy through every slave that is up
    none,         // not predictable, or not sent at all: `reason`
};

struct Choice {
    ChoiceKind kind = ChoiceKind::none;
    std::uint32_t index = 0;
    std::uint32_t hash = 0; // kind index only
    std::string_view
        reason; // a phrase without a full stop; kind none, and where the kind needs an explanation
};

// The slave of a packet with these inputs.
Choice choose(const ChoiceContext& bond, const HashInputs& inputs, const PacketTraits& packet);
Choice choose(const ChoiceContext& bond, const Frame& frame);
Choice choose(const ChoiceContext& bond, const FlowTuple& tuple);

} // namespace bondtrace
