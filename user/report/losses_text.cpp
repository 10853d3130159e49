// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/losses_text.h"

#include "user/base/units.h"
#include "user/report/agreement_text.h"

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::size_t indent = 4; // of continued lines

std::string packets_text(std::uint64_t packets) {
    return fmt::format("{} packet{}", packets, packets == 1 ? "" : "s");
}

struct Coverage {
    std::uint64_t covered = 0, counted = 0;
};

Coverage coverage_of(const BondReport& bond, bool received) {
    Coverage sum;
    for (const SlaveReport& slave : bond.slaves) {
        const SlaveDirection& direction = received ? slave.rx : slave.tx;
        sum.covered += direction.covered_packets();
        sum.counted += direction.counter_packets;
    }
    return sum;
}

std::string percent_text(const Coverage& coverage) {
    if (coverage.counted == 0) return coverage.covered == 0 ? "(no traffic)" : "(not counted by the kernel)";
    return format_percent(coverage.covered, coverage.counted);
}

// Slaves' sums can hide a packet too many behind one too few, so each slave speaks for itself.
std::string missing_text(const SlaveReport& slave, bool received, const TextStyle& style) {
    const SlaveDirection& direction = received ? slave.rx : slave.tx;
    const std::uint64_t covered = direction.covered_packets(), counted = direction.counter_packets;
    if (covered == counted) return {};
    const std::string where = fmt::format("  {} {}: ", style.clean(slave.name), received ? "RX" : "TX");
    if (covered < counted) {
        const std::string_view why =
            received
                ? "taken before they reached the bond (XDP, tc, a VLAN or another device on the slave itself)"
                : "sent on the slave itself and not through the bond (LLDP, ARP monitor, XDP, raw sockets)";
        return style.wrap(fmt::format("{}{} in the kernel's counter were not seen: {}", where,
                                      packets_text(counted - covered), why),
                          indent);
    }
    return style.wrap(
        fmt::format("{}{} were seen that the kernel's counter lacks: {}", where,
                    packets_text(covered - counted),
                    received ? "counted by the device at another moment"
                             : "dropped by the slave's queue, or counted by the device at another moment"),
        indent);
}

struct SlaveSums {
    std::uint64_t tx_control = 0, rx_control = 0, inactive = 0;
    bool segmented_tx = false, segmented_rx = false; // skbs and frames on the wire differ
};

SlaveSums sums_of(const BondReport& bond) {
    SlaveSums sums;
    for (const SlaveReport& slave : bond.slaves) {
        sums.tx_control += slave.tx.control.wire_packets;
        sums.rx_control += slave.rx.control.wire_packets;
        sums.inactive += slave.rx.inactive.wire_packets;
        sums.segmented_tx |= slave.tx.traced.packets != slave.tx.traced.wire_packets;
        sums.segmented_rx |= slave.rx.traced.packets != slave.rx.traced.wire_packets;
    }
    return sums;
}

// Which of the two ways of counting the numbers on the screen are in; said only where it makes a difference.
std::string unit_text(const BondReport& bond, const SlaveSums& sums, const TextStyle& style) {
    const bool tx_skb = sums.segmented_tx && bond.counter_unit(false) == CountUnit::skb;
    const bool rx_skb = sums.segmented_rx && bond.counter_unit(true) == CountUnit::skb;
    if (!tx_skb && !rx_skb) return {};
    const std::string_view which = tx_skb && rx_skb ? "TX and RX packets and bytes"
                                   : tx_skb         ? "TX packets and bytes"
                                                    : "RX packets and bytes";
    return style.wrap(
        fmt::format(
            "  {} are those of unsegmented packets (TSO, GRO), as the slaves' counters have them; rates "
            "and shares are of what is on the wire",
            which),
        indent);
}

} // namespace

std::string coverage_text(const BondReport& bond, const TextStyle& style) {
    if (bond.slaves.empty()) return style.wrap("  this bond has no slaves", indent);
    const SlaveSums sums = sums_of(bond);
    const Coverage sent = coverage_of(bond, false), received = coverage_of(bond, true);
    if (sent.covered + sent.counted + received.covered + received.counted == 0)
        return style.wrap("  coverage: no slave carried a packet, by its own counter too", indent);
    std::string text =
        style.wrap(fmt::format("  coverage TX {}  RX {}  of the packets in the slaves' kernel counters",
                               percent_text(sent), percent_text(received)),
                   indent);
    if (sums.tx_control + sums.rx_control > 0)
        text += style.wrap(
            fmt::format("  control: {} sent and {} received by the bonding driver itself (LACPDUs, learning "
                        "packets), in the counters and in no flow",
                        packets_text(sums.tx_control), sums.rx_control),
            indent);
    if (sums.inactive > 0)
        text += style.wrap(
            fmt::format(
                "  inactive: {} arrived on an inactive slave and were not delivered to the bond (marked !)",
                packets_text(sums.inactive)),
            indent);
    text += unit_text(bond, sums, style);
    for (const SlaveReport& slave : bond.slaves)
        for (const bool rx : {false, true})
            text += missing_text(slave, rx, style);
    return text;
}

std::string run_losses_text(const FlowsReport& report, const TextStyle& style) {
    const Losses& losses = report.losses;
    std::string text;
    const auto add = [&](std::uint64_t packets, std::string_view what) {
        if (packets > 0) text += style.wrap(fmt::format("{} {}", packets_text(packets), what), indent);
    };
    add(losses.untracked_packets, fmt::format("belong to no flow here: the table of {} flows was full (the "
                                              "slaves' sums have them; --max-flows makes "
                                              "room for more)",
                                              report.max_flows));
    add(losses.unparsed_packets, "had headers that are cut or malformed; their flows are marked \"cut\"");
    add(losses.recursion_misses, "were not seen: the CPU was inside a BPF program of the same kind");
    add(losses.slots_full, "were not counted: their bond has had more slaves than are followed");
    add(losses.consumed_unknown,
        "were swallowed by the bond for an unknown reason (it was out of memory, or is newer)");
    if (losses.uncounted_bonds > 0)
        text += style.wrap(
            fmt::format("{} bond{} made meanwhile and not counted: no room, or the module is another; "
                        "start again",
                        losses.uncounted_bonds, losses.uncounted_bonds == 1 ? " was" : "s were"),
            indent);
    add(losses.reading_skew,
        "were counted by the kernel while readings were taken: coverage is uncertain by no more than these");
    return text;
}

std::string losses_text(const FlowsReport& report, const TextOptions& options) {
    const TextStyle style(options);
    std::string text;
    for (const BondReport& bond : report.bonds)
        text += style.wrap(style.clean(bond.name), indent) + coverage_text(bond, style) +
                (report.era ? agreement_text(bond, *report.era, style) : "");
    return text + run_losses_text(report, style);
}

} // namespace bondtrace
