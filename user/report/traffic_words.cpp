// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/traffic_words.h"

#include "user/base/units.h"
#include "user/traffic/option_names.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bondtrace {
namespace {

using namespace traffic;

std::string rate_or(std::optional<double> rate) {
    return rate ? format_bit_rate(*rate) : "unknown";
}

std::string pps_text(std::optional<double> pps) {
    if (!pps) return "unknown";
    return *pps < 1e5 ? fmt::format("{:.0f} packets/s", *pps)
                      : format_count(static_cast<std::uint64_t>(*pps)) + " packets/s";
}

std::string direction_text(const DirectionSummary& direction, bool udp, bool server_reported) {
    const bool sender_known = direction.upward || server_reported;
    const bool receiver_known = !direction.upward || server_reported;
    std::string text = fmt::format(
        "sent {} ({}), received {} ({})", sender_known ? rate_or(direction.sent_rate) : "unknown",
        format_bytes(direction.sent_bytes), receiver_known ? rate_or(direction.received_rate) : "unknown",
        format_bytes(direction.received_bytes));
    if (!udp) {
        text += fmt::format(", {} retransmits", format_count(direction.retransmits));
        if (direction.reordering > 0)
            text += fmt::format(", {} reorderings", format_count(direction.reordering));
        return text;
    }
    text +=
        fmt::format("; {} sent, {} received", pps_text(direction.sent_pps), pps_text(direction.received_pps));
    if (!receiver_known) return text;
    text += fmt::format("; {} lost", format_count(direction.lost));
    if (direction.sent_packets > 0)
        text += fmt::format(" ({})", format_percent(std::min(direction.lost, direction.sent_packets),
                                                    direction.sent_packets));
    text += fmt::format(", {} reordered, {} duplicated", format_count(direction.reordered),
                        format_count(direction.duplicated));
    if (direction.jitter_us) text += fmt::format(", jitter {:.1f} us", *direction.jitter_us);
    return text;
}

std::string end_text(const char* name, const EndSummary& end) {
    std::string text =
        fmt::format("{} {:.2f} s user + {:.2f} s system", name, static_cast<double>(end.user_ns) / 1e9,
                    static_cast<double>(end.system_ns) / 1e9);
    if (end.cpus) text += fmt::format(" = {:.2f} CPUs", *end.cpus);
    if (end.us_per_kb) text += fmt::format(", {:.3f} us/KB", *end.us_per_kb);
    return text;
}

std::string cpu_text(const TrafficSummary& summary) {
    std::string text = end_text("here", summary.client);
    if (summary.server) text += "; " + end_text("server", *summary.server);
    if (summary.us_per_kb_both)
        text += fmt::format("; together {:.3f} us/KB received", *summary.us_per_kb_both);
    return text;
}

std::string course_text(const SpreadOverTime& spread) {
    std::string text = fmt::format("{} interval{} of {} to {}, mean {}", spread.intervals,
                                   spread.intervals == 1 ? "" : "s", format_bit_rate(spread.least),
                                   format_bit_rate(spread.most), format_bit_rate(spread.mean));
    if (spread.intervals > 1 && spread.mean > 0)
        text += fmt::format(", deviation {:.1f} %", spread.deviation / spread.mean * 100);
    return text;
}

std::string sockets_text(const EndResult& end, bool udp) {
    std::string text;
    if (!udp && !end.congestion.empty())
        text = fmt::format("{}{}, ", end.congestion, end.pacing ? ", paced by the kernel" : ", not paced");
    return text + fmt::format("buffers {} to send, {} to receive", format_bytes(end.send_buffer),
                              format_bytes(end.receive_buffer));
}

std::string limits_text(const TestOptions& options) {
    std::string text;
    if (options.duration.count() > 0) text = format_duration(options.duration);
    if (options.bytes > 0)
        text += fmt::format("{}{} a flow", text.empty() ? "" : " or ", format_bytes(options.bytes));
    return text;
}

std::string slaves_text(const PortPlan& plan) {
    std::vector<std::size_t> counts(plan.slaves.size());
    for (const std::uint32_t slave : plan.slave_of)
        if (slave < counts.size()) ++counts[slave];
    std::string text;
    for (std::size_t i = 0; i < counts.size(); ++i)
        text += fmt::format("{}{} {}", i == 0 ? "" : ", ", plan.slaves[i], counts[i]);
    return text + " flows, by the hash of what is sent here";
}

} // namespace

