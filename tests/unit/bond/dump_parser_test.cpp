// SPDX-License-Identifier: GPL-2.0-or-later
// Dumps of real bonds (tests/fixtures/cases) and variants of them. The layout is that of bond_procfs.c.
#include "user/bond/dump_parser.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bondtrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string load(const std::string& name) {
    const std::ifstream file(BONDTRACE_SOURCE_DIR "/tests/fixtures/cases/" + name);
    EXPECT_TRUE(file) << name;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

Result<Dump> parse(const std::string& text, const std::string& name = "") {
    return parse_dump(text, {.source = "file", .name = name});
}

Bond only(const std::string& text, const std::string& name = "") {
    const auto dump = parse(text, name);
    EXPECT_TRUE(dump) << dump.error().what;
    if (!dump) return {};
    EXPECT_EQ(dump->bonds.size(), 1U);
    return dump->bonds.front();
}

Bond case_bond(const std::string& file) {
    return only(load(file), "bond0");
}

std::vector<std::string> names(const Bond& bond) {
    std::vector<std::string> result;
    for (const Slave& slave : bond.slaves)
        result.push_back(slave.name);
    return result;
}

std::string error_of(const std::string& text) {
    const auto dump = parse(text);
    EXPECT_FALSE(dump);
    return dump ? "" : dump.error().what;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
    return text;
}

MacAddress mac(const char* text) {
    return parse_mac(text).value();
}

