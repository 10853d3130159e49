// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/hash/tuple.h"

#include "user/hash/policy.h"
#include "user/hash/wire.h"

namespace bondtrace {
namespace {

using Unknown = tl::unexpected<std::string_view>;
using FlowResult = tl::expected<FlowInputs, std::string_view>;

Unknown unknown(std::string_view reason) {
    return tl::make_unexpected(reason);
}

FlowInputs failed(Parsed parsed) {
    FlowInputs flow;
    flow.parsed = parsed;
    return flow;
}

FlowInputs addresses(const FlowTuple& tuple) {
    FlowInputs flow;
    flow.parsed = Parsed::ok;
    flow.kind = tuple.ethertype == ethertype::ipv6 ? AddressKind::ipv6 : AddressKind::ipv4;
    flow.src = tuple.src.bytes;
    flow.dst = tuple.dst.bytes;
    return flow;
}

void set_transport(FlowInputs& flow, const FlowTuple& tuple, const Era& era) {
    if (ports_offset(tuple.protocol)) {
        flow.ports = {
            static_cast<std::uint8_t>(tuple.src_port >> 8U), static_cast<std::uint8_t>(tuple.src_port),
            static_cast<std::uint8_t>(tuple.dst_port >> 8U), static_cast<std::uint8_t>(tuple.dst_port)};
    } else if (era.icmp && (tuple.protocol == ipproto::icmp || tuple.protocol == ipproto::icmpv6)) {
        flow.icmp_type = tuple.icmp_type;
        flow.icmp_code = tuple.icmp_code;
        flow.icmp_id = icmp_hashed_id(tuple.icmp_type, tuple.icmp_id);
    }
}

// layer2+3 and layer3+4. `ports`: whether the policy uses them.
FlowResult plain(const FlowTuple& tuple, bool ports, const Era& era) {
    if (!ethertype::is_ip(tuple.outer_ethertype)) return failed(Parsed::other_protocol);
    if (tuple.unparsed) return unknown("the packet is cut or malformed: its tuple is not complete");
    FlowInputs flow = addresses(tuple);
    if (tuple.fragment || tuple.extension_headers) return flow;
    const bool icmp = tuple.protocol == ipproto::icmp || tuple.protocol == ipproto::icmpv6;
    if (era.icmp && icmp && icmp_is_error(tuple.protocol, tuple.icmp_type))
        return unknown("an ICMP error is hashed by the packet it reports, which the tuple does not hold");
    if (ports) set_transport(flow, tuple, era);
    return flow;
}

// Ethertypes other than IP, as far as their number alone decides what the dissector comes to.
FlowResult encap_of_type(std::uint16_t type, const Era& era) {
    FlowInputs found;
    found.parsed = Parsed::ok;
    switch (type) {
    case ethertype::arp:
    case ethertype::rarp:
    case ethertype::mpls:
    case ethertype::mpls_multicast:
        return found;
    case ethertype::cfm:
        return era.dissector == Dissector::v6_5 ? found : failed(Parsed::other_protocol);
    case ethertype::vlan:
    case ethertype::service_vlan:
        return unknown("a VLAN tag inside the frame: whether the driver sees the packet behind it depends on "
                       "who put it there");
    case ethertype::ptp:
    case ethertype::hsr:
    case ethertype::prp:
        if (era.dissector == Dissector::classic) return failed(Parsed::other_protocol);
        [[fallthrough]];
    case ethertype::pppoe_session:
    case ethertype::tipc:
    case ethertype::batman:
    case ethertype::fcoe:
        return unknown("the policy hashes what is inside this protocol, which the tuple does not hold");
    default:
        return failed(Parsed::other_protocol);
    }
}

FlowResult encap(const FlowTuple& tuple, bool ports, const Era& era) {
    if (!ethertype::is_ip(tuple.outer_ethertype)) return encap_of_type(tuple.outer_ethertype, era);
    if (tuple.unparsed) return unknown("the packet is cut or malformed: its tuple is not complete");
    FlowInputs flow = addresses(tuple);
    if (tuple.fragment) return flow;
    switch (tuple.protocol) {
    case ipproto::gre:
    case ipproto::ipip:
    case ipproto::ipv6:
        return unknown("the policy hashes the packet inside the tunnel, which the tuple does not hold");
    case ipproto::hop_by_hop:
    case ipproto::routing:
    case ipproto::fragment:
    case ipproto::destination_options:
        if (tuple.ethertype == ethertype::ipv6)
            return unknown("IPv6 extension headers that the tuple does not see through");
        break;
    default:
        break;
    }
    if (ports) set_transport(flow, tuple, era);
    return flow;
}

bool encapsulating(HashPolicy policy) {
    return policy == HashPolicy::encap23 || policy == HashPolicy::encap34;
}

} // namespace

FlowTuple make_tuple(std::uint8_t protocol, const IpAddress& src, std::uint16_t src_port,
                     const IpAddress& dst, std::uint16_t dst_port) {
    FlowTuple tuple;
    tuple.ethertype = src.v6 ? ethertype::ipv6 : ethertype::ipv4;
    tuple.outer_ethertype = tuple.ethertype;
    tuple.protocol = protocol;
    tuple.src = src;
    tuple.dst = dst;
    tuple.src_port = src_port;
    tuple.dst_port = dst_port;
    return tuple;
}

tl::expected<HashInputs, std::string_view> hash_inputs(const FlowTuple& tuple, HashPolicy policy,
                                                       const Era& era) {
    HashInputs out;
    out.ethernet.present = true;
    out.ethernet.ethertype = tuple.outer_ethertype;
    out.ethernet.dst = tuple.dst_mac.value_or(MacAddress{});
    out.ethernet.src = tuple.src_mac.value_or(MacAddress{});
    out.ethernet.tci = tuple.tci.value_or(0);
    if (policy == HashPolicy::vlan_srcmac) {
        if (!tuple.src_mac) return unknown("the source MAC address is not known");
        return out;
    }
    if (policy != HashPolicy::layer2) {
        const bool ports = uses_ports(policy);
        const FlowResult flow = encapsulating(policy) ? encap(tuple, ports, era) : plain(tuple, ports, era);
        if (!flow) return unknown(flow.error());
        out.flow = *flow;
    }
    const bool needs_macs = out.flow.parsed != Parsed::ok || !uses_ports(policy);
    if (needs_macs && (!tuple.src_mac || !tuple.dst_mac)) return unknown("the MAC addresses are not known");
    return out;
}

} // namespace bondtrace
