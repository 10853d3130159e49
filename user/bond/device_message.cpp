// SPDX-License-Identifier: GPL-2.0-or-later
// Formats: linux/rtnetlink.h (struct tcmsg), linux/pkt_cls.h, linux/genetlink.h, linux/ethtool_netlink.h and
// the kernel's Documentation/networking/ethtool-netlink.rst.
#include "user/bond/device_message.h"

#include "user/bond/netlink_attributes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>

namespace bondtrace {
namespace {

using netlink::Bytes;
using netlink::for_each_attribute;
using netlink::read;
using netlink::read_text;

// The fixed part that follows the header, and the attributes behind it; nullopt when they do not fit.
template<typename Fixed> std::optional<std::pair<Fixed, Bytes>> open_message(Bytes message) {
    nlmsghdr header{};
    constexpr std::size_t fixed_end = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(Fixed));
    if (message.size() < fixed_end) return std::nullopt;
    std::memcpy(&header, message.data(), sizeof(header));
    if (header.nlmsg_len < fixed_end || header.nlmsg_len > message.size()) return std::nullopt;
    Fixed fixed{};
    std::memcpy(&fixed, message.data() + NLMSG_HDRLEN, sizeof(fixed));
    return std::pair(fixed, message.subspan(fixed_end, header.nlmsg_len - fixed_end));
}

// Where a classifier keeps its actions.
std::uint16_t actions_of(std::string_view kind) {
    constexpr std::array<std::pair<std::string_view, std::uint16_t>, 5> attributes{{
        {"bpf", TCA_BPF_ACT},
        {"flower", TCA_FLOWER_ACT},
        {"matchall", TCA_MATCHALL_ACT},
        {"u32", TCA_U32_ACT},
        {"basic", TCA_BASIC_ACT},
    }};
    for (const auto& [name, attribute] : attributes)
        if (name == kind) return attribute;
    return 0;
}

void read_actions(Bytes nest, std::vector<std::string>& actions) {
    for_each_attribute(nest, [&](std::uint16_t, Bytes action) {
        for_each_attribute(action, [&](std::uint16_t type, Bytes payload) {
            if (type == TCA_ACT_KIND && actions.size() < TCA_ACT_MAX_PRIO)
                actions.push_back(read_text(payload));
        });
    });
}

// The names of the bits that are set in a bit set that lists only these (ETHTOOL_A_BITSET_NOMASK).
std::set<std::string> names_in(Bytes bitset) {
    std::set<std::string> names;
    for_each_attribute(bitset, [&](std::uint16_t type, Bytes bits) {
        if (type != ETHTOOL_A_BITSET_BITS) return;
        for_each_attribute(bits, [&](std::uint16_t, Bytes bit) {
            for_each_attribute(bit, [&](std::uint16_t part, Bytes payload) {
                if (part == ETHTOOL_A_BITSET_BIT_NAME) names.insert(read_text(payload));
            });
        });
    });
    return names;
}

} // namespace

std::optional<TcQdisc> parse_qdisc(Bytes message) {
    const auto opened = open_message<tcmsg>(message);
    if (!opened) return std::nullopt;
    TcQdisc qdisc;
    qdisc.ifindex = opened->first.tcm_ifindex;
    for_each_attribute(opened->second, [&](std::uint16_t type, Bytes payload) {
        if (type == TCA_KIND) qdisc.kind = read_text(payload);
    });
    return qdisc;
}

std::optional<AttachedProgram> parse_filter(Bytes message, ProgramHook hook) {
    const auto opened = open_message<tcmsg>(message);
    if (!opened || opened->first.tcm_handle == 0) return std::nullopt;
    AttachedProgram filter;
    filter.hook = hook;
    Bytes options;
    for_each_attribute(opened->second, [&](std::uint16_t type, Bytes payload) {
        if (type == TCA_KIND) filter.kind = read_text(payload);
        if (type == TCA_OPTIONS) options = payload;
    });
    const std::uint16_t actions = actions_of(filter.kind);
    bool table = false;
    for_each_attribute(options, [&](std::uint16_t type, Bytes payload) {
        if (filter.kind == "bpf" && type == TCA_BPF_NAME) filter.name = read_text(payload);
        if (filter.kind == "bpf" && type == TCA_BPF_ID) read(payload, filter.id);
        if (filter.kind == "u32" && type == TCA_U32_DIVISOR) table = true;
        if (actions != 0 && type == actions) read_actions(payload, filter.actions);
    });
    if (table) return std::nullopt;
    return filter;
}

std::optional<std::uint16_t> parse_family(Bytes message) {
    const auto opened = open_message<genlmsghdr>(message);
    if (!opened) return std::nullopt;
    std::optional<std::uint16_t> family;
    for_each_attribute(opened->second, [&](std::uint16_t type, Bytes payload) {
        if (type == CTRL_ATTR_FAMILY_ID) read(payload, family);
    });
    return family;
}

std::optional<Offloads> parse_features(Bytes message) {
    const auto opened = open_message<genlmsghdr>(message);
    if (!opened) return std::nullopt;
    std::optional<std::set<std::string>> on;
    for_each_attribute(opened->second, [&](std::uint16_t type, Bytes payload) {
        if (type == ETHTOOL_A_FEATURES_ACTIVE) on = names_in(payload);
    });
    if (!on) return std::nullopt;
    // The kernel's names (net/ethtool/common.c, netdev_features_strings).
    return Offloads{.tso = on->contains("tx-tcp-segmentation"),
                    .gso = on->contains("tx-generic-segmentation"),
                    .gro = on->contains("rx-gro"),
                    .lro = on->contains("rx-lro"),
                    .rx_vlan_filter = on->contains("rx-vlan-filter"),
                    .hw_tc = on->contains("hw-tc-offload"),
                    .tls_tx = on->contains("tls-hw-tx-offload")};
}

std::optional<LinkModes> parse_link_modes(Bytes message) {
    const auto opened = open_message<genlmsghdr>(message);
    if (!opened) return std::nullopt;
    LinkModes modes;
    for_each_attribute(opened->second, [&](std::uint16_t type, Bytes payload) {
        std::uint32_t speed = 0;
        std::uint8_t duplex = 0;
        // 0 is what devices without a link say, SPEED_UNKNOWN what those say that do not know.
        if (type == ETHTOOL_A_LINKMODES_SPEED && read(payload, speed) && speed != 0 &&
            speed != static_cast<std::uint32_t>(SPEED_UNKNOWN))
            modes.speed_mbps = speed;
        if (type == ETHTOOL_A_LINKMODES_DUPLEX && read(payload, duplex) && duplex <= DUPLEX_FULL)
            modes.duplex = static_cast<Duplex>(duplex);
    });
    return modes;
}

} // namespace bondtrace