// The whole of one dump: every line of it is looked at.
TEST(DumpParser, EveryLineOfAnLacpBond) {
    const auto dump = parse(load("15-aggregators-1-and-2.txt"), "bond0");
    ASSERT_TRUE(dump) << dump.error().what;
    EXPECT_EQ(dump->ignored_count, 0U);
    EXPECT_FALSE(dump->truncated);
    ASSERT_EQ(dump->bonds.size(), 1U);
    const Bond& bond = dump->bonds.front();
    EXPECT_EQ(bond.name, "bond0");
    EXPECT_FALSE(bond.unknown.name);
    EXPECT_EQ(bond.driver, "v3.7.1 (April 27, 2011)");
    EXPECT_EQ(bond.mode, BondMode::lacp);
    EXPECT_EQ(bond.policy, HashPolicy::layer34);
    EXPECT_FALSE(bond.unknown.policy);
    EXPECT_TRUE(bond.carrier);
    EXPECT_FALSE(bond.unknown.carrier);
    EXPECT_EQ(bond.miimon_ms, 1000U);
    EXPECT_FALSE(bond.unknown.miimon);
    EXPECT_EQ(bond.arp_interval_ms, 0U);
    EXPECT_FALSE(bond.unknown.arp_interval);
    EXPECT_EQ(bond.updelay_ms, 0U);
    EXPECT_EQ(bond.downdelay_ms, 0U);
    EXPECT_FALSE(bond.peer_notif_delay_ms); // this driver has none
    EXPECT_FALSE(bond.lacp_active);         // nor this
    EXPECT_FALSE(bond.lacp_fast);
    EXPECT_FALSE(bond.unknown.lacp_rate);
    EXPECT_EQ(bond.min_links, 0U);
    EXPECT_FALSE(bond.unknown.min_links);
    EXPECT_EQ(bond.ad_select, AdSelect::stable);
    EXPECT_EQ(bond.system_priority, 65535);
    EXPECT_EQ(bond.system_mac, mac("00:00:5e:00:53:ad"));
    EXPECT_EQ(bond.privileged, true);
    ASSERT_TRUE(bond.aggregator);
    EXPECT_EQ(bond.aggregator->aggregator_id, 2);
    EXPECT_EQ(bond.aggregator->ports, 1);
    EXPECT_EQ(bond.aggregator->actor_key, 9);
    EXPECT_EQ(bond.aggregator->partner_key, 3);
    EXPECT_EQ(bond.aggregator->partner_mac, mac("00:00:5e:00:53:6e"));
    EXPECT_TRUE(bond.order_known);
    // What no dump tells.
    EXPECT_TRUE(bond.unknown.ifindex && bond.unknown.admin_up && bond.unknown.mac && bond.unknown.counters &&
                bond.unknown.uppers && bond.unknown.packets_per_slave && bond.unknown.all_slaves_active);
    ASSERT_THAT(names(bond), ElementsAre("enp7s0", "enp8s0"));
    const Slave& slave = bond.slaves[0];
    EXPECT_EQ(slave.mii_status, MiiStatus::up);
    EXPECT_FALSE(slave.unknown.mii_status);
    EXPECT_EQ(slave.speed_mbps, 1000U);
    EXPECT_FALSE(slave.speed_undetermined);
    EXPECT_EQ(slave.duplex, Duplex::full);
    EXPECT_EQ(slave.link_failures, 0U);
    EXPECT_FALSE(slave.unknown.link_failures);
    EXPECT_EQ(slave.perm_mac, mac("00:00:5e:00:53:67"));
    EXPECT_EQ(slave.queue_id, 0);
    EXPECT_EQ(slave.aggregator_id, 1);
    EXPECT_FALSE(slave.unknown.aggregator);
    EXPECT_EQ(slave.actor_churn, ChurnState::churned);
    EXPECT_EQ(slave.partner_churn, ChurnState::churned);
    EXPECT_EQ(slave.actor_churn_count, 1U);
    EXPECT_EQ(slave.partner_churn_count, 1U);
    ASSERT_TRUE(slave.actor && slave.partner);
    EXPECT_EQ(slave.actor->system_priority, 65535);
    EXPECT_EQ(slave.actor->system_mac, mac("00:00:5e:00:53:ad"));
    EXPECT_EQ(slave.actor->key, 9);
    EXPECT_EQ(slave.actor->port_priority, 255);
    EXPECT_EQ(slave.actor->port_number, 1);
    EXPECT_EQ(slave.actor_port_state, 5);
    EXPECT_EQ(slave.partner->system_priority, 65535);
    EXPECT_EQ(slave.partner->system_mac, mac("00:00:5e:00:53:6e"));
    EXPECT_EQ(slave.partner->key, 3);
    EXPECT_EQ(slave.partner->port_priority, 128);
    EXPECT_EQ(slave.partner->port_number, 7);
    EXPECT_EQ(slave.partner_port_state, 13);
    EXPECT_TRUE(slave.unknown.ifindex && slave.unknown.flags && slave.unknown.mac && slave.unknown.counters);
    EXPECT_EQ(bond.slaves[1].actor_port_state, 61);
    EXPECT_EQ(bond.slaves[1].partner->port_number, 8);
}

// Case 88: lines that a filter let through, without headlines or blank lines, and another command's output.
TEST(DumpParser, ExcerptsWithoutHeadlines) {
    for (const char* kernel : {"5.10", "6.12"}) {
        SCOPED_TRACE(kernel);
        const auto dump = parse(load(std::string("88-vm-min-links-2-one-down-") + kernel + ".txt"));
        ASSERT_TRUE(dump) << dump.error().what;
        const Bond& bond = dump->bonds.at(0);
        EXPECT_TRUE(bond.unknown.name);
        EXPECT_TRUE(bond.unknown.min_links);
        EXPECT_TRUE(bond.unknown.miimon);
        EXPECT_FALSE(bond.carrier);
        ASSERT_EQ(bond.slaves.size(), 2U);
        const Slave &up = bond.slaves[0], &down = bond.slaves[1];
        EXPECT_EQ(up.mii_status, MiiStatus::up);
        EXPECT_EQ(down.mii_status, MiiStatus::down);
        EXPECT_EQ(up.actor_port_state, 63);
        EXPECT_EQ(up.partner_port_state, 63);
        EXPECT_EQ(up.actor->system_mac, mac("00:00:5e:00:53:a0"));
        EXPECT_EQ(up.partner->system_mac, mac("00:00:5e:00:53:b0"));
        EXPECT_EQ(up.partner->key, 15);
        EXPECT_EQ(down.actor_port_state, std::string(kernel) == "5.10" ? 63 : 15);
        EXPECT_EQ(down.partner_port_state, std::string(kernel) == "5.10" ? 63 : 55);
        EXPECT_FALSE(bond.truncated);
        ASSERT_EQ(dump->ignored_count, 1U);
        EXPECT_EQ(dump->ignored[0].text.substr(0, 10), "bond0     ");
    }
}

