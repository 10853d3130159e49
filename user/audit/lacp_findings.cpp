// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/lacp_findings.h"

#include "user/audit/advice.h"
#include "user/audit/lacp_view.h"
#include "user/audit/state_findings.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace bondtrace {
namespace {

using Ports = std::vector<LacpPort>;

Ports where(const Ports& ports, bool (*accept)(const LacpPort&)) {
    Ports chosen;
    std::copy_if(ports.begin(), ports.end(), std::back_inserter(chosen), accept);
    return chosen;
}

std::string names_of(const Ports& ports) {
    std::vector<std::string> names;
    for (const LacpPort& port : ports)
        names.push_back(port.slave().name);
    return list_names(names);
}

// One finding for all the ports it is about; the slave is named in its field when it is one.
Finding finding(const Bond& bond, const Ports& ports, std::string id, Severity severity,
                std::string summary) {
    Finding result;
    result.id = std::move(id);
    result.severity = severity;
    result.bond = bond.name;
    result.summary = std::move(summary);
    if (ports.size() == 1) result.slave = ports.front().slave().name;
    for (const LacpPort& port : ports)
        result.seen +=
            fmt::format("{}{}: {}", result.seen.empty() ? "" : "; ", port.slave().name, port.states());
    return result;
}

// "active aggregator 2: enp145s0f1, 40000 of 80000 Mbps".
std::string carried_by(const Bond& bond, const Ports& ports) {
    if (!bond.aggregator) return "";
    std::uint64_t all = 0, carried = 0;
    bool speeds = true;
    for (const LacpPort& port : ports) {
        speeds = speeds && port.slave().speed_mbps.has_value();
        all += port.slave().speed_mbps.value_or(0);
        carried += port.selected() && port.up() ? port.slave().speed_mbps.value_or(0) : 0;
    }
    const Ports selected = where(ports, [](const LacpPort& port) { return port.selected(); });
    return fmt::format("active aggregator {}: {}{}; ", bond.aggregator->aggregator_id, names_of(selected),
                       speeds ? fmt::format(", {} of {} Mbps", carried, all) : "");
}

void find_no_aggregator(const Bond& bond, const Ports& ports, std::vector<Finding>& findings) {
    if (bond.aggregator || bond.unknown.aggregator) return;
    const Ports up = where(ports, [](const LacpPort& port) { return port.up(); });
    if (up.empty()) return;
    Finding result = finding(bond, up, "lacp.no-aggregator", Severity::critical,
                             fmt::format("{} has no active aggregator: LACP is not up", bond.name));
    result.why = "Without an active aggregator the driver drops everything that is to be sent.";
    result.fixes = switch_fixes(SwitchChange::lacp);
    findings.push_back(std::move(result));
}

void find_no_partner(const Bond& bond, const Ports& ports, std::vector<Finding>& findings) {
    const Ports alone = where(ports, [](const LacpPort& port) { return port.up() && port.no_partner(); });
    if (alone.empty()) return;
    Finding result = finding(bond, alone, "lacp.no-partner", Severity::critical,
                             fmt::format("no LACP partner on {}: the switch {} no LACP", names_of(alone),
                                         alone.size() == 1 ? "port runs" : "ports run"));
    result.seen = fmt::format("{}partner MAC 00:00:00:00:00:00; {}", carried_by(bond, ports), result.seen);
    const bool alone_in_sync = std::any_of(alone.begin(), alone.end(), [](const LacpPort& port) {
        return port.actor_has(lacp_state::synchronization);
    });
    if (alone_in_sync) result.seen += "; \"in sync\" here is with nobody";
    result.why =
        "The bond looks up, but one port at most carries, and what the switch spreads over the others is "
        "dropped.";
    result.fixes = switch_fixes(SwitchChange::lacp);
    result.fixes.push_back({"virtual networks",
                            "a Linux bridge between the two ends keeps LACPDUs to itself, and its "
                            "group_fwd_mask refuses them: join the ends directly (veth, macvtap "
                            "passthrough, SR-IOV) or let the hypervisor run the bond"});
    findings.push_back(std::move(result));
}

void find_aggregators(const Bond& bond, const Ports& ports, std::vector<Finding>& findings) {
    const Ports up = where(ports, [](const LacpPort& port) { return port.up(); });
    Ports out = where(up, [](const LacpPort& port) { return port.left_out(); });
    std::map<std::uint16_t, Ports> groups;
    for (const LacpPort& port : up)
        if (port.slave().aggregator_id) groups[*port.slave().aggregator_id].push_back(port);
    std::string summary, seen;
    if (!out.empty()) {
        std::string reasons;
        for (const LacpPort& port : out)
            reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", port.slave().name,
                                   port.reason_left_out());
        summary = fmt::format("{} {} left out of the active aggregator {} ({})", names_of(out),
                              out.size() == 1 ? "is" : "are", bond.aggregator->aggregator_id, reasons);
        seen = carried_by(bond, ports);
    } else if (!bond.aggregator && groups.size() > 1) {
        summary = fmt::format("the slaves of {} are in {} different aggregators, of which one carries",
                              bond.name, groups.size());
        if (bond.unknown.aggregator)
            seen = "which one is active was hidden from the reader, who was not root; ";
        out = up;
    } else {
        return;
    }
    for (const auto& [id, members] : groups)
        seen += fmt::format("aggregator {}: {}; ", id, names_of(members));
    Finding result = finding(bond, out, "lacp.aggregators-differ", Severity::critical, summary);
    result.seen = seen + result.seen;
    result.why = "Only the active aggregator's ports carry traffic, whatever their links say.";
    result.fixes = switch_fixes(SwitchChange::same_lag);
    findings.push_back(std::move(result));
}

