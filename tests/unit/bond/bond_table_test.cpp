// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/bond_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bondtrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Link plain(int ifindex, std::string name, std::string kind = "", int master = 0, int parent = 0) {
    Link link;
    link.ifindex = ifindex;
    link.name = std::move(name);
    link.kind = std::move(kind);
    link.master = master;
    link.parent = parent;
    link.counters.emplace();
    return link;
}

Link bond(int ifindex, std::string name) {
    Link link = plain(ifindex, std::move(name), "bond");
    link.bond.emplace();
    link.bond->ifindex = ifindex;
    link.bond->name = link.name;
    return link;
}

Link slave(int ifindex, std::string name, int master) {
    Link link = plain(ifindex, std::move(name), "veth", master);
    link.slave.emplace();
    link.slave->ifindex = ifindex;
    link.slave->name = link.name;
    return link;
}

NetnsSnapshot snapshot(std::vector<Link> links) {
    NetnsSnapshot result;
    result.netns = 4026531840;
    result.description = "network namespace left";
    result.links = std::move(links);
    result.driver_loaded = true;
    return result;
}

// What /proc lists, with the speeds it gives.
Bond listed(std::vector<std::pair<std::string, std::optional<std::uint32_t>>> slaves) {
    Bond result;
    for (auto& [name, speed] : slaves) {
        result.slaves.emplace_back();
        result.slaves.back().name = std::move(name);
        result.slaves.back().speed_mbps = speed;
    }
    return result;
}

std::vector<std::string> names(const std::vector<Slave>& slaves) {
    std::vector<std::string> result;
    for (const Slave& slave : slaves)
        result.push_back(slave.name);
    return result;
}

TEST(AssembleBonds, SlavesComeInEnslaveOrder) {
    auto input = snapshot({bond(20, "bond0"), slave(3, "a", 20), slave(4, "b", 20), slave(5, "c", 20),
                           slave(21, "d", 20), slave(22, "e", 20), slave(6, "other", 30), plain(7, "eth9")});
    input.proc["bond0"] =
        listed({{"d", 1000}, {"b", std::nullopt}, {"e", 10000}, {"a", 10000}, {"c", 10000}});
    EXPECT_TRUE(is_consistent(input));
    const auto bonds = assemble_bonds(input);
    ASSERT_TRUE(bonds) << bonds.error().what;
    ASSERT_EQ(bonds->size(), 1U);
    const Bond& only = bonds->front();
    EXPECT_EQ(only.netns, 4026531840U);
    EXPECT_THAT(names(only.slaves), ElementsAre("d", "b", "e", "a", "c"));
    EXPECT_TRUE(only.order_known);
    EXPECT_EQ(only.slaves[0].speed_mbps, 1000U);
    EXPECT_FALSE(only.slaves[1].speed_mbps);
    EXPECT_THAT(only.missing_slaves, IsEmpty());
}

TEST(AssembleBonds, SlavesThatProcDoesNotListFollowByIfindex) {
    auto input = snapshot({slave(9, "late", 20), slave(4, "b", 20), bond(20, "bond0"), slave(3, "a", 20)});
    input.proc["bond0"] = listed({{"b", 10000}, {"gone", 10000}});
    EXPECT_FALSE(is_consistent(input));
    const auto bonds = assemble_bonds(input);
    ASSERT_TRUE(bonds);
    EXPECT_THAT(names(bonds->front().slaves), ElementsAre("b", "a", "late"));
    EXPECT_FALSE(bonds->front().order_known);
    EXPECT_THAT(bonds->front().missing_slaves, ElementsAre("gone"));
}

TEST(AssembleBonds, WithoutProcTheOrderIsNotKnown) {
    const auto two = assemble_bonds(snapshot({bond(20, "bond0"), slave(4, "b", 20), slave(3, "a", 20)}));
    ASSERT_TRUE(two);
    EXPECT_THAT(names(two->front().slaves), ElementsAre("a", "b"));
    EXPECT_FALSE(two->front().order_known);
    EXPECT_TRUE(assemble_bonds(snapshot({bond(20, "bond0"), slave(4, "b", 20)}))->front().order_known);
    EXPECT_TRUE(assemble_bonds(snapshot({bond(20, "bond0")}))->front().order_known);
}

TEST(AssembleBonds, WhatStandsOnTheBond) {
    auto bridged = bond(20, "bond0");
    bridged.master = 30;
    bridged.bond->active_slave = 4;
    const auto bonds = assemble_bonds(snapshot(
        {bridged, slave(4, "b", 20), plain(21, "bond0.5", "vlan", 0, 20), plain(22, "mv0", "macvlan", 0, 20),
         plain(30, "br0", "bridge"), plain(31, "tap0", "tun", 30), plain(32, "tap1", "tun", 30)}));
    ASSERT_TRUE(bonds);
    const auto& uppers = bonds->front().uppers;
    ASSERT_EQ(uppers.size(), 3U);
    EXPECT_EQ(uppers[0].name + " " + uppers[0].kind, "bond0.5 vlan");
    EXPECT_EQ(uppers[1].name + " " + uppers[1].kind, "mv0 macvlan");
    EXPECT_EQ(uppers[2].name + " " + uppers[2].kind, "br0 bridge");
    EXPECT_EQ(uppers[2].other_ports, 2U);
    EXPECT_EQ(bonds->front().active_name, "b");
}

TEST(AssembleBonds, OneStrangeBondDoesNotHideTheOthers) {
    auto strange = bond(21, "bond1");
    strange.bond.reset();
    strange.problem = "its mode has the number 7, which this version does not know";
    const auto input = snapshot({bond(20, "bond0"), strange});
    const auto all = select_bonds(input, {});
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().kind, ErrorKind::unavailable);
    EXPECT_EQ(all.error().what,
              "bond1 cannot be described: its mode has the number 7, which this version does not know");
    EXPECT_TRUE(select_bonds(input, {"bond0"}));
    EXPECT_FALSE(select_bonds(input, {"bond1"}));
}

