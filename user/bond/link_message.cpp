// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/link_message.h"

#include "user/bond/netlink_attributes.h"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace bondtrace {
namespace {

using netlink::Bytes;
using netlink::for_each_attribute;
using netlink::read;
using netlink::read_ifindex;
using netlink::read_text;

// Attributes younger than the oldest headers this is built with (linux/if_link.h of 5.10).
constexpr std::uint16_t bond_ad_lacp_active = 29;                                                     // 5.15
constexpr std::uint16_t bond_missed_max = 30;                                                         // 5.17
constexpr std::uint16_t bond_ns_ip6_target = 31;                                                      // 5.18
constexpr std::uint16_t bond_coupled_control = 32;                                                    // 6.9
constexpr std::uint16_t bond_broadcast_neigh = 33;                                                    // 6.17
constexpr std::uint16_t bond_lacp_strict = 34;                                                        // 7.0
constexpr std::uint16_t slave_prio = 9;                                                               // 6.0
constexpr std::uint16_t slave_actor_port_prio = 10, slave_churn_actor = 11, slave_churn_partner = 12; // 6.18

void read_flag(Bytes payload, bool& value) {
    std::uint8_t number = 0;
    if (read(payload, number)) value = number != 0;
}

void read_flag(Bytes payload, std::optional<bool>& value) {
    std::uint8_t number = 0;
    if (read(payload, number)) value = number != 0;
}

// A number of one of the driver's enumerations; one it does not have yet is passed over.
template<typename Number, typename Enum>
void read_enum(Bytes payload, Enum last, std::optional<Enum>& value) {
    Number number = 0;
    if (read(payload, number) && number <= static_cast<Number>(last)) value = static_cast<Enum>(number);
}

// The driver's numbers of 8 bits that this program keeps in 32.
void read_narrow(Bytes payload, std::optional<std::uint32_t>& value) {
    std::uint8_t number = 0;
    if (read(payload, number)) value = number;
}

// A nest of addresses, each attribute's number being its position.
bool read_targets(Bytes nest, bool v6, std::vector<IpAddress>& targets) {
    return for_each_attribute(nest, [&](std::uint16_t, Bytes payload) {
        constexpr std::size_t max_targets = 16; // BOND_MAX_ARP_TARGETS
        if (payload.size() != (v6 ? 16U : 4U) || targets.size() == max_targets) return;
        IpAddress address;
        address.v6 = v6;
        std::memcpy(address.bytes.data(), payload.data(), payload.size());
        targets.push_back(address);
    });
}

// The actor's port state is a u8 and the partner's a u16 in every kernel so far; either may come in either
// size.
std::optional<std::uint16_t> read_port_state(Bytes payload) {
    std::uint8_t narrow = 0;
    std::uint16_t wide = 0;
    if (read(payload, narrow)) return narrow;
    if (read(payload, wide)) return wide;
    return std::nullopt;
}

bool parse_aggregator(Bytes nest, AggregatorInfo& info) {
    return for_each_attribute(nest, [&](std::uint16_t type, Bytes payload) {
        switch (type) {
        case IFLA_BOND_AD_INFO_AGGREGATOR:
            read(payload, info.aggregator_id);
            break;
        case IFLA_BOND_AD_INFO_NUM_PORTS:
            read(payload, info.ports);
            break;
        case IFLA_BOND_AD_INFO_ACTOR_KEY:
            read(payload, info.actor_key);
            break;
        case IFLA_BOND_AD_INFO_PARTNER_KEY:
            read(payload, info.partner_key);
            break;
        case IFLA_BOND_AD_INFO_PARTNER_MAC:
            read(payload, info.partner_mac);
            break;
        default:
            break;
        }
    });
}

// A bond's own data (IFLA_INFO_DATA). `link.problem` says what makes it useless.
bool parse_bond(Bytes nest, Link& link) {
    Bond bond;
    std::optional<std::uint8_t> mode, policy;
    bool whole = true;
    const bool fits = for_each_attribute(nest, [&](std::uint16_t type, Bytes payload) {
        switch (type) {
        case IFLA_BOND_MODE:
            read(payload, mode);
            break;
        case IFLA_BOND_ACTIVE_SLAVE:
            if (const int index = read_ifindex(payload)) bond.active_slave = index;
            break;
        case IFLA_BOND_MIIMON:
            read(payload, bond.miimon_ms);
            break;
        case IFLA_BOND_UPDELAY:
            read(payload, bond.updelay_ms);
            break;
        case IFLA_BOND_DOWNDELAY:
            read(payload, bond.downdelay_ms);
            break;
        case IFLA_BOND_PEER_NOTIF_DELAY:
            read(payload, bond.peer_notif_delay_ms);
            break;
        case IFLA_BOND_USE_CARRIER:
            read_flag(payload, bond.use_carrier);
            break;
        case IFLA_BOND_ARP_INTERVAL:
            read(payload, bond.arp_interval_ms);
            break;
        case IFLA_BOND_ARP_IP_TARGET:
            whole = whole && read_targets(payload, false, bond.arp_targets);
            break;
        case bond_ns_ip6_target:
            whole = whole && read_targets(payload, true, bond.ns_targets);
            break;
        case IFLA_BOND_ARP_VALIDATE:
            read_enum<std::uint32_t>(payload, ArpValidate::filter_backup, bond.arp_validate);
            break;
        case IFLA_BOND_ARP_ALL_TARGETS:
            read_enum<std::uint32_t>(payload, ArpAllTargets::all, bond.arp_all_targets);
            break;
        case bond_missed_max:
            read_narrow(payload, bond.missed_max);
            break;
        case IFLA_BOND_PRIMARY:
            if (const int index = read_ifindex(payload)) bond.primary = index;
            break;
        case IFLA_BOND_PRIMARY_RESELECT:
            read_enum<std::uint8_t>(payload, PrimaryReselect::failure, bond.primary_reselect);
            break;
        case IFLA_BOND_FAIL_OVER_MAC:
            read_enum<std::uint8_t>(payload, FailOverMac::follow, bond.fail_over_mac);
            break;
        case IFLA_BOND_RESEND_IGMP:
            read(payload, bond.resend_igmp);
            break;
        case IFLA_BOND_NUM_PEER_NOTIF:
            read_narrow(payload, bond.num_peer_notif);
            break;
        case IFLA_BOND_LP_INTERVAL:
            read(payload, bond.lp_interval);
            break;
        case IFLA_BOND_AD_SELECT:
            read_enum<std::uint8_t>(payload, AdSelect::actor_port_prio, bond.ad_select);
            break;
        case IFLA_BOND_AD_ACTOR_SYS_PRIO:
            read(payload, bond.ad_actor_sys_prio);
            break;
        case IFLA_BOND_AD_USER_PORT_KEY:
            read(payload, bond.ad_user_port_key);
            break;
        case IFLA_BOND_AD_ACTOR_SYSTEM:
            read(payload, bond.ad_actor_system);
            break;
        case bond_coupled_control:
            read_flag(payload, bond.coupled_control);
            break;
        case bond_lacp_strict:
            read_flag(payload, bond.lacp_strict);
            break;
        case IFLA_BOND_XMIT_HASH_POLICY:
            read(payload, policy);
            break;
        case IFLA_BOND_ALL_SLAVES_ACTIVE:
            read_flag(payload, bond.all_slaves_active);
            break;
        case IFLA_BOND_MIN_LINKS:
            read(payload, bond.min_links);
            break;
        case IFLA_BOND_PACKETS_PER_SLAVE:
            read(payload, bond.packets_per_slave);
            break;
        case IFLA_BOND_AD_LACP_RATE:
            read_flag(payload, bond.lacp_fast);
            break;
        case IFLA_BOND_AD_INFO:
            bond.aggregator.emplace();
            whole = whole && parse_aggregator(payload, *bond.aggregator);
            break;
        case IFLA_BOND_TLB_DYNAMIC_LB:
            read_flag(payload, bond.tlb_dynamic_lb);
            break;
        case bond_ad_lacp_active:
            read_flag(payload, bond.lacp_active);
            break;
        case bond_broadcast_neigh:
            read_flag(payload, bond.broadcast_neighbor);
            break;
        default:
            break;
        }
    });
    if (!mode || !policy)
        link.problem = "the kernel does not say its mode and hash policy";
    else if (*mode > static_cast<std::uint8_t>(BondMode::balance_alb))
        link.problem = fmt::format("its mode has the number {}, which this version does not know", *mode);
    else if (*policy > static_cast<std::uint8_t>(HashPolicy::vlan_srcmac))
        link.problem =
            fmt::format("its hash policy has the number {}, which this version does not know", *policy);
    if (!link.problem.empty()) return fits && whole;
    bond.mode = static_cast<BondMode>(*mode);
    bond.policy = static_cast<HashPolicy>(*policy);
    link.bond = std::move(bond);
    return fits && whole;
}

// What a bond says of its slave (IFLA_INFO_SLAVE_DATA).
bool parse_slave(Bytes nest, Slave& slave) {
    return for_each_attribute(nest, [&](std::uint16_t type, Bytes payload) {
        std::uint8_t number = 0;
        switch (type) {
        case IFLA_BOND_SLAVE_STATE:
            read_flag(payload, slave.backup);
            break;
        case IFLA_BOND_SLAVE_MII_STATUS:
            if (read(payload, number) && number <= static_cast<std::uint8_t>(MiiStatus::going_back))
                slave.mii_status = static_cast<MiiStatus>(number);
            break;
        case IFLA_BOND_SLAVE_LINK_FAILURE_COUNT:
            read(payload, slave.link_failures);
            break;
        case IFLA_BOND_SLAVE_PERM_HWADDR:
            read(payload, slave.perm_mac);
            break;
        case IFLA_BOND_SLAVE_QUEUE_ID:
            read(payload, slave.queue_id);
            break;
        case slave_prio:
            read(payload, slave.prio);
            break;
        case slave_actor_port_prio:
            read(payload, slave.actor_port_prio);
            break;
        case slave_churn_actor:
            read_enum<std::uint8_t>(payload, ChurnState::none, slave.actor_churn);
            break;
        case slave_churn_partner:
            read_enum<std::uint8_t>(payload, ChurnState::none, slave.partner_churn);
            break;
        case IFLA_BOND_SLAVE_AD_AGGREGATOR_ID:
            read(payload, slave.aggregator_id);
            break;
        case IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE:
            if (const auto state = read_port_state(payload); state && *state <= 0xff)
                slave.actor_port_state = static_cast<std::uint8_t>(*state);
            break;
        case IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE:
            if (const auto state = read_port_state(payload)) slave.partner_port_state = state;
            break;
        default:
            break;
        }
    });
}

// One attribute a mode, and the mode of a single program besides.
bool parse_xdp(Bytes nest, Link& link) {
    link.xdp.emplace();
    return for_each_attribute(nest, [&](std::uint16_t type, Bytes payload) {
        const char* const kind = type == IFLA_XDP_DRV_PROG_ID   ? "driver"
                                 : type == IFLA_XDP_SKB_PROG_ID ? "generic"
                                 : type == IFLA_XDP_HW_PROG_ID  ? "hardware"
                                                                : nullptr;
        std::uint32_t id = 0;
        if (kind && read(payload, id) && id != 0)
            link.xdp->push_back(
                {.hook = ProgramHook::xdp, .kind = kind, .name = {}, .id = id, .actions = {}});
    });
}

bool parse_vlan(Bytes nest, Link& link) {
    std::uint16_t protocol = 0; // in network order
    std::optional<std::uint16_t> id;
    const bool fits = for_each_attribute(nest, [&](std::uint16_t type, Bytes payload) {
        if (type == IFLA_VLAN_ID) read(payload, id);
        if (type == IFLA_VLAN_PROTOCOL) read(payload, protocol);
    });
    if (protocol == htons(ETH_P_8021Q)) link.vlan_id = id;
    return fits;
}

bool parse_link_info(Bytes nest, Link& link) {
    Bytes data, slave_data;
    std::string slave_kind;
    // The kinds may follow the data they explain.
    if (!for_each_attribute(nest, [&](std::uint16_t type, Bytes payload) {
            switch (type) {
            case IFLA_INFO_KIND:
                link.kind = read_text(payload);
                break;
            case IFLA_INFO_DATA:
                data = payload;
                break;
            case IFLA_INFO_SLAVE_KIND:
                slave_kind = read_text(payload);
                break;
            case IFLA_INFO_SLAVE_DATA:
                slave_data = payload;
                break;
            default:
                break;
            }
        }))
        return false;
    if (link.kind == "bond" && !parse_bond(data, link)) return false;
    if (link.kind == "vlan" && !parse_vlan(data, link)) return false;
    if (slave_kind != "bond") return true;
    link.slave.emplace();
    return parse_slave(slave_data, *link.slave);
}

// What the interface says of itself belongs to the bond or slave as well.
void spread(Link& link) {
    const LinkCounters counters = link.counters.value_or(LinkCounters{});
    const auto fill = [&](auto& target) {
        target.ifindex = link.ifindex;
        target.name = link.name;
        target.admin_up = link.admin_up;
        target.carrier = link.carrier;
        target.mac = link.mac;
        target.counters = counters;
        target.programs.xdp_known = link.xdp.has_value();
        if (link.xdp) target.programs.found = *link.xdp;
    };
    if (link.bond) fill(*link.bond);
    if (!link.slave) return;
    fill(*link.slave);
    link.slave->kind = link.kind;
}

} // namespace

