// SPDX-License-Identifier: GPL-2.0-or-later
// The Ethernet part of the inputs, and the parser of layer2+3 and layer3+4.
#include "user/hash/frame.h"

#include "user/hash/wire.h"

namespace bondtrace {
namespace {

// Where AF_PACKET and VLAN devices leave the network header: behind the tags, but right behind the Ethernet
// header when they cannot be followed to the end (vlan_get_protocol_and_depth: at most seven tags, and a type
// of 0 counts as a failure).
std::size_t offset_behind_tags(const Wire& wire, std::uint16_t protocol) {
    constexpr int most_tags = 7;
    std::size_t offset = ethernet_header;
    for (int tags = 0; ethertype::is_vlan(protocol); ++tags) {
        if (tags == most_tags || !wire.has(offset, vlan_header)) return ethernet_header;
        protocol = wire.be16(offset + 2);
        offset += vlan_header;
    }
    return protocol ? offset : ethernet_header;
}

// bond_flow_ip() and its caller, which follows ICMP errors into the packet they report.
class FlowParser {
  public:
    FlowParser(const Frame& frame, const Era& era)
        : wire_(frame.bytes), era_(era), protocol_(frame.protocol), offset_(frame.network_offset) {}

    FlowInputs parse() {
        out_.parsed = read_ip();
        if (out_.parsed != Parsed::ok || !era_.icmp) return out_;
        const std::uint8_t outer = transport_.value_or(no_icmp);
        if (outer != ipproto::icmp && outer != ipproto::icmpv6) return out_;
        read_icmp();
        if (!icmp_is_error(outer, out_.icmp_type)) return out_;
        offset_ += icmp_header;
        out_.embedded = true;
        if (read_ip() != Parsed::ok) out_.parsed = Parsed::embedded_cut;
        return out_;
    }

  private:
    static constexpr std::uint8_t no_icmp = 255;

    Parsed read_ip() {
        if (protocol_ == ethertype::ipv4) {
            if (!wire_.has(offset_, ipv4_header)) return Parsed::cut;
            out_.kind = AddressKind::ipv4;
            wire_.copy(out_.src.data(), offset_ + 12, 4);
            wire_.copy(out_.dst.data(), offset_ + 16, 4);
            // A fragment, the first as well, has no transport protocol. In an embedded packet that of the
            // error is kept, which has no ports either.
            constexpr std::uint16_t more_fragments_or_offset = 0x3fff;
            if ((wire_.be16(offset_ + 6) & more_fragments_or_offset) == 0) transport_ = wire_.u8(offset_ + 9);
            // The length is not checked: one below 20 makes the ports a part of the header.
            header_length_ = ipv4_header_length(wire_, offset_);
            offset_ += header_length_;
        } else if (protocol_ == ethertype::ipv6) {
            if (!wire_.has(offset_, ipv6_header)) return Parsed::cut;
            out_.kind = AddressKind::ipv6;
            wire_.copy(out_.src.data(), offset_ + 8, 16);
            wire_.copy(out_.dst.data(), offset_ + 24, 16);
            transport_ = wire_.u8(offset_ + 6); // extension headers are not followed
            header_length_ = ipv6_header;
            offset_ += ipv6_header;
        } else {
            return Parsed::other_protocol;
        }
        if (transport_) read_ports(*transport_);
        return Parsed::ok;
    }

    void read_ports(std::uint8_t transport) {
        out_.ports = {};
        const auto within = ports_offset(transport);
        if (within && wire_.has(offset_ + *within, out_.ports.size()))
            wire_.copy(out_.ports.data(), offset_ + *within, out_.ports.size());
    }

    void read_icmp() {
        // Up to 5.14 the header is looked for where the socket or the dissector put the transport header, and
        // the dissector refuses an IPv4 header that is too short.
        if (era_.dissector == Dissector::classic && header_length_ < ipv4_header) return;
        if (!wire_.has(offset_, icmp_header)) return;
        out_.icmp_type = wire_.u8(offset_);
        out_.icmp_code = wire_.u8(offset_ + 1);
        out_.icmp_id = icmp_hashed_id(out_.icmp_type, wire_.be16(offset_ + 4));
    }

    Wire wire_;
    const Era& era_;
    std::uint16_t protocol_;
    std::size_t offset_;
    std::size_t header_length_ = 0;
    std::optional<std::uint8_t> transport_;
    FlowInputs out_;
};

} // namespace

std::string_view to_text(Parsed parsed) {
    switch (parsed) {
    case Parsed::ok:
        return "";
    case Parsed::not_asked:
        return "the policy looks at the Ethernet header only";
    case Parsed::other_protocol:
        return "an ethertype that the policy does not look into";
    case Parsed::cut:
        return "a header is not complete";
    case Parsed::malformed:
        return "a header is malformed";
    case Parsed::embedded_cut:
        return "an ICMP error whose embedded packet is cut";
    }
    return "?";
}

Frame make_frame(std::span<const std::uint8_t> bytes, std::optional<std::uint16_t> tci, FrameSource source) {
    const Wire wire(bytes);
    Frame frame{bytes, tci, 0, ethernet_header};
    if (!wire.has(0, ethernet_header)) return frame;
    frame.protocol = wire.be16(12);
    if (source == FrameSource::local) frame.network_offset = offset_behind_tags(wire, frame.protocol);
    return frame;
}

EthernetInputs ethernet_inputs(const Frame& frame) {
    const Wire wire(frame.bytes);
    EthernetInputs out;
    if (!wire.has(0, ethernet_header)) return out;
    out.present = true;
    wire.copy(out.dst.data(), 0, out.dst.size());
    wire.copy(out.src.data(), 6, out.src.size());
    out.ethertype = wire.be16(12);
    out.tci = frame.tci.value_or(0);
    return out;
}

FlowInputs flow_inputs(const Frame& frame, const Era& era) {
    return FlowParser(frame, era).parse();
}

HashInputs hash_inputs(const Frame& frame, HashPolicy policy, const Era& era) {
    HashInputs out;
    out.ethernet = ethernet_inputs(frame);
    switch (policy) {
    case HashPolicy::layer23:
    case HashPolicy::layer34:
        out.flow = flow_inputs(frame, era);
        break;
    case HashPolicy::encap23:
    case HashPolicy::encap34:
        out.flow = encap_inputs(frame, era);
        break;
    case HashPolicy::layer2:
    case HashPolicy::vlan_srcmac:
        break;
    }
    return out;
}

} // namespace bondtrace
