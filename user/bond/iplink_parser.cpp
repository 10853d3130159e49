// SPDX-License-Identifier: GPL-2.0-or-later
// The names are those of ip/iplink_bond.c, ip/iplink_bond_slave.c and ip/ipaddress.c in iproute2.
#include "user/bond/iplink_parser.h"

#include "user/bond/dump_parser.h"
#include "user/bond/dump_values.h"
#include "user/bond/iplink_text.h"
#include "user/bond/json_members.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

using nlohmann::json;

constexpr std::size_t max_links = 100'000;
constexpr std::string_view save_again = "save it again: ip -d -s -j link > FILE";

// The flags of an interface.
struct Flags {
    bool up = false, lower_up = false;
};

std::optional<Flags> read_flags(const JsonMembers& link) {
    const json* const flags = link.find("flags");
    if (!flags || !flags->is_array()) return std::nullopt;
    const auto has = [&](const char* name) {
        return std::find(flags->begin(), flags->end(), name) != flags->end();
    };
    return Flags{has("UP"), has("LOWER_UP")};
}

bool read_counters(const JsonMembers& link, LinkCounters& counters) {
    auto stats = link.object("stats64");
    if (!stats) stats = link.object("stats");
    if (!stats) return false;
    const auto rx = stats->object("rx"), tx = stats->object("tx");
    if (!rx || !tx) return false;
    const bool whole = rx->number("packets", counters.rx_packets) && rx->number("bytes", counters.rx_bytes) &&
                       tx->number("packets", counters.tx_packets) && tx->number("bytes", counters.tx_bytes);
    rx->number("dropped", counters.rx_dropped);
    rx->number("errors", counters.rx_errors);
    rx->number("nohandler", counters.rx_nohandler);
    tx->number("dropped", counters.tx_dropped);
    tx->number("errors", counters.tx_errors);
    return whole;
}

// "UP", "GOING_DOWN", "DOWN", "GOING_BACK".
std::optional<MiiStatus> parse_ip_mii(std::string_view text) {
    constexpr std::array<std::string_view, 4> words = {"UP", "GOING_DOWN", "DOWN", "GOING_BACK"};
    const auto* const word = std::find(words.begin(), words.end(), text);
    if (word == words.end()) return std::nullopt;
    return static_cast<MiiStatus>(word - words.begin());
}

Slave read_slave(const JsonMembers& link, const JsonMembers& data) {
    Slave slave;
    slave.name = link.text("ifname").value_or("");
    slave.unknown.ifindex = !link.number("ifindex", slave.ifindex);
    const auto flags = read_flags(link);
    slave.unknown.flags = !flags;
    slave.admin_up = flags && flags->up;
    slave.carrier = flags && flags->lower_up;
    slave.unknown.mac = !link.mac("address", slave.mac);
    slave.unknown.counters = !read_counters(link, slave.counters);
    if (const auto info = link.object("linkinfo")) slave.kind = info->text("info_kind").value_or("");
    const auto state = data.text("state");
    slave.unknown.state = state != "ACTIVE" && state != "BACKUP";
    slave.backup = state == "BACKUP";
    std::optional<MiiStatus> mii;
    data.word("mii_status", parse_ip_mii, mii);
    slave.unknown.mii_status = !mii;
    slave.mii_status = mii.value_or(MiiStatus::down);
    slave.unknown.link_failures = !data.number("link_failure_count", slave.link_failures);
    data.mac("perm_hwaddr", slave.perm_mac);
    slave.unknown.queue_id = !data.number("queue_id", slave.queue_id);
    data.number("prio", slave.prio);
    data.number("ad_aggregator_id", slave.aggregator_id);
    data.number("ad_actor_oper_port_state", slave.actor_port_state);
    data.number("ad_partner_oper_port_state", slave.partner_port_state);
    data.number("actor_port_prio", slave.actor_port_prio);
    data.word("ad_churn_actor_state", parse_churn_state, slave.actor_churn);
    data.word("ad_churn_partner_state", parse_churn_state, slave.partner_churn);
    return slave;
}

void read_aggregator(const JsonMembers& data, Bond& bond) {
    const auto info = data.object("ad_info");
    if (!info) return;
    AggregatorInfo aggregator;
    if (!info->number("aggregator", aggregator.aggregator_id) ||
        !info->number("num_ports", aggregator.ports) || !info->mac("partner_mac", aggregator.partner_mac)) {
        bond.unknown.aggregator = true;
        return;
    }
    info->number("actor_key", aggregator.actor_key);
    info->number("partner_key", aggregator.partner_key);
    bond.aggregator = aggregator;
}