// Case 28: driver v3.5.0.
TEST(DumpParser, NoAggregatorAndNoSpeedLine) {
    const Bond bond = case_bond("28-no-aggregator-slaves-NA.txt");
    EXPECT_FALSE(bond.aggregator);
    EXPECT_FALSE(bond.unknown.aggregator);
    EXPECT_TRUE(bond.unknown.min_links);
    EXPECT_FALSE(bond.truncated);
    for (const Slave& slave : bond.slaves) {
        EXPECT_FALSE(slave.aggregator_id);
        EXPECT_FALSE(slave.unknown.aggregator);
        EXPECT_FALSE(slave.speed_mbps);
        EXPECT_FALSE(slave.speed_undetermined); // it does not say "Unknown" either
        EXPECT_FALSE(slave.duplex);
        EXPECT_TRUE(slave.unknown.queue_id);
    }
    EXPECT_EQ(only(load("28-no-aggregator-slaves-NA.txt")).name, "bond0"); // the text tells it
}

// Case 45.
TEST(DumpParser, ArpMonitorAndPrimaryReselect) {
    const Bond bond = case_bond("45-arp-monitor-primary-reselect.txt");
    EXPECT_EQ(bond.mode, BondMode::active_backup);
    EXPECT_TRUE(bond.unknown.policy);
    EXPECT_EQ(bond.fail_over_mac, FailOverMac::none);
    EXPECT_EQ(bond.primary_name, "em3");
    EXPECT_EQ(bond.primary_reselect, PrimaryReselect::failure);
    EXPECT_EQ(bond.active_name, "em3");
    ASSERT_TRUE(bond.active());
    EXPECT_EQ(bond.active()->name, "em3");
    EXPECT_EQ(bond.miimon_ms, 0U);
    EXPECT_FALSE(bond.unknown.miimon);
    EXPECT_EQ(bond.arp_interval_ms, 1000U);
    EXPECT_FALSE(bond.unknown.arp_interval);
    EXPECT_THAT(bond.arp_targets, ElementsAre(parse_ip("192.0.2.254").value()));
    EXPECT_EQ(bond.slaves[0].link_failures, 92028U);
    EXPECT_EQ(bond.slaves[1].link_failures, 71524U);
    EXPECT_EQ(bond.slaves[0].perm_mac, bond.slaves[1].perm_mac);
    EXPECT_FALSE(bond.slaves[0].backup);
    EXPECT_TRUE(bond.slaves[1].backup);
    EXPECT_FALSE(bond.slaves[1].unknown.state);
    EXPECT_FALSE(bond.privileged); // no matter of LACP
}

// Case 47.
TEST(DumpParser, UnknownSpeedAndDuplex) {
    const Bond bond = case_bond("47-wifi-slave-speed-unknown.txt");
    EXPECT_EQ(bond.active_name, "enp60s0u2u4");
    EXPECT_EQ(bond.primary_reselect, PrimaryReselect::always);
    EXPECT_FALSE(bond.slaves[0].speed_mbps);
    EXPECT_TRUE(bond.slaves[0].speed_undetermined);
    EXPECT_FALSE(bond.slaves[0].duplex);
    EXPECT_FALSE(bond.unknown.arp_interval);
}

