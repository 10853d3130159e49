// SPDX-License-Identifier: GPL-2.0-or-later
// What the bonding driver's two packet parsers take from a frame for the transmit hash: bond_flow_ip()
// (layer2+3, layer3+4) and __skb_flow_dissect() with bonding's keys (encap2+3, encap3+4). Both are modelled
// to the last corner, cut and malformed packets included (drivers/net/bonding/bond_main.c and
// net/core/flow_dissector.c of 5.10, 6.1, 6.12 and 7.2).
#pragma once

#include "user/base/address.h"
#include "user/bond/model.h"
#include "user/hash/era.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace bondtrace {

// Who made the frame; matters for tags in the frame's own bytes only.
enum class FrameSource : std::uint8_t {
    wire,  // forwarded, bridged, or captured: the network header is taken to follow the Ethernet header
    local, // sent on this host by AF_PACKET (protocol 0) or through stacked VLAN devices: the kernel knows
           // that the network header is behind the tags, yet names the packet by the first of them, and the
           // dissector takes what it finds there, the IP header, for a tag
};

// A packet as bond_xmit_hash() gets it. A packet whose headers are not linear hashes the same. The tag of a
// VLAN device on the bond is metadata, but not for MPLS packets: there the kernel puts it into the frame
// before the bond sees it (6.1 and 6.12).
struct Frame {
    std::span<const std::uint8_t>
        bytes;                        // from the Ethernet header; without FCS and without the metadata's tag
    std::optional<std::uint16_t> tci; // accelerated VLAN tag (skb->vlan_tci), priority bits included
    std::uint16_t protocol = 0;       // skb->protocol, host order
    std::size_t network_offset = 0;   // skb_network_offset()
};

// The frame with protocol and network offset as the kernel sets them for frames of that source.
Frame make_frame(std::span<const std::uint8_t> bytes, std::optional<std::uint16_t> tci = std::nullopt,
                 FrameSource source = FrameSource::wire);

// The part of the hash that needs no parser.
struct EthernetInputs {
    bool present = false; // all 14 bytes were there; otherwise layer2 and vlan+srcmac hash to 0
    MacAddress dst{};
    MacAddress src{};
    std::uint16_t ethertype = 0; // bytes 12 and 13, host order
    std::uint16_t tci = 0;       // of the accelerated tag; 0 without one
};

// What a parser came to.
enum class Parsed : std::uint8_t {
    ok,             // the hash is made of addresses (and ports); fields that the packet does not have are 0
    not_asked,      // layer2 and vlan+srcmac look at nothing behind the Ethernet header
    other_protocol, // not IPv4 or IPv6 (layer2+3, layer3+4); unknown to the dissector (encap)
    cut,            // a header that the parser needs is not complete
    malformed,      // a header has impossible contents (encap)
    embedded_cut,   // an ICMP error whose embedded IP header is not complete
};

// "an ethertype that this policy does not look into" and so on: why a frame is hashed as under layer2; "" for
// ok.
std::string_view to_text(Parsed parsed);

enum class AddressKind : std::uint8_t { none, ipv4, ipv6, tipc };

// What the addresses and ports part of the hash is made of, in network byte order.
struct FlowInputs {
    Parsed parsed = Parsed::not_asked; // other than ok: hashed as under layer2, whatever stands below
    AddressKind kind = AddressKind::none;
    std::array<std::uint8_t, 16> src{}; // IPv4: first four bytes; TIPC: the source node
    std::array<std::uint8_t, 16> dst{};
    std::array<std::uint8_t, 4> ports{}; // source and destination port, or the SPI of ESP and AH
    std::uint8_t icmp_type = 0;
    std::uint8_t icmp_code = 0;
    std::uint16_t icmp_id = 0; // host order; not 0: replaces the ports (an id of 0 on the wire becomes 1)
    bool embedded = false;     // the fields are those of the packet that an ICMP error reports
    bool tunnelled = false;    // the fields are those of a packet inside a tunnel
    bool random = false;       // TIPC keep-alive: the kernel uses a random number for src
};

struct HashInputs {
    EthernetInputs ethernet;
    FlowInputs flow;
};

EthernetInputs ethernet_inputs(const Frame& frame);
// What layer2+3 and layer3+4 see (one parser, both use what they need).
FlowInputs flow_inputs(const Frame& frame, const Era& era);
// What encap2+3 and encap3+4 see. A BPF flow dissector attached to the network namespace would replace this
// parser.
FlowInputs encap_inputs(const Frame& frame, const Era& era);
// All that `policy` uses.
HashInputs hash_inputs(const Frame& frame, HashPolicy policy, const Era& era);

} // namespace bondtrace
