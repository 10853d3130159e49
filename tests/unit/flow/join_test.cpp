// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/flow/flow_builder.h"
#include "user/flow/entry.h"

#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

using test::entry;
using test::icmp_key;
using test::ip_key;
using test::mac_key;

constexpr const char *here = "10.77.0.1", *there = "10.77.0.2";
constexpr MacAddress my_mac = {2, 0, 0, 0, 10, 1}, your_mac = {2, 0, 0, 0, 11, 1};

TEST(Join, PutsBothDirectionsInOneRow) {
    const auto rows = join(std::vector{entry(ip_key(6, here, 40001, there, 5201), 1, 10, 1000),
                                       entry(ip_key(6, there, 5201, here, 40001, BT_KEY_RX), 2, 5, 300)});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(to_text(rows[0].key.local), here);
    EXPECT_EQ(to_text(rows[0].key.remote), there);
    EXPECT_EQ(std::get<Ports>(rows[0].key.detail), (Ports{40001, 5201}));
    ASSERT_EQ(rows[0].tx.size(), 1U);
    ASSERT_EQ(rows[0].rx.size(), 1U);
    EXPECT_EQ(rows[0].tx[0].slave_ifindex, 1);
    EXPECT_EQ(rows[0].rx[0].slave_ifindex, 2);
    EXPECT_EQ(rows[0].tx_total(), (Counts{10, 1000, 10, 1000}));
    EXPECT_EQ(rows[0].rx_total(), (Counts{5, 300, 5, 300}));
}

TEST(Join, AddsWhatSegmentationAdds) {
    FlowEntry one = entry(ip_key(6, here, 1, there, 2), 1, 23, 301518);
    one.value.count.added_packets = 185;
    one.value.count.added_bytes = 12210;
    const auto rows = join(std::vector{one});
    EXPECT_EQ(rows.at(0).tx_total(), (Counts{23, 301518, 208, 313728}));
}

TEST(Join, KeepsApartWhatDiffers) {
    bt_flow_key base = ip_key(17, here, 1000, there, 2000);
    bt_flow_key vlan = base, inner = base, port = base, fragment = base, protocol = base;
    vlan.vlan = BT_VLAN_PRESENT | 100;
    inner.vlan = BT_VLAN_PRESENT | 100;
    inner.inner_vlan = BT_VLAN_PRESENT | 7;
    port.src_port = htons(1001);
    fragment.flags = BT_KEY_FRAGMENT;
    protocol.protocol = 6;
    std::vector<FlowEntry> entries;
    for (const bt_flow_key& key : {base, vlan, inner, port, fragment, protocol})
        entries.push_back(entry(key, 1));
    entries.push_back(entry(base, 1));
    entries.back().bond = 1;
    const auto rows = join(entries);
    ASSERT_EQ(rows.size(), 7U);
    EXPECT_EQ(rows[0].key.vlan, std::nullopt);
    EXPECT_EQ(rows[1].key.vlan, 100);
    EXPECT_EQ(rows[2].key.inner_vlan, 7);
    EXPECT_TRUE(rows[4].key.fragment);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(rows[4].key.detail));
    EXPECT_EQ(rows[6].bond, 1U);
}

TEST(Join, TellsVlanZeroFromNoVlan) {
    bt_flow_key key = ip_key(17, here, 1, there, 2);
    key.vlan = BT_VLAN_PRESENT; // a priority tag
    EXPECT_EQ(join(std::vector{entry(key, 1)}).at(0).key.vlan, 0);
}

// How the tag travelled and extension headers are not part of who talks to whom.
TEST(Join, AddsUpEntriesOfOneSlave) {
    bt_flow_key plain = ip_key(17, "fd77::1", 1, "fd77::2", 2), extended = plain;
    extended.flags = BT_KEY_EXTHDR;
    const auto rows = join(std::vector{entry(plain, 1, 1, 100, 50, 60), entry(extended, 1, 2, 300, 40, 55)});
    ASSERT_EQ(rows.size(), 1U);
    ASSERT_EQ(rows[0].tx.size(), 1U);
    EXPECT_EQ(rows[0].tx[0].counts, (Counts{3, 400, 3, 400}));
    EXPECT_EQ(rows[0].tx[0].first_ns, 40U);
    EXPECT_EQ(rows[0].tx[0].last_ns, 60U);
}