// Case 51, and what comes with patches between versions.
TEST(DumpParser, TargetsOfBothFamilies) {
    const std::string text = load("51-arp-and-ns-targets.txt");
    const Bond bond = only(text);
    EXPECT_EQ(bond.fail_over_mac, FailOverMac::active);
    EXPECT_EQ(bond.missed_max, 2U);
    EXPECT_THAT(bond.arp_targets,
                ElementsAre(parse_ip("192.0.2.254").value(), parse_ip("192.0.2.253").value()));
    EXPECT_THAT(bond.ns_targets,
                ElementsAre(parse_ip("2001:db8::1").value(), parse_ip("2001:db8::2").value()));
    EXPECT_FALSE(bond.active_name);
    EXPECT_FALSE(bond.unknown.active_slave);
    EXPECT_FALSE(bond.primary_name);
    EXPECT_FALSE(bond.truncated);
    EXPECT_EQ(only(replaced(text, "xx::xx", "XX::XX")).ns_targets.size(), 2U);
    EXPECT_THAT(only(replaced(text, " 2001:db8::1, 2001:db8::2", "")).ns_targets, IsEmpty());
}

// Case 36: balance-alb says nothing of LACP or hashing.
TEST(DumpParser, AdaptiveLoadBalancing) {
    const Bond bond = case_bond("36-alb-36-vlans.txt");
    EXPECT_EQ(bond.mode, BondMode::balance_alb);
    EXPECT_EQ(bond.active_name, "eth3");
    EXPECT_FALSE(bond.primary_name);
    EXPECT_EQ(bond.updelay_ms, 200U);
    // The "currently active" slave of this mode is no reason to call the others standby.
    EXPECT_TRUE(bond.slaves[1].unknown.state);
    EXPECT_FALSE(bond.unknown.aggregator);
}

TEST(DumpParser, ABondWithoutSlaves) {
    const Bond bond = case_bond("27-no-slaves-no-aggregator.txt");
    EXPECT_THAT(bond.slaves, IsEmpty());
    EXPECT_FALSE(bond.aggregator);
    EXPECT_FALSE(bond.unknown.aggregator);
    EXPECT_FALSE(bond.truncated);
    EXPECT_EQ(bond.privileged, true);
}

TEST(DumpParser, WhatTheUnprivilegedSee) {
    // Everything that the driver prints under capable(CAP_NET_ADMIN) is taken away.
    std::string text;
    std::istringstream lines(load("90-vm-lacp-good-rate-asymmetric-6.12.txt"));
    bool slave = false;
    for (std::string line; std::getline(lines, line);) {
        slave = slave || line.starts_with("Slave Interface");
        if (line.starts_with("    ") || line.starts_with("\t") || line.starts_with("details ") ||
            line.starts_with("System ") || line.starts_with("Active Aggregator"))
            continue;
        text += line + "\n";
    }
    const Bond bond = only(text);
    EXPECT_EQ(bond.privileged, false);
    EXPECT_FALSE(bond.aggregator);
    EXPECT_TRUE(bond.unknown.aggregator);
    EXPECT_FALSE(bond.truncated);
    ASSERT_EQ(bond.slaves.size(), 2U);
    EXPECT_EQ(bond.slaves[1].aggregator_id, 1);
    EXPECT_FALSE(bond.slaves[1].actor);
    EXPECT_FALSE(bond.slaves[1].partner_port_state);
}

TEST(DumpParser, WindowsLineEndsAndOddBlanks) {
    const std::string text = load("90-vm-lacp-good-rate-asymmetric-6.12.txt");
    std::string odd = replaced(replaced(replaced(text, "    ", "\t "), ": ", " :\t"), "\n", "  \r\n");
    odd = replaced(odd, "Link Failure Count", "Link  Failure\tCount");
    // An address must stay one, and so must the IPv6 form.
    const Bond bond = only("\xef\xbb\xbf" + odd);
    EXPECT_THAT(names(bond), ElementsAre("a0", "a1"));
    EXPECT_EQ(bond.aggregator->partner_mac, mac("00:00:5e:00:53:b0"));
    EXPECT_EQ(bond.slaves[1].partner_port_state, 61);
    EXPECT_EQ(bond.slaves[1].speed_mbps, 10000U);
    EXPECT_FALSE(bond.truncated);
    EXPECT_EQ(only("Bonding Mode:load balancing (xor)\nMII Status:up\nSlave Interface :\teth0 \n"
                   "MII Status:up\nSpeed:25000Mbps\n")
                  .slaves[0]
                  .speed_mbps,
              25000U);
}

