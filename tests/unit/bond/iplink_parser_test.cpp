// SPDX-License-Identifier: GPL-2.0-or-later
// What iproute2 printed of real bonds (tests/fixtures/netlink and cases), and broken variants of it.
#include "user/bond/iplink_parser.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The line of JSON in a recording.
std::string recorded(const std::string& kernel) {
    std::ifstream file(BONDTRACE_SOURCE_DIR "/tests/fixtures/netlink/lacp-" + kernel + ".txt");
    EXPECT_TRUE(file);
    std::string line;
    while (std::getline(file, line) && line != "[ip]") {
    }
    std::getline(file, line);
    return line;
}

std::string load(const std::string& name) {
    const std::ifstream file(BONDTRACE_SOURCE_DIR "/tests/fixtures/cases/" + name);
    EXPECT_TRUE(file);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string error_of(const std::string& json) {
    const auto bonds = parse_ip_json(json, "links.json");
    EXPECT_FALSE(bonds);
    return bonds ? "" : bonds.error().what;
}

TEST(IpJson, ARecordedBond) {
    for (const char* kernel : {"5.10", "6.1", "6.12"}) {
        SCOPED_TRACE(kernel);
        const std::string text = recorded(kernel);
        ASSERT_TRUE(looks_like_ip_json(text));
        const auto bonds = parse_ip_json(text, "links.json");
        ASSERT_TRUE(bonds) << bonds.error().what;
        ASSERT_EQ(bonds->size(), 1U);
        const Bond& bond = bonds->front();
        const auto data = nlohmann::json::parse(text)[1]["linkinfo"]["info_data"];
        EXPECT_EQ(bond.name, "bond0");
        EXPECT_EQ(bond.mode, BondMode::lacp);
        EXPECT_EQ(bond.policy, HashPolicy::layer34);
        EXPECT_TRUE(bond.carrier && bond.admin_up);
        EXPECT_EQ(bond.miimon_ms, 100U);
        EXPECT_FALSE(bond.unknown.miimon || bond.unknown.min_links || bond.unknown.arp_interval ||
                     bond.unknown.counters || bond.unknown.lacp_rate || bond.unknown.mac);
        EXPECT_FALSE(bond.lacp_fast);
        EXPECT_EQ(bond.arp_validate, ArpValidate::none);
        EXPECT_EQ(bond.arp_all_targets, ArpAllTargets::any);
        EXPECT_EQ(bond.primary_reselect, PrimaryReselect::always);
        EXPECT_EQ(bond.fail_over_mac, FailOverMac::none);
        EXPECT_EQ(bond.ad_select, AdSelect::stable);
        EXPECT_EQ(bond.ad_actor_sys_prio, 65535);
        EXPECT_EQ(bond.missed_max.has_value(), data.contains("arp_missed_max"));
        ASSERT_TRUE(bond.aggregator);
        EXPECT_EQ(to_text(bond.aggregator->partner_mac), data["ad_info"]["partner_mac"]);
        EXPECT_EQ(bond.aggregator->ports, 2);
        ASSERT_EQ(bond.slaves.size(), 2U);
        EXPECT_FALSE(bond.order_known);
        const Slave& slave = bond.slaves[0];
        EXPECT_EQ(slave.name, "s0");
        EXPECT_EQ(slave.ifindex, 3);
        EXPECT_EQ(slave.kind, "veth");
        EXPECT_FALSE(slave.backup);
        EXPECT_EQ(slave.mii_status, MiiStatus::up);
        EXPECT_EQ(slave.actor_port_state, 61);
        EXPECT_EQ(slave.partner_port_state, 63);
        EXPECT_EQ(slave.aggregator_id, 1);
        EXPECT_FALSE(slave.speed_mbps);
        EXPECT_FALSE(slave.speed_undetermined);
        EXPECT_FALSE(slave.partner);
        EXPECT_GT(slave.counters.tx_packets, 0U);
    }
}

TEST(IpJson, OtherModesAndWhatStandsOnTop) {
    const auto bonds = parse_ip_json(R"([
        {"ifindex":2,"ifname":"eth0","flags":["UP"],"master":"b","address":"02:00:00:00:00:01",
         "linkinfo":{"info_slave_kind":"bond","info_slave_data":{"state":"BACKUP","mii_status":"GOING_BACK",
         "link_failure_count":3,"perm_hwaddr":"02:00:00:00:00:09","queue_id":4,"prio":-7}}},
        {"ifindex":5,"ifname":"b","flags":["MASTER","UP"],"master":"br0","linkinfo":{"info_kind":"bond","info_data":
         {"mode":"active-backup","active_slave":"eth0","primary":"eth0","miimon":0,"arp_interval":500,
         "arp_ip_target":["192.0.2.1","192.0.2.2"],"ns_ip6_target":["2001:db8::1"],"arp_validate":"active",
         "fail_over_mac":"follow","xmit_hash_policy":"layer2","min_links":0}}},
        {"ifindex":6,"ifname":"b.7","link":"b","flags":[],"linkinfo":{"info_kind":"vlan"}},
        {"ifindex":7,"ifname":"br0","flags":[],"linkinfo":{"info_kind":"bridge"}},
        {"ifindex":8,"ifname":"tap0","flags":[],"master":"br0"}, {}
    ])",
                                     "links.json");
    ASSERT_TRUE(bonds) << bonds.error().what;
    const Bond& bond = bonds->at(0);
    EXPECT_EQ(bond.active_slave, 2);
    EXPECT_EQ(bond.active()->name, "eth0");
    EXPECT_EQ(bond.primary, 2);
    EXPECT_EQ(bond.arp_targets.size(), 2U);
    EXPECT_THAT(bond.ns_targets, ElementsAre(parse_ip("2001:db8::1").value()));
    EXPECT_EQ(bond.arp_validate, ArpValidate::active);
    EXPECT_EQ(bond.fail_over_mac, FailOverMac::follow);
    EXPECT_FALSE(bond.carrier);
    EXPECT_TRUE(bond.unknown.counters);
    ASSERT_EQ(bond.uppers.size(), 2U);
    EXPECT_EQ(bond.uppers[0].name, "b.7");
    EXPECT_EQ(bond.uppers[0].kind, "vlan");
    EXPECT_EQ(bond.uppers[1].kind, "bridge");
    EXPECT_EQ(bond.uppers[1].other_ports, 1U);
    const Slave& slave = bond.slaves.at(0);
    EXPECT_TRUE(slave.backup);
    EXPECT_EQ(slave.mii_status, MiiStatus::going_back);
    EXPECT_EQ(slave.prio, -7);
    EXPECT_EQ(slave.queue_id, 4);
    EXPECT_TRUE(slave.unknown.counters);
    EXPECT_TRUE(bond.order_known); // one slave has but one order
}

