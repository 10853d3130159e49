// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/hash/frames.h"
#include "user/hash/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

using testing::HasSubstr;

Bytes tcp4() {
    return ethernet(0x0800) + ipv4(6, "10.0.0.1", "10.0.0.2") + ports(40000, 443);
}

ChoiceContext bond_of(BondMode mode, HashPolicy policy = HashPolicy::layer34, std::uint32_t usable = 3) {
    ChoiceContext bond;
    bond.mode = mode;
    bond.policy = policy;
    bond.usable = usable;
    bond.l4_hash = false;
    return bond;
}

Choice choice(const ChoiceContext& bond, const Bytes& bytes) {
    return choose(bond, make_frame(bytes));
}

void expect_none(const Choice& got, std::string_view reason) {
    EXPECT_EQ(got.kind, ChoiceKind::none);
    EXPECT_THAT(std::string(got.reason), HasSubstr(std::string(reason)));
}

TEST(Choice, HashModes) {
    for (const BondMode mode : {BondMode::balance_xor, BondMode::lacp}) {
        const Choice got = choice(bond_of(mode), tcp4());
        EXPECT_EQ(got.kind, ChoiceKind::index);
        EXPECT_EQ(got.index, 2U); // vector T1
        EXPECT_EQ(got.hash, 0x5c5cfcb2U);
        expect_none(choice(bond_of(mode, HashPolicy::layer34, 0), tcp4()), "no usable slave");
    }
}

// Facts §3.6: any frame with l4_hash under encap3+4 takes skb->hash % n, unshifted.
TEST(Choice, SocketHash) {
    ChoiceContext bond = bond_of(BondMode::lacp, HashPolicy::encap34);
    EXPECT_EQ(choice(bond, tcp4()).index, 2U);
    bond.l4_hash = true;
    expect_none(choice(bond, tcp4()), "socket");
    bond.skb_hash = 0xdeadbee1;
    for (std::uint32_t usable = 1; usable < 9; ++usable) {
        bond.usable = usable;
        EXPECT_EQ(choice(bond, tcp4()).kind, ChoiceKind::index);
        EXPECT_EQ(choice(bond, tcp4()).index, 0xdeadbee1U % usable);
        EXPECT_EQ(choice(bond, ethernet(0x88cc)).index, 0xdeadbee1U % usable);
    }
    bond.l4_hash.reset();
    expect_none(choice(bond, tcp4()), "not known");
    // No other policy looks at it.
    for (const HashPolicy policy : {HashPolicy::layer2, HashPolicy::layer23, HashPolicy::layer34,
                                    HashPolicy::encap23, HashPolicy::vlan_srcmac}) {
        bond.policy = policy;
        for (const std::optional<bool> l4 :
             {std::optional<bool>{}, std::optional(true), std::optional(false)}) {
            bond.l4_hash = l4;
            EXPECT_EQ(choice(bond, tcp4()).kind, ChoiceKind::index);
            EXPECT_EQ(choice(bond, tcp4()).hash, hash(tcp4(), policy));
        }
    }
}

TEST(Choice, ModesWithoutAHash) {
    expect_none(choice(bond_of(BondMode::balance_rr), tcp4()), "packet by packet");
    EXPECT_EQ(
        choice(bond_of(BondMode::balance_rr), ethernet(0x0800) + ipv4(2, "10.0.0.1", "224.0.0.22")).kind,
        ChoiceKind::active_slave);
    EXPECT_EQ(choice(bond_of(BondMode::active_backup), tcp4()).kind, ChoiceKind::active_slave);
    EXPECT_EQ(choice(bond_of(BondMode::broadcast), tcp4()).kind, ChoiceKind::all_slaves);
}

TEST(Choice, QueueOverrideAndTls) {
    for (const BondMode mode : {BondMode::balance_rr, BondMode::active_backup}) {
        ChoiceContext bond = bond_of(mode);
        bond.queue_override = true;
        expect_none(choice(bond, tcp4()), "queue_id");
    }
    ChoiceContext xor_bond = bond_of(BondMode::balance_xor);
    xor_bond.queue_override = true; // has no effect in other modes
    EXPECT_EQ(choice(xor_bond, tcp4()).kind, ChoiceKind::index);
    xor_bond.tls_offload = true;
    expect_none(choice(xor_bond, tcp4()), "TLS");
}

TEST(Choice, BroadcastNeighbor) {
    const Bytes arp =
        ethernet("ff:ff:ff:ff:ff:ff", "02:00:00:00:0a:01", 0x0806) + hex("0001 0800 0604 0001") + Bytes(20);
    const Bytes solicitation = ethernet("33:33:ff:00:00:01", "02:00:00:00:0a:01", 0x86dd) +
                               ipv6(58, "fe80::1", "ff02::1:ff00:1") + hex("8700 0000 00000000");
    ChoiceContext bond = bond_of(BondMode::lacp, HashPolicy::layer2);
    EXPECT_EQ(choice(bond, arp).kind, ChoiceKind::index);
    bond.broadcast_neighbor = true;
    EXPECT_EQ(choice(bond, arp).kind, ChoiceKind::all_slaves);
    EXPECT_EQ(choice(bond, solicitation).kind, ChoiceKind::all_slaves);
    EXPECT_EQ(choice(bond, tcp4()).kind, ChoiceKind::index);
    bond.mode = BondMode::balance_xor;
    EXPECT_EQ(choice(bond, arp).kind, ChoiceKind::index);
}

