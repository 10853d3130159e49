// SPDX-License-Identifier: GPL-2.0-or-later
// Inputs of the hash from what is known about a flow without its packets: the fields of a flow table's entry,
// or those that a person types. Where they do not determine what the driver's parsers would find, the answer
// is the reason, never a guess.
#pragma once

#include "user/base/address.h"
#include "user/bond/model.h"
#include "user/hash/era.h"
#include "user/hash/frame.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include <tl/expected.hpp>

namespace bondtrace {

// One direction of a flow. `ethertype` and `protocol` name what is behind all VLAN tags and IPv6 extension
// headers.
struct FlowTuple {
    std::uint16_t ethertype = 0x0800;
    std::uint16_t outer_ethertype =
        0x0800; // bytes 12 and 13 of the frame: a tag's when one is in the frame itself
    std::uint8_t protocol = 0;
    IpAddress src;
    IpAddress dst;
    std::uint16_t src_port = 0; // host order; ESP and AH: upper half of the SPI
    std::uint16_t dst_port = 0; // ESP and AH: lower half of the SPI
    std::uint8_t icmp_type = 0;
    std::uint8_t icmp_code = 0;
    std::uint16_t icmp_id = 0; // as on the wire, host order
    bool fragment = false;     // an IP fragment, the first as well
    bool extension_headers =
        false; // IPv6: hop-by-hop, routing, destination or fragment headers stand before `protocol`
    bool unparsed = false; // cut or malformed: the fields above are not all there
    std::optional<MacAddress> src_mac;
    std::optional<MacAddress> dst_mac;
    std::optional<std::uint16_t> tci; // accelerated VLAN tag, priority bits included
};

// A TCP or UDP tuple with the ethertype of its addresses; `src` and `dst` must be of one family.
FlowTuple make_tuple(std::uint8_t protocol, const IpAddress& src, std::uint16_t src_port,
                     const IpAddress& dst, std::uint16_t dst_port);

// All that `policy` uses, or why it is not known. The reason is a phrase without a full stop.
tl::expected<HashInputs, std::string_view> hash_inputs(const FlowTuple& tuple, HashPolicy policy,
                                                       const Era& era);

} // namespace bondtrace
