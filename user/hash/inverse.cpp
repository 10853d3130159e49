// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/hash/inverse.h"

#include "user/hash/policy.h"
#include "user/hash/wire.h"

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::string_view policy_name(HashPolicy policy) {
    switch (policy) {
    case HashPolicy::layer2:
        return "layer2";
    case HashPolicy::layer34:
        return "layer3+4";
    case HashPolicy::layer23:
        return "layer2+3";
    case HashPolicy::encap23:
        return "encap2+3";
    case HashPolicy::encap34:
        return "encap3+4";
    case HashPolicy::vlan_srcmac:
        return "vlan+srcmac";
    }
    return "?";
}

// Protocols whose source port a program can choose.
bool has_source_port(std::uint8_t protocol) {
    return ports_offset(protocol) && protocol != ipproto::esp && protocol != ipproto::ah;
}

tl::unexpected<Error> ports_do_not_matter(const ReachQuery& query) {
    const auto inputs = hash_inputs(query.tuple, query.policy, query.era);
    std::string what = fmt::format("the policy {} does not hash ports", policy_name(query.policy));
    if (inputs)
        what += fmt::format(": every source port takes the slave with index {}",
                            hash_of(*inputs, query.policy, query.era) % query.usable);
    return fail(ErrorKind::usage, std::move(what),
                "set xmit_hash_policy to layer3+4 to have the port decide");
}

} // namespace

Result<std::vector<std::uint16_t>> ports_reaching(const ReachQuery& query, const PortFilter& avoid) {
    if (query.usable == 0) return fail(ErrorKind::usage, "the bond has no usable slave");
    if (query.index >= query.usable)
        return fail(ErrorKind::usage,
                    fmt::format("there is no slave with index {}: {} are usable, counted from 0", query.index,
                                query.usable));
    if (query.low > query.high)
        return fail(ErrorKind::usage, fmt::format("the port range {}-{} is empty", query.low, query.high));
    if (!uses_ports(query.policy)) return ports_do_not_matter(query);
    if (query.policy == HashPolicy::encap34 && query.socket_hash)
        return fail(ErrorKind::usage,
                    "under encap3+4 packets of local TCP and connected UDP sockets go by a random number of "
                    "the socket, "
                    "not by their ports",
                    "set xmit_hash_policy to layer3+4 to have the port decide");
    if (!has_source_port(query.tuple.protocol))
        return fail(ErrorKind::usage, fmt::format("IP protocol {} has no source port", query.tuple.protocol));
    if (query.tuple.fragment || (query.tuple.extension_headers && query.policy == HashPolicy::layer34))
        return fail(ErrorKind::usage,
                    fmt::format("ports of fragments, and under layer3+4 of IPv6 packets with extension "
                                "headers, are not hashed"));
    auto inputs = hash_inputs(query.tuple, query.policy, query.era);
    if (!inputs)
        return fail(ErrorKind::usage, fmt::format("the slave is not predictable: {}", inputs.error()));
    if (inputs->flow.parsed != Parsed::ok)
        return fail(ErrorKind::usage, fmt::format("{} hashes these packets by their MAC addresses: {}",
                                                  policy_name(query.policy), to_text(inputs->flow.parsed)));

    std::vector<std::uint16_t> ports;
    for (std::uint32_t port = query.low; port <= query.high && ports.size() < query.count; ++port) {
        inputs->flow.ports[0] = static_cast<std::uint8_t>(port >> 8U);
        inputs->flow.ports[1] = static_cast<std::uint8_t>(port);
        if (hash_of(*inputs, query.policy, query.era) % query.usable != query.index) continue;
        const auto candidate = static_cast<std::uint16_t>(port);
        if (!avoid || !avoid(candidate)) ports.push_back(candidate);
    }
    return ports;
}

} // namespace bondtrace