Result<Link> parse_link_message(Bytes message) {
    nlmsghdr header{};
    ifinfomsg info{};
    constexpr std::size_t fixed = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(ifinfomsg));
    if (message.size() < fixed)
        return fail(ErrorKind::internal,
                    fmt::format("a link message of {} bytes is cut short", message.size()));
    std::memcpy(&header, message.data(), sizeof(header));
    if (header.nlmsg_len < fixed || header.nlmsg_len > message.size())
        return fail(ErrorKind::internal, fmt::format("a link message of {} bytes says it has {}",
                                                     message.size(), header.nlmsg_len));
    if (header.nlmsg_type != RTM_NEWLINK && header.nlmsg_type != RTM_DELLINK)
        return fail(ErrorKind::internal,
                    fmt::format("a netlink message of type {} is no link message", header.nlmsg_type));
    std::memcpy(&info, message.data() + NLMSG_HDRLEN, sizeof(info));
    if (info.ifi_index <= 0)
        return fail(ErrorKind::internal,
                    fmt::format("a link message is about the ifindex {}", info.ifi_index));

    Link link;
    link.ifindex = info.ifi_index;
    link.admin_up = (info.ifi_flags & IFF_UP) != 0;
    link.carrier = (info.ifi_flags & IFF_LOWER_UP) != 0;
    link.ethernet = info.ifi_type == ARPHRD_ETHER;
    // Bridges announce the arrival and departure of their ports in the same group, with their own family.
    link.partial = info.ifi_family != AF_UNSPEC;
    link.deleted = header.nlmsg_type == RTM_DELLINK && !link.partial;

    bool whole = true, elsewhere = false;
    const Bytes attributes = message.subspan(fixed, header.nlmsg_len - fixed);
    const bool fits = for_each_attribute(attributes, [&](std::uint16_t type, Bytes payload) {
        switch (type) {
        case IFLA_IFNAME:
            link.name = read_text(payload);
            break;
        case IFLA_ADDRESS:
            read(payload, link.mac);
            break;
        case IFLA_MASTER:
            link.master = read_ifindex(payload);
            break;
        case IFLA_LINK:
            link.parent = read_ifindex(payload);
            break;
        case IFLA_LINK_NETNSID:
            elsewhere = true;
            break;
        case IFLA_STATS64:
            link.counters = parse_counters(payload);
            break;
        // A wireless event names the interface and nothing else; its missing IFLA_MASTER means nothing.
        case IFLA_WIRELESS:
            link.partial = true;
            break;
        case IFLA_XDP:
            whole = whole && parse_xdp(payload, link);
            break;
        case IFLA_LINKINFO:
            whole = whole && parse_link_info(payload, link);
            break;
        default:
            break;
        }
    });
    if (!fits || !whole)
        return fail(ErrorKind::internal,
                    fmt::format("the attributes of the link message about ifindex {} do not fit into it",
                                link.ifindex));
    if (link.name.empty() || link.name.size() >= IFNAMSIZ)
        return fail(ErrorKind::internal,
                    fmt::format("the link message about ifindex {} has no usable name", link.ifindex));
    if (elsewhere || link.parent == link.ifindex) link.parent = 0;
    spread(link);
    return link;
}

std::optional<LinkCounters> parse_counters(std::span<const std::byte> payload) {
    // The structure grows at its end: rx_nohandler came with 4.6, more since.
    if (payload.size() < offsetof(rtnl_link_stats64, rx_nohandler)) return std::nullopt;
    rtnl_link_stats64 stats{};
    std::memcpy(&stats, payload.data(), std::min(payload.size(), sizeof(stats)));
    return LinkCounters{.rx_packets = stats.rx_packets,
                        .rx_bytes = stats.rx_bytes,
                        .rx_dropped = stats.rx_dropped,
                        .rx_errors = stats.rx_errors,
                        .rx_nohandler = stats.rx_nohandler,
                        .tx_packets = stats.tx_packets,
                        .tx_bytes = stats.tx_bytes,
                        .tx_dropped = stats.tx_dropped,
                        .tx_errors = stats.tx_errors};
}

} // namespace bondtrace