TEST(IpJson, WhatIsWrongIsNamed) {
    EXPECT_THAT(error_of("[\n{\"ifname\":\"b\"\n"),
                AllOf(HasSubstr("links.json:"), HasSubstr("broken or cut short")));
    EXPECT_THAT(error_of(""), HasSubstr("broken"));
    EXPECT_THAT(error_of("{}"), HasSubstr("no list"));
    EXPECT_THAT(error_of("[1]"), HasSubstr("[0] is no object"));
    EXPECT_THAT(error_of(R"([{"ifindex":1}])"), HasSubstr("[0].ifname"));
    EXPECT_THAT(error_of(R"([{"ifname":"a/b"}])"), HasSubstr("[0].ifname"));
    EXPECT_THAT(error_of(R"([{"ifname":"b","flags":["MASTER"]}])"), HasSubstr("without -d"));
    const auto bond = [](const std::string& data) {
        return R"([{"ifname":"b","flags":[],"linkinfo":{"info_kind":"bond","info_data":)" + data + "}}]";
    };
    EXPECT_THAT(error_of(bond("7")), HasSubstr("info_data"));
    EXPECT_THAT(error_of(bond("{}")), HasSubstr("info_data.mode"));
    EXPECT_THAT(error_of(bond(R"({"mode":"balance-new"})")), HasSubstr("[0].linkinfo.info_data.mode"));
    EXPECT_THAT(error_of(bond(R"({"mode":"802.3ad","xmit_hash_policy":"layer9"})")),
                HasSubstr("xmit_hash_policy"));
    EXPECT_THAT(error_of(bond(R"({"mode":"802.3ad","miimon":"often"})")), HasSubstr("miimon is no number"));
    EXPECT_THAT(error_of(bond(R"({"mode":"802.3ad","arp_ip_target":["x"]})")), HasSubstr("arp_ip_target"));
    EXPECT_THAT(error_of(bond(R"({"mode":"802.3ad","active_slave":"a b"})")), HasSubstr("active_slave"));
    EXPECT_THAT(*parse_ip_json("[]", "x"), IsEmpty());
    EXPECT_THAT(*parse_ip_json(R"([{"ifname":"lo","flags":["UP"]}])", "x"), IsEmpty());
    // Nested deeply enough to end a recursive reader.
    EXPECT_THAT(error_of(std::string(1'000'000, '[')), HasSubstr("broken"));
}

