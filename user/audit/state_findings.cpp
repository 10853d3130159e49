// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/state_findings.h"

#include "user/audit/advice.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// From this many link failures on a count without a time is a habit and no accident.
constexpr std::uint32_t many_failures = 5;

// One slave carries at a time, the others wait for it to fail.
bool is_standby_mode(const Bond& bond) {
    return bond.mode == BondMode::active_backup;
}

Finding finding(const Bond& bond, std::string id, Severity severity, std::string summary) {
    Finding result;
    result.id = std::move(id);
    result.severity = severity;
    result.bond = bond.name;
    result.summary = std::move(summary);
    return result;
}

Finding finding(const Bond& bond, const Slave& slave, std::string id, Severity severity,
                std::string summary) {
    Finding result = finding(bond, std::move(id), severity, std::move(summary));
    result.slave = slave.name;
    return result;
}

std::string times(std::uint32_t count) {
    return count == 1 ? "once" : fmt::format("{} times", count);
}

std::string speed_text(const Slave& slave) {
    return slave.speed_mbps ? fmt::format("{} Mbps", *slave.speed_mbps) : "unknown speed";
}

// The number of ports that count for min_links: those of the active aggregator.
std::size_t usable_ports(const Bond& bond) {
    if (bond.aggregator) return bond.aggregator->ports;
    return static_cast<std::size_t>(std::count_if(bond.slaves.begin(), bond.slaves.end(), is_up));
}

// A bond without carrier although a port of its active aggregator is up: only min_links does that
// (bond_3ad_set_carrier() in bond_3ad.c).
bool min_links_inferred(const Bond& bond) {
    if (!bond.unknown.min_links || bond.unknown.carrier || bond.carrier || !bond.aggregator) return false;
    if (!bond.unknown.admin_up && !bond.admin_up) return false;
    return std::any_of(bond.slaves.begin(), bond.slaves.end(), [&](const Slave& slave) {
        return is_up(slave) && slave.aggregator_id == bond.aggregator->aggregator_id;
    });
}

void find_min_links(const Bond& bond, std::vector<Finding>& findings) {
    if (bond.mode != BondMode::lacp || bond.slaves.empty()) return;
    const bool inferred = min_links_inferred(bond);
    const bool known = !bond.unknown.min_links && bond.min_links > usable_ports(bond) && !bond.truncated &&
                       !bond.unknown.aggregator;
    if (!inferred && !known) return;
    Finding result = finding(
        bond, "bond.min-links", Severity::critical,
        inferred
            ? fmt::format("{} is down although a slave is up: min_links asks for more", bond.name)
            : fmt::format("{} needs {} links and has {}", bond.name, bond.min_links, usable_ports(bond)));
    result.seen = fmt::format("ports in the active aggregator: {}; min_links: {}", usable_ports(bond),
                              bond.unknown.min_links ? "not in the source" : std::to_string(bond.min_links));
    result.why =
        "Below min_links an 802.3ad bond gives up its carrier, so that the links that work carry nothing.";
    result.fixes = host_fixes(bond, BondOption::min_links, "1");
    findings.push_back(std::move(result));
}

void find_bond(const Bond& bond, std::vector<Finding>& findings) {
    if (bond.truncated) {
        Finding result =
            finding(bond, "bond.truncated", Severity::info,
                    fmt::format("what is known of {} ends in the middle: slaves may be missing", bond.name));
        result.seen = fmt::format("{} slaves in the text, the last one perhaps in part", bond.slaves.size());
        result.why = "What was cut off can be neither right nor wrong; save the whole file.";
        findings.push_back(std::move(result));
    }
    if (bond.slaves.empty() && bond.missing_slaves.empty() && !bond.truncated) {
        Finding result =
            finding(bond, "bond.no-slaves", Severity::critical, fmt::format("{} has no slaves", bond.name));
        result.seen = fmt::format("0 slaves, mode {}", to_text(bond.mode));
        result.why =
            "A bond carries nothing by itself; often the interfaces have other names than the configuration "
            "says.";
        result.fixes = {{"iproute2", fmt::format("ip -br link   # which interfaces are there, and free?\n"
                                                 "ip link set dev NAME down\nip link set dev NAME master {}",
                                                 command_name(bond))}};
        findings.push_back(std::move(result));
    }
    if (!bond.unknown.carrier && !bond.carrier) {
        const bool off = !bond.unknown.admin_up && !bond.admin_up;
        Finding result = finding(bond, "bond.down", Severity::critical,
                                 off ? fmt::format("{} is switched off", bond.name)
                                     : fmt::format("{} is down: it has no carrier", bond.name));
        const auto up = std::count_if(bond.slaves.begin(), bond.slaves.end(), is_up);
        result.seen = fmt::format("MII status down; {} of {} slaves up", up, bond.slaves.size());
        result.why = "Nothing is sent or received over it.";
        if (off) result.fixes = {{"iproute2", fmt::format("ip link set dev {} up", command_name(bond))}};
        findings.push_back(std::move(result));
    }
    find_min_links(bond, findings);
    const bool unmonitored = !bond.unknown.miimon && !bond.unknown.arp_interval && bond.miimon_ms == 0 &&
                             bond.arp_interval_ms == 0;
    if (unmonitored) {
        Finding result = finding(bond, "bond.no-miimon", Severity::warning,
                                 fmt::format("{} does not watch its links", bond.name));
        result.seen = "miimon 0, arp_interval 0";
        result.why = "A slave whose link fails is not taken out, and its share of the traffic is lost.";
        result.fixes = host_fixes(bond, BondOption::miimon, "100");
        findings.push_back(std::move(result));
    }
    for (const std::string& name : bond.missing_slaves) {
        Finding result = finding(bond, "slave.missing", Severity::warning,
                                 fmt::format("{} is listed as a slave, but there is no such device", name));
        result.slave = name;
        result.seen = "in /proc/net/bonding, not among the interfaces";
        result.why =
            "It was removed or moved to another network namespace a moment ago, or the two were not read at "
            "the same time.";
        findings.push_back(std::move(result));
    }
}

