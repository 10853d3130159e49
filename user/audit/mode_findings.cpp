// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/mode_findings.h"

#include "user/audit/advice.h"
#include "user/audit/lacp_view.h"
#include "user/audit/state_findings.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// From here on dropped frames are a share of the traffic and no mere background.
constexpr std::uint64_t least_frames = 20, least_unicast = 5;
constexpr double least_share = 0.1, least_rate = 50;
// Reordering that TCP does not notice; it takes three later segments for a retransmission (RFC 5681).
constexpr double harmless_reordering = 0.001;

std::size_t up_slaves(const Bond& bond) {
    return static_cast<std::size_t>(std::count_if(bond.slaves.begin(), bond.slaves.end(), is_up));
}

Finding finding(const Bond& bond, std::string id, Severity severity, std::string summary) {
    Finding result;
    result.id = std::move(id);
    result.severity = severity;
    result.bond = bond.name;
    result.summary = std::move(summary);
    return result;
}

// What inactive slaves received and dropped.
struct Inactive {
    std::uint64_t all = 0;     // frames on all slaves
    std::uint64_t dropped = 0; // on inactive ones
    std::uint64_t active = 0;  // on the others
    std::optional<std::uint64_t> unicast;
    std::vector<std::string> slaves;
    [[nodiscard]] double share() const {
        return all == 0 ? 0 : static_cast<double>(dropped) / static_cast<double>(all);
    }
};

// Which slaves do not deliver what they receive.
bool is_inactive(const Bond& bond, const Slave& slave) {
    if (bond.mode == BondMode::lacp)
        return LacpPort(bond, slave).left_out() || (!slave.unknown.state && slave.backup);
    return !slave.unknown.state && slave.backup;
}

Inactive count_inactive(const Bond& bond, const StateWindow& window) {
    Inactive sum;
    for (const Slave& slave : bond.slaves) {
        const SlaveChange* const change = window.find(slave.name);
        if (!change) continue;
        sum.all += change->rx_packets;
        if (!is_inactive(bond, slave)) {
            sum.active += change->rx_packets;
            continue;
        }
        if (change->rx_inactive == 0) continue;
        sum.dropped += change->rx_inactive;
        sum.slaves.push_back(slave.name);
        if (change->rx_inactive_unicast) sum.unicast = sum.unicast.value_or(0) + *change->rx_inactive_unicast;
    }
    return sum;
}

// How surely the frames are a LAG's share and not the broadcasts that every port gets. nullopt: they are not.
std::optional<Severity> judge(const Inactive& sum, double seconds) {
    if (sum.unicast) {
        const bool many = *sum.unicast >= least_unicast &&
                          static_cast<double>(*sum.unicast) > least_share / 2 * static_cast<double>(sum.all);
        return many ? std::optional(Severity::critical) : std::nullopt;
    }
    if (sum.dropped < least_frames || sum.share() < least_share) return std::nullopt;
    // A flooded frame comes on the active slave as well: more than that got can be no flood.
    if (sum.dropped > sum.active) return Severity::critical;
    if (seconds > 0 && static_cast<double>(sum.dropped) / seconds >= least_rate) return Severity::warning;
    return std::nullopt;
}

void find_inactive(const Bond& bond, const StateWindow* window, std::vector<Finding>& findings) {
    const bool standby = bond.mode == BondMode::active_backup || bond.mode == BondMode::balance_tlb;
    const bool lacp = bond.mode == BondMode::lacp;
    if (!window || bond.all_slaves_active || !(standby || lacp)) return;
    const std::vector<LacpPort> ports = lacp_ports(bond);
    // With a partner on some port an idle port is the matter of LACP, not of the pairing.
    if (lacp &&
        !std::all_of(ports.begin(), ports.end(), [](const LacpPort& port) { return port.no_partner(); }))
        return;
    const Inactive sum = count_inactive(bond, *window);
    const auto severity = judge(sum, window->seconds);
    if (!severity) return;
    Finding result = finding(
        bond, lacp ? "mode.static-lag-mismatch" : "mode.inactive-rx", *severity,
        fmt::format(
            "{:.0f} % of the frames received are dropped: they come on the inactive {}, so the switch has "
            "the ports in a LAG{}",
            sum.share() * 100, list_names(sum.slaves), lacp ? " without LACP" : ""));
    if (sum.slaves.size() == 1) result.slave = sum.slaves.front();
    result.seen =
        fmt::format("{} of {} frames on {} (rx_nohandler)", sum.dropped, sum.all, list_names(sum.slaves));
    if (sum.unicast) result.seen += fmt::format(", {} of them to this host alone", *sum.unicast);
    result.why =
        "The switch spreads what it sends over all ports, and an inactive slave drops what it receives.";
    result.fixes = switch_fixes(lacp ? SwitchChange::lacp : SwitchChange::no_lag);
    if (!lacp) {
        // The other way round: keep the LAG, and make the bond one.
        for (Fix& fix : host_fixes(bond, BondOption::mode, "802.3ad")) {
            fix.where += ", with LACP on the switch";
            result.fixes.push_back(std::move(fix));
        }
    }
    findings.push_back(std::move(result));
}