struct IcmpPair {
    std::uint8_t protocol;
    const char *local, *remote;
    std::uint8_t asked, answered;
};

// Request and reply types: RFC 792 (echo, timestamp) and RFC 4443 (echo).
TEST(Join, PairsIcmpRequestAndReply) {
    for (const IcmpPair& pair :
         {IcmpPair{1, here, there, 8, 0}, IcmpPair{1, here, there, 0, 8}, IcmpPair{1, here, there, 13, 14},
          IcmpPair{1, here, there, 14, 13}, IcmpPair{58, "fd77::1", "fd77::2", 128, 129},
          IcmpPair{58, "fd77::1", "fd77::2", 129, 128}}) {
        const auto rows = join(std::vector{
            entry(icmp_key(pair.protocol, pair.local, pair.remote, pair.asked, 0, 4711), 1),
            entry(icmp_key(pair.protocol, pair.remote, pair.local, pair.answered, 0, 4711, BT_KEY_RX), 2)});
        ASSERT_EQ(rows.size(), 1U) << int(pair.asked);
        EXPECT_EQ(std::get<IcmpMessage>(rows[0].key.detail), (IcmpMessage{pair.asked, 0, 4711}));
    }
}

TEST(Join, LeavesOtherIcmpMessagesAsTheyAre) {
    const auto rows = join(std::vector{entry(icmp_key(1, there, here, 3, 1, 0, BT_KEY_RX), 1),
                                       entry(icmp_key(58, "fe80::1", "ff02::1", 135, 0, 0), 1)});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(std::get<IcmpMessage>(rows[0].key.detail), (IcmpMessage{3, 1, std::nullopt}));
    EXPECT_EQ(std::get<IcmpMessage>(rows[1].key.detail), (IcmpMessage{135, 0, std::nullopt}));
}

TEST(Join, KeepsTheSpi) {
    const auto rows = join(std::vector{entry(ip_key(50, here, 0x1122, there, 0x3344), 1),
                                       entry(ip_key(51, there, 0x1122, here, 0x3344, BT_KEY_RX), 1)});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(std::get<Spi>(rows[0].key.detail).value, 0x11223344U);
    EXPECT_EQ(std::get<Spi>(rows[1].key.detail).value, 0x11223344U);
    EXPECT_EQ(to_text(rows[1].key.local), here);
}

TEST(Join, KeepsMacAddressesOfWhatIsNotIp) {
    const auto rows = join(std::vector{entry(mac_key(0x0806, my_mac, your_mac), 1),
                                       entry(mac_key(0x0806, your_mac, my_mac, BT_KEY_RX), 2)});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_FALSE(rows[0].key.ip);
    EXPECT_EQ(rows[0].key.local, Host(my_mac));
    EXPECT_EQ(rows[0].key.remote, Host(your_mac));
}

// A header that was not understood leaves MAC addresses and no protocol; one that was cut behind the
// addresses leaves those.
TEST(Join, UnderstandsUnparsedPackets) {
    const auto rows =
        join(std::vector{entry(mac_key(0x0800, my_mac, your_mac, BT_KEY_UNPARSED), 1),
                         entry(ip_key(6, here, 0, there, 0, BT_KEY_UNPARSED), 1),
                         entry(ip_key(0, "fd77::1", 0, "fd77::2", 0, BT_KEY_UNPARSED | BT_KEY_EXTHDR), 1)});
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].key.local, Host(my_mac));
    EXPECT_EQ(to_text(rows[1].key.local), here);
    EXPECT_EQ(to_text(rows[2].key.remote), "fd77::2");
    for (const Conversation& row : rows) {
        EXPECT_TRUE(row.key.unparsed);
        EXPECT_TRUE(std::holds_alternative<std::monostate>(row.key.detail));
    }
}

TEST(Join, KeepsInactiveReceptionApart) {
    const bt_flow_key key = ip_key(17, there, 1, here, 2, BT_KEY_RX);
    bt_flow_key inactive = key, passed = key;
    inactive.flags |= BT_KEY_INACTIVE;
    passed.flags |= BT_KEY_PASSED;
    const auto rows = join(std::vector{entry(key, 1, 5, 500, 10, 90), entry(inactive, 2, 6, 600, 0, 50),
                                       entry(passed, 1, 7, 700, 20, 30)});
    ASSERT_EQ(rows.size(), 1U);
    ASSERT_EQ(rows[0].rx.size(), 3U); // by first use
    EXPECT_EQ(rows[0].rx[0].slave_ifindex, 2);
    EXPECT_TRUE(rows[0].rx[0].inactive);
    EXPECT_EQ(rows[0].rx[1].slave_ifindex, 1);
    EXPECT_FALSE(rows[0].rx[1].inactive);
    EXPECT_TRUE(rows[0].rx[2].inactive);
    EXPECT_EQ(rows[0].rx[2].counts.packets, 7U);
}

