// SPDX-License-Identifier: GPL-2.0-or-later
// Messages of real kernels (tests/fixtures/netlink), read as iproute2 read them.
#include "user/bond/bond_table.h"
#include "user/bond/dump_parser.h"
#include "user/bond/link_message.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

using nlohmann::json;

struct Recording {
    std::vector<std::vector<std::byte>> messages;
    json ip;
    std::string proc;
};

std::vector<std::byte> from_hex(const std::string& text) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        unsigned value = 0;
        std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
        bytes.push_back(static_cast<std::byte>(value));
    }
    return bytes;
}

Recording load(const std::string& name) {
    std::ifstream file(BONDTRACE_SOURCE_DIR "/tests/fixtures/netlink/" + name);
    EXPECT_TRUE(file) << name;
    Recording recording;
    std::string section;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#")) continue;
        // The JSON begins with '[' as well, but not with a word.
        if (line == "[netlink]" || line == "[ip]" || line == "[proc]")
            section = line;
        else if (section == "[netlink]")
            recording.messages.push_back(from_hex(line));
        else if (section == "[ip]")
            recording.ip = json::parse(line);
        else if (section == "[proc]")
            recording.proc += line + "\n";
    }
    return recording;
}

void expect_counters(const LinkCounters& counters, const json& stats) {
    EXPECT_EQ(counters.rx_packets, stats["rx"]["packets"]);
    EXPECT_EQ(counters.rx_bytes, stats["rx"]["bytes"]);
    EXPECT_EQ(counters.rx_dropped, stats["rx"]["dropped"]);
    EXPECT_EQ(counters.tx_packets, stats["tx"]["packets"]);
    EXPECT_EQ(counters.tx_bytes, stats["tx"]["bytes"]);
    EXPECT_EQ(counters.tx_errors, stats["tx"]["errors"]);
}

void expect_bond(const Bond& bond, const json& link) {
    const json& data = link["linkinfo"]["info_data"];
    EXPECT_EQ(to_text(bond.mode), data["mode"]);
    EXPECT_EQ(to_text(bond.policy), data["xmit_hash_policy"]);
    EXPECT_EQ(bond.miimon_ms, data["miimon"]);
    EXPECT_EQ(bond.min_links, data["min_links"]);
    EXPECT_EQ(bond.packets_per_slave, data["packets_per_slave"]);
    EXPECT_EQ(bond.lacp_fast, data["ad_lacp_rate"] == "fast");
    EXPECT_EQ(bond.tlb_dynamic_lb, data["tlb_dynamic_lb"] == 1);
    // 5.10 has no such setting.
    EXPECT_EQ(bond.lacp_active.has_value(), data.contains("ad_lacp_active"));
    if (bond.lacp_active) {
        EXPECT_EQ(*bond.lacp_active, data["ad_lacp_active"] == "on");
    }
    EXPECT_EQ(bond.updelay_ms, data["updelay"]);
    EXPECT_EQ(bond.downdelay_ms, data["downdelay"]);
    EXPECT_EQ(bond.peer_notif_delay_ms, data["peer_notify_delay"]);
    EXPECT_EQ(bond.use_carrier, data["use_carrier"] == 1);
    EXPECT_EQ(bond.arp_validate, ArpValidate::none); // null in the JSON
    EXPECT_EQ(to_text(bond.arp_all_targets.value()), data["arp_all_targets"]);
    EXPECT_EQ(to_text(bond.primary_reselect.value()), data["primary_reselect"]);
    EXPECT_EQ(to_text(bond.fail_over_mac.value()), data["fail_over_mac"]);
    EXPECT_EQ(bond.resend_igmp, data["resend_igmp"]);
    EXPECT_EQ(bond.num_peer_notif, data["num_peer_notif"]);
    EXPECT_EQ(bond.lp_interval, data["lp_interval"]);
    EXPECT_EQ(to_text(bond.ad_select.value()), data["ad_select"]);
    EXPECT_EQ(bond.ad_actor_sys_prio, data["ad_actor_sys_prio"]);
    EXPECT_EQ(bond.ad_user_port_key, data["ad_user_port_key"]);
    EXPECT_EQ(to_text(bond.ad_actor_system.value()), data["ad_actor_system"]);
    EXPECT_EQ(bond.missed_max.has_value(), data.contains("arp_missed_max"));
    if (bond.missed_max) {
        EXPECT_EQ(*bond.missed_max, data["arp_missed_max"]);
    }
    ASSERT_TRUE(bond.aggregator);
    EXPECT_EQ(bond.aggregator->aggregator_id, data["ad_info"]["aggregator"]);
    EXPECT_EQ(bond.aggregator->ports, data["ad_info"]["num_ports"]);
    EXPECT_EQ(bond.aggregator->actor_key, data["ad_info"]["actor_key"]);
    EXPECT_EQ(bond.aggregator->partner_key, data["ad_info"]["partner_key"]);
    EXPECT_EQ(to_text(bond.aggregator->partner_mac), data["ad_info"]["partner_mac"]);
    expect_counters(bond.counters, link["stats64"]);
}