void read_options(const JsonMembers& data, Bond& bond) {
    bond.unknown.miimon = !data.number("miimon", bond.miimon_ms);
    bond.unknown.arp_interval = !data.number("arp_interval", bond.arp_interval_ms);
    bond.unknown.min_links = !data.number("min_links", bond.min_links);
    bond.unknown.packets_per_slave = !data.number("packets_per_slave", bond.packets_per_slave);
    bond.unknown.all_slaves_active = !data.flag("all_slaves_active", bond.all_slaves_active);
    const auto rate = data.text("ad_lacp_rate");
    bond.unknown.lacp_rate = rate != "fast" && rate != "slow";
    bond.lacp_fast = rate == "fast";
    data.number("updelay", bond.updelay_ms);
    data.number("downdelay", bond.downdelay_ms);
    data.number("peer_notify_delay", bond.peer_notif_delay_ms);
    data.flag("use_carrier", bond.use_carrier);
    data.addresses("arp_ip_target", false, bond.arp_targets);
    data.addresses("ns_ip6_target", true, bond.ns_targets);
    data.word("arp_validate", parse_arp_validate, bond.arp_validate);
    // JSON has null for none.
    if (const json* const validate = data.find("arp_validate"); validate && validate->is_null())
        bond.arp_validate = ArpValidate::none;
    data.word("arp_all_targets", parse_arp_all_targets, bond.arp_all_targets);
    data.number("arp_missed_max", bond.missed_max);
    data.interface("active_slave", bond.active_name);
    data.interface("primary", bond.primary_name);
    data.word("primary_reselect", parse_primary_reselect, bond.primary_reselect);
    data.word("fail_over_mac", parse_fail_over_mac, bond.fail_over_mac);
    data.number("resend_igmp", bond.resend_igmp);
    data.number("num_peer_notif", bond.num_peer_notif);
    data.number("lp_interval", bond.lp_interval);
    data.word("ad_select", parse_ad_select, bond.ad_select);
    data.flag("ad_lacp_active", bond.lacp_active);
    data.number("ad_actor_sys_prio", bond.ad_actor_sys_prio);
    data.number("ad_user_port_key", bond.ad_user_port_key);
    data.mac("ad_actor_system", bond.ad_actor_system);
    data.flag("tlb_dynamic_lb", bond.tlb_dynamic_lb);
    data.flag("coupled_control", bond.coupled_control);
    data.flag("broadcast_neighbor", bond.broadcast_neighbor);
    data.flag("lacp_strict", bond.lacp_strict);
}

Bond read_bond(const JsonMembers& link, const JsonMembers& data) {
    Bond bond;
    bond.name = link.text("ifname").value_or("");
    bond.unknown.ifindex = !link.number("ifindex", bond.ifindex);
    const auto mode = data.text("mode"), policy = data.text("xmit_hash_policy");
    const auto known_mode = mode ? parse_bond_mode(*mode) : std::nullopt;
    const auto known_policy = policy ? parse_hash_policy(*policy) : std::nullopt;
    if (!known_mode) data.complain("mode", "is no mode that this version knows");
    if (policy && !known_policy) data.complain("xmit_hash_policy", "is no policy that this version knows");
    bond.mode = known_mode.value_or(BondMode::balance_rr);
    bond.policy = known_policy.value_or(HashPolicy::layer2);
    bond.unknown.policy = !known_policy;
    const auto flags = read_flags(link);
    bond.unknown.carrier = bond.unknown.admin_up = !flags;
    bond.admin_up = flags && flags->up;
    bond.carrier = flags && flags->lower_up;
    bond.unknown.mac = !link.mac("address", bond.mac);
    bond.unknown.counters = !read_counters(link, bond.counters);
    read_options(data, bond);
    read_aggregator(data, bond);
    // The LACP sides are in no netlink message, whoever asks (see merge.h).
    return bond;
}

// What stands on the bond `link`, and the bridge it is a port of.
void add_uppers(const json& links, const JsonMembers& link, Bond& bond) {
    const auto master = link.text("master");
    Upper bridge{master.value_or(""), "", 0};
    std::size_t ports = 0;
    for (const json& other : links) {
        std::optional<JsonProblem> ignored;
        const JsonMembers reader(other, "", ignored);
        const auto name = reader.text("ifname").value_or("");
        const auto info = reader.object("linkinfo");
        const std::string kind = info ? info->text("info_kind").value_or("") : "";
        if (reader.text("link") == bond.name && is_interface_name(name))
            bond.uppers.push_back({name, kind, 0});
        if (!master) continue;
        if (name == *master) bridge.kind = kind;
        ports += reader.text("master") == master ? 1U : 0U;
    }
    if (!master || !is_interface_name(*master)) return;
    bridge.other_ports = ports > 0 ? ports - 1 : 0;
    bond.uppers.push_back(std::move(bridge));
}

