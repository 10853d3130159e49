// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/dump_keys.h"

#include "user/bond/dump_parser.h"
#include "user/bond/dump_values.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace bondtrace::dump {
namespace {

template<typename Target> struct Key {
    std::string_view text;
    bool (*apply)(std::string_view value, Target& target);
};

// "MII Status" of a slave; the driver's "unknown" for a state it does not have is left unknown.
bool read_mii(std::string_view value, Slave& slave) {
    if (value == "unknown") return true;
    const auto status = parse_mii_status(value);
    if (!status) return false;
    slave.mii_status = *status;
    slave.unknown.mii_status = false;
    return true;
}

bool read_churn(std::string_view value, std::optional<ChurnState>& churn) {
    if (value == "unknown") return true;
    const auto state = parse_churn_state(value);
    if (state) churn = state;
    return state.has_value();
}

bool read_active(std::string_view value, Bond& bond) {
    if (!is_interface_name(value)) return false;
    if (value != "None") bond.active_name = std::string(value);
    bond.unknown.active_slave = false;
    return true;
}

// Words that newer drivers may have more of: such a one is left unknown.
bool read_ad_select(std::string_view value, Bond& bond) {
    bond.ad_select = parse_ad_select(value);
    return !value.empty() && value.find(' ') == std::string_view::npos;
}

constexpr std::array bond_keys = {
    Key<Bond>{"Transmit Hash Policy",
              [](std::string_view value, Bond& bond) {
                  if (!read_policy(value, bond)) return false;
                  bond.unknown.policy = false;
                  return true;
              }},
    Key<Bond>{"Primary Slave", read_primary},
    Key<Bond>{"Currently Active Slave", read_active},
    Key<Bond>{"MII Status",
              [](std::string_view value, Bond& bond) {
                  bond.unknown.carrier = !read_choice(value, "up", "down", bond.carrier);
                  return !bond.unknown.carrier;
              }},
    Key<Bond>{"MII Polling Interval (ms)",
              [](std::string_view value, Bond& bond) {
                  bond.unknown.miimon = !read_number(value, bond.miimon_ms);
                  return !bond.unknown.miimon;
              }},
    Key<Bond>{"Up Delay (ms)",
              [](std::string_view value, Bond& bond) { return read_number(value, bond.updelay_ms); }},
    Key<Bond>{"Down Delay (ms)",
              [](std::string_view value, Bond& bond) { return read_number(value, bond.downdelay_ms); }},
    Key<Bond>{
        "Peer Notification Delay (ms)",
        [](std::string_view value, Bond& bond) { return read_number(value, bond.peer_notif_delay_ms); }},
    Key<Bond>{"ARP Polling Interval (ms)",
              [](std::string_view value, Bond& bond) {
                  bond.unknown.arp_interval = !read_number(value, bond.arp_interval_ms);
                  return !bond.unknown.arp_interval;
              }},
    Key<Bond>{"ARP Missed Max",
              [](std::string_view value, Bond& bond) { return read_number(value, bond.missed_max); }},
    Key<Bond>{
        "ARP IP target/s (n.n.n.n form)",
        [](std::string_view value, Bond& bond) { return read_targets(value, false, bond.arp_targets); }},
    Key<Bond>{"NS IPv6 target/s (xx::xx form)",
              [](std::string_view value, Bond& bond) { return read_targets(value, true, bond.ns_targets); }},
    // The spelling of kernels between two patches.
    Key<Bond>{"NS IPv6 target/s (XX::XX form)",
              [](std::string_view value, Bond& bond) { return read_targets(value, true, bond.ns_targets); }},
    Key<Bond>{"LACP active",
              [](std::string_view value, Bond& bond) {
                  bool active = false;
                  if (!read_choice(value, "on", "off", active)) return false;
                  bond.lacp_active = active;
                  return true;
              }},
    Key<Bond>{"LACP rate",
              [](std::string_view value, Bond& bond) {
                  bond.unknown.lacp_rate = !read_choice(value, "fast", "slow", bond.lacp_fast);
                  return !bond.unknown.lacp_rate;
              }},
    Key<Bond>{"Min links",
              [](std::string_view value, Bond& bond) {
                  bond.unknown.min_links = !read_number(value, bond.min_links);
                  return !bond.unknown.min_links;
              }},
    Key<Bond>{"Aggregator selection policy (ad_select)", read_ad_select},
    Key<Bond>{"System priority",
              [](std::string_view value, Bond& bond) { return read_number(value, bond.system_priority); }},
    Key<Bond>{"System MAC address",
              [](std::string_view value, Bond& bond) { return read_mac(value, bond.system_mac); }},
};

using Lines = AggregatorLines;
constexpr std::array aggregator_keys = {
    Key<Lines>{"Aggregator ID",
               [](std::string_view value, Lines& lines) { return read_number(value, lines.id); }},
    Key<Lines>{"Number of ports",
               [](std::string_view value, Lines& lines) { return read_number(value, lines.ports); }},
    Key<Lines>{"Actor Key",
               [](std::string_view value, Lines& lines) { return read_number(value, lines.actor_key); }},
    Key<Lines>{"Partner Key",
               [](std::string_view value, Lines& lines) { return read_number(value, lines.partner_key); }},
    Key<Lines>{"Partner Mac Address",
               [](std::string_view value, Lines& lines) { return read_mac(value, lines.partner_mac); }},
};

constexpr std::array slave_keys = {
    Key<Slave>{"MII Status", read_mii},
    Key<Slave>{"Speed", read_speed},
    Key<Slave>{"Duplex", read_duplex},
    Key<Slave>{"Link Failure Count",
               [](std::string_view value, Slave& slave) {
                   slave.unknown.link_failures = !read_number(value, slave.link_failures);
                   return !slave.unknown.link_failures;
               }},
    Key<Slave>{
        "Permanent HW addr",
        [](std::string_view value, Slave& slave) { return read_hardware_address(value, slave.perm_mac); }},
    Key<Slave>{"Slave queue ID",
               [](std::string_view value, Slave& slave) {
                   slave.unknown.queue_id = !read_number(value, slave.queue_id);
                   return !slave.unknown.queue_id;
               }},
    Key<Slave>{"Aggregator ID",
               [](std::string_view value, Slave& slave) {
                   if (value != "N/A" && !read_number(value, slave.aggregator_id)) return false;
                   slave.unknown.aggregator = false;
                   return true;
               }},
    Key<Slave>{"Actor Churn State",
               [](std::string_view value, Slave& slave) { return read_churn(value, slave.actor_churn); }},
    Key<Slave>{"Partner Churn State",
               [](std::string_view value, Slave& slave) { return read_churn(value, slave.partner_churn); }},
    Key<Slave>{
        "Actor Churned Count",
        [](std::string_view value, Slave& slave) { return read_number(value, slave.actor_churn_count); }},
    Key<Slave>{
        "Partner Churned Count",
        [](std::string_view value, Slave& slave) { return read_number(value, slave.partner_churn_count); }},
};

struct Port {
    Slave& slave;
    LacpSide& side;
    bool partner;
};

constexpr std::array lacp_keys = {
    Key<Port>{"system priority", [](std::string_view value,
                                    Port& port) { return read_number(value, port.side.system_priority); }},
    Key<Port>{"system mac address",
              [](std::string_view value, Port& port) { return read_mac(value, port.side.system_mac); }},
    Key<Port>{"port key", [](std::string_view value,
                             Port& port) { return !port.partner && read_number(value, port.side.key); }},
    Key<Port>{"oper key", [](std::string_view value,
                             Port& port) { return port.partner && read_number(value, port.side.key); }},
    Key<Port>{"port priority",
              [](std::string_view value, Port& port) { return read_number(value, port.side.port_priority); }},
    Key<Port>{"port number",
              [](std::string_view value, Port& port) { return read_number(value, port.side.port_number); }},
    Key<Port>{"port state",
              [](std::string_view value, Port& port) {
                  return port.partner ? read_number(value, port.slave.partner_port_state)
                                      : read_number(value, port.slave.actor_port_state);
              }},
};

// Keys that only stand before or between the others.
constexpr std::array<std::string_view, 6> structure = {
    "Ethernet Channel Bonding Driver", "Bonding Mode",           "Slave Interface",
    "Active Aggregator Info",          "details actor lacp pdu", "details partner lacp pdu"};

template<typename Table> std::optional<std::size_t> index_of(const Table& table, std::string_view key) {
    static_assert(std::tuple_size_v<Table> <= max_keys);
    for (std::size_t i = 0; i < table.size(); ++i)
        if (table[i].text == key) return i;
    return std::nullopt;
}

// `line` begins with `key`, in any case.
bool begins_with(std::string_view line, std::string_view key) {
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    return line.size() >= key.size() && std::equal(key.begin(), key.end(), line.begin(), same);
}

// True when `accept` takes one of the driver's keys.
template<typename Accept> bool any_key(Accept accept) {
    const auto any = [&](const auto& table) {
        return std::any_of(table.begin(), table.end(), [&](const auto& key) { return accept(key.text); });
    };
    return any(bond_keys) || any(aggregator_keys) || any(slave_keys) || any(lacp_keys) ||
           std::any_of(structure.begin(), structure.end(), accept);
}

} // namespace