std::string traffic_heading(const TrafficReport& report) {
    const TestOptions& options = report.options;
    const std::size_t flows = report.summary.flows;
    std::string text =
        fmt::format("{} {} flow{} to {} port {}, {}, {}, ports {}", flows, name_of(options.transport),
                    flows == 1 ? "" : "s", report.host, report.port, name_of(options.direction),
                    limits_text(options), to_text(report.ports));
    if (options.rate > 0) text += fmt::format(", {} a flow", format_bit_rate(options.rate));
    if (options.no_copy) text += ", payload discarded without copying";
    if (options.gso)
        text += ", UDP segmentation offload: packets are cut after the stack, and cost less than on "
                "the wire";
    if (report.interrupted) text += " (interrupted)";
    return text;
}

std::vector<TrafficLine> traffic_lines(const TrafficReport& report) {
    const TrafficSummary& summary = report.summary;
    const bool udp = report.options.transport == Transport::udp;
    std::vector<TrafficLine> lines;
    for (const DirectionSummary& direction : summary.directions)
        lines.push_back(
            {direction.upward ? "up" : "down", direction_text(direction, udp, summary.server.has_value())});
    lines.push_back({"cpu", cpu_text(summary)});
    for (const DirectionSummary& direction : summary.directions)
        if (direction.fairness && summary.established > 1)
            lines.push_back(
                {"fairness", fmt::format("{:.4f} {} over {} flows (Jain; 1 is alike)", *direction.fairness,
                                         direction.upward ? "up" : "down", summary.established)});
    if (summary.spread) lines.push_back({"course", course_text(*summary.spread)});
    if (!report.plan.slave_of.empty()) lines.push_back({"slaves", slaves_text(report.plan)});
    lines.push_back({"here", sockets_text(report.client, udp)});
    if (report.server) lines.push_back({"server", sockets_text(*report.server, udp)});
    if (report.verbose) {
        lines.push_back({"uses", fmt::format("here {}", fmt::join(report.client.features, ", "))});
        if (report.server)
            lines.push_back({"", fmt::format("server {}", fmt::join(report.server->features, ", "))});
    }
    return lines;
}

std::vector<std::string> failure_lines(const TrafficSummary& summary) {
    std::map<std::string, std::size_t> counts;
    for (const FlowRow& row : summary.rows)
        if (!row.failure.empty()) ++counts[row.failure];
    std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    constexpr std::size_t most = 10;
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
        lines.push_back(fmt::format("{} flow{}: {}", sorted[i].second, sorted[i].second == 1 ? "" : "s",
                                    sorted[i].first));
    if (sorted.size() > most) lines.push_back(fmt::format("and {} other failures", sorted.size() - most));
    return lines;
}

std::vector<std::string> traffic_notes(const TrafficReport& report) {
    std::vector<std::string> notes;
    const auto add = [&](const std::string& note) {
        if (!note.empty() && std::find(notes.begin(), notes.end(), note) == notes.end())
            notes.push_back(note);
    };
    const TrafficSummary& summary = report.summary;
    if (summary.established < report.plan.wanted)
        add(fmt::format("{} of {} flows ran", summary.established, report.plan.wanted));
    if (summary.stalled_flows > 0)
        add(fmt::format("{} flow{} stood still for an interval or more", summary.stalled_flows,
                        summary.stalled_flows == 1 ? "" : "s"));
    if (!report.stopped_by_server.empty()) add("the server ended the test: " + report.stopped_by_server);
    if (!report.broken.empty()) add("the control connection ended early: " + report.broken);
    for (const auto* list : {&report.plan.notes, &report.notes, &summary.notes, &report.client.notes})
        for (const std::string& note : *list)
            add(note);
    if (report.server)
        for (const std::string& note : report.server->notes)
            add("server: " + note);
    return notes;
}

} // namespace bondtrace
