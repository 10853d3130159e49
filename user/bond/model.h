// SPDX-License-Identifier: GPL-2.0-or-later
// What a bond is: plain data, filled by the readers (netlink_reader.h, proc_reader.h), used by everything
// else.
#pragma once

#include "user/base/address.h"

#include <array>
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

enum class MiiStatus : std::uint8_t { up = 0, going_down = 1, down = 2, going_back = 3 };
// The kernel's spelling: "up", "going down", "down", "going back".
std::string_view to_text(MiiStatus status);

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
    std::uint16_t queue_id = 0;
    // 802.3ad only, and only when the driver gave them.
    std::optional<std::uint16_t> aggregator_id;
    std::optional<std::uint8_t> actor_port_state;
    std::optional<std::uint16_t> partner_port_state;
    LinkCounters counters;
};

// The active aggregator of an 802.3ad bond.
struct AggregatorInfo {
    std::uint16_t aggregator_id = 0, ports = 0, actor_key = 0, partner_key = 0;
    MacAddress partner_mac{};
};

struct Bond {
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

    // The slave with that ifindex, or nullptr.
    [[nodiscard]] const Slave* find_slave(int slave_ifindex) const;
};

} // namespace bondtrace