void find_differing_partners(const Bond& bond, const Ports& ports, std::vector<Finding>& findings) {
    std::map<MacAddress, Ports> partners;
    for (const LacpPort& port : ports)
        if (port.up() && port.partner_known()) partners[*port.partner()].push_back(port);
    if (partners.size() < 2) return;
    std::string seen;
    for (const auto& [mac, members] : partners)
        seen += fmt::format("{}{}: {}", seen.empty() ? "" : "; ", to_text(mac), names_of(members));
    Finding result =
        finding(bond, {}, "lacp.partner-differs", Severity::critical,
                fmt::format("the slaves of {} see {} different LACP partners", bond.name, partners.size()));
    result.seen = "partner systems " + seen;
    result.why = "Ports of different systems are never one LAG: they end on two switches that are no "
                 "multi-chassis pair, "
                 "and one switch's ports stay idle.";
    result.fixes = switch_fixes(SwitchChange::same_lag);
    findings.push_back(std::move(result));
}

// The LACPDUs carry the system MAC. When it belongs to no port, something gave the bond a MAC of its own.
std::string foreign_system_mac(const Bond& bond) {
    if (!bond.system_mac || bond.slaves.empty()) return "";
    if (bond.ad_actor_system && *bond.ad_actor_system != MacAddress{}) return ""; // somebody wanted that
    for (const Slave& slave : bond.slaves)
        if (!slave.perm_mac || *slave.perm_mac == *bond.system_mac) return "";
    return fmt::format("; the system MAC {} is the permanent MAC of no slave", to_text(*bond.system_mac));
}

void find_unheard(const Bond& bond, const Ports& ports, std::vector<Finding>& findings) {
    const Ports unheard = where(ports, [](const LacpPort& port) {
        return port.up() && port.partner_known() && port.partner_has(lacp_state::defaulted);
    });
    if (unheard.empty()) return;
    Finding result = finding(bond, unheard, "lacp.defaulted", Severity::critical,
                             fmt::format("the partner does not accept our LACPDUs on {}", names_of(unheard)));
    const std::string foreign = foreign_system_mac(bond);
    result.seen += "; DEFAULTED in the partner's state: it has heard nobody" + foreign;
    result.why =
        "LACP comes up only when both ends hear each other, and this partner hears nothing from here.";
    if (!foreign.empty())
        result.fixes.push_back(
            {"systemd-networkd",
             fmt::format("# udev gave the bond a made-up MAC; in /etc/systemd/network/10-bond.link, then "
                         "make {} anew\n[Match]\nType=bond\n[Link]\nMACAddressPolicy=none",
                         bond.name)});
    result.fixes.push_back(
        {"host", fmt::format("tcpdump -e -i {} ether proto 0x8809   # are LACPDUs sent, with which "
                             "source MAC?",
                             unheard.front().slave().name)});
    findings.push_back(std::move(result));
}

void find_not_distributing(const Bond& bond, const Ports& ports, std::vector<Finding>& findings) {
    const Ports stuck = where(ports, [](const LacpPort& port) {
        return port.up() && !port.left_out() && port.partner_known() && !port.lacking().empty();
    });
    for (const LacpPort& port : stuck) {
        Finding result = finding(bond, {port}, "lacp.not-distributing", Severity::critical,
                                 fmt::format("{} does not carry: {}", port.slave().name, port.lacking()));
        result.why =
            port.partner_has(lacp_state::defaulted)
                ? "The partner does not accept our LACPDUs, so that neither end puts the port to use."
                : "Both ends must be in sync, collecting and distributing before a port carries in both "
                  "directions.";
        result.fixes = switch_fixes(SwitchChange::lacp);
        findings.push_back(std::move(result));
    }
}

void find_churn(const Bond& bond, const Ports& ports, std::vector<Finding>& findings) {
    for (const LacpPort& port : ports) {
        const auto &actor = port.slave().actor_churn_count, &partner = port.slave().partner_churn_count;
        const bool history = actor.value_or(0) > 0 || partner.value_or(0) > 0;
        // One that is left out, alone or stuck has a finding that says so, and churn is how it shows.
        const bool explained = port.left_out() || port.no_partner() || !port.lacking().empty();
        if (!port.up() || explained || (!port.churned() && !history)) continue;
        Finding result =
            finding(bond, {port}, "lacp.churned", port.churned() ? Severity::warning : Severity::info,
                    port.churned() ? fmt::format("{} is recorded as churned", port.slave().name)
                                   : fmt::format("{} has churned before", port.slave().name));
        result.seen += fmt::format("; churned {} times as actor, {} as partner; {} link failures",
                                   actor.value_or(0), partner.value_or(0), port.slave().link_failures);
        result.why =
            "Once it was out of sync for more than 60 s; compare the counts with those of a later audit.";
        result.fixes = {{"host", fmt::format("dmesg | grep {}", port.slave().name)}};
        findings.push_back(std::move(result));
    }
}

