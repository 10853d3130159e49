// SPDX-License-Identifier: GPL-2.0-or-later
// A captured packet -> everything that any policy hashes of it. Pure.
#pragma once

#include "user/flow/conversation.h"
#include "user/hash/era.h"
#include "user/hash/frame.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bondtrace {

// What stands before the network header (LINKTYPE_* of https://www.tcpdump.org/linktypes.html).
enum class LinkType : std::uint8_t {
    ethernet,      // LINKTYPE_ETHERNET
    linux_cooked,  // LINKTYPE_LINUX_SLL
    linux_cooked2, // LINKTYPE_LINUX_SLL2
    raw_ip,        // LINKTYPE_RAW, LINKTYPE_IPV4, LINKTYPE_IPV6
};

struct CapturedPacket {
    std::span<const std::uint8_t> bytes; // as much as was captured
    std::uint32_t length = 0;            // of the whole packet
    LinkType link = LinkType::ethernet;
};

// Everything that some policy hashes, as bytes without padding: equal keys, equal hashes. Packets of tunnels
// differ by what is inside.
struct PacketKey {
    struct Inner { // what one of the two parsers came to: FlowInputs without what does not matter
        std::array<std::uint8_t, 16> src{}, dst{};
        std::array<std::uint8_t, 4> ports{};
        std::uint16_t icmp_id = 0;
        std::uint8_t icmp_type = 0, icmp_code = 0;
        Parsed parsed = Parsed::not_asked;
        AddressKind kind = AddressKind::none;
        std::uint8_t random = 0;
        std::uint8_t unknown = 0; // the capture is cut where it matters
    };
    MacAddress dst_mac{}, src_mac{};
    std::uint16_t ethertype = 0; // behind the outermost tag
    std::uint16_t tci = 0;
    Inner plain;               // layer2+3, layer3+4
    Inner encap;               // encap2+3, encap3+4; of packets without a tunnel the same
    std::uint8_t protocol = 0; // IP protocol of the outer header
    std::uint8_t fragment = 0;
    std::uint8_t macs = 0; // bit 0: source known, bit 1: destination known
    std::uint8_t zero = 0;
    std::uint32_t zero2 = 0;
};
static_assert(std::has_unique_object_representations_v<PacketKey> && sizeof(PacketKey) % 8 == 0);

// The hash inputs of a key, for the policies that use that parser.
HashInputs inputs_of(const PacketKey& key, HashPolicy policy);
// As a conversation's identity, its source as the local end.
ConversationKey conversation_key(const PacketKey& key);

class PacketReader {
  public:
    explicit PacketReader(const Era& era) : era_(era) {}

    // False when the packet is too short to be anything, or a cooked one that was not sent from here. The
    // outermost VLAN tag counts as that of a VLAN device on the bond, which is metadata there, not part of
    // the frame.
    bool read(const CapturedPacket& packet, PacketKey& key);

    // Bytes of the frame on an Ethernet link, whatever the capture's own header is.
    static std::uint64_t wire_bytes(const CapturedPacket& packet);

  private:
    // The Ethernet frame as it was before a tag or another header was put there.
    std::optional<std::span<const std::uint8_t>> frame_of(const CapturedPacket& packet, PacketKey& key);
    void parse(const Frame& frame, std::size_t missing, PacketKey& key);

    Era era_;
    std::vector<std::uint8_t> scratch_, longer_;
};

} // namespace bondtrace