TEST(DumpParser, SeveralFilesInOne) {
    const std::string first = load("17-one-slave-partner-zero.txt"), second = load("36-alb-36-vlans.txt");
    const auto plain = parse(first + second);
    ASSERT_TRUE(plain) << plain.error().what;
    ASSERT_EQ(plain->bonds.size(), 2U);
    EXPECT_EQ(plain->bonds[0].name, "unnamed");
    EXPECT_EQ(plain->bonds[1].name, "unnamed-2");
    EXPECT_EQ(plain->bonds[1].mode, BondMode::balance_alb);
    EXPECT_THAT(names(plain->bonds[0]), ElementsAre("eno2"));

    const std::vector<std::pair<std::string, std::string>> headers = {
        {"==> bond7 <==\n", "==> bond9 <==\n"},
        {"==> /proc/net/bonding/bond7 <==\n", "\n==> /proc/net/bonding/bond9 <==\n"},
        {"# cat /proc/net/bonding/bond7\n", "[root@hostA ~]# cat /proc/net/bonding/bond9\n"},
        {"#==[ Configuration File ]====#\n# /proc/net/bonding/bond7\n",
         "#==[ Configuration File ]====#\n# /proc/net/bonding/bond9\n"}};
    for (const auto& [a, b] : headers) {
        SCOPED_TRACE(a);
        const auto named = parse(a + first + b + second);
        ASSERT_TRUE(named) << named.error().what;
        ASSERT_EQ(named->bonds.size(), 2U);
        EXPECT_EQ(named->bonds[0].name, "bond7");
        EXPECT_EQ(named->bonds[1].name, "bond9");
        EXPECT_EQ(named->bonds[0].slaves[0].partner_port_state, 1);
        EXPECT_FALSE(named->bonds[0].truncated);
    }
}

TEST(DumpParser, GrepPutsTheFileBeforeEachLine) {
    std::string text;
    for (const auto& [name, file] :
         {std::pair{"bond0", "17-one-slave-partner-zero.txt"}, std::pair{"bond1", "36-alb-36-vlans.txt"}}) {
        std::istringstream lines(load(file));
        for (std::string line; std::getline(lines, line);)
            text += std::string("/proc/net/bonding/") + name + ":" + line + "\n";
    }
    const auto dump = parse(text);
    ASSERT_TRUE(dump) << dump.error().what;
    ASSERT_EQ(dump->bonds.size(), 2U);
    EXPECT_EQ(dump->bonds[0].name, "bond0");
    EXPECT_EQ(dump->bonds[1].name, "bond1");
    EXPECT_EQ(dump->bonds[0].slaves[0].actor_port_state, 77);
}

TEST(DumpParser, OtherCommandsBeforeAndAfter) {
    const auto dump =
        parse("hostA login: root\nLast login: Mon\n[root@hostA ~]# cat /proc/net/bonding/bond0\n" +
              load("90-vm-lacp-good-rate-asymmetric-6.12.txt") +
              "[root@hostA ~]# ethtool a1\nSettings for a1:\n\tSpeed: 25000Mb/s\n\tDuplex: Full\n"
              "\tLink detected: yes\n");
    ASSERT_TRUE(dump) << dump.error().what;
    EXPECT_EQ(dump->bonds.at(0).name, "bond0");
    EXPECT_EQ(dump->bonds[0].slaves.at(1).speed_mbps, 10000U);
    EXPECT_FALSE(dump->truncated);
}