TEST(AssembleBonds, CountersThatAreMissingAreNotZero) {
    auto input = snapshot({bond(20, "bond0"), slave(4, "b", 20)});
    input.links[1].counters.reset();
    const auto bonds = assemble_bonds(input);
    ASSERT_FALSE(bonds);
    EXPECT_THAT(bonds.error().what, HasSubstr("no counters of its slave b"));
}

TEST(SelectBonds, InTheOrderAskedForAndOnce) {
    const auto input = snapshot({bond(20, "bond0"), bond(21, "bond1"), bond(22, "bond2")});
    const auto chosen = select_bonds(input, {"bond2", "bond0", "bond2"});
    ASSERT_TRUE(chosen);
    ASSERT_EQ(chosen->size(), 2U);
    EXPECT_EQ((*chosen)[0].name, "bond2");
    EXPECT_EQ((*chosen)[1].name, "bond0");
    EXPECT_EQ(select_bonds(input, {})->size(), 3U);
}

TEST(SelectBonds, ANameThatIsNotThere) {
    const auto result = select_bonds(snapshot({bond(20, "bond0"), bond(21, "bond1")}), {"bond0", "bond7"});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::usage);
    EXPECT_EQ(result.error().what, "no interface bond7 in network namespace left; bonds here: bond0, bond1");
}

TEST(SelectBonds, LongListsAreCut) {
    std::vector<Link> links;
    for (int i = 0; i < 25; ++i)
        links.push_back(bond(i + 1, "bond" + std::to_string(i)));
    EXPECT_THAT(select_bonds(snapshot(links), {"x"}).error().what,
                AllOf(HasSubstr("bond19 and 5 more"), Not(HasSubstr("bond20"))));
}

TEST(SelectBonds, AnInterfaceThatIsNoBondIsExplained) {
    const auto input = snapshot({bond(20, "bond0"), slave(3, "eth0", 20),
                                 plain(4, "bond0.100", "vlan", 0, 20), plain(5, "br0", "bridge"),
                                 plain(6, "eth5", "", 5), plain(7, "eth6"), plain(8, "team0", "team"),
                                 plain(9, "bond1", "openvswitch"), plain(10, "vlan9", "vlan", 0, 7)});
    const std::pair<const char*, const char*> expected[] = {
        {"eth0", "eth0 is not a bond (it is a slave of bond0)"},
        {"bond0.100", "bond0.100 is not a bond (it is a VLAN on bond0)"},
        {"br0", "br0 is not a bond (it is of kind bridge)"},
        {"eth5", "eth5 is not a bond (it is a port of br0)"},
        {"eth6", "eth6 is not a bond (it is an interface of its own)"},
        {"team0", "team0 is not a bond (it is a team device)"},
        {"bond1",
         "bond1 is not a bond (it is a port or bridge of Open vSwitch, whose bonds are not kernel bonds)"},
        {"vlan9", "vlan9 is not a bond (it is a VLAN on eth6)"}};
    for (const auto& [name, what] : expected) {
        const auto result = select_bonds(input, {name});
        ASSERT_FALSE(result) << name;
        EXPECT_EQ(result.error().kind, ErrorKind::usage);
        EXPECT_EQ(result.error().what, what);
    }
    EXPECT_EQ(select_bonds(input, {"eth0"}).error().advice, "name the bond: bond0");
    EXPECT_EQ(select_bonds(input, {"bond0.100"}).error().advice, "name the bond: bond0");
    EXPECT_EQ(select_bonds(input, {"eth6"}).error().advice, "bonds here: bond0");
    EXPECT_THAT(select_bonds(input, {"bond1"}).error().advice, HasSubstr("--links"));
}

// Case: a host whose "bond0" is Open vSwitch's, and on which the driver is not even loaded.
TEST(SelectBonds, AHostThatRunsNoKernelBond) {
    auto input = snapshot({plain(1, "lo"), plain(2, "ovs-system", "openvswitch"), plain(3, "eth0")});
    input.driver_loaded = false;
    const auto all = select_bonds(input, {});
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().kind, ErrorKind::unavailable);
    EXPECT_EQ(all.error().what, "no bond in network namespace left");
    EXPECT_THAT(all.error().advice, AllOf(HasSubstr("driver is not loaded (no /proc/net/bonding)"),
                                          HasSubstr("Open vSwitch"), HasSubstr("--links")));
    const auto named = select_bonds(input, {"bond0"});
    ASSERT_FALSE(named);
    EXPECT_EQ(named.error().kind, ErrorKind::usage);
    EXPECT_EQ(named.error().what, "no interface bond0 in network namespace left; there is no bond here");
    EXPECT_THAT(named.error().advice, HasSubstr("Open vSwitch"));
}

TEST(SelectBonds, ABridgeCalledBond0) {
    const auto all = select_bonds(snapshot({plain(2, "bond0", "bridge")}), {});
    ASSERT_FALSE(all);
    EXPECT_THAT(all.error().advice,
                AllOf(HasSubstr("bond0 is not a bond but of kind bridge"), Not(HasSubstr("not loaded"))));
}

TEST(SelectBonds, TheBondMayBeInAnotherNamespace) {
    auto input = snapshot({plain(1, "lo")});
    input.other_names = {"left", "right"};
    EXPECT_THAT(select_bonds(input, {}).error().advice, HasSubstr("--netns; named here: left, right"));
}

} // namespace
} // namespace bondtrace