// Case 93: the text, not the JSON.
TEST(IpText, ARecordedBond) {
    const std::string text = load("93-vm-ip-d-link-good-6.12.txt");
    ASSERT_TRUE(looks_like_ip_text(text));
    const auto bonds = parse_ip_text(text, "links.txt");
    ASSERT_TRUE(bonds) << bonds.error().what;
    ASSERT_EQ(bonds->size(), 1U);
    const Bond& bond = bonds->front();
    EXPECT_EQ(bond.name, "bond0");
    EXPECT_EQ(bond.ifindex, 4);
    EXPECT_EQ(bond.mode, BondMode::lacp);
    EXPECT_EQ(bond.policy, HashPolicy::layer34);
    EXPECT_TRUE(bond.lacp_fast);
    EXPECT_EQ(bond.lacp_active, true);
    EXPECT_EQ(bond.num_peer_notif, 1U);
    EXPECT_EQ(bond.missed_max, 2U);
    EXPECT_EQ(bond.arp_validate, ArpValidate::none);
    EXPECT_EQ(bond.tlb_dynamic_lb, true);
    EXPECT_TRUE(bond.carrier);
    ASSERT_TRUE(bond.aggregator);
    EXPECT_EQ(bond.aggregator->aggregator_id, 1);
    EXPECT_EQ(bond.aggregator->ports, 2);
    EXPECT_EQ(bond.aggregator->actor_key, 15);
    EXPECT_EQ(to_text(bond.aggregator->partner_mac), "00:00:5e:00:53:b0");
    ASSERT_EQ(bond.slaves.size(), 2U);
    EXPECT_EQ(bond.slaves[0].name, "a0");
    EXPECT_EQ(bond.slaves[1].ifindex, 3);
    EXPECT_EQ(bond.slaves[1].kind, "veth");
    EXPECT_EQ(bond.slaves[1].actor_port_state, 63);
    EXPECT_EQ(bond.slaves[1].partner_port_state, 61);
    EXPECT_EQ(to_text(*bond.slaves[1].perm_mac), "00:00:5e:00:53:a1");
    EXPECT_TRUE(bond.slaves[1].unknown.counters);
}

TEST(IpText, CountersTargetsAndActiveSlave) {
    const auto bonds =
        parse_ip_text("2: eth0: <BROADCAST,SLAVE,UP,LOWER_UP> mtu 1500 qdisc mq master b state UP\n"
                      "    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 0\n"
                      "    bond_slave state ACTIVE mii_status UP link_failure_count 1 perm_hwaddr "
                      "02:00:00:00:00:01 queue_id 0 "
                      "addrgenmode none\n"
                      "    RX: bytes  packets  errors  dropped overrun mcast   \n"
                      "    1000       10       1       2       0       0       \n"
                      "    TX: bytes  packets  errors  dropped carrier collsns \n"
                      "    2000       20       3       4       0       0       \n"
                      "3: b: <BROADCAST,MASTER,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP\n"
                      "    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 0\n"
                      "    bond mode active-backup active_slave eth0 miimon 0 arp_interval 1000 "
                      "arp_ip_target 192.0.2.1,192.0.2.2 "
                      "arp_validate all xmit_hash_policy layer2 addrgenmode none\n"
                      "4: b.5@b: <BROADCAST,UP> mtu 1500\n    link/ether 02:00:00:00:00:01\n    vlan "
                      "protocol 802.1Q id 5\n",
                      "links.txt");
    ASSERT_TRUE(bonds) << bonds.error().what;
    const Bond& bond = bonds->at(0);
    EXPECT_EQ(bond.active_slave, 2);
    EXPECT_EQ(bond.arp_targets.size(), 2U);
    EXPECT_EQ(bond.arp_validate, ArpValidate::all);
    EXPECT_EQ(bond.uppers.at(0).name, "b.5");
    EXPECT_EQ(bond.uppers[0].kind, "vlan");
    const LinkCounters& counters = bond.slaves.at(0).counters;
    EXPECT_FALSE(bond.slaves[0].unknown.counters);
    EXPECT_EQ(counters.rx_bytes, 1000U);
    EXPECT_EQ(counters.rx_packets, 10U);
    EXPECT_EQ(counters.rx_errors, 1U);
    EXPECT_EQ(counters.rx_dropped, 2U);
    EXPECT_EQ(counters.tx_bytes, 2000U);
    EXPECT_EQ(counters.tx_packets, 20U);
    EXPECT_EQ(counters.tx_dropped, 4U);
}

TEST(IpText, HostileWords) {
    const std::string bond = "3: b: <MASTER> mtu 1\n    bond mode 802.3ad ";
    for (const char* words :
         {"ad_info 5 ad_aggregator 1", "arp_ip_target 5 arp_ip_target x", "miimon -1", "miimon",
          "xmit_hash_policy 7", "ad_aggregator x ad_num_ports y", "ad_partner_mac zz"}) {
        const auto bonds = parse_ip_text(bond + words + "\n", "x");
        if (!bonds) {
            EXPECT_THAT(bonds.error().what, HasSubstr("not recognised")) << words;
        }
    }
    EXPECT_FALSE(looks_like_ip_text("3 b <MASTER> mtu"));
    EXPECT_FALSE(looks_like_ip_text(""));
}

} // namespace
} // namespace bondtrace