tl::unexpected<Error> not_understood(std::string_view source, std::string_view what) {
    return fail(ErrorKind::unavailable,
                fmt::format("{}: not recognised as what ip -d link prints: {}", source, what),
                std::string(save_again));
}

Result<std::vector<Bond>> read_links(const json& links, std::string_view source) {
    if (!links.is_array()) return not_understood(source, "it is no list of interfaces");
    if (links.size() > max_links) return not_understood(source, "it has too many interfaces");
    std::vector<Bond> bonds;
    std::optional<JsonProblem> wrong;
    bool any_name = false, master_flag = false;
    for (std::size_t i = 0; i < links.size(); ++i) {
        if (!links[i].is_object()) return not_understood(source, fmt::format("[{}] is no object", i));
        if (links[i].empty()) continue; // what older versions print for a link that a filter removed
        const JsonMembers link(links[i], fmt::format("[{}]", i), wrong);
        const auto name = link.text("ifname");
        if (!name || !is_interface_name(*name))
            return not_understood(source, fmt::format("[{}].ifname is no name of an interface", i));
        any_name = true;
        const json* const flags = link.find("flags");
        master_flag = master_flag || (flags && flags->is_array() &&
                                      std::find(flags->begin(), flags->end(), "MASTER") != flags->end());
        const auto info = link.object("linkinfo");
        if (!info || info->text("info_kind") != "bond") continue;
        const auto data = info->object("info_data");
        if (!data)
            return not_understood(source, fmt::format("[{}].linkinfo.info_data of {} is missing", i, *name));
        bonds.push_back(read_bond(link, *data));
        add_uppers(links, link, bonds.back());
    }
    for (std::size_t i = 0; i < links.size(); ++i) {
        const JsonMembers link(links[i], fmt::format("[{}]", i), wrong);
        const auto info = link.object("linkinfo");
        if (!info || info->text("info_slave_kind") != "bond") continue;
        const auto data = info->object("info_slave_data");
        const auto bond = std::find_if(bonds.begin(), bonds.end(),
                                       [&](const Bond& other) { return other.name == link.text("master"); });
        if (data && bond != bonds.end()) bond->slaves.push_back(read_slave(link, *data));
    }
    if (wrong) return not_understood(source, wrong->what);
    if (!links.empty() && !any_name) return not_understood(source, "no object in it has a name");
    if (bonds.empty() && master_flag)
        return not_understood(source, "an interface is a MASTER, but nothing is said of bonds: it was saved "
                                      "without -d");
    for (Bond& bond : bonds) {
        bond.order_known = bond.slaves.size() <= 1;
        const Slave* const active = bond.active();
        if (active && !active->unknown.ifindex) bond.active_slave = active->ifindex;
        const Slave* const primary =
            bond.primary_name ? bond.find_slave(std::string_view(*bond.primary_name)) : nullptr;
        if (primary && !primary->unknown.ifindex) bond.primary = primary->ifindex;
    }
    return bonds;
}

} // namespace

Result<std::vector<Bond>> parse_ip_json(std::string_view text, std::string_view source) {
    json links;
    try {
        links = json::parse(text);
    } catch (const json::parse_error& error) {
        const auto line =
            1 + std::count(text.begin(),
                           text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size())),
                           '\n');
        return fail(ErrorKind::unavailable,
                    fmt::format("{}:{}: the JSON is broken or cut short", source, line),
                    std::string(save_again));
    }
    return read_links(links, source);
}

Result<std::vector<Bond>> parse_ip_text(std::string_view text, std::string_view source) {
    return read_links(ip_text_to_json(text), source);
}

bool looks_like_ip_json(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    return begin != std::string_view::npos && text[begin] == '[';
}

bool looks_like_ip_text(std::string_view text) {
    // "2: bond0: <BROADCAST,...> mtu 1500 ...", perhaps below the command that printed it.
    constexpr std::size_t max_lines = 20;
    dump::Line line;
    for (std::size_t number = 1; number <= max_lines && dump::next_line(text, number, line);) {
        const auto digits = line.text.find_first_not_of("0123456789");
        if (digits != 0 && digits != std::string_view::npos && line.text.substr(digits, 2) == ": " &&
            line.text.find(": <", digits) != std::string_view::npos &&
            line.text.find(" mtu ") != std::string_view::npos)
            return true;
    }
    return false;
}

} // namespace bondtrace