TEST(DumpParser, UnknownLinesAreIgnored) {
    std::string text = load("90-vm-lacp-good-rate-asymmetric-6.12.txt");
    text = replaced(text, "Min links: 0\n", "Min links: 0\nBroadcast neighbours: on\nfuture headline\n");
    text = replaced(text, "Duplex: full\n", "Duplex: full\nSpeed lanes: 4\nPort prio: 3\n");
    text = replaced(text, "    port priority: 255\n", "    port priority: 255\n    port colour: blue\n");
    const auto dump = parse(text);
    ASSERT_TRUE(dump) << dump.error().what;
    EXPECT_EQ(dump->ignored_count, 2U + 2 * 2 + 4);
    EXPECT_EQ(dump->ignored[0].number, 15U);
    EXPECT_EQ(dump->ignored[0].text, "Broadcast neighbours: on");
    EXPECT_EQ(dump->bonds[0].slaves.at(1).partner_port_state, 61);
    EXPECT_FALSE(dump->truncated);
}

TEST(DumpParser, SpeedsInAllTheirShapes) {
    const auto slave = [](const std::string& speed) {
        return only("Bonding Mode: load balancing (xor)\nSlave Interface: a\nMII Status: up\nSpeed: " +
                    speed + "\n")
            .slaves.at(0);
    };
    for (const char* speed : {"Unknown", "4294967295 Mbps", "65535 Mbps", "0 Mbps", "-1 Mbps"}) {
        EXPECT_FALSE(slave(speed).speed_mbps) << speed;
        EXPECT_TRUE(slave(speed).speed_undetermined) << speed;
    }
    EXPECT_EQ(slave("400000 Mbps").speed_mbps, 400000U);
    EXPECT_EQ(slave("100 Mbps").speed_mbps, 100U);
}

TEST(DumpParser, HardwareAddressesThatAreNotEthernet) {
    const Bond bond = only("Bonding Mode: fault-tolerance (active-backup) (fail_over_mac active)\n"
                           "Slave Interface: ib0\nMII Status: up\nPermanent HW addr: "
                           "80:00:02:08:fe:80:00:00:00:00:00:00:00:11:22:33:44:55:66:77\n");
    EXPECT_FALSE(bond.slaves.at(0).perm_mac);
}

// Case 23: no dump at all; and what people make of one when they type it.
TEST(DumpParser, WhatIsNoDumpIsRefusedWithItsLine) {
    EXPECT_THAT(error_of(load("23-slaves-released-again.txt")),
                AllOf(HasSubstr("file:1:"), HasSubstr("not recognised"), HasSubstr("Sep 22 23:23:21 hostA")));
    EXPECT_THAT(error_of(""), HasSubstr("nothing in it"));
    EXPECT_THAT(error_of("\n\n  \r\n"), HasSubstr("nothing in it"));
    EXPECT_THAT(error_of("Ethernet Channel Bonding Driver: v6.1.0\n"), HasSubstr("not recognised"));
    EXPECT_THAT(error_of(std::string("\0\x01\x7f\xff:\n:\n::\n", 11)), HasSubstr("file:1:"));
    const std::string good = load("90-vm-lacp-good-rate-asymmetric-6.12.txt");
    const std::pair<const char*, const char*> retyped[] = {
        {"Bonding Mode: IEEE", "Bonding Mode IEEE"},
        {"Bonding Mode: IEEE 802.3ad Dynamic link aggregation", "Bonding Mode: 802.3ad"},
        {"layer3+4 (1)", "layer3+4"},
        {"layer3+4 (1)", "layer3+4 (2)"},
        {"Slave Interface: a1", "Slave Interface a1"},
        {"Slave Interface: a1", "Slave interface: a1"},
        {"Slave Interface: a1", "Slave Interface: a0"},
        {"Slave Interface: a1", "Slave Interface: ../etc/passwd"},
        {"Slave Interface: a1", "Slave Interface: sixteencharacter"},
        {"MII Status: up", "MII Status: Up"},
        {"MII Status: up", "MII Status up"},
        {"Speed: 10000 Mbps", "Speed: 10 Gbps"},
        {"Speed: 10000 Mbps", "Speed: 10000"},
        {"Duplex: full", "Duplex: Full"},
        {"Aggregator ID: 1", "Aggregator ID: one"},
        {"Aggregator ID: 1", "Aggregator ID: 70000"},
        {"port state: 63", "port state: 0x3f"},
        {"port state: 63", "port state: 300"},
        {"port key: 15", "oper key: 15"},
        {"Partner Mac Address: 00:00:5e:00:53:b0", "Partner Mac Address: 00-00-5e-00-53-b0"},
        {"LACP rate: fast", "LACP rate: 1"},
    };
    for (const auto& [driver, person] : retyped) {
        const std::string text = replaced(good, driver, person);
        ASSERT_NE(text, good) << person;
        const std::string error = error_of(text);
        const auto at = good.begin() + static_cast<std::ptrdiff_t>(good.find(driver));
        const auto line = 1 + std::count(good.begin(), at, '\n');
        EXPECT_THAT(error, HasSubstr("not recognised")) << person;
        EXPECT_THAT(error, HasSubstr("file:" + std::to_string(line) + ":")) << person << "\n" << error;
    }
}

