// SPDX-License-Identifier: GPL-2.0-or-later
// The lab's topology as the reader sees it.
#include "tests/kernel/support/lab.h"
#include "user/bond/netlink_reader.h"

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

TEST(LabInKernel, BothEndsCarryOnSlavesInTheOrderAskedFor) {
    {
        const test::Lab lab("direct --slaves 3 --order s2,s0,s1 --policy layer2+3");
        for (const char* end : {"bt-a", "bt-b"}) {
            const auto netns = NetNs::open(end);
            ASSERT_TRUE(netns) << netns.error().what;
            const auto reader = LinkReader::open(*netns);
            ASSERT_TRUE(reader) << reader.error().what;
            const auto bonds = reader->find_bonds({"bond0"});
            ASSERT_TRUE(bonds) << bonds.error().what;
            const Bond& bond = bonds->front();
            EXPECT_EQ(bond.mode, BondMode::lacp);
            EXPECT_EQ(bond.policy, HashPolicy::layer23);
            EXPECT_TRUE(bond.carrier);
            ASSERT_EQ(bond.slaves.size(), 3U);
            const char side = end[3] == 'a' ? 's' : 'p';
            for (const auto& [position, number] : {std::pair{0U, '2'}, {1U, '0'}, {2U, '1'}}) {
                const Slave& slave = bond.slaves[position];
                EXPECT_EQ(slave.name, (std::string{side, number}));
                EXPECT_EQ(slave.actor_port_state.value_or(0) & lacp_state::carrying, lacp_state::carrying);
                EXPECT_FALSE(slave.backup);
            }
        }
    }
    EXPECT_FALSE(NetNs::open("bt-a"));
}

} // namespace
} // namespace bondtrace