void expect_slave(const Slave& slave, const json& link) {
    const json& data = link["linkinfo"]["info_slave_data"];
    EXPECT_EQ(slave.backup ? "BACKUP" : "ACTIVE", data["state"]);
    EXPECT_EQ(slave.mii_status == MiiStatus::up, data["mii_status"] == "UP");
    EXPECT_EQ(slave.link_failures, data["link_failure_count"]);
    ASSERT_TRUE(slave.perm_mac);
    EXPECT_EQ(to_text(*slave.perm_mac), data["perm_hwaddr"]);
    EXPECT_EQ(slave.queue_id, data["queue_id"]);
    EXPECT_EQ(slave.aggregator_id, data["ad_aggregator_id"]);
    EXPECT_EQ(slave.actor_port_state, data["ad_actor_oper_port_state"]);
    EXPECT_EQ(slave.partner_port_state, data["ad_partner_oper_port_state"]);
    EXPECT_EQ(slave.kind, "veth");
    EXPECT_EQ(slave.prio.has_value(), data.contains("prio"));
    expect_counters(slave.counters, link["stats64"]);
}

class RecordedDump : public testing::TestWithParam<const char*> {};

TEST_P(RecordedDump, IsReadAsIproute2ReadIt) {
    const Recording recording = load(std::string("lacp-") + GetParam() + ".txt");
    ASSERT_EQ(recording.messages.size(), 4U);
    ASSERT_EQ(recording.ip.size(), 4U);
    for (std::size_t i = 0; i < recording.messages.size(); ++i) {
        const json& ip = recording.ip[i];
        SCOPED_TRACE(ip["ifname"]);
        const auto link = parse_link_message(recording.messages[i]);
        ASSERT_TRUE(link) << link.error().what;
        EXPECT_EQ(link->ifindex, ip["ifindex"]);
        EXPECT_EQ(link->name, ip["ifname"]);
        EXPECT_EQ(to_text(link->mac), ip["address"]);
        EXPECT_FALSE(link->partial);
        const auto has_flag = [&](const char* flag) {
            return std::find(ip["flags"].begin(), ip["flags"].end(), flag) != ip["flags"].end();
        };
        EXPECT_EQ(link->admin_up, has_flag("UP"));
        EXPECT_EQ(link->carrier, has_flag("LOWER_UP"));
        EXPECT_EQ(link->bond.has_value(), has_flag("MASTER"));
        EXPECT_EQ(link->slave.has_value(), has_flag("SLAVE"));
        if (link->bond) expect_bond(*link->bond, ip);
        if (link->slave) expect_slave(*link->slave, ip);
    }
}

TEST_P(RecordedDump, SlavesComeInTheOrderTheyJoined) {
    const Recording recording = load(std::string("lacp-") + GetParam() + ".txt");
    NetnsSnapshot snapshot;
    for (const auto& message : recording.messages) {
        auto link = parse_link_message(message);
        ASSERT_TRUE(link) << link.error().what;
        snapshot.links.push_back(std::move(*link));
    }
    const auto dump = parse_dump(recording.proc, {.source = "bond0", .name = "bond0"});
    ASSERT_TRUE(dump) << dump.error().what;
    ASSERT_EQ(dump->bonds.size(), 1U);
    snapshot.proc["bond0"] = dump->bonds.front();
    EXPECT_TRUE(is_consistent(snapshot));
    const auto bonds = assemble_bonds(snapshot);
    ASSERT_TRUE(bonds) << bonds.error().what;
    ASSERT_EQ(bonds->size(), 1U);
    const Bond& bond = bonds->front();
    ASSERT_EQ(bond.slaves.size(), 2U);
    EXPECT_EQ(bond.slaves[0].name, "s1");
    EXPECT_EQ(bond.slaves[1].name, "s0");
    EXPECT_TRUE(bond.order_known);
    // What /proc alone tells is there as well, and is the partner that netlink names.
    EXPECT_EQ(bond.privileged, true);
    EXPECT_TRUE(bond.system_mac);
    for (const Slave& slave : bond.slaves) {
        EXPECT_EQ(slave.speed_mbps, 10000U);
        EXPECT_EQ(slave.duplex, Duplex::full);
        ASSERT_TRUE(slave.actor && slave.partner);
        EXPECT_EQ(slave.actor->system_mac, bond.system_mac);
        EXPECT_EQ(slave.partner->system_mac, bond.aggregator->partner_mac);
        EXPECT_EQ(slave.partner->key, bond.aggregator->partner_key);
        EXPECT_EQ(slave.actor_churn, ChurnState::monitoring);
        EXPECT_EQ(slave.partner_churn_count, 0U);
        EXPECT_GT(slave.ifindex, 0); // netlink's
        EXPECT_FALSE(slave.unknown.flags || slave.unknown.counters);
    }
}

std::string kernel_name(const testing::TestParamInfo<const char*>& info) {
    std::string name = info.param;
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Kernels, RecordedDump, testing::Values("5.10", "6.1", "6.12"), kernel_name);

} // namespace
} // namespace bondtrace