void find_round_robin(const Bond& bond, const StateWindow* window, std::vector<Finding>& findings) {
    if (bond.mode != BondMode::balance_rr || up_slaves(bond) < 2) return;
    const std::optional<double> share = window ? window->reordered_share : std::nullopt;
    const bool harmless = share && *share < harmless_reordering;
    Finding result =
        finding(bond, "mode.rr-reordering", harmless ? Severity::info : Severity::warning,
                share ? fmt::format("{:.2f} % of the TCP segments arrive out of order", *share * 100)
                      : "each flow goes over all slaves, which reorders it");
    result.seen = fmt::format("mode balance-rr, {} slaves up{}", up_slaves(bond),
                              share ? "" : "; not measured (nstat TcpExtTCPOFOQueue at the receiver)");
    result.why = "TCP takes reordering for loss and slows down, so that two links may carry less than one.";
    result.fixes = host_fixes(bond, BondOption::mode, "802.3ad");
    findings.push_back(std::move(result));
}

void find_static_lag(const Bond& bond, std::vector<Finding>& findings) {
    const bool round_robin = bond.mode == BondMode::balance_rr;
    if (!round_robin && bond.mode != BondMode::balance_xor && bond.mode != BondMode::broadcast) return;
    if (up_slaves(bond) < 2) return;
    Finding result =
        finding(bond, "mode.needs-static-lag", round_robin ? Severity::warning : Severity::info,
                fmt::format("{} needs a static LAG at the switch, which cannot be seen from this host",
                            to_text(bond.mode)));
    result.seen = fmt::format("mode {}, {} slaves up, one source MAC on all of them", to_text(bond.mode),
                              up_slaves(bond));
    result.why = "Without one the switch sees a MAC address jump between its ports, and what it sends back "
                 "is lost in part. "
                 "Two hosts cabled directly need none.";
    result.fixes = switch_fixes(SwitchChange::static_lag);
    findings.push_back(std::move(result));
}

void find_address_tricks(const Bond& bond, std::vector<Finding>& findings) {
    if (bond.mode == BondMode::balance_alb && up_slaves(bond) > 1) {
        Finding result = finding(bond, "mode.alb-arp", Severity::warning,
                                 "balance-alb gives each slave a MAC address of its own and rewrites ARP");
        result.seen = fmt::format("{} slaves up", up_slaves(bond));
        result.why = "NICs with many VLANs run out of receive filters and drop what comes for the second "
                     "address; peers "
                     "that check ARP, and anything bridged, lose packets.";
        result.fixes = host_fixes(bond, BondOption::mode, "802.3ad");
        findings.push_back(std::move(result));
    }
    const bool unsuitable = bond.mode == BondMode::balance_alb || bond.mode == BondMode::balance_tlb ||
                            bond.mode == BondMode::balance_rr || bond.mode == BondMode::broadcast;
    for (const Upper& upper : bond.uppers) {
        if (!unsuitable || (upper.kind != "bridge" && upper.kind != "openvswitch")) continue;
        Finding result =
            finding(bond, "mode.bridge-port", upper.other_ports > 0 ? Severity::warning : Severity::info,
                    fmt::format("{}, a port of bridge {}, has mode {}, which suits no bridge", bond.name,
                                upper.name, to_text(bond.mode)));
        result.seen = fmt::format("{} other ports on {}", upper.other_ports, upper.name);
        result.why = "The MAC addresses behind the bridge are not the bond's: answers to them come on the "
                     "wrong slave or "
                     "not at all.";
        result.fixes = host_fixes(bond, BondOption::mode, "active-backup");
        findings.push_back(std::move(result));
    }
}

} // namespace

std::vector<Finding> mode_findings(const Bond& bond, const StateWindow* window) {
    std::vector<Finding> findings;
    find_inactive(bond, window, findings);
    find_static_lag(bond, findings);
    find_round_robin(bond, window, findings);
    find_address_tricks(bond, findings);
    return findings;
}

} // namespace bondtrace
