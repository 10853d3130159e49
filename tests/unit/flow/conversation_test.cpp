// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/flow/flow_builder.h"
#include "user/flow/protocols.h"

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

using test::use;

unsigned moves_of(std::vector<SlaveUse> tx) {
    Conversation conversation;
    conversation.tx = std::move(tx);
    return conversation.moves();
}

TEST(Moves, CountsSlavesOneAfterTheOther) {
    EXPECT_EQ(moves_of({}), 0U);
    EXPECT_EQ(moves_of({use(1, 0, 100)}), 0U);
    EXPECT_EQ(moves_of({use(1, 0, 100), use(2, 104, 200)}), 1U);
    EXPECT_EQ(moves_of({use(3, 204, 300), use(1, 0, 100), use(2, 104, 200)}), 2U);
}

// The coarse clock stands still for milliseconds: both uses carry the time at which a busy flow moved.
TEST(Moves, CountsAMoveWithinOneTick) {
    EXPECT_EQ(moves_of({use(1, 0, 100), use(2, 100, 200)}), 1U);
    EXPECT_EQ(moves_of({use(1, 0, 100), use(2, 100, 100)}), 1U);
}

TEST(Moves, IsZeroForSprayedPackets) {
    EXPECT_EQ(moves_of({use(1, 0, 200), use(2, 0, 200)}), 0U);
    EXPECT_EQ(moves_of({use(1, 0, 100), use(2, 100, 200), use(3, 150, 250)}), 0U);
    EXPECT_EQ(moves_of({use(1, 0, 300), use(2, 100, 200)}), 0U);
    EXPECT_EQ(moves_of({use(1, 100, 100), use(2, 100, 100)}), 0U); // broadcast of a single packet
}

TEST(Moves, TellsSprayedFromSingle) {
    Conversation conversation;
    EXPECT_FALSE(conversation.sprayed());
    conversation.tx = {use(1, 0, 200), use(2, 0, 200)};
    EXPECT_TRUE(conversation.sprayed());
    conversation.tx = {use(1, 0, 100), use(2, 104, 200)};
    EXPECT_FALSE(conversation.sprayed());
}

TEST(Counts, AddAndSubtract) {
    Counts sum{1, 100, 2, 154};
    sum += {10, 1000, 10, 1000};
    EXPECT_EQ(sum, (Counts{11, 1100, 12, 1154}));
    EXPECT_EQ(sum - (Counts{10, 1000, 10, 1000}), (Counts{1, 100, 2, 154}));
}

std::string ip_name(std::uint8_t protocol) {
    ConversationKey key;
    key.ip = true;
    key.protocol = protocol;
    return protocol_name(key);
}
std::string other_name(std::uint16_t ethertype) {
    ConversationKey key;
    key.ethertype = ethertype;
    return protocol_name(key);
}

// Numbers: IANA protocol numbers; IEEE EtherTypes.
TEST(ProtocolName, KnowsTheUsualOnes) {
    EXPECT_EQ(ip_name(6), "tcp");
    EXPECT_EQ(ip_name(17), "udp");
    EXPECT_EQ(ip_name(1), "icmp");
    EXPECT_EQ(ip_name(58), "icmp6");
    EXPECT_EQ(ip_name(132), "sctp");
    EXPECT_EQ(ip_name(50), "esp");
    EXPECT_EQ(ip_name(89), "ip-89");
    EXPECT_EQ(other_name(0x0806), "arp");
    EXPECT_EQ(other_name(0x88cc), "lldp");
    EXPECT_EQ(other_name(0x8809), "lacp");
    EXPECT_EQ(other_name(0x88f7), "0x88f7");
    EXPECT_EQ(other_name(0x0026), "llc"); // spanning tree: an 802.3 length
    EXPECT_EQ(other_name(0), "0x0000");
}

TEST(ProtocolByName, InvertsTheNames) {
    for (unsigned number = 0; number < 256; ++number) {
        const auto protocol = static_cast<std::uint8_t>(number);
        EXPECT_EQ(protocol_by_name(ip_protocol_name(protocol)), (ProtocolId{protocol, {}}));
    }
    EXPECT_EQ(protocol_by_name("arp"), (ProtocolId{{}, 0x0806}));
    EXPECT_EQ(protocol_by_name("ip-256"), std::nullopt);
    EXPECT_EQ(protocol_by_name("ip-"), std::nullopt);
    EXPECT_EQ(protocol_by_name("TCP"), std::nullopt);
}

TEST(HostText, IsCanonical) {
    EXPECT_EQ(to_text(Host(*parse_ip("FD77:0:0:0:0:0:0:1"))), "fd77::1");
    EXPECT_EQ(to_text(Host(MacAddress{2, 0, 0, 0, 10, 1})), "02:00:00:00:0a:01");
}

// Tables hold hundreds of thousands: whoever makes them larger should know it.
TEST(Conversation, IsSmall) {
    EXPECT_LE(sizeof(SlaveUse), 96U);
    EXPECT_LE(sizeof(Conversation), 136U);
}

} // namespace
} // namespace bondtrace