TEST(DumpParser, AMissingBeginningIsRefused) {
    const std::string good = load("90-vm-lacp-good-rate-asymmetric-6.12.txt");
    EXPECT_THAT(error_of(good.substr(good.find("Slave Interface: a1"))),
                AllOf(HasSubstr("file:1:"), HasSubstr("beginning is missing")));
}

// Case 52, and the same change of words in a dump.
TEST(DumpParser, OtherVocabularyIsNamed) {
    EXPECT_THAT(error_of(load("52-ovs-member-vs-slave-wording.txt")),
                AllOf(HasSubstr("file:2:"), HasSubstr("ovs-appctl bond/show")));
    EXPECT_THAT(error_of(load("11-ovs-bond-not-kernel.txt")),
                AllOf(HasSubstr("file:3:"), HasSubstr("ovs-appctl bond/show")));
    const std::string text = replaced(load("36-alb-36-vlans.txt"), "Slave Interface", "Member Interface");
    EXPECT_THAT(error_of(text),
                AllOf(HasSubstr("file:13:"), HasSubstr("line 12"), HasSubstr("Member Interface: eth3")));
}

// What the running kernel says is used as far as it is understood.
TEST(DumpParser, TheRunningKernelIsNotDoubted) {
    std::string text =
        replaced(load("90-vm-lacp-good-rate-asymmetric-6.12.txt"), "Duplex: full", "Duplex: triple");
    text = replaced(text, "layer3+4 (1)", "layer9 (9)");
    const auto dump = parse_dump(text, {.source = "bond0", .name = "bond0", .from_kernel = true});
    ASSERT_TRUE(dump) << dump.error().what;
    EXPECT_THAT(names(dump->bonds.at(0)), ElementsAre("a0", "a1"));
    EXPECT_TRUE(dump->bonds[0].unknown.policy);
    EXPECT_FALSE(dump->bonds[0].slaves[0].duplex);
}