TEST(Join, KeepsWhatTheHashIsMadeOf) {
    FlowEntry sent = entry(ip_key(6, here, 1, there, 2), 1);
    std::copy(my_mac.begin(), my_mac.end(), sent.value.src_mac);
    std::copy(your_mac.begin(), your_mac.end(), sent.value.dst_mac);
    sent.value.tci = 0x6064;
    sent.value.outer_ethertype = 0x0800;
    sent.value.skb_hash = 0xdeadbeef;
    sent.value.usable_index = 1;
    sent.value.usable_count = 2;
    sent.value.hash_flags = BT_HASH_L4 | BT_HASH_USABLE | BT_HASH_NOTED | BT_HASH_HAS_ACTIVE;
    sent.value.protocol = 0x8100;
    sent.value.mode = 4;   // BOND_MODE_8023AD
    sent.value.policy = 1; // BOND_XMIT_POLICY_LAYER34
    sent.key.flags = BT_KEY_EXTHDR;
    FlowEntry received = entry(ip_key(6, there, 2, here, 1, BT_KEY_RX), 1);
    std::copy(your_mac.begin(), your_mac.end(), received.value.src_mac);
    std::copy(my_mac.begin(), my_mac.end(), received.value.dst_mac);
    const auto rows = join(std::vector{sent, received});
    const FrameOrigin& origin = rows.at(0).tx.at(0).origin;
    EXPECT_EQ(origin.local_mac, my_mac);
    EXPECT_EQ(origin.remote_mac, your_mac);
    EXPECT_EQ(origin.tci, 0x6064);
    EXPECT_EQ(origin.outer_ethertype, 0x0800);
    EXPECT_EQ(origin.skb_hash, 0xdeadbeef);
    EXPECT_TRUE(origin.l4_hash);
    EXPECT_EQ(origin.usable_index, 1);
    EXPECT_EQ(origin.usable_count, 2);
    EXPECT_EQ(origin.protocol, 0x8100);
    EXPECT_TRUE(origin.extension_headers);
    EXPECT_FALSE(origin.offloaded);
    ASSERT_TRUE(origin.bond);
    EXPECT_EQ(origin.bond->mode, BondMode::lacp);
    EXPECT_EQ(origin.bond->policy, HashPolicy::layer34);
    EXPECT_FALSE(origin.bond->tlb_dynamic_lb);
    EXPECT_EQ(origin.bond->active_slave, false);
    EXPECT_EQ(rows[0].rx.at(0).origin.local_mac, my_mac);
    EXPECT_EQ(rows[0].rx[0].origin.remote_mac, your_mac);
    EXPECT_EQ(rows[0].rx[0].origin.usable_count, std::nullopt);
    EXPECT_FALSE(rows[0].rx[0].origin.bond);
    // A mode or policy of the future is not taken for one of today.
    sent.value.policy = 6;
    EXPECT_FALSE(join(std::vector{sent}).at(0).tx.at(0).origin.bond);
}

// Keys of small ranges, so that many collide and merge; flags and protocols as they come.
FlowEntry random_entry(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t n) { return random() % n; };
    constexpr std::uint8_t protocols[] = {0, 1, 6, 17, 47, 50, 51, 58, 132, 255};
    constexpr std::uint16_t ethertypes[] = {0x0800, 0x86dd, 0x0806, 0x0026, 0};
    FlowEntry result{};
    result.key.ethertype = ethertypes[below(5)];
    result.key.protocol = protocols[below(10)];
    result.key.flags = static_cast<std::uint8_t>(below(128));
    result.key.src[0] = static_cast<std::uint8_t>(below(3));
    result.key.dst[5] = static_cast<std::uint8_t>(below(3));
    result.key.dst[15] = static_cast<std::uint8_t>(below(2));
    result.key.src_port = static_cast<std::uint16_t>(below(3) * 0x0100);
    result.key.dst_port = static_cast<std::uint16_t>(below(4) * 0x0108);
    result.key.vlan = below(2) ? static_cast<std::uint16_t>(BT_VLAN_PRESENT | below(3)) : 0;
    result.key.inner_vlan = static_cast<std::uint16_t>(below(4) == 0 ? BT_VLAN_PRESENT | 5 : 0);
    result.value.count = {below(1000), below(100000), below(10), below(1000)};
    result.value.first_ns = below(1000);
    result.value.last_ns = result.value.first_ns + below(1000);
    result.bond = below(2);
    result.slave_ifindex = static_cast<int>(1 + below(4));
    return result;
}