TEST(Choice, TransmitLoadBalancing) {
    ChoiceContext bond = bond_of(BondMode::balance_tlb);
    expect_none(choice(bond, tcp4()), "tlb_dynamic_lb");
    bond.tlb_dynamic_lb = false;
    EXPECT_EQ(choice(bond, tcp4()).index, 2U);
    EXPECT_EQ(choice(bond, ethernet(0x0806) + Bytes(28)).kind, ChoiceKind::active_slave);
    EXPECT_EQ(choice(bond, ethernet(0x88cc)).kind, ChoiceKind::active_slave);
    const Bytes to_group = ethernet("01:00:5e:00:00:16", "02:00:00:00:0a:01", 0x0800) +
                           ipv4(17, "10.0.0.1", "224.0.0.22") + ports(1, 2);
    EXPECT_EQ(choice(bond, to_group).kind, ChoiceKind::active_slave);
    bond.tlb_dynamic_lb = true;
    EXPECT_EQ(choice(bond, to_group).kind, ChoiceKind::active_slave);
}

TEST(Choice, AdaptiveLoadBalancing) {
    ChoiceContext bond = bond_of(BondMode::balance_alb);
    expect_none(choice(bond, tcp4()), "tlb_dynamic_lb");
    expect_none(choice(bond, ethernet(0x0806) + Bytes(28)), "ARP");
    bond.tlb_dynamic_lb = false;
    EXPECT_EQ(choice(bond, tcp4()).index, 2U);
    const auto to = [](std::string_view mac, std::uint8_t protocol, std::string_view address) {
        return ethernet(mac, "02:00:00:00:0a:01", 0x0800) + ipv4(protocol, "10.0.0.1", address) + ports(1, 2);
    };
    EXPECT_EQ(choice(bond, to("ff:ff:ff:ff:ff:ff", 17, "10.0.0.255")).kind, ChoiceKind::active_slave);
    EXPECT_EQ(choice(bond, to("02:00:00:00:0b:02", 17, "255.255.255.255")).kind, ChoiceKind::active_slave);
    EXPECT_EQ(choice(bond, to("01:00:5e:00:00:16", 2, "224.0.0.22")).kind, ChoiceKind::active_slave);
    EXPECT_EQ(choice(bond, to("01:00:5e:00:00:fb", 17, "224.0.0.251")).kind, ChoiceKind::index);
    const auto to6 = [](std::string_view mac, std::string_view from) {
        return ethernet(mac, "02:00:00:00:0a:01", 0x86dd) + ipv6(17, from, "ff02::1") + ports(1, 2);
    };
    EXPECT_EQ(choice(bond, to6("33:33:00:00:00:01", "fe80::1")).kind, ChoiceKind::active_slave);
    EXPECT_EQ(choice(bond, to6("33:33:00:00:00:02", "::")).kind, ChoiceKind::active_slave);
    EXPECT_EQ(choice(bond, to6("33:33:00:00:00:02", "fe80::1")).kind, ChoiceKind::index);
}

TEST(Choice, WhatIsNotAFunctionOfThePacket) {
    const Bytes keep_alive = ethernet(0x88ca) + hex("0e080000 00000000 00000000 0a000001");
    expect_none(choice(bond_of(BondMode::lacp, HashPolicy::encap34), keep_alive), "TIPC");
    EXPECT_EQ(choice(bond_of(BondMode::lacp, HashPolicy::layer34), keep_alive).kind, ChoiceKind::index);
    ChoiceContext dissector = bond_of(BondMode::lacp, HashPolicy::encap23);
    dissector.flow_dissector = true;
    expect_none(choice(dissector, tcp4()), "BPF");
    dissector.policy = HashPolicy::layer23;
    EXPECT_EQ(choice(dissector, tcp4()).kind, ChoiceKind::index);
}

TEST(Choice, FromATuple) {
    FlowTuple tuple = make_tuple(6, *parse_ip("10.0.0.1"), 40000, *parse_ip("10.0.0.2"), 443);
    EXPECT_EQ(choose(bond_of(BondMode::lacp), tuple).index, 2U);
    expect_none(choose(bond_of(BondMode::lacp, HashPolicy::layer23), tuple), "MAC addresses");
    EXPECT_EQ(choose(bond_of(BondMode::active_backup, HashPolicy::layer23), tuple).kind,
              ChoiceKind::active_slave);
    tuple.protocol = 47;
    expect_none(choose(bond_of(BondMode::lacp, HashPolicy::encap34), tuple), "tunnel");
}

} // namespace
} // namespace bondtrace::test
