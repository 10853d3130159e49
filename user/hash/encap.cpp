// SPDX-License-Identifier: GPL-2.0-or-later
// The parser of encap2+3 and encap3+4: the kernel's flow dissector with the keys that bonding asks for and no
// flags. UDP tunnels are not entered; of a nest of tunnels the innermost addresses win; what was read before
// a stop is kept.
#include "user/hash/frame.h"
#include "user/hash/wire.h"

namespace bondtrace {
namespace {

// GRE (RFC 2784, 2890) and PPTP's version of it (RFC 2637): flags and version in the first two bytes.
constexpr std::uint16_t gre_checksum = 0x8000, gre_routing = 0x4000, gre_key = 0x2000, gre_sequence = 0x1000,
                        gre_acknowledge = 0x0080, gre_version = 0x0007;
// PPP protocol numbers.
constexpr std::uint16_t ppp_ipv4 = 0x0021, ppp_ipv6 = 0x0057, ppp_mpls = 0x0281, ppp_mpls_multicast = 0x0283;

class Dissection {
  public:
    Dissection(const Frame& frame, const Era& era)
        : wire_(frame.bytes), era_(era), accelerated_(frame.tci.has_value()), frame_protocol_(frame.protocol),
          type_(frame.protocol), offset_(frame.network_offset) {
        // Up to 5.14 the walk begins at the accelerated tag, which costs one header of the allowance.
        if (era.dissector == Dissector::classic && accelerated_) type_ = ethertype::vlan;
    }

    FlowInputs run() {
        out_.parsed = walk();
        return out_;
    }

  private:
    enum class Step { good, cut, malformed, unknown, type_again, transport, transport_again };

    static constexpr int most_headers = 15;

    bool one_more_header() { return ++headers_ <= most_headers; }

    static Parsed parsed_of(Step step) {
        switch (step) {
        case Step::cut:
            return Parsed::cut;
        case Step::malformed:
            return Parsed::malformed;
        case Step::unknown:
            return Parsed::other_protocol;
        default:
            return Parsed::ok;
        }
    }

    // An exhausted allowance of headers ends the walk as a success.
    Parsed walk() {
        for (;;) {
            Step step = by_type();
            if (step == Step::transport) {
                do {
                    step = by_transport();
                    if (!fragment_) read_ports();
                } while (step == Step::transport_again && one_more_header());
            }
            if (step != Step::type_again) return parsed_of(step);
            if (!one_more_header()) return Parsed::ok;
        }
    }

    Step by_type() {
        switch (type_) {
        case ethertype::ipv4:
            return ipv4();
        case ethertype::ipv6:
            return ipv6();
        case ethertype::vlan:
        case ethertype::service_vlan:
            return vlan();
        case ethertype::pppoe_session:
            return pppoe();
        case ethertype::tipc:
            return tipc();
        case ethertype::mpls:
        case ethertype::mpls_multicast:
        case ethertype::arp:
        case ethertype::rarp:
            return Step::good; // bonding asks for none of their fields, so their headers are not even looked
                               // at
        case ethertype::batman:
            return batman();
        case ethertype::fcoe:
            return whole(38);
        case ethertype::ptp:
            return era_.dissector == Dissector::classic ? Step::unknown : whole(34);
        case ethertype::prp:
        case ethertype::hsr:
            return era_.dissector == Dissector::classic ? Step::unknown : hsr();
        case ethertype::cfm:
            return era_.dissector == Dissector::v6_5 ? Step::good : Step::unknown;
        default:
            return Step::unknown;
        }
    }

    // A header of which nothing but its length matters.
    Step whole(std::size_t length) { return wire_.has(offset_, length) ? Step::good : Step::cut; }