void find_down(const Bond& bond, const Slave& slave, std::vector<Finding>& findings) {
    if (slave.unknown.mii_status) return;
    const bool link_known = !slave.unknown.flags;
    if (slave.mii_status == MiiStatus::up) {
        if (!link_known || slave.carrier) return;
        Finding result =
            finding(bond, slave, "slave.down", Severity::warning,
                    fmt::format("{} has no link, and {} has not noticed", slave.name, bond.name));
        result.seen = fmt::format("carrier down, MII status up, miimon {} ms", bond.miimon_ms);
        result.why = "Until the bond notices, what it sends there is lost.";
        findings.push_back(std::move(result));
        return;
    }
    // The active slave of active-backup is never one that is down, so that only redundancy is lost there.
    const bool critical = slave.mii_status == MiiStatus::down && !is_standby_mode(bond);
    const bool off = link_known && !slave.admin_up;
    Finding result =
        finding(bond, slave, "slave.down", critical ? Severity::critical : Severity::warning,
                fmt::format("{} is {}", slave.name, off ? "switched off" : to_text(slave.mii_status)));
    result.seen = fmt::format("MII status {}{}, link failures: {}", to_text(slave.mii_status),
                              link_known ? (slave.carrier ? ", carrier up" : ", carrier down") : "",
                              slave.unknown.link_failures ? "unknown" : std::to_string(slave.link_failures));
    if (slave.mii_status == MiiStatus::going_back)
        result.seen +=
            fmt::format("; its link is up, and it waits for updelay ({} ms)", bond.updelay_ms.value_or(0));
    result.why = is_standby_mode(bond) ? "There is no link left to fall back on when the active one fails."
                                       : "It carries nothing, and the bond has that much less bandwidth.";
    result.fixes = {
        {"iproute2", off ? fmt::format("ip link set dev {} up", slave.name)
                         : fmt::format("ethtool {0}   # \"Link detected\"; then cable, transceiver, switch "
                                       "port\nip -d -s link show dev {0}",
                                       slave.name)}};
    findings.push_back(std::move(result));
}

void find_flapping(const Bond& bond, const Slave& slave, const StateWindow* window,
                   std::vector<Finding>& findings) {
    const SlaveChange* const change = window ? window->find(slave.name) : nullptr;
    const std::uint32_t now = change ? change->failures : 0;
    const std::uint32_t all = slave.unknown.link_failures ? 0 : slave.link_failures;
    if (now == 0 && all == 0) return;
    const bool warn = now > 0 || all >= many_failures;
    Finding result =
        finding(bond, slave, "slave.flapping", warn ? Severity::warning : Severity::info,
                now > 0 ? fmt::format("the link of {} failed {} in the window", slave.name, times(now))
                        : fmt::format("the link of {} has failed {}", slave.name, times(all)));
    result.seen = fmt::format("link failure count {}", all);
    if (now > 0) result.seen += fmt::format(", {} of them within {:.0f} s", now, window->seconds);
    if (bond.arp_interval_ms > 0 && !bond.arp_targets.empty())
        result.seen += fmt::format("; judged by ARP to {} each {} ms", to_text(bond.arp_targets.front()),
                                   bond.arp_interval_ms);
    result.why =
        "Each failure loses what was on its way and moves flows; the count runs since the slave joined.";
    result.fixes = {
        {"host", fmt::format("dmesg | grep {0}; ethtool -S {0}; ethtool -m {0}   # errors, optical power",
                             slave.name)}};
    findings.push_back(std::move(result));
}

