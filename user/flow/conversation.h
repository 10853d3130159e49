// SPDX-License-Identifier: GPL-2.0-or-later
// A conversation: both directions of one flow, with the slaves that carried each.
#pragma once

#include "user/base/address.h"
#include "user/bond/model.h"
#include "user/flow/prediction.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace bondtrace {

// Packets and bytes, as skbs were handed over and as frames on the wire (after segmentation, before GRO).
// Frames count without FCS and without a VLAN tag that travels as metadata.
struct Counts {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t wire_packets = 0;
    std::uint64_t wire_bytes = 0;

    Counts& operator+=(const Counts& other);
    auto operator<=>(const Counts&) const = default;
};
Counts operator-(const Counts& later, const Counts& earlier);

// One end: an IP address, or the MAC address of traffic that is not IP.
using Host = std::variant<IpAddress, MacAddress>;
std::string to_text(const Host& host);

// What follows the addresses in a flow's identity.
struct Ports {
    std::uint16_t local = 0, remote = 0;
    auto operator<=>(const Ports&) const = default;
};
struct IcmpMessage { // type and code as the local end sends it: the request's when it asks, the reply's when
                     // it answers
    std::uint8_t type = 0, code = 0;
    std::optional<std::uint16_t> id;
    auto operator<=>(const IcmpMessage&) const = default;
};
struct Spi { // ESP and AH; differs by direction, so that the two directions are two conversations
    std::uint32_t value = 0;
    auto operator<=>(const Spi&) const = default;
};
using FlowDetail = std::variant<std::monostate, Ports, IcmpMessage, Spi>;

// Identity of a conversation within one bond.
struct ConversationKey {
    std::uint16_t ethertype = 0; // behind all tags
    std::uint8_t protocol = 0;   // IP protocol; 0 when not IP
    bool ip = false;             // addresses are IP addresses
    Host local, remote;
    FlowDetail detail;
    std::optional<std::uint16_t> vlan, inner_vlan; // VLAN IDs, outermost first
    bool fragment = false;                         // IP fragments: no ports
    bool unparsed = false;                         // cut or malformed headers

    auto operator<=>(const ConversationKey&) const = default;
};

// "tcp", "udp", "icmp", "icmp6", "sctp", "esp", ..., "ip-89" for IP protocols without a name here; "arp",
// "lldp", "lacp", "0x88f7" for what is not IP.
std::string protocol_name(const ConversationKey& key);

// The bond's state when a frame was sent, as far as it decides about the slave.
struct BondNote {
    BondMode mode = BondMode::balance_rr;
    HashPolicy policy = HashPolicy::layer2;
    bool tlb_dynamic_lb = true;
    std::optional<bool> active_slave; // the frame's slave was the active one; nullopt: there was none
};

// What else the bond's hash is computed from, and what the kernel noted beside it: of the first frame of this
// use. MAC addresses are known for both directions, the rest only for what was sent (struct bt_flow_value).
struct FrameOrigin {
    MacAddress local_mac{}, remote_mac{};
    std::uint32_t skb_hash = 0;
    std::uint16_t tci = 0;             // accelerated VLAN tag with its priority bits, or 0
    std::uint16_t outer_ethertype = 0; // bytes 12 and 13 of the frame
    std::uint16_t protocol = 0;        // skb->protocol, what the kernel took the frame for
    bool extension_headers = false;    // IPv6: in front of the transport header
    bool l4_hash = false;              // skb->l4_hash: encap3+4 takes skb_hash as it is
    bool offloaded = false;            // of a socket whose TLS a slave does
    std::optional<BondNote> bond;      // nullopt: not read, or of a mode or policy unknown here
    // Position of the slave among the usable ones, and how many there were; nullopt: not read, or not among
    // them.
    std::optional<std::uint16_t> usable_index, usable_count;
};

// What one direction of a conversation did on one slave. Tables hold many of them: a member more is memory.
struct SlaveUse {
    int slave_ifindex = 0;
    bool inactive = false; // RX: the bond dropped these, the slave is inactive
    Counts counts;
    std::uint64_t first_ns = 0, last_ns = 0; // CLOCK_MONOTONIC, to a few milliseconds
    FrameOrigin origin;
};

struct Conversation {
    std::size_t bond = 0; // index into the report's bonds
    ConversationKey key;
    std::vector<SlaveUse> tx, rx; // by first use
    SharedPrediction prediction;  // none: nobody made one

    [[nodiscard]] Counts tx_total() const;
    [[nodiscard]] Counts rx_total() const;
    // How often sending changed slaves; 0 for packets sprayed over slaves at the same time (balance-rr,
    // broadcast). A flow that comes back to a slave counts as sprayed: a slave has one first and one last
    // use.
    [[nodiscard]] unsigned moves() const;
    // Sent through more than one slave at the same time.
    [[nodiscard]] bool sprayed() const;
};

} // namespace bondtrace
