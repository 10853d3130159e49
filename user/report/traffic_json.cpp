// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/text.h"
#include "user/report/traffic_json_parts.h"
#include "user/traffic/option_names.h"

#include <chrono>

namespace bondtrace {
namespace {

using namespace traffic;

double seconds(std::uint64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

Json text_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(valid_utf8(text));
}

Json list_json(const std::vector<std::string>& texts) {
    Json list = Json::array();
    for (const std::string& text : texts)
        list.push_back(valid_utf8(text));
    return list;
}

Json options_json(const TestOptions& options) {
    Json json;
    json["duration_seconds"] = std::chrono::duration<double>(options.duration).count();
    json["bytes"] = options.bytes;
    json["length"] = options.length;
    json["window"] = options.window;
    json["rate"] = options.rate;
    json["pace"] = {{"kind", name_of(options.pace.kind)}, {"amount", options.pace.amount}};
    json["threads"] = options.threads;
    json["cpus"] = options.cpus;
    json["congestion"] = text_or_null(options.congestion);
    json["dscp"] = options.dscp ? Json(static_cast<unsigned>(*options.dscp)) : Json(nullptr);
    json["no_copy"] = options.no_copy;
    json["gso"] = options.gso;
    return json;
}

Json ports_json(const TrafficReport& report) {
    const PortPlan& plan = report.plan;
    Json json;
    json["choice"] = valid_utf8(to_text(report.ports));
    json["seed"] = report.seed;
    json["per_pair"] = plan.ports_per_pair;
    json["slaves"] = nullptr;
    if (!plan.slave_of.empty()) {
        std::vector<std::size_t> counts(plan.slaves.size());
        for (const std::uint32_t slave : plan.slave_of)
            if (slave < counts.size()) ++counts[slave];
        json["slaves"] = Json::array();
        for (std::size_t i = 0; i < counts.size(); ++i)
            json["slaves"].push_back({{"name", valid_utf8(plan.slaves[i])}, {"flows", counts[i]}});
    }
    json["notes"] = list_json(plan.notes);
    return json;
}

Json side_json(std::uint64_t bytes, std::uint64_t packets, std::optional<double> rate,
               std::optional<double> pps, bool udp) {
    return {{"bytes", bytes},
            {"bits_per_second", number_or_null(rate)},
            {"packets", udp ? Json(packets) : Json(nullptr)},
            {"packets_per_second", udp ? number_or_null(pps) : Json(nullptr)}};
}

Json direction_json(const DirectionSummary& direction, bool udp) {
    Json json;
    json["direction"] = name_of(direction.upward ? Direction::up : Direction::down);
    json["sent"] =
        side_json(direction.sent_bytes, direction.sent_packets, direction.sent_rate, direction.sent_pps, udp);
    json["received"] = side_json(direction.received_bytes, direction.received_packets,
                                 direction.received_rate, direction.received_pps, udp);
    json["retransmits"] = udp ? Json(nullptr) : Json(direction.retransmits);
    json["reordering"] = udp ? Json(nullptr) : Json(direction.reordering);
    json["lost"] = udp ? Json(direction.lost) : Json(nullptr);
    json["reordered"] = udp ? Json(direction.reordered) : Json(nullptr);
    json["duplicated"] = udp ? Json(direction.duplicated) : Json(nullptr);
    json["jitter_us"] = number_or_null(direction.jitter_us);
    json["fairness"] = number_or_null(direction.fairness);
    return json;
}

Json interval_json(const Interval& interval) {
    return {{"begin_seconds", seconds(interval.begin_ns)}, {"end_seconds", seconds(interval.end_ns)},
            {"sent_bytes", interval.sent_bytes},           {"received_bytes", interval.received_bytes},
            {"sent_packets", interval.sent_packets},       {"received_packets", interval.received_packets}};
}

Json end_json(const EndResult& end, const EndSummary& summary) {
    Json json;
    json["elapsed_seconds"] = seconds(end.elapsed_ns);
    json["cpu_user_seconds"] = seconds(end.user_ns);
    json["cpu_system_seconds"] = seconds(end.system_ns);
    json["cpus"] = number_or_null(summary.cpus);
    json["service_demand_us_per_kb"] = number_or_null(summary.us_per_kb);
    json["congestion"] = text_or_null(end.congestion);
    json["pacing"] = end.pacing;
    json["send_buffer"] = end.send_buffer;
    json["receive_buffer"] = end.receive_buffer;
    json["features"] = list_json(end.features);
    json["notes"] = list_json(end.notes);
    json["intervals"] = Json::array();
    for (const Interval& interval : end.intervals)
        json["intervals"].push_back(interval_json(interval));
    return json;
}

Json spread_json(const std::optional<SpreadOverTime>& spread) {
    if (!spread) return nullptr;
    return {{"intervals", spread->intervals},
            {"least_bits_per_second", spread->least},
            {"mean_bits_per_second", spread->mean},
            {"most_bits_per_second", spread->most},
            {"deviation_bits_per_second", spread->deviation}};
}

Json flow_direction_json(std::uint64_t sent, std::uint64_t received, std::uint64_t sent_packets,
                         std::uint64_t received_packets, const std::optional<UdpFacts>& udp, bool is_udp) {
    Json json{{"sent_bytes", sent}, {"received_bytes", received}};
    if (!is_udp) return json;
    json["sent_packets"] = sent_packets;
    json["received_packets"] = received_packets;
    json["lost"] = udp ? Json(udp->lost) : Json(nullptr);
    json["reordered"] = udp ? Json(udp->reordered) : Json(nullptr);
    json["duplicated"] = udp ? Json(udp->duplicated) : Json(nullptr);
    json["jitter_us"] = udp ? number_or_null(udp->jitter_us) : Json(nullptr);
    return json;
}

} // namespace

Json traffic_flow_json(const TrafficReport& report, const FlowRow& row) {
    const bool udp = report.options.transport == Transport::udp;
    Json json;
    json["local"] = to_text(row.address.local);
    json["local_port"] = row.address.local_port;
    json["remote"] = to_text(row.address.remote);
    json["remote_port"] = row.address.remote_port;
    const PortPlan& plan = report.plan;
    const bool placed = row.index < plan.slave_of.size() && plan.slave_of[row.index] < plan.slaves.size();
    json["planned_slave"] = placed ? Json(valid_utf8(plan.slaves[plan.slave_of[row.index]])) : Json(nullptr);
    json["established"] = row.established;
    json["failure"] = text_or_null(row.failure);
    json["bits_per_second"] = row.goodput;
    if (report.options.direction != Direction::down)
        json["up"] = flow_direction_json(row.up_sent, row.up_received, row.up_sent_packets,
                                         row.up_received_packets, row.up_udp, udp);
    if (report.options.direction != Direction::up)
        json["down"] = flow_direction_json(row.down_sent, row.down_received, row.down_sent_packets,
                                           row.down_received_packets, row.down_udp, udp);
    json["retransmits"] = or_null(row.retransmits);
    json["rtt_us"] = row.rtt_min_us ? Json{{"min", *row.rtt_min_us},
                                           {"avg", or_null(row.rtt_avg_us)},
                                           {"max", or_null(row.rtt_max_us)}}
                                    : Json(nullptr);
    json["reordering"] = or_null(row.reordering);
    json["stalled_intervals"] = row.stalled_intervals;
    return json;
}

Json traffic_document(const char* schema, const TrafficReport& report) {
    const TrafficSummary& summary = report.summary;
    const bool udp = report.options.transport == Transport::udp;
    Json json;
    json["schema"] = schema;
    json["version"] = valid_utf8(report.header.version);
    json["time"] = valid_utf8(report.header.time);
    json["kernel"] = valid_utf8(report.header.kernel);
    json["attach"] = valid_utf8(report.header.attach);
    json["title"] = text_or_null(report.title);
    json["server"] = {{"host", valid_utf8(report.host)}, {"port", report.port}};
    json["protocol"] = name_of(report.options.transport);
    json["direction"] = name_of(report.options.direction);
    json["options"] = options_json(report.options);
    json["ports"] = ports_json(report);
    json["flows_wanted"] = report.plan.wanted;
    json["flows_established"] = summary.established;
    json["flows_stalled"] = summary.stalled_flows;
    json["interrupted"] = report.interrupted;
    json["stopped_by_server"] = text_or_null(report.stopped_by_server);
    json["broken"] = text_or_null(report.broken);
    json["directions"] = Json::array();
    for (const DirectionSummary& direction : summary.directions)
        json["directions"].push_back(direction_json(direction, udp));
    json["client"] = end_json(report.client, summary.client);
    json["server_end"] =
        report.server && summary.server ? end_json(*report.server, *summary.server) : Json(nullptr);
    json["service_demand_us_per_kb"] = number_or_null(summary.us_per_kb_both);
    json["spread"] = spread_json(summary.spread);
    return json;
}

std::string traffic_json(const TrafficReport& report) {
    Json json = traffic_document("bondtrace.traffic/1", report);
    json["flows"] = Json::array();
    for (const FlowRow& row : report.summary.rows)
        json["flows"].push_back(traffic_flow_json(report, row));
    json["findings"] = Json::array();
    for (const Finding& finding : report.findings)
        json["findings"].push_back(finding_json(finding));
    json["notes"] = list_json(report.notes);
    for (const std::string& note : report.summary.notes)
        json["notes"].push_back(valid_utf8(note));
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

} // namespace bondtrace
