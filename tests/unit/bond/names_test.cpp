// SPDX-License-Identifier: GPL-2.0-or-later
// The words and numbers are those of the kernel's documentation (Documentation/networking/bonding.rst).
#include "user/bond/model.h"

#include <utility>

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

TEST(Names, ModesAndPoliciesAreTheKernels) {
    constexpr std::pair<int, const char*> modes[] = {
        {0, "balance-rr"}, {1, "active-backup"}, {2, "balance-xor"}, {3, "broadcast"},
        {4, "802.3ad"},    {5, "balance-tlb"},   {6, "balance-alb"}};
    for (const auto& [number, word] : modes) {
        EXPECT_EQ(to_text(static_cast<BondMode>(number)), word);
        EXPECT_EQ(parse_bond_mode(word), static_cast<BondMode>(number));
    }
    constexpr std::pair<int, const char*> policies[] = {{0, "layer2"},   {1, "layer3+4"}, {2, "layer2+3"},
                                                        {3, "encap2+3"}, {4, "encap3+4"}, {5, "vlan+srcmac"}};
    for (const auto& [number, word] : policies) {
        EXPECT_EQ(to_text(static_cast<HashPolicy>(number)), word);
        EXPECT_EQ(parse_hash_policy(word), static_cast<HashPolicy>(number));
    }
    constexpr std::pair<int, const char*> states[] = {
        {0, "up"}, {1, "going down"}, {2, "down"}, {3, "going back"}};
    for (const auto& [number, word] : states)
        EXPECT_EQ(to_text(static_cast<MiiStatus>(number)), word);
}

TEST(Names, OtherWordsAreNone) {
    for (const char* word : {"", "lacp", "4", "802.3AD", "balance-rr ", "layer3+4 1"}) {
        EXPECT_FALSE(parse_bond_mode(word)) << word;
        EXPECT_FALSE(parse_hash_policy(word)) << word;
    }
    EXPECT_EQ(to_text(static_cast<BondMode>(7)), "unknown");
    EXPECT_EQ(to_text(static_cast<HashPolicy>(200)), "unknown");
    EXPECT_EQ(to_text(static_cast<MiiStatus>(4)), "unknown");
}

TEST(Bond, FindsItsSlavesByIfindex) {
    Bond bond;
    bond.slaves.resize(2);
    bond.slaves[0].ifindex = 9;
    bond.slaves[1].ifindex = 4;
    EXPECT_EQ(bond.find_slave(4), &bond.slaves[1]);
    EXPECT_EQ(bond.find_slave(9), &bond.slaves[0]);
    EXPECT_EQ(bond.find_slave(0), nullptr);
}

// IEEE 802.1AX, and the values that people meet.
TEST(Names, PortStates) {
    EXPECT_EQ(describe_port_state(61), "active, aggregatable, in sync, collecting, distributing");
    EXPECT_EQ(describe_port_state(63),
              "active, short timeout, aggregatable, in sync, collecting, distributing");
    EXPECT_EQ(describe_port_state(77), "active, aggregatable, in sync, defaulted");
    EXPECT_EQ(describe_port_state(69), "active, aggregatable, defaulted");
    EXPECT_EQ(describe_port_state(7), "active, short timeout, aggregatable");
    EXPECT_EQ(describe_port_state(128), "expired");
    EXPECT_EQ(describe_port_state(0), "none");
}

} // namespace
} // namespace bondtrace
