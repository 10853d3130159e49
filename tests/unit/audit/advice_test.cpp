// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/advice.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bondtrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string command(const std::vector<Fix>& fixes, std::string_view where) {
    const auto fix =
        std::find_if(fixes.begin(), fixes.end(), [&](const Fix& one) { return one.where == where; });
    return fix == fixes.end() ? "" : fix->command;
}

std::vector<std::string> places(const std::vector<Fix>& fixes) {
    std::vector<std::string> result;
    for (const Fix& fix : fixes)
        result.push_back(fix.where);
    return result;
}

Bond bond() {
    Bond result;
    result.name = "bond0";
    for (const char* name : {"eth0", "eth1"}) {
        result.slaves.emplace_back();
        result.slaves.back().name = name;
    }
    return result;
}

TEST(Advice, EveryManagerOfTheHost) {
    const auto fixes = host_fixes(bond(), BondOption::hash_policy, "layer3+4");
    EXPECT_THAT(places(fixes), ElementsAre("iproute2", "nmcli", "netplan", "ifupdown", "systemd-networkd"));
    EXPECT_EQ(command(fixes, "iproute2"), "ip link set dev bond0 type bond xmit_hash_policy layer3+4");
    EXPECT_THAT(command(fixes, "nmcli"), HasSubstr("+bond.options xmit_hash_policy=layer3+4"));
    EXPECT_THAT(command(fixes, "netplan"), HasSubstr("        transmit-hash-policy: layer3+4"));
    EXPECT_THAT(command(fixes, "ifupdown"), HasSubstr("bond-xmit-hash-policy layer3+4"));
    EXPECT_THAT(command(fixes, "systemd-networkd"), HasSubstr("[Bond]\nTransmitHashPolicy=layer3+4"));
}

TEST(Advice, UnitsAndNamesDiffer) {
    const auto miimon = host_fixes(bond(), BondOption::miimon, "100");
    EXPECT_THAT(command(miimon, "netplan"), HasSubstr("mii-monitor-interval: 100"));
    EXPECT_THAT(command(miimon, "systemd-networkd"), HasSubstr("MIIMonitorSec=100ms"));
    EXPECT_THAT(command(host_fixes(bond(), BondOption::min_links, "1"), "systemd-networkd"),
                HasSubstr("MinLinks=1"));
    EXPECT_THAT(command(host_fixes(bond(), BondOption::lacp_rate, "fast"), "systemd-networkd"),
                HasSubstr("LACPTransmitRate=fast"));
}

// The driver takes a mode without slaves, and a LACP rate when down, only.
TEST(Advice, WhatInterruptsSaysSo) {
    EXPECT_EQ(command(host_fixes(bond(), BondOption::mode, "802.3ad"), "iproute2"),
              "# interrupts the bond's traffic\nip link set dev bond0 down\nip link set dev eth0 nomaster\n"
              "ip link set dev eth1 nomaster\nip link set dev bond0 type bond mode 802.3ad\n"
              "ip link set dev eth0 down\nip link set dev eth0 master bond0\n"
              "ip link set dev eth1 down\nip link set dev eth1 master bond0\nip link set dev bond0 up");
    EXPECT_EQ(command(host_fixes(bond(), BondOption::lacp_rate, "fast"), "iproute2"),
              "# interrupts the bond's traffic\nip link set dev bond0 down\n"
              "ip link set dev bond0 type bond lacp_rate fast\nip link set dev bond0 up");
}

TEST(Advice, ABondWithoutNameIsAPlaceholder) {
    Bond unnamed = bond();
    unnamed.name = "unnamed";
    unnamed.unknown.name = true;
    EXPECT_EQ(command(host_fixes(unnamed, BondOption::min_links, "1"), "iproute2"),
              "ip link set dev BOND type bond min_links 1");
}

TEST(Advice, EverySwitchForEveryChange) {
    for (const SwitchChange change :
         {SwitchChange::lacp, SwitchChange::same_lag, SwitchChange::static_lag, SwitchChange::no_lag,
          SwitchChange::hash_layer4, SwitchChange::lacp_fast, SwitchChange::lacp_slow}) {
        const auto fixes = switch_fixes(change);
        EXPECT_THAT(places(fixes), ElementsAre("switch (any)", "Cisco", "Juniper", "Huawei", "Arista",
                                               "NVIDIA Onyx", "NVIDIA Cumulus"));
        for (const Fix& fix : fixes)
            EXPECT_FALSE(fix.command.empty());
    }
    EXPECT_THAT(command(switch_fixes(SwitchChange::lacp), "Cisco"), HasSubstr("channel-group 1 mode active"));
    EXPECT_THAT(command(switch_fixes(SwitchChange::static_lag), "Cisco"),
                HasSubstr("channel-group 1 mode on"));
    EXPECT_THAT(command(switch_fixes(SwitchChange::hash_layer4), "Cisco"), HasSubstr("src-dst ip-l4port"));
}

TEST(Advice, TheManagersWayComesSecondAndTheOthersAreMarked) {
    Bond bond;
    bond.name = "bond0";
    bond.manager = Manager::ifupdown;
    const auto fixes = host_fixes(bond, BondOption::hash_policy, "layer3+4");
    ASSERT_EQ(fixes.size(), 5U);
    EXPECT_EQ(fixes[0].where, "iproute2");
    EXPECT_FALSE(fixes[0].other_manager);
    EXPECT_EQ(fixes[1].where, "ifupdown");
    EXPECT_FALSE(fixes[1].other_manager);
    for (std::size_t i = 2; i < fixes.size(); ++i)
        EXPECT_TRUE(fixes[i].other_manager) << fixes[i].where;
    bond.manager.reset();
    for (const Fix& fix : host_fixes(bond, BondOption::hash_policy, "layer3+4"))
        EXPECT_FALSE(fix.other_manager) << fix.where;
}

} // namespace
} // namespace bondtrace
