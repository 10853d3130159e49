// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/path_findings.h"

#include "user/audit/balance.h"
#include "user/base/units.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bondtrace {
namespace {

// Of the packets of a VLAN, what may be on its way while the counters are read.
constexpr std::uint64_t few_packets = 20;
constexpr double tolerated = 0.02;
// Errors are damaged frames, of which a sound link has next to none (10GBASE: one bit in 10^12); drops happen
// to frames of protocols that nobody listens to.
constexpr std::uint64_t errors_to_warn = 10, drops_to_warn = 20;
constexpr double errors_share = 1e-4, drops_share = 0.01;
// A slave stands out when the others lose at most this part of what it loses.
constexpr double others_part = 0.1;

Finding make(const BondView& view, std::string id, Severity severity, std::string summary) {
    return {std::move(id), severity, view.state->name, std::nullopt, std::move(summary), {}, {}, {}};
}

void list_programs(const DevicePrograms& programs, const std::string& device, std::vector<std::string>& all) {
    for (const AttachedProgram& program : programs.found)
        all.push_back(fmt::format("{} on {}", describe(program), device));
}

std::vector<std::string> programs_of(const Bond& bond) {
    std::vector<std::string> all;
    list_programs(bond.programs, bond.name, all);
    for (const Slave& slave : bond.slaves)
        list_programs(slave.programs, slave.name, all);
    return all;
}

void find_programs(const BondView& view, std::vector<Finding>& findings) {
    const std::vector<std::string> programs = programs_of(*view.state);
    if (programs.empty()) return;
    Finding& finding = findings.emplace_back(
        make(view, "trace.foreign-program", Severity::info,
             fmt::format("{} program{} or filter{} of others in the path of packets", programs.size(),
                         programs.size() == 1 ? "" : "s", programs.size() == 1 ? "" : "s")));
    finding.seen = fmt::format("{}", fmt::join(programs, "; "));
    finding.why =
        "They may drop, change or redirect packets before the bonding driver gets them, or after it has "
        "placed them.";
    finding.fixes = {{"host", fmt::format("bpftool net show\ntc -s filter show dev {0} ingress\n"
                                          "tc -s filter show dev {0} egress",
                                          view.state->name)}};
}

// What the trace saw leave in a VLAN, in packets as they were handed over, which is what its interface
// counts.
std::uint64_t sent_in(const BondView& view, std::uint16_t vlan) {
    std::uint64_t packets = 0;
    for (const Conversation* flow : view.flows) {
        if (flow->key.vlan != vlan) continue;
        for (const SlaveUse& use : flow->tx)
            if (!use.inactive) packets += use.counts.packets;
    }
    return packets;
}

void find_vlan_losses(const BondView& view, const StateWindow& window, std::vector<Finding>& findings) {
    if (!view.report || view.traffic->losses.untracked_packets > 0) return;
    for (const UpperChange& upper : window.uppers) {
        if (!upper.vlan_id) continue;
        const std::uint64_t sent = upper.tx_packets + upper.tx_dropped;
        const std::uint64_t left = sent_in(view, *upper.vlan_id);
        const std::uint64_t lost = sent > left ? sent - left : 0;
        if (lost < few_packets || static_cast<double>(lost) < tolerated * static_cast<double>(sent)) continue;
        const bool all = left == 0;
        Finding& finding =
            findings.emplace_back(make(view, "bond.vlan-loses", all ? Severity::critical : Severity::warning,
                                       all ? fmt::format("nothing that {} sends reaches a slave", upper.name)
                                           : fmt::format("{} of what {} sends reaches no slave",
                                                         format_percent(lost, sent), upper.name)));
        finding.seen = fmt::format(
            "{} sent {} packets, of which {} were refused; {} of VLAN {} left through a slave", upper.name,
            format_count(sent), format_count(upper.tx_dropped), format_count(left), *upper.vlan_id);
        const std::vector<std::string> programs = programs_of(*view.state);
        if (!programs.empty()) finding.seen += fmt::format("; {}", fmt::join(programs, "; "));
        finding.why = programs.empty()
                          ? "Something between the VLAN interface and the slaves drops it: a filter, a queue "
                            "that is full, or a bond without a usable slave."
                          : "A program or filter on the bond can drop what it does not know, as those of "
                            "container networks do with VLANs.";
        finding.fixes = {{"host", fmt::format("tc -s filter show dev {0} egress; tc -s qdisc show dev {0}; "
                                              "bpftool net show dev {0}",
                                              view.state->name)}};
    }
}

struct Losses {
    std::uint64_t packets = 0, errors = 0, drops = 0;

