// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/trace_findings.h"

#include "user/audit/path_findings.h"
#include "user/base/units.h"
#include "user/trace/attachment.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// A slave's counter and the hooks may differ by this part, and by this many packets (control traffic of other
// daemons), without a word.
constexpr double tolerance = 0.02;
constexpr std::uint64_t few_packets = 100;
// Less than this part of the packets seen is a bypass, not a gap.
constexpr double mostly = 0.5;

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
    return a > b ? a - b : b - a;
}

void judge(std::vector<Finding>& findings, const BondView& view, const SlaveReport& slave, bool received) {
    const SlaveDirection& seen = received ? slave.rx : slave.tx;
    const std::uint64_t covered = seen.covered_packets(), counter = seen.counter_packets;
    const std::uint64_t allowed =
        view.traffic->losses.reading_skew +
        std::max(few_packets, static_cast<std::uint64_t>(tolerance * static_cast<double>(counter)));
    if (distance(covered, counter) <= allowed) return;
    const bool bypass = static_cast<double>(covered) < mostly * static_cast<double>(counter);
    const char* direction = received ? "RX" : "TX";
    const CountUnit unit = seen.counter_unit();
    const std::uint64_t bytes = bytes_in(seen.traced, unit) + bytes_in(seen.control, unit);

    Finding& finding = findings.emplace_back();
    finding.id = bypass ? "trace.bypass" : "trace.coverage";
    finding.severity = bypass ? Severity::warning : Severity::info;
    finding.bond = view.state->name;
    finding.slave = slave.name;
    finding.seen = fmt::format("{} {}: the kernel counted {} packets, {}; the hooks saw {} packets, {}",
                               slave.name, direction, format_count(counter), format_bytes(seen.counter_bytes),
                               format_count(covered), format_bytes(bytes));
    const Slave* const state = view.state->find_slave(slave.ifindex);
    const std::string around = state ? ways_around(*view.state, *state) : std::string();
    if (!around.empty()) finding.seen += "; " + around;
    if (bypass) {
        finding.summary =
            fmt::format("most {} traffic of {} does not pass the bonding driver", direction, slave.name);
        finding.why =
            "Traffic of RDMA (RoCE), hardware offload, AF_XDP or XDP, or programs that use the slave itself "
            "is "
            "placed by something else than the bond's hash: its balance cannot be judged or mended here.";
        finding.fixes = {
            {"bondtrace", "bondtrace check"},
            {"rdma", fmt::format("rdma link show; rdma statistic show    # is {} a port of an RDMA device?",
                                 slave.name)}};
    } else {
        finding.summary = fmt::format("{} of {}: the hooks saw {} of what the kernel counted", direction,
                                      slave.name, counter ? format_percent(covered, counter) : "more");
        finding.why = "Flows and shares are those of the traffic seen.";
        if (!around.empty())
            finding.why += " What a program redirects or drops there never comes to the bonding driver.";
    }
}

} // namespace

std::vector<Finding> trace_findings(const BondView& view) {
    std::vector<Finding> findings;
    if (!view.report) return findings;
    for (const SlaveReport& slave : view.report->slaves) {
        judge(findings, view, slave, false);
        judge(findings, view, slave, true);
    }
    return findings;
}

std::vector<Finding> attach_findings(const FlowsReport& traffic) {
    std::vector<Finding> findings;
    std::uint64_t packets = 0;
    for (const BondReport& bond : traffic.bonds)
        for (const SlaveReport& slave : bond.slaves)
            packets += slave.tx.traced.packets + slave.rx.traced.packets;
    if (const std::uint64_t lost = traffic.losses.untracked_packets; lost > 0) {
        const bool many = lost > packets / 100;
        Finding& finding = findings.emplace_back();
        finding.id = "trace.map-full";
        finding.severity = many ? Severity::warning : Severity::info;
        finding.summary = "the flow table was full";
        finding.seen = fmt::format("{} of {} packets belong to no flow of the {} in the table",
                                   format_count(lost), format_count(packets), traffic.flows_total);
        finding.why = "Totals of slaves are complete, but flows are missing from the statistics.";
        finding.fixes = {
            {"bondtrace", fmt::format("--max-flows {}", std::max<std::uint64_t>(traffic.max_flows, 1) * 4)}};
    }
    // Links that are no bond's have no better one.
    const bool of_bonds = std::any_of(traffic.bonds.begin(), traffic.bonds.end(),
                                      [](const BondReport& bond) { return !bond.group; });
    if (of_bonds && !traffic.header.attach.empty() && traffic.header.attach != "fentry") {
        Finding& finding = findings.emplace_back();
        finding.id = "trace.attach-fallback";
        finding.severity = Severity::info;
        finding.summary = fmt::format("attached by {}", traffic.header.attach);
        finding.seen = "fentry was not used; bondtrace check says what works here and why not better";
        if (const auto attachment = parse_attachment(traffic.header.attach))
            finding.why =
                fmt::format("In {} points {} sees less than fentry, or more, or costs more; bondtrace "
                            "check lists them.",
                            limits(*attachment).size(), to_text(*attachment));
        finding.fixes = {{"bondtrace", "bondtrace check"}};
    }
    return findings;
}

Finding not_attached(const Error& obstacle) {
    Finding finding;
    finding.id = "trace.attach-fallback";
    finding.severity = Severity::info;
    finding.summary = "traffic could not be watched, the state alone was judged";
    finding.seen = obstacle.what;
    if (!obstacle.advice.empty()) finding.seen += "; " + obstacle.advice;
    std::replace(finding.seen.begin(), finding.seen.end(), '\n', ' ');
    finding.why = "What the state shows stands; whether the traffic is balanced is unknown.";
    finding.fixes = {{"bondtrace", "bondtrace check"}};
    return finding;
}

} // namespace bondtrace
