// SPDX-License-Identifier: GPL-2.0-or-later
// LinkReader on real bonds. The kernel's sysfs, which the reader does not use, says what is right.
#include "tests/kernel/support/namespace.h"
#include "user/bond/netlink_reader.h"

#include <atomic>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bondtrace {
namespace {

using test::Namespace;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LinkReader reader_in(const Namespace& space) {
    auto reader = LinkReader::open(space.open());
    EXPECT_TRUE(reader) << reader.error().what;
    return *reader;
}

Bond read(const LinkReader& reader, const std::string& name) {
    auto bonds = reader.find_bonds({name});
    EXPECT_TRUE(bonds) << bonds.error().what;
    return bonds && !bonds->empty() ? bonds->front() : Bond{};
}

std::string slave_names(const Bond& bond) {
    std::vector<std::string> names;
    for (const Slave& slave : bond.slaves)
        names.push_back(slave.name);
    return fmt::format("{}", fmt::join(names, " "));
}

// Two ends joined by `links` cables: a0…, in `left`, b0… in `right`, in this order of ifindex.
struct Cables {
    Namespace left{"left"}, right{"right"};

    explicit Cables(int links) {
        for (int i = 0; i < links; ++i)
            EXPECT_TRUE(
                left.ip(fmt::format("link add a{} type veth peer name b{} netns {}", i, i, right.name())));
    }