    [[nodiscard]] double errors_rate() const { return rate(errors); }
    [[nodiscard]] double drops_rate() const { return rate(drops); }

  private:
    [[nodiscard]] double rate(std::uint64_t lost) const {
        const std::uint64_t all = packets + lost;
        return all == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(all);
    }
};

Losses losses_of(const SlaveChange& change) {
    return {change.rx_packets + change.tx_packets, change.rx_errors + change.tx_errors,
            change.rx_dropped + change.tx_dropped};
}

void find_lossy_slaves(const BondView& view, const StateWindow& window, std::vector<Finding>& findings) {
    for (const SlaveChange& change : window.slaves) {
        const Losses here = losses_of(change);
        Losses others;
        for (const SlaveChange& other : window.slaves) {
            if (&other == &change) continue;
            const Losses there = losses_of(other);
            others.packets += there.packets;
            others.errors += there.errors;
            others.drops += there.drops;
        }
        const bool errors = here.errors >= errors_to_warn && here.errors_rate() >= errors_share;
        // What all slaves drop alike is the doing of the host and not of one link.
        const bool drops = here.drops >= drops_to_warn && here.drops_rate() >= drops_share &&
                           others.drops_rate() <= others_part * here.drops_rate();
        if (!errors && !drops && here.errors == 0) continue;
        Finding& finding = findings.emplace_back(make(
            view, "slave.lossy", errors || drops ? Severity::warning : Severity::info,
            fmt::format("{} {} in the window", change.slave,
                        errors || here.errors > 0 ? "has errors" : "drops packets, and the others do not")));
        finding.slave = change.slave;
        finding.seen = fmt::format("{}: {} packets, RX {} errors and {} drops, TX {} errors and {} drops; "
                                   "other slaves: {} packets, {} "
                                   "errors, {} drops",
                                   change.slave, format_count(here.packets), format_count(change.rx_errors),
                                   format_count(change.rx_dropped), format_count(change.tx_errors),
                                   format_count(change.tx_dropped), format_count(others.packets),
                                   format_count(others.errors), format_count(others.drops));
        finding.why =
            "Every flow that the hash puts on this slave loses packets and slows down, and the others "
            "do not.";
        finding.fixes = {{"host", fmt::format("ethtool -S {0} | grep -iE 'err|drop|crc|fifo|miss'\n"
                                              "ethtool -m {0}   # optical power; then cable, transceiver, "
                                              "switch port\nethtool -g {0}   # ring sizes, when it is drops",
                                              change.slave)}};
    }
}

} // namespace

std::vector<Finding> path_findings(const BondView& view, const StateWindow* window) {
    std::vector<Finding> findings;
    find_programs(view, findings);
    if (!window) return findings;
    find_vlan_losses(view, *window, findings);
    find_lossy_slaves(view, *window, findings);
    return findings;
}

std::string ways_around(const Bond& bond, const Slave& slave) {
    std::vector<std::string> ways;
    list_programs(slave.programs, slave.name, ways);
    list_programs(bond.programs, bond.name, ways);
    if (const unsigned sockets = slave.programs.packet_sockets.value_or(0); sockets > 0)
        ways.push_back(sockets == 1 ? fmt::format("a packet socket is bound to {}", slave.name)
                                    : fmt::format("{} packet sockets are bound to {}", sockets, slave.name));
    if (slave.offloads && slave.offloads->hw_tc)
        ways.push_back(fmt::format("tc rules can run in the hardware of {}", slave.name));
    if (slave.offloads && slave.offloads->tls_tx) ways.push_back(fmt::format("{} offloads TLS", slave.name));
    return fmt::format("{}", fmt::join(ways, "; "));
}

} // namespace bondtrace
