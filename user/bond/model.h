// SPDX-License-Identifier: GPL-2.0-or-later
// What a bond is: plain data, filled by the readers (netlink_reader.h for the running system, source.h for
// what was saved of another one), used by everything else. What a source cannot tell is unknown, never
// absent or zero: it is an empty optional, or named in `unknown`.
#pragma once

#include "user/base/address.h"
#include "user/bond/device_facts.h"
#include "user/bond/manager.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

// Values are the driver's own (include/uapi/linux/if_bonding.h, BOND_MODE_*).
enum class BondMode : std::uint8_t {
    balance_rr = 0,
    active_backup = 1,
    balance_xor = 2,
    broadcast = 3,
    lacp = 4, // "802.3ad"
    balance_tlb = 5,
    balance_alb = 6,
};

// Values are the driver's own (BOND_XMIT_POLICY_*).
enum class HashPolicy : std::uint8_t {
    layer2 = 0,
    layer34 = 1,
    layer23 = 2,
    encap23 = 3,
    encap34 = 4,
    vlan_srcmac = 5,
};

// The kernel's spelling ("802.3ad", "layer3+4"), and back; nullopt for a name the kernel does not use.
std::string_view to_text(BondMode mode);
std::string_view to_text(HashPolicy policy);
std::optional<BondMode> parse_bond_mode(std::string_view text);
std::optional<HashPolicy> parse_hash_policy(std::string_view text);

// Values are the driver's own (include/uapi/linux/if_bonding.h and bond_options.c).
enum class ArpValidate : std::uint8_t {
    none = 0,
    active = 1,
    backup = 2,
    all = 3,
    filter = 4,
    filter_active = 5,
    filter_backup = 6,
};
enum class ArpAllTargets : std::uint8_t { any = 0, all = 1 };
enum class PrimaryReselect : std::uint8_t { always = 0, better = 1, failure = 2 };
enum class FailOverMac : std::uint8_t { none = 0, active = 1, follow = 2 };
enum class AdSelect : std::uint8_t { stable = 0, bandwidth = 1, count = 2, actor_port_prio = 3 };

std::string_view to_text(ArpValidate value);
std::string_view to_text(ArpAllTargets value);
std::string_view to_text(PrimaryReselect value);
std::string_view to_text(FailOverMac value);
std::string_view to_text(AdSelect value);
std::optional<ArpValidate> parse_arp_validate(std::string_view text);
std::optional<ArpAllTargets> parse_arp_all_targets(std::string_view text);
std::optional<PrimaryReselect> parse_primary_reselect(std::string_view text);
std::optional<FailOverMac> parse_fail_over_mac(std::string_view text);
std::optional<AdSelect> parse_ad_select(std::string_view text);

// A device's own counters (struct rtnl_link_stats64).
struct LinkCounters {
    std::uint64_t rx_packets = 0, rx_bytes = 0, rx_dropped = 0, rx_errors = 0, rx_nohandler = 0;
    std::uint64_t tx_packets = 0, tx_bytes = 0, tx_dropped = 0, tx_errors = 0;
};

// LACP port state bits (IEEE 802.1AX), in the actor's and the partner's state.
namespace lacp_state {
inline constexpr std::uint8_t activity = 0x01, short_timeout = 0x02, aggregation = 0x04,
                              synchronization = 0x08, collecting = 0x10, distributing = 0x20,
                              defaulted = 0x40, expired = 0x80;
// A port carries traffic when all four are set (facts: aggregation, sync, collecting, distributing).
inline constexpr std::uint8_t carrying = aggregation | synchronization | collecting | distributing;
} // namespace lacp_state

// "active, short timeout, aggregatable, in sync, collecting, distributing, defaulted, expired": the bits that
// are set, in that order; "none" for 0.
std::string describe_port_state(std::uint8_t state);

enum class MiiStatus : std::uint8_t { up = 0, going_down = 1, down = 2, going_back = 3 };
// The kernel's spelling: "up", "going down", "down", "going back".
std::string_view to_text(MiiStatus status);
std::optional<MiiStatus> parse_mii_status(std::string_view text);