void find_unstable(const Bond& bond, const Ports& ports, const StateWindow* window,
                   std::vector<Finding>& findings) {
    for (const LacpPort& port : ports) {
        if (!port.up()) continue;
        const SlaveChange* const change = window ? window->find(port.slave().name) : nullptr;
        const bool expired = port.partner_known() &&
                             (port.actor_has(lacp_state::expired) || port.partner_has(lacp_state::expired));
        const bool moved = change && (change->lost_sync || change->churned > 0);
        if (!expired && !moved) continue;
        Finding result = finding(bond, {port}, "lacp.unstable", Severity::warning,
                                 fmt::format("LACP on {} is unstable: {}", port.slave().name,
                                             expired             ? "EXPIRED, no LACPDU came in time"
                                             : change->lost_sync ? "it was in sync and no longer is"
                                                                 : "it churned in the window"));
        result.why = "LACPDUs come later than the timeout allows: mostly one end expects the fast rate and "
                     "the other sends "
                     "more slowly.";
        result.fixes = switch_fixes(bond.lacp_fast ? SwitchChange::lacp_fast : SwitchChange::lacp_slow);
        findings.push_back(std::move(result));
    }
}

void find_rates(const Bond& bond, const Ports& ports, std::vector<Finding>& findings) {
    if (bond.unknown.lacp_rate) return;
    Ports other;
    for (const LacpPort& port : ports)
        if (port.up() && port.partner_known() && port.slave().partner_port_state &&
            port.partner_has(lacp_state::short_timeout) != bond.lacp_fast)
            other.push_back(port);
    if (other.empty()) return;
    const std::string_view here = bond.lacp_fast ? "fast" : "slow", there = bond.lacp_fast ? "slow" : "fast";
    Finding result = finding(bond, other, "lacp.rate-differs", Severity::info,
                             fmt::format("LACP rate {} here, {} at the switch", here, there));
    result.why = "Each end sends as often as the other asks, so that this works; a failure without link loss "
                 "is noticed "
                 "at one end after 3 s and at the other after 90 s.";
    result.fixes = host_fixes(bond, BondOption::lacp_rate, there);
    findings.push_back(std::move(result));
}

void find_unknown_aggregator(const Bond& bond, const Ports& ports, std::vector<Finding>& findings) {
    const bool others = std::any_of(ports.begin(), ports.end(), [](const LacpPort& port) {
        return port.slave().aggregator_id.has_value();
    });
    for (const LacpPort& port : ports) {
        const Slave& slave = port.slave();
        if (!slave.unknown.aggregator || !others) continue;
        // At the end of a cut text the line may have been cut off with what follows it.
        if (bond.truncated && !slave.actor_churn && !slave.actor && !slave.actor_port_state) continue;
        Finding result = finding(bond, {port}, "lacp.aggregator-unknown", Severity::warning,
                                 fmt::format("{} does not say in which aggregator it is", slave.name));
        result.why = "It cannot be told whether it carries; a missing aggregator is not the same one.";
        result.fixes = {{"host", fmt::format("cat /proc/net/bonding/{}", command_name(bond))}};
        findings.push_back(std::move(result));
    }
}

void find_hidden(const Bond& bond, std::vector<Finding>& findings) {
    if (bond.privileged != false) return;
    Finding result =
        finding(bond, {}, "lacp.details-hidden", Severity::info,
                fmt::format("who is at the other end of {} was hidden from the reader", bond.name));
    result.seen =
        "no system MAC, active aggregator or port states in /proc/net/bonding: read without CAP_NET_ADMIN";
    result.why = "Whether LACP has a partner, and the same on every port, can be told as root only.";
    result.fixes = {{"host", fmt::format("sudo cat /proc/net/bonding/{}", command_name(bond))}};
    findings.push_back(std::move(result));
}

} // namespace

std::vector<Finding> lacp_findings(const Bond& bond, const StateWindow* window) {
    std::vector<Finding> findings;
    if (bond.mode != BondMode::lacp) return findings;
    const Ports ports = lacp_ports(bond);
    find_no_aggregator(bond, ports, findings);
    find_no_partner(bond, ports, findings);
    find_differing_partners(bond, ports, findings);
    find_aggregators(bond, ports, findings);
    find_unheard(bond, ports, findings);
    find_not_distributing(bond, ports, findings);
    find_unknown_aggregator(bond, ports, findings);
    find_unstable(bond, ports, window, findings);
    find_churn(bond, ports, findings);
    find_rates(bond, ports, findings);
    find_hidden(bond, findings);
    return findings;
}

} // namespace bondtrace
