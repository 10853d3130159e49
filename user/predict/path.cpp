// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/predict/path.h"

#include "user/bond/route_message.h"
#include "user/bond/usable.h"
#include "user/hash/policy.h"
#include "user/hash/wire.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr const char* unknown_order =
    "the order in which the slaves were enslaved could not be read (/proc/net/bonding)";

bool hashes(const PathBond& bond) {
    switch (bond.mode) {
    case BondMode::balance_xor:
    case BondMode::lacp:
        return true;
    case BondMode::balance_tlb:
    case BondMode::balance_alb:
        return !bond.tlb_dynamic_lb;
    default:
        return false;
    }
}

bool treats_broadcast_apart(const PathBond& bond) {
    return bond.mode == BondMode::balance_tlb || bond.mode == BondMode::balance_alb;
}

FlowTuple tuple_of(const TypedFlow& flow, const PathFrame& frame) {
    FlowTuple tuple = to_tuple(flow);
    tuple.src_mac = frame.src_mac;
    tuple.dst_mac = frame.dst_mac;
    tuple.tci = frame.tci;
    tuple.fragment = frame.fragment;
    // Some modes treat multicast apart, and that much of the address follows from IP.
    if (!tuple.dst_mac) tuple.dst_mac = multicast_mac(flow.dst);
    return tuple;
}

PathAnswer not_predictable(PathAnswer answer, std::string why, std::string advice = {}) {
    answer.why = std::move(why);
    answer.advice = std::move(advice);
    return answer;
}

// The reason to give instead of the library's, where more is known about it.
std::optional<PathAnswer> missing_input(const PathBond& bond, const PathAnswer& answer) {
    if (!hashes(bond)) return std::nullopt;
    const PathFrame& frame = answer.frame;
    const bool macs = needs_ethernet(bond);
    const bool dst_only = treats_broadcast_apart(bond) && uses_ports(bond.policy);
    const bool src_only = !treats_broadcast_apart(bond) && bond.policy == HashPolicy::vlan_srcmac;
    if (macs && ((!frame.src_mac && !dst_only) || (!frame.dst_mac && !src_only)))
        return not_predictable(answer,
                               !frame.problem.empty() ? frame.problem
                               : dst_only
                                   ? "the mode treats broadcast apart, and the destination's MAC address is "
                                     "not given"
                                   : "the policy hashes MAC addresses, and they are not given",
                               frame.problem.empty() ? "give --src-mac and --dst-mac" : frame.advice);
    if (bond.policy == HashPolicy::vlan_srcmac && !frame.tci_known)
        return not_predictable(answer,
                               "the VLAN device maps packets' priorities into the tag, which is hashed",
                               "give the tag with its priority bits: --vlan");
    if (uses_ports(bond.policy) && !frame.fragment)
        if (const auto missing = missing_for_ports(answer.flow); !missing.empty())
            return not_predictable(answer, std::string(missing));
    return std::nullopt;
}

ChoiceContext context_of(const PathBond& bond, const TypedFlow& flow, const PathFrame& frame) {
    ChoiceContext context;
    context.mode = bond.mode;
    context.policy = bond.policy;
    context.era = bond.era;
    context.usable = static_cast<std::uint32_t>(bond.usable.size());
    context.tlb_dynamic_lb = bond.tlb_dynamic_lb;
    context.queue_override = bond.queue_override;
    context.broadcast_neighbor = bond.broadcast_neighbor;
    context.flow_dissector = bond.flow_dissector;
    context.l4_hash = carries_socket_hash(flow, frame);
    return context;
}

std::string advice_for(const PathBond& bond) {
    if (bond.mode == BondMode::balance_xor || bond.mode == BondMode::lacp)
        return bond.policy == HashPolicy::encap34
                   ? "under layer3+4 ports decide; --skb-hash none is for packets that carry no hash"
                   : "";
    return {};
}

} // namespace