std::optional<std::size_t> bond_key(std::string_view key) {
    return index_of(bond_keys, key);
}

std::optional<std::size_t> aggregator_key(std::string_view key) {
    return index_of(aggregator_keys, key);
}

std::optional<std::size_t> slave_key(std::string_view key) {
    return index_of(slave_keys, key);
}

std::optional<std::size_t> lacp_key(std::string_view key) {
    return index_of(lacp_keys, key);
}

bool apply_bond(std::size_t key, std::string_view value, Bond& bond) {
    return bond_keys.at(key).apply(value, bond);
}

bool apply_aggregator(std::size_t key, std::string_view value, AggregatorLines& aggregator) {
    return aggregator_keys.at(key).apply(value, aggregator);
}

bool apply_slave(std::size_t key, std::string_view value, Slave& slave) {
    return slave_keys.at(key).apply(value, slave);
}

bool apply_lacp(std::size_t key, std::string_view value, bool partner, Slave& slave) {
    auto& side = partner ? slave.partner : slave.actor;
    if (!side) side.emplace();
    Port port{slave, *side, partner};
    return lacp_keys.at(key).apply(value, port);
}

bool resembles_key(std::string_view key) {
    return any_key(
        [&](std::string_view known) { return known.size() == key.size() && begins_with(key, known); });
}

bool lacks_colon(std::string_view line) {
    return any_key([&](std::string_view known) {
        return begins_with(line, known) &&
               (line.size() == known.size() || line[known.size()] == ' ' || line[known.size()] == '\t');
    });
}

} // namespace bondtrace::dump