enum class Duplex : std::uint8_t { half = 0, full = 1 }; // DUPLEX_* of linux/ethtool.h
std::string_view to_text(Duplex duplex);

// The churn machines of IEEE 802.1AX: a port is "churned" when it is not in sync 60 s after they started.
// Values are the driver's own (churn_state_t).
enum class ChurnState : std::uint8_t { monitoring = 0, churned = 1, none = 2 };
std::string_view to_text(ChurnState state);
std::optional<ChurnState> parse_churn_state(std::string_view text);

// One side of a port's LACP conversation, without the port state. Only /proc/net/bonding tells these, and
// only to CAP_NET_ADMIN in the initial user namespace.
struct LacpSide {
    std::optional<std::uint16_t> system_priority, key, port_priority, port_number;
    std::optional<MacAddress> system_mac;
};

// Which of the members that are no optional the source could not tell; they then mean nothing.
struct SlaveUnknown {
    bool ifindex = false;
    bool state = false; // `backup`
    bool mii_status = false;
    bool flags = false; // `carrier`, `admin_up`
    bool link_failures = false;
    bool mac = false;
    bool queue_id = false;
    bool counters = false;
    // An empty `aggregator_id` is not "no aggregator": the source does not speak of it.
    bool aggregator = false;
};

struct Slave {
    int ifindex = 0;
    std::string name;
    bool backup = false; // IFLA_BOND_SLAVE_STATE: false "active", true "backup"
    MiiStatus mii_status = MiiStatus::down;
    bool carrier = false;  // IFF_LOWER_UP
    bool admin_up = false; // IFF_UP
    std::uint32_t link_failures = 0;
    MacAddress mac{};                        // now, usually the bond's
    std::optional<MacAddress> perm_mac;      // the device's own
    std::optional<std::uint32_t> speed_mbps; // nullopt: unknown
    std::optional<Duplex> duplex;            // nullopt: unknown
    // The driver itself says that it does not know the speed ("Unknown"), so that LACP cannot use the port.
    bool speed_undetermined = false;
    std::optional<std::int32_t> prio; // 6.0 and later
    std::uint16_t queue_id = 0;
    // 802.3ad only, and only when the driver gave them.
    std::optional<std::uint16_t> aggregator_id;
    std::optional<std::uint8_t> actor_port_state;
    std::optional<std::uint16_t> partner_port_state;
    std::optional<std::uint16_t> actor_port_prio; // 6.18 and later
    std::optional<ChurnState> actor_churn, partner_churn;
    std::optional<std::uint32_t> actor_churn_count, partner_churn_count;
    std::optional<LacpSide> actor, partner; // nullopt: not told to the unprivileged
    std::string kind;                       // IFLA_INFO_KIND: "veth", "tun"; empty for hardware or unknown
    LinkCounters counters;
    DevicePrograms programs;
    std::optional<Offloads> offloads; // nullopt: not asked, or not told
    SlaveUnknown unknown;
};

// The active aggregator of an 802.3ad bond.
struct AggregatorInfo {
    std::uint16_t aggregator_id = 0, ports = 0, actor_key = 0, partner_key = 0;
    MacAddress partner_mac{};
};

// An interface that stands on the bond, or a bridge or bond whose port it is.
struct Upper {
    std::string name;
    std::string kind;            // "vlan", "bridge", "macvlan", "openvswitch", ...
    std::size_t other_ports = 0; // of a bridge: its ports besides the bond
    int ifindex = 0;             // 0: unknown
    std::optional<std::uint16_t> vlan_id = std::nullopt;
    std::optional<LinkCounters> counters = std::nullopt;
};

// As SlaveUnknown.
struct BondUnknown {
    bool ifindex = false;
    bool name = false; // the name was made up, for the source does not tell it
    bool policy = false;
    bool carrier = false;
    bool admin_up = false;
    bool miimon = false;
    bool arp_interval = false;
    bool min_links = false;
    bool lacp_rate = false;
    bool packets_per_slave = false;
    bool all_slaves_active = false;
    bool active_slave = false; // an empty `active_slave` is not "none"
    bool aggregator = false;   // an empty `aggregator` is not "no active aggregator"
    bool mac = false;
    bool uppers = false;
    bool counters = false;
};