PathBond path_bond(const Bond& bond, const Era& era, bool flow_dissector) {
    PathBond path;
    path.name = bond.name;
    path.mode = bond.mode;
    path.policy = bond.policy;
    path.era = era;
    path.order_known = bond.order_known;
    path.tlb_dynamic_lb = bond.tlb_dynamic_lb.value_or(true);
    path.queue_override = std::any_of(bond.slaves.begin(), bond.slaves.end(),
                                      [](const Slave& slave) { return slave.queue_id != 0; });
    path.broadcast_neighbor = bond.broadcast_neighbor.value_or(false);
    path.flow_dissector = flow_dissector;
    for (const Slave& slave : bond.slaves)
        (usable_index(bond, slave.ifindex) ? path.usable : path.others).push_back(slave.name);
    if (bond.active_slave)
        if (const Slave* active = bond.find_slave(*bond.active_slave)) path.active_slave = active->name;
    return path;
}

bool needs_ethernet(const PathBond& bond) {
    return hashes(bond) && (!uses_ports(bond.policy) || treats_broadcast_apart(bond));
}

std::optional<bool> carries_socket_hash(const TypedFlow& flow, const PathFrame& frame) {
    if (frame.l4_hash) return frame.l4_hash;
    // A fragment is cut from a packet that had the socket's hash; whether it keeps it depends on the kernel.
    if (frame.local_source && flow.protocol == ipproto::tcp && !frame.fragment) return true;
    return std::nullopt;
}

PathAnswer predict_path(const PathBond& bond, const TypedFlow& flow, const PathFrame& frame) {
    PathAnswer answer;
    answer.flow = flow;
    answer.frame = frame;
    if (auto missing = missing_input(bond, answer)) return std::move(*missing);
    const Choice choice = choose(context_of(bond, flow, frame), tuple_of(flow, frame));
    answer.why = choice.reason;
    switch (choice.kind) {
    case ChoiceKind::none:
        answer.advice = advice_for(bond);
        return answer;
    case ChoiceKind::all_slaves:
        answer.every_slave = true;
        if (answer.why.empty()) answer.why = "the mode sends a copy through every slave that is up";
        return answer;
    case ChoiceKind::active_slave:
        if (!bond.active_slave) return not_predictable(answer, "the bond has no active slave now");
        answer.slave = bond.active_slave;
        if (answer.why.empty()) answer.why = "the active slave carries everything";
        return answer;
    case ChoiceKind::index:
        break;
    }
    answer.hash = choice.hash;
    answer.index = choice.index;
    if (!bond.order_known)
        return not_predictable(answer, unknown_order,
                               "mount /proc, or name the slaves in order with --slaves");
    answer.slave = bond.usable[choice.index];
    return answer;
}

std::string inputs_text(const PathAnswer& answer, HashPolicy policy) {
    const TypedFlow& flow = answer.flow;
    const auto mac = [](const std::optional<MacAddress>& address) {
        return address ? to_text(*address) : std::string("unknown");
    };
    if (policy == HashPolicy::vlan_srcmac)
        return fmt::format("tag {:#06x}, source MAC {}", answer.frame.tci.value_or(0),
                           mac(answer.frame.src_mac));
    std::string text;
    if (!uses_ports(policy))
        text = fmt::format("MAC {} and {}, ethertype {:#06x}", mac(answer.frame.src_mac),
                           mac(answer.frame.dst_mac), flow.src.v6 ? ethertype::ipv6 : ethertype::ipv4);
    if (policy == HashPolicy::layer2) return text;
    if (!text.empty()) text += ", ";
    const auto end = [](const IpAddress& address, const std::optional<std::uint16_t>& port) {
        return port ? fmt::format("{} port {}", to_text(address), *port) : to_text(address);
    };
    const bool ports = uses_ports(policy) && !answer.frame.fragment;
    text += fmt::format("{} and {}", end(flow.src, ports ? flow.src_port : std::nullopt),
                        end(flow.dst, ports ? flow.dst_port : std::nullopt));
    if (ports && flow.icmp_type && flow.icmp_id)
        text += fmt::format(", ICMP type {} id {}", *flow.icmp_type, *flow.icmp_id);
    if (ports && flow.spi) text += fmt::format(", SPI {:#x}", *flow.spi);
    return text;
}

} // namespace bondtrace