void find_speed(const Bond& bond, const Slave& slave, std::vector<Finding>& findings) {
    const bool lacp = bond.mode == BondMode::lacp;
    if (slave.duplex == Duplex::half) {
        Finding result =
            finding(bond, slave, "slave.duplex-half", lacp ? Severity::critical : Severity::warning,
                    fmt::format("{} runs half duplex", slave.name));
        result.seen = fmt::format("{}, half duplex", speed_text(slave));
        result.why =
            lacp ? "LACP does not aggregate half-duplex ports: it stays out."
                 : "Collisions and a fraction of the bandwidth; mostly one end negotiates and the other does "
                   "not.";
        result.fixes = {{"host", fmt::format("ethtool -s {} autoneg on   # and the same on the switch port",
                                             slave.name)}};
        findings.push_back(std::move(result));
    }
    if (!slave.speed_undetermined || slave.speed_mbps) return;
    // A port without link has no speed, and that is all there is to it; unless the link is up, or the bond is
    // up with no slave that is: then the missing speed is what keeps the port down.
    const bool none_up = std::none_of(bond.slaves.begin(), bond.slaves.end(), is_up);
    const bool stuck =
        (!slave.unknown.flags && slave.carrier) || (!bond.unknown.carrier && bond.carrier && none_up);
    if (!is_up(slave) && !stuck) return;
    const bool balances_by_speed = bond.mode == BondMode::balance_tlb || bond.mode == BondMode::balance_alb;
    Finding result = finding(bond, slave, "slave.speed-unknown",
                             lacp                ? Severity::critical
                             : balances_by_speed ? Severity::warning
                                                 : Severity::info,
                             fmt::format("the speed of {} is unknown", slave.name));
    result.seen = fmt::format("Speed: Unknown, MII status {}", to_text(slave.mii_status));
    result.why =
        lacp ? "802.3ad makes a port's key from its speed: without one the port aggregates with no other."
             : "Harmless in this mode, but nobody can say what it could carry.";
    result.fixes = {
        {"host", fmt::format("ethtool -s {} speed 10000 duplex full   # virtio-net and other virtual NICs",
                             slave.name)}};
    findings.push_back(std::move(result));
}

void find_differing_speeds(const Bond& bond, std::vector<Finding>& findings) {
    std::map<std::uint32_t, std::vector<std::string>> speeds;
    for (const Slave& slave : bond.slaves)
        if (is_up(slave) && slave.speed_mbps) speeds[*slave.speed_mbps].push_back(slave.name);
    if (speeds.size() < 2) return;
    std::string seen;
    for (const auto& [speed, names] : speeds)
        seen += fmt::format("{}{} Mbps: {}", seen.empty() ? "" : "; ", speed, list_names(names));
    Finding result =
        finding(bond, "slave.speed-differs", is_standby_mode(bond) ? Severity::info : Severity::warning,
                fmt::format("the slaves of {} have different speeds", bond.name));
    result.seen = seen;
    result.why = bond.mode == BondMode::lacp
                     ? "Ports of different speeds cannot be in one aggregator: only those of one speed carry."
                     : "The driver spreads flows evenly, not by speed: the slow slave is full first.";
    result.fixes = {
        {"host", "ethtool NAME   # what both ends advertise; then cable, transceiver, switch port"}};
    findings.push_back(std::move(result));
}

void find_equal_addresses(const Bond& bond, std::vector<Finding>& findings) {
    std::map<MacAddress, std::vector<std::string>> owners;
    for (const Slave& slave : bond.slaves)
        if (slave.perm_mac && *slave.perm_mac != MacAddress{}) owners[*slave.perm_mac].push_back(slave.name);
    for (const auto& [mac, names] : owners) {
        if (names.size() < 2) continue;
        Finding result = finding(bond, "slave.same-permanent-mac", Severity::warning,
                                 fmt::format("{} have the same permanent MAC address", list_names(names)));
        result.seen = fmt::format("{} on {}", to_text(mac), list_names(names));
        result.why = "The driver tells its slaves apart by it; two ports with one address confuse switches "
                     "when the bond "
                     "is taken apart, and usually one was written over.";
        result.fixes = {
            {"host", "ethtool -P NAME   # the address burnt in; then the configuration that overrides it"}};
        findings.push_back(std::move(result));
    }
}

} // namespace

std::vector<Finding> state_findings(const Bond& bond, const StateWindow* window) {
    std::vector<Finding> findings;
    find_bond(bond, findings);
    for (const Slave& slave : bond.slaves) {
        find_down(bond, slave, findings);
        find_flapping(bond, slave, window, findings);
        find_speed(bond, slave, findings);
    }
    find_differing_speeds(bond, findings);
    find_equal_addresses(bond, findings);
    return findings;
}

Finding missing_bond(std::string name, std::string why) {
    Finding result;
    result.id = "bond.missing";
    result.severity = Severity::critical;
    result.summary = fmt::format("there is no bond {}", name);
    result.bond = std::move(name);
    result.seen = std::move(why);
    result.why = "What should go over it goes elsewhere or nowhere.";
    result.fixes = {{"iproute2", "ip -d link show type bond   # the bonds there are"}};
    return result;
}

std::string list_names(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    return text;
}

bool is_up(const Slave& slave) {
    return !slave.unknown.mii_status && slave.mii_status == MiiStatus::up;
}

} // namespace bondtrace