    Step ipv4() {
        if (!wire_.has(offset_, ipv4_header)) return Step::cut;
        const std::size_t length = ipv4_header_length(wire_, offset_);
        if (length < ipv4_header) return Step::malformed;
        transport_ = wire_.u8(offset_ + 9);
        set_addresses(AddressKind::ipv4, offset_ + 12, 4);
        constexpr std::uint16_t more_fragments_or_offset = 0x3fff;
        const bool fragment = (wire_.be16(offset_ + 6) & more_fragments_or_offset) != 0;
        offset_ += length;
        return fragment ? Step::good : Step::transport;
    }

    Step ipv6() {
        if (!wire_.has(offset_, ipv6_header)) return Step::cut;
        transport_ = wire_.u8(offset_ + 6);
        set_addresses(AddressKind::ipv6, offset_ + 8, 16);
        offset_ += ipv6_header;
        return Step::transport;
    }

    void set_addresses(AddressKind kind, std::size_t offset, std::size_t length) {
        out_.tunnelled = out_.kind == AddressKind::ipv4 || out_.kind == AddressKind::ipv6;
        out_.kind = kind;
        out_.src = {};
        out_.dst = {};
        wire_.copy(out_.src.data(), offset, length);
        wire_.copy(out_.dst.data(), offset + length, length);
    }

    // The first tag met is taken for the accelerated one if there is one, even when it is a different tag in
    // the frame: it is then skipped without moving on, and skb->protocol is looked for where that tag stands.
    Step vlan() {
        if (!tag_seen_ && accelerated_) {
            type_ = frame_protocol_;
        } else {
            if (!wire_.has(offset_, vlan_header)) return Step::cut;
            type_ = wire_.be16(offset_ + 2);
            offset_ += vlan_header;
        }
        tag_seen_ = true;
        return Step::type_again;
    }

    Step pppoe() {
        constexpr std::size_t header = 8; // with the PPP protocol
        if (!wire_.has(offset_, header)) return Step::cut;
        if (wire_.be16(offset_) != 0x1100) return Step::malformed; // version 1, type 1, code 0: session data
        const std::uint16_t protocol = wire_.be16(offset_ + 6);
        offset_ += header;
        switch (protocol) {
        case ppp_ipv4:
            type_ = ethertype::ipv4;
            return Step::type_again;
        case ppp_ipv6:
            type_ = ethertype::ipv6;
            return Step::type_again;
        case ppp_mpls:
            type_ = ethertype::mpls;
            return Step::type_again;
        case ppp_mpls_multicast:
            type_ = ethertype::mpls_multicast;
            return Step::type_again;
        default:
            return (protocol & 0x0101U) == 0x0001 ? Step::good : Step::malformed;
        }
    }

    Step tipc() {
        if (!wire_.has(offset_, 16)) return Step::cut;
        out_.kind = AddressKind::tipc;
        out_.src = {};
        out_.dst = {};
        wire_.copy(out_.src.data(), offset_ + 12, 4);
        // Keep-alive messages are spread by a random key.
        constexpr std::uint32_t keep_alive = 0x0e080000;
        const std::uint32_t word = std::uint32_t{wire_.be16(offset_)} << 16U | wire_.be16(offset_ + 2);
        out_.random = (word & keep_alive) == keep_alive;
        return Step::good;
    }

    Step batman() {
        constexpr std::size_t header =
            10 + ethernet_header; // batadv_unicast_packet and the inner Ethernet header
        constexpr std::uint8_t unicast = 0x40, compat_version = 15;
        if (!wire_.has(offset_, header)) return Step::cut;
        if (wire_.u8(offset_ + 1) != compat_version || wire_.u8(offset_) != unicast) return Step::malformed;
        type_ = wire_.be16(offset_ + header - 2);
        offset_ += header;
        return Step::type_again;
    }

    Step hsr() {
        if (!wire_.has(offset_, 6)) return Step::cut;
        type_ = wire_.be16(offset_ + 4);
        offset_ += 6;
        return Step::type_again;
    }

