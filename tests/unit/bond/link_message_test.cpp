// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/bond/link_builder.h"
#include "user/bond/link_message.h"

#include <string>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if.h>

namespace bondtrace {
namespace {

using test::LinkBuilder;
using testing::HasSubstr;

constexpr MacAddress own_mac = {0x02, 0, 0, 0, 0x0a, 0x01},
                     partner_mac = {0xa2, 0x55, 0x8e, 0xec, 0xbf, 0xf2};

rtnl_link_stats64 some_stats() {
    rtnl_link_stats64 stats{};
    stats.rx_packets = 1;
    stats.tx_packets = 2;
    stats.rx_bytes = 0x300000003;
    stats.tx_bytes = 0x400000004;
    stats.rx_errors = 5;
    stats.tx_errors = 6;
    stats.rx_dropped = 7;
    stats.tx_dropped = 8;
    stats.rx_nohandler = 9;
    return stats;
}

LinkBuilder lacp_bond() {
    LinkBuilder message(7);
    message.flags(IFF_UP | IFF_LOWER_UP | IFF_MASTER)
        .text(IFLA_IFNAME, "bond0")
        .bytes(IFLA_ADDRESS, own_mac.data(), own_mac.size())
        .stats(some_stats())
        .open(IFLA_LINKINFO)
        .text(IFLA_INFO_KIND, "bond")
        .open(IFLA_INFO_DATA)
        .u8(IFLA_BOND_MODE, 4)
        .u32(IFLA_BOND_MIIMON, 100)
        .u32(IFLA_BOND_ARP_INTERVAL, 0)
        .u8(IFLA_BOND_XMIT_HASH_POLICY, 1)
        .u32(IFLA_BOND_MIN_LINKS, 2)
        .u8(IFLA_BOND_ALL_SLAVES_ACTIVE, 1)
        .u32(IFLA_BOND_PACKETS_PER_SLAVE, 3)
        .u8(IFLA_BOND_AD_LACP_RATE, 1)
        .open(IFLA_BOND_AD_INFO)
        .u16(IFLA_BOND_AD_INFO_AGGREGATOR, 1)
        .u16(IFLA_BOND_AD_INFO_NUM_PORTS, 2)
        .u16(IFLA_BOND_AD_INFO_ACTOR_KEY, 15)
        .u16(IFLA_BOND_AD_INFO_PARTNER_KEY, 9)
        .bytes(IFLA_BOND_AD_INFO_PARTNER_MAC, partner_mac.data(), partner_mac.size())
        .close()
        .u8(IFLA_BOND_TLB_DYNAMIC_LB, 1)
        .u8(29, 0) // IFLA_BOND_AD_LACP_ACTIVE
        .u8(33, 1) // IFLA_BOND_BROADCAST_NEIGH
        .close()
        .close();
    return message;
}

LinkBuilder lacp_slave() {
    LinkBuilder message(8);
    message.flags(IFF_UP | IFF_LOWER_UP | IFF_SLAVE)
        .text(IFLA_IFNAME, "s0")
        .u32(IFLA_MASTER, 7)
        .bytes(IFLA_ADDRESS, own_mac.data(), own_mac.size())
        .stats(some_stats())
        .open(IFLA_LINKINFO)
        .text(IFLA_INFO_KIND, "veth")
        .text(IFLA_INFO_SLAVE_KIND, "bond")
        .open(IFLA_INFO_SLAVE_DATA)
        .u8(IFLA_BOND_SLAVE_STATE, 1)
        .u8(IFLA_BOND_SLAVE_MII_STATUS, 3)
        .u32(IFLA_BOND_SLAVE_LINK_FAILURE_COUNT, 92028)
        .bytes(IFLA_BOND_SLAVE_PERM_HWADDR, partner_mac.data(), partner_mac.size())
        .u16(IFLA_BOND_SLAVE_QUEUE_ID, 5)
        .u16(IFLA_BOND_SLAVE_AD_AGGREGATOR_ID, 2)
        .u8(IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE, 63)
        .u16(IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE, 61)
        .close()
        .close();
    return message;
}

TEST(LinkMessage, LacpBond) {
    const auto link = parse_link_message(lacp_bond().build());
    ASSERT_TRUE(link) << link.error().what;
    EXPECT_EQ(link->ifindex, 7);
    EXPECT_EQ(link->name, "bond0");
    EXPECT_EQ(link->kind, "bond");
    EXPECT_FALSE(link->deleted);
    EXPECT_FALSE(link->partial);
    EXPECT_FALSE(link->slave);
    ASSERT_TRUE(link->bond);
    const Bond& bond = *link->bond;
    EXPECT_EQ(bond.ifindex, 7);
    EXPECT_EQ(bond.name, "bond0");
    EXPECT_EQ(bond.mac, own_mac);
    EXPECT_TRUE(bond.admin_up);
    EXPECT_TRUE(bond.carrier);
    EXPECT_EQ(bond.mode, BondMode::lacp);
    EXPECT_EQ(bond.policy, HashPolicy::layer34);
    EXPECT_EQ(bond.miimon_ms, 100U);
    EXPECT_EQ(bond.arp_interval_ms, 0U);
    EXPECT_EQ(bond.min_links, 2U);
    EXPECT_EQ(bond.packets_per_slave, 3U);
    EXPECT_TRUE(bond.all_slaves_active);
    EXPECT_TRUE(bond.lacp_fast);
    EXPECT_EQ(bond.lacp_active, false);
    EXPECT_EQ(bond.tlb_dynamic_lb, true);
    EXPECT_EQ(bond.broadcast_neighbor, true);
    EXPECT_FALSE(bond.active_slave);
    ASSERT_TRUE(bond.aggregator);
    EXPECT_EQ(bond.aggregator->aggregator_id, 1);
    EXPECT_EQ(bond.aggregator->ports, 2);
    EXPECT_EQ(bond.aggregator->actor_key, 15);
    EXPECT_EQ(bond.aggregator->partner_key, 9);
    EXPECT_EQ(bond.aggregator->partner_mac, partner_mac);
    EXPECT_EQ(bond.counters.rx_packets, 1U);
    EXPECT_EQ(bond.counters.tx_packets, 2U);
    EXPECT_EQ(bond.counters.rx_bytes, 0x300000003U);
    EXPECT_EQ(bond.counters.tx_bytes, 0x400000004U);
    EXPECT_EQ(bond.counters.rx_errors, 5U);
    EXPECT_EQ(bond.counters.tx_errors, 6U);
    EXPECT_EQ(bond.counters.rx_dropped, 7U);
    EXPECT_EQ(bond.counters.tx_dropped, 8U);
    EXPECT_EQ(bond.counters.rx_nohandler, 9U);
}

TEST(LinkMessage, LacpSlave) {
    const auto link = parse_link_message(lacp_slave().build());
    ASSERT_TRUE(link) << link.error().what;
    EXPECT_EQ(link->master, 7);
    EXPECT_EQ(link->kind, "veth");
    EXPECT_FALSE(link->bond);
    ASSERT_TRUE(link->slave);
    const Slave& slave = *link->slave;
    EXPECT_EQ(slave.ifindex, 8);
    EXPECT_EQ(slave.name, "s0");
    EXPECT_TRUE(slave.backup);
    EXPECT_EQ(slave.mii_status, MiiStatus::going_back);
    EXPECT_TRUE(slave.carrier);
    EXPECT_TRUE(slave.admin_up);
    EXPECT_EQ(slave.link_failures, 92028U);
    EXPECT_EQ(slave.mac, own_mac);
    EXPECT_EQ(slave.perm_mac, partner_mac);
    EXPECT_FALSE(slave.speed_mbps);
    EXPECT_EQ(slave.queue_id, 5);
    EXPECT_EQ(slave.aggregator_id, 2);
    EXPECT_EQ(slave.actor_port_state, 63);
    EXPECT_EQ(slave.partner_port_state, 61);
    EXPECT_EQ(slave.counters.tx_bytes, 0x400000004U);
}

// Those that the recordings do not have.
TEST(LinkMessage, TargetsAndYoungAttributes) {
    const std::uint32_t first = htonl(0xc0000201), second = htonl(0xc0000202);
    const auto six = parse_ip("2001:db8::1").value();
    const auto link = parse_link_message(LinkBuilder(7)
                                             .text(IFLA_IFNAME, "bond0")
                                             .open(IFLA_LINKINFO)
                                             .text(IFLA_INFO_KIND, "bond")
                                             .open(IFLA_INFO_DATA)
                                             .u8(IFLA_BOND_MODE, 1)
                                             .u8(IFLA_BOND_XMIT_HASH_POLICY, 0)
                                             .u32(IFLA_BOND_PRIMARY, 9)
                                             .u8(IFLA_BOND_PRIMARY_RESELECT, 2)
                                             .u8(IFLA_BOND_FAIL_OVER_MAC, 9) // of a driver to come
                                             .u32(IFLA_BOND_ARP_VALIDATE, 3)
                                             .open(IFLA_BOND_ARP_IP_TARGET)
                                             .u32(0, first)
                                             .u32(1, second)
                                             .close()
                                             .open(31) // IFLA_BOND_NS_IP6_TARGET
                                             .bytes(0, six.bytes.data(), 16)
                                             .close()
                                             .u8(30, 5) // IFLA_BOND_MISSED_MAX
                                             .u8(32, 0) // IFLA_BOND_COUPLED_CONTROL
                                             .close()
                                             .close()
                                             .build());
    ASSERT_TRUE(link && link->bond);
    const Bond& bond = *link->bond;
    EXPECT_EQ(bond.primary, 9);
    EXPECT_EQ(bond.primary_reselect, PrimaryReselect::failure);
    EXPECT_FALSE(bond.fail_over_mac);
    EXPECT_EQ(bond.arp_validate, ArpValidate::all);
    ASSERT_EQ(bond.arp_targets.size(), 2U);
    EXPECT_EQ(to_text(bond.arp_targets[1]), "192.0.2.2");
    ASSERT_EQ(bond.ns_targets.size(), 1U);
    EXPECT_EQ(to_text(bond.ns_targets[0]), "2001:db8::1");
    EXPECT_EQ(bond.missed_max, 5U);
    EXPECT_EQ(bond.coupled_control, false);
    const auto slave = parse_link_message(LinkBuilder(8)
                                              .text(IFLA_IFNAME, "s0")
                                              .open(IFLA_LINKINFO)
                                              .text(IFLA_INFO_SLAVE_KIND, "bond")
                                              .open(IFLA_INFO_SLAVE_DATA)
                                              .u32(9, static_cast<std::uint32_t>(-3)) // IFLA_BOND_SLAVE_PRIO
                                              .u16(10, 255) // IFLA_BOND_SLAVE_ACTOR_PORT_PRIO
                                              .u8(11, 1)    // IFLA_BOND_SLAVE_AD_CHURN_ACTOR_STATE
                                              .u8(12, 2)    // IFLA_BOND_SLAVE_AD_CHURN_PARTNER_STATE
                                              .close()
                                              .close()
                                              .build());
    ASSERT_TRUE(slave && slave->slave);
    EXPECT_EQ(slave->slave->prio, -3);
    EXPECT_EQ(slave->slave->actor_port_prio, 255);
    EXPECT_EQ(slave->slave->actor_churn, ChurnState::churned);
    EXPECT_EQ(slave->slave->partner_churn, ChurnState::none);
}

TEST(LinkMessage, PortStatesComeInEitherSize) {
    const auto message = LinkBuilder(8)
                             .text(IFLA_IFNAME, "s0")
                             .open(IFLA_LINKINFO)
                             .text(IFLA_INFO_SLAVE_KIND, "bond")
                             .open(IFLA_INFO_SLAVE_DATA)
                             .u16(IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE, 79)
                             .u8(IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE, 1)
                             .close()
                             .close()
                             .build();
    const auto link = parse_link_message(message);
    ASSERT_TRUE(link);
    ASSERT_TRUE(link->slave);
    EXPECT_EQ(link->slave->actor_port_state, 79);
    EXPECT_EQ(link->slave->partner_port_state, 1);
}

TEST(LinkMessage, WithoutLacpThereIsNoLacpState) {
    const auto bond = parse_link_message(LinkBuilder(7)
                                             .text(IFLA_IFNAME, "bond0")
                                             .open(IFLA_LINKINFO)
                                             .text(IFLA_INFO_KIND, "bond")
                                             .open(IFLA_INFO_DATA)
                                             .u8(IFLA_BOND_MODE, 1)
                                             .u8(IFLA_BOND_XMIT_HASH_POLICY, 0)
                                             .u32(IFLA_BOND_ACTIVE_SLAVE, 9)
                                             .close()
                                             .close()
                                             .build());
    ASSERT_TRUE(bond);
    ASSERT_TRUE(bond->bond);
    EXPECT_EQ(bond->bond->mode, BondMode::active_backup);
    EXPECT_EQ(bond->bond->active_slave, 9);
    EXPECT_FALSE(bond->bond->aggregator);
    EXPECT_FALSE(bond->bond->lacp_active);
    EXPECT_FALSE(bond->bond->broadcast_neighbor);
    EXPECT_FALSE(bond->counters);
    const auto slave = parse_link_message(LinkBuilder(8)
                                              .text(IFLA_IFNAME, "s0")
                                              .open(IFLA_LINKINFO)
                                              .text(IFLA_INFO_SLAVE_KIND, "bond")
                                              .open(IFLA_INFO_SLAVE_DATA)
                                              .u8(IFLA_BOND_SLAVE_STATE, 0)
                                              .close()
                                              .close()
                                              .build());
    ASSERT_TRUE(slave);
    ASSERT_TRUE(slave->slave);
    EXPECT_FALSE(slave->slave->aggregator_id);
    EXPECT_FALSE(slave->slave->actor_port_state);
    EXPECT_FALSE(slave->slave->partner_port_state);
    EXPECT_FALSE(slave->slave->perm_mac);
}

TEST(LinkMessage, UnknownAttributesAndWrongSizesArePassedOver) {
    const std::vector<std::byte> long_address(20, std::byte{0xee}); // InfiniBand
    const auto message = LinkBuilder(7)
                             .text(IFLA_IFNAME, "bond0")
                             .bytes(IFLA_ADDRESS, long_address.data(), long_address.size())
                             .u16(IFLA_MASTER, 3)
                             .u32(4000, 1)
                             .bytes(IFLA_STATS64, long_address.data(), long_address.size())
                             .open(IFLA_LINKINFO)
                             .text(IFLA_INFO_KIND, "bond")
                             .open(IFLA_INFO_DATA)
                             .u8(IFLA_BOND_MODE, 4)
                             .u8(IFLA_BOND_XMIT_HASH_POLICY, 2)
                             .u8(IFLA_BOND_MIIMON, 100)
                             .u16(IFLA_BOND_ACTIVE_SLAVE, 3)
                             .u32(IFLA_BOND_AD_LACP_RATE, 1)
                             .u8(1000, 1)
                             .close()
                             .close()
                             .build();
    const auto link = parse_link_message(message);
    ASSERT_TRUE(link) << link.error().what;
    EXPECT_EQ(link->mac, MacAddress{});
    EXPECT_EQ(link->master, 0);
    EXPECT_FALSE(link->counters);
    ASSERT_TRUE(link->bond);
    EXPECT_EQ(link->bond->policy, HashPolicy::layer23);
    EXPECT_EQ(link->bond->miimon_ms, 0U);
    EXPECT_FALSE(link->bond->active_slave);
    EXPECT_FALSE(link->bond->lacp_fast);
}

TEST(LinkMessage, CountersMayBeShorterOrLonger) {
    const auto parse = [](std::size_t size) {
        return parse_link_message(LinkBuilder(7).text(IFLA_IFNAME, "eth0").stats(some_stats(), size).build());
    };
    const auto old_kernel = parse(23 * 8); // before rx_nohandler (4.6)
    ASSERT_TRUE(old_kernel && old_kernel->counters);
    EXPECT_EQ(old_kernel->counters->tx_bytes, 0x400000004U);
    EXPECT_EQ(old_kernel->counters->rx_nohandler, 0U);
    const auto new_kernel = parse(40 * 8);
    ASSERT_TRUE(new_kernel && new_kernel->counters);
    EXPECT_EQ(new_kernel->counters->rx_nohandler, 9U);
    const auto cut = parse(22 * 8);
    ASSERT_TRUE(cut);
    EXPECT_FALSE(cut->counters);
}

TEST(LinkMessage, UnknownModeOrPolicyIsAProblemNotAGuess) {
    const auto with = [](std::uint8_t mode, std::uint8_t policy) {
        return parse_link_message(LinkBuilder(7)
                                      .text(IFLA_IFNAME, "bond0")
                                      .open(IFLA_LINKINFO)
                                      .text(IFLA_INFO_KIND, "bond")
                                      .open(IFLA_INFO_DATA)
                                      .u8(IFLA_BOND_MODE, mode)
                                      .u8(IFLA_BOND_XMIT_HASH_POLICY, policy)
                                      .close()
                                      .close()
                                      .build());
    };
    ASSERT_TRUE(with(6, 5));
    EXPECT_TRUE(with(6, 5)->bond);
    EXPECT_FALSE(with(7, 0)->bond);
    EXPECT_THAT(with(7, 0)->problem, HasSubstr("mode has the number 7"));
    EXPECT_FALSE(with(0, 6)->bond);
    EXPECT_THAT(with(0, 6)->problem, HasSubstr("hash policy has the number 6"));
    const auto bare = parse_link_message(LinkBuilder(7)
                                             .text(IFLA_IFNAME, "bond0")
                                             .open(IFLA_LINKINFO)
                                             .text(IFLA_INFO_KIND, "bond")
                                             .close()
                                             .build());
    ASSERT_TRUE(bare);
    EXPECT_FALSE(bare->bond);
    EXPECT_FALSE(bare->problem.empty());
}

TEST(LinkMessage, DeletionAndMoveElsewhere) {
    const auto link = parse_link_message(LinkBuilder(8, RTM_DELLINK).text(IFLA_IFNAME, "s0").build());
    ASSERT_TRUE(link);
    EXPECT_TRUE(link->deleted);
}

// A bridge sends RTM_DELLINK of its own family when a port leaves it: the port is still there.
TEST(LinkMessage, BridgePortNewsIsNoDeletion) {
    const auto link =
        parse_link_message(LinkBuilder(8, RTM_DELLINK, AF_BRIDGE).text(IFLA_IFNAME, "s0").build());
    ASSERT_TRUE(link);
    EXPECT_FALSE(link->deleted);
    EXPECT_TRUE(link->partial);
}

// A wireless event carries the name only, which must not read as "has no master".
TEST(LinkMessage, WirelessEventDescribesNothing) {
    const auto link =
        parse_link_message(LinkBuilder(8).text(IFLA_IFNAME, "wlan0").u32(IFLA_WIRELESS, 0).build());
    ASSERT_TRUE(link);
    EXPECT_TRUE(link->partial);
}

TEST(LinkMessage, VlanKnowsWhatItStandsOn) {
    const auto vlan = [](bool elsewhere) {
        LinkBuilder message(9);
        message.text(IFLA_IFNAME, "bond0.100").u32(IFLA_LINK, 7);
        if (elsewhere) message.u32(IFLA_LINK_NETNSID, 0);
        return parse_link_message(message.open(IFLA_LINKINFO).text(IFLA_INFO_KIND, "vlan").close().build());
    };
    EXPECT_EQ(vlan(false)->parent, 7);
    EXPECT_EQ(vlan(true)->parent, 0);
}

TEST(LinkMessage, NamesAreBounded) {
    const auto named = [](const char* name, std::size_t size) {
        return parse_link_message(LinkBuilder(1).bytes(IFLA_IFNAME, name, size).build());
    };
    EXPECT_EQ(named("exactly15chars.", 15)->name, "exactly15chars."); // without its zero
    EXPECT_EQ(named("eth0\0junk", 9)->name, "eth0");
    EXPECT_FALSE(named("sixteencharacter", 16));
    EXPECT_FALSE(named("", 0));
    EXPECT_FALSE(parse_link_message(LinkBuilder(1).build()));
}

TEST(LinkMessage, OtherMessagesAreRefused) {
    EXPECT_FALSE(parse_link_message({}));
    EXPECT_FALSE(parse_link_message(LinkBuilder(1, RTM_NEWADDR).text(IFLA_IFNAME, "eth0").build()));
    EXPECT_FALSE(parse_link_message(LinkBuilder(0).text(IFLA_IFNAME, "eth0").build()));
    EXPECT_FALSE(parse_link_message(LinkBuilder(-3).text(IFLA_IFNAME, "eth0").build()));
}

TEST(LinkMessage, EveryCutIsRefusedOrUnderstoodButNeverReadBeyond) {
    for (const auto& message : {lacp_bond().build(), lacp_slave().build()}) {
        for (std::size_t size = 0; size < message.size(); ++size) {
            // Of their own size, so that AddressSanitizer sees any read behind them.
            std::vector<std::byte> cut(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size));
            EXPECT_FALSE(parse_link_message(cut)) << size;
            if (size < sizeof(nlmsghdr)) continue;
            const auto claimed = static_cast<std::uint32_t>(size);
            std::memcpy(cut.data(), &claimed, sizeof(claimed));
            // The longest attribute chain that still fits is a message in its own right; anything else is
            // not.
            const auto link = parse_link_message(cut);
            if (link) {
                EXPECT_FALSE(link->name.empty());
            }
        }
    }
}

TEST(LinkMessage, EveryChangedByteIsSurvived) {
    for (const auto& message : {lacp_bond().build(), lacp_slave().build()}) {
        for (std::size_t at = 0; at < message.size(); ++at) {
            for (const int value : {0x00, 0x01, 0x03, 0x7f, 0x80, 0xff}) {
                std::vector<std::byte> changed = message;
                changed[at] = static_cast<std::byte>(value);
                const auto link = parse_link_message(changed);
                if (!link) continue;
                EXPECT_GT(link->ifindex, 0);
                EXPECT_LT(link->name.size(), std::size_t{IFNAMSIZ});
                if (link->bond) {
                    EXPECT_NE(to_text(link->bond->mode), "unknown");
                    EXPECT_NE(to_text(link->bond->policy), "unknown");
                }
            }
        }
    }
}

TEST(LinkMessage, AlignmentDoesNotMatter) {
    const auto message = lacp_slave().build();
    for (std::size_t shift = 1; shift < 4; ++shift) {
        std::vector<std::byte> shifted(shift);
        shifted.insert(shifted.end(), message.begin(), message.end());
        const auto link = parse_link_message(std::span(shifted).subspan(shift));
        ASSERT_TRUE(link);
        EXPECT_EQ(link->slave->partner_port_state, 61);
    }
}

} // namespace
} // namespace bondtrace