// A cut text is a beginning of the whole one: what it tells is what the whole tells, and it says that it is
// cut.
TEST(DumpParser, EveryCutGivesABeginning) {
    for (const char* file : {"15-aggregators-1-and-2.txt", "45-arp-monitor-primary-reselect.txt",
                             "88-vm-min-links-2-one-down-6.12.txt", "27-no-slaves-no-aggregator.txt"}) {
        const std::string text = load(file);
        const Bond whole = only(text);
        for (std::size_t size = 0; size < text.size(); ++size) {
            SCOPED_TRACE(testing::Message() << file << " cut at " << size);
            const auto dump = parse(text.substr(0, size));
            if (!dump) {
                EXPECT_THAT(dump.error().what, HasSubstr("file"));
                EXPECT_LE(size, text.find('\n', text.find("Bonding Mode")));
                continue;
            }
            ASSERT_EQ(dump->bonds.size(), 1U);
            const Bond& bond = dump->bonds[0];
            EXPECT_EQ(bond.mode, whole.mode);
            EXPECT_TRUE(!bond.aggregator || bond.aggregator->partner_mac == whole.aggregator->partner_mac);
            ASSERT_LE(bond.slaves.size(), whole.slaves.size());
            for (std::size_t i = 0; i < bond.slaves.size(); ++i) {
                const Slave &cut = bond.slaves[i], &full = whole.slaves[i];
                EXPECT_EQ(cut.name, full.name);
                EXPECT_TRUE(!cut.speed_mbps || cut.speed_mbps == full.speed_mbps);
                EXPECT_TRUE(!cut.aggregator_id || cut.aggregator_id == full.aggregator_id);
                EXPECT_TRUE(!cut.actor_port_state || cut.actor_port_state == full.actor_port_state);
                EXPECT_TRUE(!cut.partner_port_state || cut.partner_port_state == full.partner_port_state);
                EXPECT_TRUE(cut.unknown.link_failures || cut.link_failures == full.link_failures);
            }
            // Where slaves are missing it is known that they are.
            if (bond.slaves.size() < whole.slaves.size() && bond.slaves.empty()) {
                EXPECT_TRUE(bond.truncated);
            }
        }
        EXPECT_EQ(only(text + "\n").slaves.size(), whole.slaves.size());
    }
}

TEST(DumpParser, CutInTheLastSlave) {
    const std::string text = load("90-vm-lacp-good-rate-asymmetric-6.12.txt");
    for (const char* line :
         {"MII Status: up\n", "Aggregator ID: 1\n", "port number: 2\n", "details partner"}) {
        const auto at = text.find(line, text.find("Slave Interface: a1"));
        ASSERT_NE(at, std::string::npos);
        EXPECT_TRUE(only(text.substr(0, at)).truncated) << line;
    }
    // Case 50: a line that is missing in the middle is no cut.
    const auto at = text.rfind("Aggregator ID: 1\n");
    const Bond bond = only(text.substr(0, at) + text.substr(at + 17));
    EXPECT_FALSE(bond.truncated);
    EXPECT_TRUE(bond.slaves[1].unknown.aggregator);
    EXPECT_FALSE(bond.slaves[0].unknown.aggregator);
}

TEST(DumpParser, HugeInputsAreBounded) {
    std::string many = "Bonding Mode: load balancing (xor)\n";
    for (int i = 0; i < 5000; ++i)
        many += "Slave Interface: e" + std::to_string(i) + "\n";
    EXPECT_THAT(error_of(many), HasSubstr("no bond has so many slaves"));
    EXPECT_THAT(error_of(std::string(8 * 1024 * 1024, 'x')).size(), testing::Lt(300U));
    std::string noise = "Bonding Mode: load balancing (xor)\nMII Status: up\n";
    for (int i = 0; i < 100000; ++i)
        noise += "noise\n";
    const auto dump = parse(noise);
    ASSERT_TRUE(dump);
    EXPECT_EQ(dump->ignored_count, 100000U);
    EXPECT_EQ(dump->ignored.size(), 100U);
}

// Every dump among the cases is understood, and every file that is none is refused.
TEST(DumpParser, EveryCase) {
    std::size_t dumps = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(BONDTRACE_SOURCE_DIR "/tests/fixtures/cases")) {
        const std::string name = entry.path().filename();
        if (!name.ends_with(".txt")) continue;
        SCOPED_TRACE(name);
        const std::string text = load(name);
        const auto dump = parse(text);
        EXPECT_EQ(dump.has_value(), text.find("Bonding Mode: ") != std::string::npos)
            << (dump ? "" : dump.error().what);
        if (!dump) continue;
        ++dumps;
        EXPECT_EQ(dump->bonds.size(), 1U);
        EXPECT_FALSE(dump->truncated);
    }
    EXPECT_EQ(dumps, 24U);
}

} // namespace
} // namespace bondtrace