    Step by_transport() {
        switch (transport_) {
        case ipproto::gre:
            return gre();
        case ipproto::hop_by_hop:
        case ipproto::routing:
        case ipproto::destination_options:
            return type_ == ethertype::ipv6 ? options() : Step::good;
        case ipproto::fragment:
            return type_ == ethertype::ipv6 ? fragment() : Step::good;
        case ipproto::ipip:
            type_ = ethertype::ipv4;
            return Step::type_again;
        case ipproto::ipv6:
            type_ = ethertype::ipv6;
            return Step::type_again;
        case ipproto::mpls:
            type_ = ethertype::mpls;
            return Step::type_again;
        case ipproto::icmp:
        case ipproto::icmpv6:
            icmp();
            return Step::good;
        default:
            return Step::good;
        }
    }

    Step options() {
        if (!wire_.has(offset_, 2)) return Step::cut;
        transport_ = wire_.u8(offset_);
        offset_ += (wire_.u8(offset_ + 1) + std::size_t{1}) * 8;
        return Step::transport_again;
    }

    Step fragment() {
        if (!wire_.has(offset_, 8)) return Step::cut;
        fragment_ = true;
        return Step::good;
    }

    Step gre() {
        if (!wire_.has(offset_, 4)) return Step::cut;
        const std::uint16_t flags = wire_.be16(offset_);
        const unsigned version = flags & gre_version;
        if ((flags & gre_routing) || version > 1) return Step::good;
        const std::uint16_t protocol = wire_.be16(offset_ + 2);
        if (version == 1 && (protocol != ethertype::ppp || !(flags & gre_key))) return Step::good;
        std::size_t inner = offset_ + 4;
        if (flags & gre_checksum) inner += 4;
        if (flags & gre_key) {
            if (!wire_.has(inner, 4)) return Step::cut;
            inner += 4;
        }
        if (flags & gre_sequence) inner += 4;
        std::uint16_t type = protocol;
        if (version == 0) {
            if (protocol == ethertype::teb) {
                if (!wire_.has(inner, ethernet_header)) return Step::cut;
                type = wire_.be16(inner + ethernet_header - 2);
                inner += ethernet_header;
            }
        } else {
            constexpr std::size_t ppp_header = 4;
            if (flags & gre_acknowledge) inner += 4;
            if (!wire_.has(inner, ppp_header)) return Step::cut;
            const std::uint16_t ppp = wire_.be16(inner + 2);
            if (ppp == ppp_ipv4) type = ethertype::ipv4;
            if (ppp == ppp_ipv6)
                type = ethertype::ipv6; // others stay "PPP", which the dissector does not know
            inner += ppp_header;
        }
        type_ = type;
        offset_ = inner;
        return Step::type_again;
    }

    void icmp() {
        if (!wire_.has(offset_, icmp_header)) return;
        out_.icmp_type = wire_.u8(offset_);
        out_.icmp_code = wire_.u8(offset_ + 1);
        if (era_.icmp) out_.icmp_id = icmp_hashed_id(out_.icmp_type, wire_.be16(offset_ + 4));
    }

    // Done after every step, whatever it came to: ports that a tunnel's outer packet had are overwritten with
    // 0.
    void read_ports() {
        out_.ports = {};
        const auto within = ports_offset(transport_);
        if (within && wire_.has(offset_ + *within, out_.ports.size()))
            wire_.copy(out_.ports.data(), offset_ + *within, out_.ports.size());
    }

    Wire wire_;
    const Era& era_;
    bool accelerated_;
    std::uint16_t frame_protocol_;
    std::uint16_t type_; // the ethertype to parse next, or within which the transport header stands
    std::size_t offset_;
    std::uint8_t transport_ = 0;
    int headers_ = 0;
    bool tag_seen_ = false;
    bool fragment_ = false;
    FlowInputs out_;
};

} // namespace

FlowInputs encap_inputs(const Frame& frame, const Era& era) {
    return Dissection(frame, era).run();
}

} // namespace bondtrace