struct Bond {
    // No bond but a group of links that are looked at as if they were slaves (--links). It has no ifindex,
    // and what only a bond has means nothing.
    bool group = false;
    int ifindex = 0;
    std::string name;
    std::uint32_t netns = 0; // inode number of its network namespace
    BondMode mode = BondMode::balance_rr;
    HashPolicy policy = HashPolicy::layer2;
    bool carrier = false;
    bool admin_up = false;
    std::uint32_t miimon_ms = 0, arp_interval_ms = 0, min_links = 0;
    bool lacp_fast = false;
    std::optional<bool> lacp_active; // 5.15 and later
    std::optional<bool> tlb_dynamic_lb;
    std::optional<bool> broadcast_neighbor;   // 6.17 and later: 802.3ad sends ARP and ND on every slave
    std::uint32_t packets_per_slave = 1;      // balance-rr: 0 is a random slave each time
    bool all_slaves_active = false;           // inactive slaves deliver what they receive
    std::optional<int> active_slave;          // ifindex
    std::optional<AggregatorInfo> aggregator; // nullopt: not 802.3ad, or no active aggregator
    MacAddress mac{};
    std::vector<Slave> slaves; // in enslave order
    bool order_known = true;   // false: the enslave order could not be read, the slaves are in ifindex order
    // Named as slaves by /proc/net/bonding, but no such interface was found (removed or moved meanwhile).
    std::vector<std::string> missing_slaves;
    LinkCounters counters;

    std::optional<std::uint32_t> updelay_ms, downdelay_ms, peer_notif_delay_ms;
    std::optional<bool> use_carrier;
    std::vector<IpAddress> arp_targets; // IPv4
    std::vector<IpAddress> ns_targets;  // IPv6, 5.18 and later
    std::optional<ArpValidate> arp_validate;
    std::optional<ArpAllTargets> arp_all_targets;
    std::optional<std::uint32_t> missed_max; // 5.17 and later
    std::optional<std::string> active_name; // of the active slave; nullopt: none, or see unknown.active_slave
    std::optional<int> primary;             // ifindex
    std::optional<std::string> primary_name;
    std::optional<PrimaryReselect> primary_reselect;
    std::optional<FailOverMac> fail_over_mac;
    std::optional<std::uint32_t> resend_igmp, num_peer_notif, lp_interval;
    std::optional<AdSelect> ad_select;
    // What was configured (IFLA_BOND_AD_ACTOR_*; CAP_NET_ADMIN only). All zero for the system: the driver's
    // choice.
    std::optional<std::uint16_t> ad_actor_sys_prio, ad_user_port_key;
    std::optional<MacAddress> ad_actor_system;
    // What the LACPDUs carry (/proc/net/bonding; CAP_NET_ADMIN only).
    std::optional<std::uint16_t> system_priority;
    std::optional<MacAddress> system_mac;
    std::optional<bool> coupled_control; // 6.9 and later
    std::optional<bool> lacp_strict;     // 7.0 and later
    // 802.3ad: whether the source shows what only CAP_NET_ADMIN may see; false means that LACP details are
    // hidden, not that there are none. nullopt: cannot be told from the source.
    std::optional<bool> privileged;
    std::optional<Manager> manager; // who configures it; nullopt: unknown
    std::string driver;             // "v6.12.117+deb13-amd64": the driver's own version, of a dump
    bool truncated = false;         // the source ends in the middle: slaves or their last lines are missing
    std::vector<Upper> uppers;
    DevicePrograms programs;
    std::optional<Offloads> offloads;
    BondUnknown unknown;

    // The slave with that ifindex, or nullptr.
    [[nodiscard]] const Slave* find_slave(int slave_ifindex) const;
    // The slave with that name, or nullptr.
    [[nodiscard]] const Slave* find_slave(std::string_view slave_name) const;
    // The active slave of active-backup, balance-tlb and balance-alb, by whichever of ifindex and name is
    // known; nullptr when there is none or it is unknown.
    [[nodiscard]] const Slave* active() const;
};

} // namespace bondtrace