using SlaveKey = std::tuple<std::size_t, int, bool, bool>; // bond, slave, received, inactive

TEST(Join, LosesAndInventsNothing) {
    std::mt19937_64 random(20240607);
    for (int round = 0; round < 50; ++round) {
        std::vector<FlowEntry> entries(1 + random() % 400);
        std::generate(entries.begin(), entries.end(), [&] { return random_entry(random); });
        std::map<SlaveKey, Counts> put_in, came_out;
        for (const FlowEntry& one : entries) {
            const bt_count& count = one.value.count;
            const bool received = one.key.flags & BT_KEY_RX;
            const bool inactive = received && (one.key.flags & (BT_KEY_INACTIVE | BT_KEY_PASSED));
            put_in[{one.bond, one.slave_ifindex, received, inactive}] +=
                Counts{count.packets, count.bytes, count.packets + count.added_packets,
                       count.bytes + count.added_bytes};
        }
        std::set<std::pair<std::size_t, ConversationKey>> keys;
        for (const Conversation& row : join(entries)) {
            EXPECT_TRUE(keys.insert({row.bond, row.key}).second) << "two rows of one identity";
            EXPECT_FALSE(row.tx.empty() && row.rx.empty());
            for (const SlaveUse& use : row.tx)
                came_out[{row.bond, use.slave_ifindex, false, use.inactive}] += use.counts;
            for (const SlaveUse& use : row.rx)
                came_out[{row.bond, use.slave_ifindex, true, use.inactive}] += use.counts;
        }
        ASSERT_EQ(put_in, came_out);
    }
}

// What a recording is made of and read from.
TEST(EntryOf, IsTheOtherWayRound) {
    std::mt19937_64 random(20250612);
    for (int round = 0; round < 20000; ++round) {
        const FlowEntry one = random_entry(random);
        const Conversation row = conversation_of(one);
        const bool received = one.key.flags & BT_KEY_RX;
        const SlaveUse& use = (received ? row.rx : row.tx).front();
        const FlowEntry again = entry_of(row, use, received, one.key.slot);
        const Conversation row_again = conversation_of(again);
        ASSERT_EQ(row_again.key, row.key);
        ASSERT_EQ(row_again.bond, row.bond);
        const std::vector<SlaveUse>& uses = received ? row_again.rx : row_again.tx;
        ASSERT_EQ(uses.size(), 1U);
        ASSERT_EQ(uses[0].slave_ifindex, use.slave_ifindex);
        ASSERT_EQ(uses[0].counts, use.counts);
        ASSERT_EQ(uses[0].inactive, use.inactive);
        ASSERT_EQ(uses[0].first_ns, use.first_ns);
        ASSERT_EQ(uses[0].last_ns, use.last_ns);
        ASSERT_EQ(uses[0].origin.local_mac, use.origin.local_mac);
        ASSERT_EQ(uses[0].origin.remote_mac, use.origin.remote_mac);
        ASSERT_EQ(uses[0].origin.tci, use.origin.tci);
        ASSERT_EQ(uses[0].origin.extension_headers, use.origin.extension_headers);
        ASSERT_EQ(uses[0].origin.offloaded, use.origin.offloaded);
        ASSERT_EQ(uses[0].origin.bond.has_value(), use.origin.bond.has_value());
        ASSERT_EQ(uses[0].origin.usable_index, use.origin.usable_index);
        ASSERT_EQ(uses[0].origin.usable_count, use.origin.usable_count);
    }
}

TEST(Join, TakesNothing) {
    EXPECT_TRUE(join({}).empty());
}

} // namespace
} // namespace bondtrace