    // A bond at both ends with these options, its slaves in the given order.
    void bond(const std::string& options, const std::vector<int>& order) const {
        for (const auto& [space, letter] : {std::pair{&left, 'a'}, std::pair{&right, 'b'}}) {
            ASSERT_TRUE(space->ip("link add bond0 type bond " + options));
            for (const int i : order)
                ASSERT_TRUE(space->ip(fmt::format("link set {}{} master bond0", letter, i)));
            ASSERT_TRUE(space->ip("link set bond0 up"));
        }
    }
};

std::uint64_t number(const Namespace& space, const std::string& interface, const std::string& file) {
    return std::stoull(space.sys(interface, file));
}

// Everything sysfs tells, compared with `bond`.
void expect_as_sysfs(const Namespace& space, const Bond& bond) {
    const std::string& name = bond.name;
    EXPECT_EQ(bond.ifindex, static_cast<int>(number(space, name, "ifindex")));
    EXPECT_EQ(fmt::format("{} {}", to_text(bond.mode), static_cast<int>(bond.mode)),
              space.sys(name, "bonding/mode"));
    EXPECT_EQ(fmt::format("{} {}", to_text(bond.policy), static_cast<int>(bond.policy)),
              space.sys(name, "bonding/xmit_hash_policy"));
    EXPECT_EQ(to_text(bond.mac), space.sys(name, "address"));
    EXPECT_EQ(bond.carrier ? "1" : "0", space.sys(name, "carrier"));
    EXPECT_EQ(bond.miimon_ms, number(space, name, "bonding/miimon"));
    EXPECT_EQ(bond.arp_interval_ms, number(space, name, "bonding/arp_interval"));
    EXPECT_EQ(bond.min_links, number(space, name, "bonding/min_links"));
    EXPECT_EQ(bond.packets_per_slave, number(space, name, "bonding/packets_per_slave"));
    EXPECT_EQ(bond.all_slaves_active ? "1" : "0", space.sys(name, "bonding/all_slaves_active"));
    EXPECT_EQ(bond.tlb_dynamic_lb.value_or(false) ? "1" : "0", space.sys(name, "bonding/tlb_dynamic_lb"));
    EXPECT_EQ(bond.lacp_fast ? "fast 1" : "slow 0", space.sys(name, "bonding/lacp_rate"));
    EXPECT_EQ(slave_names(bond), space.sys(name, "bonding/slaves"));
    EXPECT_TRUE(bond.order_known);
    EXPECT_THAT(bond.missing_slaves, IsEmpty());
    const std::string active = space.sys(name, "bonding/active_slave");
    EXPECT_EQ(bond.active_slave ? bond.find_slave(*bond.active_slave)->name : "", active);
    for (const Slave& slave : bond.slaves) {
        SCOPED_TRACE(slave.name);
        EXPECT_EQ(slave.ifindex, static_cast<int>(number(space, slave.name, "ifindex")));
        EXPECT_EQ(slave.backup ? "backup" : "active", space.sys(slave.name, "bonding_slave/state"));
        EXPECT_EQ(to_text(slave.mii_status), space.sys(slave.name, "bonding_slave/mii_status"));
        EXPECT_EQ(slave.link_failures, number(space, slave.name, "bonding_slave/link_failure_count"));
        ASSERT_TRUE(slave.perm_mac);
        EXPECT_EQ(to_text(*slave.perm_mac), space.sys(slave.name, "bonding_slave/perm_hwaddr"));
        EXPECT_EQ(to_text(slave.mac), space.sys(slave.name, "address"));
        EXPECT_EQ(slave.queue_id, number(space, slave.name, "bonding_slave/queue_id"));
        EXPECT_EQ(std::to_string(slave.speed_mbps.value_or(0)), space.sys(slave.name, "speed"));
        EXPECT_EQ(slave.carrier ? "1" : "0", space.sys(slave.name, "carrier"));
        const auto text = [](const auto& value) {
            return value ? std::to_string(*value) : std::string("N/A");
        };
        EXPECT_EQ(text(slave.aggregator_id), space.sys(slave.name, "bonding_slave/ad_aggregator_id"));
        EXPECT_EQ(text(slave.actor_port_state),
                  space.sys(slave.name, "bonding_slave/ad_actor_oper_port_state"));
        EXPECT_EQ(text(slave.partner_port_state),
                  space.sys(slave.name, "bonding_slave/ad_partner_oper_port_state"));
    }
}

TEST(LinkReaderInKernel, EveryModeAsSysfsHasIt) {
    constexpr const char* options[] = {
        "mode balance-rr packets_per_slave 3 all_slaves_active 1",          "mode active-backup miimon 100",
        "mode balance-xor xmit_hash_policy layer2+3 miimon 50 min_links 1", "mode broadcast",
        "mode balance-tlb tlb_dynamic_lb 0 xmit_hash_policy encap3+4",      "mode balance-alb",
        "mode active-backup arp_interval 1000 arp_ip_target 192.0.2.1"};
    const Cables cables(2);
    for (const char* peer : {"b0", "b1"})
        ASSERT_TRUE(cables.right.ip(fmt::format("link set {} up", peer)));
    const LinkReader reader = reader_in(cables.left);
    for (const char* option : options) {
        SCOPED_TRACE(option);
        ASSERT_TRUE(cables.left.ip(fmt::format("link add bond0 type bond {}", option)));
        for (const char* slave : {"a1", "a0"})
            ASSERT_TRUE(cables.left.ip(fmt::format("link set {} master bond0", slave)));
        ASSERT_TRUE(cables.left.ip("link set bond0 up"));
        // With ARP monitoring nobody answers, and the slaves come and go: no two readings need agree.
        if (std::string_view(option).find("arp_interval") == std::string_view::npos) {
            ASSERT_TRUE(test::await([&] {
                return cables.left.sys("bond0", "carrier") == "1" &&
                       cables.left.sys("a0", "carrier") == "1" &&
                       cables.left.sys("a0", "bonding_slave/mii_status") == "up";
            }));
            const Bond bond = read(reader, "bond0");
            EXPECT_EQ(bond.netns, cables.left.open().inode());
            EXPECT_FALSE(bond.aggregator);
            expect_as_sysfs(cables.left, bond);
        } else {
            EXPECT_EQ(read(reader, "bond0").arp_interval_ms, 1000U);
        }
        ASSERT_TRUE(cables.left.ip("link delete bond0"));
        for (const char* slave : {"a1", "a0"})
            ASSERT_TRUE(cables.left.ip(fmt::format("link set {} down", slave)));
    }
}

TEST(LinkReaderInKernel, LacpAsTheKernelHasIt) {
    const Cables cables(2);
    ASSERT_NO_FATAL_FAILURE(
        cables.bond("mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4", {0, 1}));
    const LinkReader left = reader_in(cables.left), right = reader_in(cables.right);
    const auto carries = [](const Bond& bond) {
        return bond.slaves.size() == 2 &&
               std::all_of(bond.slaves.begin(), bond.slaves.end(), [](const Slave& slave) {
                   return (slave.actor_port_state.value_or(0) & lacp_state::carrying) ==
                              lacp_state::carrying &&
                          (slave.partner_port_state.value_or(0) & lacp_state::carrying) ==
                              lacp_state::carrying;
               });
    };
    ASSERT_TRUE(test::await([&] { return carries(read(left, "bond0")) && carries(read(right, "bond0")); }));
    const Bond bond = read(left, "bond0"), other = read(right, "bond0");
    expect_as_sysfs(cables.left, bond);
    expect_as_sysfs(cables.right, other);
    ASSERT_TRUE(bond.aggregator);
    EXPECT_EQ(bond.aggregator->aggregator_id, number(cables.left, "bond0", "bonding/ad_aggregator"));
    EXPECT_EQ(bond.aggregator->ports, 2);
    EXPECT_EQ(bond.aggregator->actor_key, number(cables.left, "bond0", "bonding/ad_actor_key"));
    EXPECT_EQ(bond.aggregator->partner_key, number(cables.left, "bond0", "bonding/ad_partner_key"));
    EXPECT_EQ(bond.aggregator->partner_mac, other.mac);
    for (const Slave& slave : bond.slaves) {
        EXPECT_EQ(slave.aggregator_id, bond.aggregator->aggregator_id);
        EXPECT_EQ(slave.actor_port_state, 63); // fast: all good bits and the short timeout
        EXPECT_EQ(slave.speed_mbps, 10000U);   // what veth says of itself
    }
    // Each port's own view of the partner, which netlink does not have.
    for (const Slave& slave : bond.slaves) {
        ASSERT_TRUE(slave.actor && slave.partner) << slave.name;
        EXPECT_EQ(slave.partner->system_mac, bond.aggregator->partner_mac);
        EXPECT_EQ(slave.partner->key, bond.aggregator->partner_key);
        EXPECT_EQ(slave.actor->system_mac, bond.system_mac);
        EXPECT_TRUE(slave.actor_churn && slave.actor_churn_count);
    }
    // Only LACPDUs of 124 bytes were sent.
    EXPECT_GT(bond.slaves[0].counters.tx_packets, 0U);
    EXPECT_EQ(bond.slaves[0].counters.tx_bytes, bond.slaves[0].counters.tx_packets * 124);
}

// No partner: one slave is active by itself, in "sync" with nobody (cases 17 and 24).
TEST(LinkReaderInKernel, LacpWithoutPartner) {
    const Cables cables(2);
    ASSERT_TRUE(cables.left.ip("link add bond0 type bond mode 802.3ad miimon 100 lacp_rate fast"));
    for (const char* name : {"a0", "a1"})
        ASSERT_TRUE(cables.left.ip(fmt::format("link set {} master bond0", name)));
    for (const char* name : {"b0", "b1"})
        ASSERT_TRUE(cables.right.ip(fmt::format("link set {} up", name)));
    ASSERT_TRUE(cables.left.ip("link set bond0 up"));
    const LinkReader reader = reader_in(cables.left);
    ASSERT_TRUE(test::await([&] {
        const Bond bond = read(reader, "bond0");
        return bond.aggregator && bond.slaves.size() == 2 &&
               std::any_of(bond.slaves.begin(), bond.slaves.end(), [](const Slave& slave) {
                   return (slave.actor_port_state.value_or(0) & lacp_state::defaulted) != 0 && !slave.backup;
               });
    }));
    const Bond bond = read(reader, "bond0");
    EXPECT_EQ(bond.aggregator->partner_mac, MacAddress{});
    EXPECT_EQ(bond.aggregator->ports, 1);
    EXPECT_NE(bond.slaves[0].aggregator_id, bond.slaves[1].aggregator_id);
    EXPECT_NE(bond.slaves[0].backup, bond.slaves[1].backup);
    // What only /proc tells, and only to root.
    EXPECT_EQ(bond.privileged, true);
    for (const Slave& slave : bond.slaves) {
        ASSERT_TRUE(slave.partner) << slave.name;
        EXPECT_EQ(slave.partner->system_mac, MacAddress{});
        EXPECT_EQ(slave.duplex, Duplex::full);
    }
}

TEST(LinkReaderInKernel, FiveSlavesInTheOrderTheyJoined) {
    const Cables cables(5);
    ASSERT_NO_FATAL_FAILURE(cables.bond("mode balance-xor miimon 100", {3, 0, 4, 2, 1}));
    const LinkReader reader = reader_in(cables.left);
    EXPECT_EQ(slave_names(read(reader, "bond0")), "a3 a0 a4 a2 a1");

    // Leaving and coming back is joining at the end.
    ASSERT_TRUE(cables.left.ip("link set a0 nomaster"));
    EXPECT_EQ(slave_names(read(reader, "bond0")), "a3 a4 a2 a1");
    ASSERT_TRUE(cables.left.ip("link set a0 down"));
    ASSERT_TRUE(cables.left.ip("link set a0 master bond0"));
    EXPECT_EQ(slave_names(read(reader, "bond0")), "a3 a4 a2 a1 a0");
    ASSERT_TRUE(cables.left.ip("link delete a4"));
    EXPECT_EQ(slave_names(read(reader, "bond0")), "a3 a2 a1 a0");
    // Moving to another namespace is leaving.
    ASSERT_TRUE(cables.left.ip("link set a2 netns " + cables.right.name()));
    EXPECT_EQ(slave_names(read(reader, "bond0")), "a3 a1 a0");

    ASSERT_TRUE(cables.left.ip("link set a1 nomaster"));
    ASSERT_TRUE(cables.left.ip("link set a3 nomaster"));
    ASSERT_TRUE(cables.left.ip("link set a0 nomaster"));
    const Bond empty = read(reader, "bond0");
    EXPECT_THAT(empty.slaves, IsEmpty());
    EXPECT_FALSE(empty.carrier);
    EXPECT_TRUE(empty.admin_up);
}

TEST(LinkReaderInKernel, RenamedBondAndSlaveKeepTheirIdentity) {
    const Cables cables(2);
    ASSERT_NO_FATAL_FAILURE(cables.bond("mode active-backup miimon 100", {1, 0}));
    const LinkReader reader = reader_in(cables.left);
    const Bond before = read(reader, "bond0");
    // Renaming what is up is refused by older kernels (EBUSY); a name may have dots, '@' and '-'.
    const auto rename = [&](const std::string& old_name, const std::string& new_name) {
        if (cables.left.ip(fmt::format("link set {} name {}", old_name, new_name))) return;
        ASSERT_TRUE(cables.left.ip(fmt::format("link set {} down", old_name)));
        ASSERT_TRUE(cables.left.ip(fmt::format("link set {} name {}", old_name, new_name)));
        ASSERT_TRUE(cables.left.ip(fmt::format("link set {} up", new_name)));
    };
    rename("a0", "ren0.5@x-y_long");
    rename("bond0", "uplink");
    const Bond after = read(reader, "uplink");
    EXPECT_EQ(after.ifindex, before.ifindex);
    EXPECT_EQ(slave_names(after), "a1 ren0.5@x-y_long");
    ASSERT_EQ(after.slaves.size(), 2U);
    EXPECT_EQ(after.slaves[1].ifindex, before.slaves[1].ifindex);
    EXPECT_TRUE(after.order_known);
    EXPECT_EQ(after.slaves[1].speed_mbps, 10000U);
    EXPECT_FALSE(reader.find_bonds({"bond0"}));
}

TEST(LinkReaderInKernel, DownSlavesAndUnknownSpeeds) {
    const Namespace space("dummy");
    ASSERT_TRUE(space.ip("link add bond0 type bond mode balance-xor miimon 100"));
    for (const char* name : {"d1", "d0"}) {
        ASSERT_TRUE(space.ip(fmt::format("link add {} type dummy", name)));
        ASSERT_TRUE(space.ip(fmt::format("link set {} master bond0", name)));
    }
    const LinkReader reader = reader_in(space);
    const Bond down = read(reader, "bond0");
    EXPECT_FALSE(down.admin_up);
    EXPECT_FALSE(down.carrier);
    ASSERT_TRUE(space.ip("link set bond0 up"));
    const Bond bond = read(reader, "bond0");
    EXPECT_EQ(slave_names(bond), "d1 d0");
    for (const Slave& slave : bond.slaves)
        EXPECT_FALSE(slave.speed_mbps);
}

TEST(LinkReaderInKernel, WhatIsNoBondIsExplained) {
    const Cables cables(1);
    const LinkReader reader = reader_in(cables.left);
    const std::string place = "network namespace " + cables.left.name();
    auto bonds = reader.find_bonds({});
    ASSERT_FALSE(bonds);
    EXPECT_EQ(bonds.error().kind, ErrorKind::unavailable);
    EXPECT_EQ(bonds.error().what, "no bond in " + place);
    // The driver is there; other namespaces may hold the bond.
    EXPECT_THAT(bonds.error().advice, AllOf(HasSubstr("--netns"), HasSubstr(cables.right.name())));
    EXPECT_EQ(bonds.error().advice.find("not loaded"), std::string::npos);
    ASSERT_TRUE(reader.read_bonds());
    EXPECT_THAT(*reader.read_bonds(), IsEmpty());

    ASSERT_TRUE(cables.left.ip("link add bond0 type bond"));
    ASSERT_TRUE(cables.left.ip("link add bond1 type bond"));
    ASSERT_TRUE(cables.left.ip("link set a0 master bond0"));
    ASSERT_TRUE(cables.left.ip("link add link bond0 name bond0.100 type vlan id 100"));
    ASSERT_TRUE(cables.left.ip("link add br0 type bridge"));
    EXPECT_EQ(reader.find_bonds({"bond7"}).error().what,
              "no interface bond7 in " + place + "; bonds here: bond0, bond1");
    EXPECT_EQ(reader.find_bonds({"a0"}).error().what, "a0 is not a bond (it is a slave of bond0)");
    EXPECT_EQ(reader.find_bonds({"bond0.100"}).error().what,
              "bond0.100 is not a bond (it is a VLAN on bond0)");
    EXPECT_EQ(reader.find_bonds({"br0"}).error().what, "br0 is not a bond (it is of kind bridge)");
    EXPECT_EQ(reader.find_bonds({"lo"}).error().kind, ErrorKind::usage);
    const auto all = reader.find_bonds({});
    ASSERT_TRUE(all);
    EXPECT_EQ(all->size(), 2U);
}

TEST(LinkReaderInKernel, CountersAreTheKernels) {
    const Cables cables(2);
    ASSERT_NO_FATAL_FAILURE(cables.bond("mode balance-rr miimon 100", {0, 1}));
    ASSERT_TRUE(cables.left.ip("address add 192.0.2.1/24 dev bond0"));
    ASSERT_TRUE(cables.right.ip("address add 192.0.2.2/24 dev bond0"));
    ASSERT_TRUE(test::await([&] {
        return cables.left.exec({"ping", "-c1", "-W1", "192.0.2.2"}).status == 0;
    }));
    ASSERT_EQ(cables.left.exec({"ping", "-c20", "-i0.01", "-s1000", "192.0.2.2"}).status, 0);
    const Bond bond = read(reader_in(cables.left), "bond0");
    ASSERT_EQ(bond.slaves.size(), 2U);
    // Nothing sends any more, so that sysfs has the same numbers.
    for (const Slave& slave : bond.slaves) {
        EXPECT_GE(slave.counters.tx_packets, 10U);
        EXPECT_EQ(slave.counters.tx_packets, number(cables.left, slave.name, "statistics/tx_packets"));
        EXPECT_EQ(slave.counters.tx_bytes, number(cables.left, slave.name, "statistics/tx_bytes"));
        EXPECT_EQ(slave.counters.rx_packets, number(cables.left, slave.name, "statistics/rx_packets"));
        EXPECT_EQ(slave.counters.rx_bytes, number(cables.left, slave.name, "statistics/rx_bytes"));
    }
    EXPECT_EQ(bond.counters.tx_bytes, bond.slaves[0].counters.tx_bytes + bond.slaves[1].counters.tx_bytes);
}

// The list of interfaces is longer than any one answer, and changes while it is read.
TEST(LinkReaderInKernel, ManyInterfacesThatComeAndGo) {
    const Cables cables(3);
    ASSERT_NO_FATAL_FAILURE(cables.bond("mode balance-xor miimon 100", {2, 0, 1}));
    constexpr int extra = 150;
    std::string commands;
    for (int i = 0; i < extra; ++i)
        commands += fmt::format("link add x{} type dummy\n", i);
    ASSERT_TRUE(cables.left.ip_batch(commands));
    const LinkReader reader = reader_in(cables.left);
    const auto snapshot = reader.read_snapshot();
    ASSERT_TRUE(snapshot) << snapshot.error().what;
    EXPECT_EQ(snapshot->links.size(), 3U + extra + 1 + 1); // the slaves, the dummies, the bond and lo

    std::atomic<bool> finished = false;
    std::thread churn([&] {
        std::string batch;
        for (int i = 0; i < 20; ++i)
            batch += fmt::format("link add y{0} type dummy\nlink delete y{0}\n", i);
        while (!finished)
            EXPECT_TRUE(cables.left.ip_batch(batch));
    });
    for (int i = 0; i < 20; ++i) {
        const auto bonds = reader.read_bonds();
        // Giving up with a reason is allowed on a machine that changes all the time; a wrong answer is not.
        if (!bonds) {
            EXPECT_THAT(bonds.error().what, HasSubstr("came and went"));
            continue;
        }
        EXPECT_EQ(bonds->size(), 1U);
        EXPECT_EQ(slave_names(bonds->front()), "a2 a0 a1");
    }
    finished = true;
    churn.join();
    EXPECT_TRUE(reader.read_bonds());
}

// A slave joins and leaves all the time: each answer is one that was true at some moment.
TEST(LinkReaderInKernel, ASlaveThatJoinsAndLeaves) {
    const Cables cables(3);
    ASSERT_NO_FATAL_FAILURE(cables.bond("mode balance-xor miimon 100", {1, 0}));
    const LinkReader reader = reader_in(cables.left);
    std::string pause;
    for (int i = 0; i < 20; ++i)
        pause += "link set a2 alias waiting\n";
    std::atomic<bool> finished = false;
    std::thread churn([&] {
        const std::string batch =
            "link set a2 master bond0\n" + pause + "link set a2 nomaster\nlink set a2 down\n" + pause;
        while (!finished)
            EXPECT_TRUE(cables.left.ip_batch(batch));
    });
    int with = 0, without = 0;
    EXPECT_TRUE(test::await([&] {
        const auto bonds = reader.read_bonds();
        if (!bonds || bonds->size() != 1) {
            ADD_FAILURE() << (bonds ? "not one bond" : bonds.error().what);
            return true;
        }
        const std::string names = slave_names(bonds->front());
        EXPECT_TRUE(names == "a1 a0" || names == "a1 a0 a2") << names;
        (names == "a1 a0" ? without : with)++;
        return with >= 20 && without >= 20;
    })) << with
        << " times with the slave, " << without << " times without it";
    finished = true;
    churn.join();
}

} // namespace
} // namespace bondtrace
