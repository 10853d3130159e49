// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/text.h"
#include "user/report/prove_report.h"
#include "user/report/traffic_json_parts.h"

namespace bondtrace {
namespace {

using namespace traffic;

const char* word(CheckResult result) {
    return result == CheckResult::passed ? "passed" : result == CheckResult::failed ? "failed" : "unknown";
}

const char* verdict_of(ExitStatus status) {
    return status == ExitStatus::fine ? "PASS" : status == ExitStatus::cannot_tell ? "CANNOT TELL" : "FAIL";
}

Json split_json(const Split& split) {
    return {{"flows", split.seen},
            {"spread_flows", split.spread},
            {"probability", split.luck ? Json(split.luck->value) : Json(nullptr)},
            {"expected_share",
             split.luck ? Json{{"low", split.expected.low}, {"high", split.expected.high}} : Json(nullptr)}};
}

Json slave_side_json(const Split& split, std::size_t slave, std::uint64_t all, std::uint64_t counter,
                     const std::optional<double>& coverage) {
    return {{"flows", split.flows[slave]},
            {"bytes", split.bytes[slave]},
            {"all_bytes", all},
            {"counter_bytes", counter},
            {"coverage", number_or_null(coverage)}};
}

Json end_json(const EndTrace& trace, const Split& tx, const Split& rx,
              const std::vector<std::size_t>& predicted) {
    Json json;
    json["bond"] = valid_utf8(trace.bond);
    json["mode"] = valid_utf8(trace.mode);
    json["xmit_hash_policy"] = trace.policy.empty() ? Json(nullptr) : Json(valid_utf8(trace.policy));
    json["attach"] = valid_utf8(trace.attach);
    json["tx"] = split_json(tx);
    json["rx"] = split_json(rx);
    json["slaves"] = Json::array();
    for (std::size_t i = 0; i < trace.slaves.size(); ++i) {
        const TracedSlave& slave = trace.slaves[i];
        Json& one = json["slaves"].emplace_back();
        one["name"] = valid_utf8(slave.name);
        one["usable"] = slave.usable;
        one["speed_mbps"] = or_null(slave.speed_mbps);
        one["predicted_flows"] = i < predicted.size() ? Json(predicted[i]) : Json(nullptr);
        one["tx"] = slave_side_json(tx, i, slave.tx_bytes, slave.tx_counter_bytes, slave.tx_coverage);
        one["rx"] = slave_side_json(rx, i, slave.rx_bytes, slave.rx_counter_bytes, slave.rx_coverage);
    }
    json["notes"] = Json::array();
    for (const std::string& note : trace.notes)
        json["notes"].push_back(valid_utf8(note));
    return json;
}

Json uses_json(const EndTrace& trace, const std::vector<TracedUse>& uses) {
    Json json = Json::array();
    for (const TracedUse& use : uses)
        json.push_back({{"slave", valid_utf8(trace.slaves[use.slave].name)},
                        {"packets", use.packets},
                        {"bytes", use.bytes}});
    return json;
}

// What the traces add to a flow of the test.
void add_placement(Json& json, const ProveReport& report, std::size_t index) {
    const ProofInput& input = report.input;
    const ProvenFlow& flow = report.proof.flows[index];
    json["predicted_slave"] =
        flow.predicted ? Json(valid_utf8(input.near.slaves[*flow.predicted].name)) : Json(nullptr);
    json["agrees"] = or_null(flow.agrees);
    json["why"] = flow.why.empty() ? Json(nullptr) : Json(valid_utf8(flow.why));
    json["tx"] = uses_json(input.near, input.near.flows[index].tx);
    json["rx"] = uses_json(input.near, input.near.flows[index].rx);
    const bool far = input.far && index < input.far->flows.size();
    json["far_rx"] = far ? uses_json(*input.far, input.far->flows[index].rx) : Json(nullptr);
    json["far_tx"] = far ? uses_json(*input.far, input.far->flows[index].tx) : Json(nullptr);
    json["lost_up"] = or_null(flow.lost_up);
    json["lost_down"] = or_null(flow.lost_down);
}

// Payload, as the goodput is.
Json capacity_json(const std::optional<Capacity>& capacity, double payload) {
    if (!capacity) return nullptr;
    const auto scaled = [&](const std::optional<double>& bits) {
        return bits ? Json(*bits * payload) : Json(nullptr);
    };
    return {{"split_allows_bits_per_second", scaled(capacity->split_allows)},
            {"all_full_bits_per_second", scaled(capacity->all_full)}};
}

} // namespace

std::string prove_json(const ProveReport& report) {
    const ProofInput& input = report.input;
    const Proof& proof = report.proof;
    Json json = traffic_document("bondtrace.prove/1", report.test);
    json["verdict"] = verdict_of(proof.status);
    json["summary"] = valid_utf8(proof.line);
    json["checks"] = Json::array();
    for (const Check& check : proof.checks)
        json["checks"].push_back(
            {{"name", check.name}, {"result", word(check.result)}, {"text", valid_utf8(check.text)}});
    json["up_capacity"] = capacity_json(proof.up, proof.payload);
    json["down_capacity"] = capacity_json(proof.down, proof.payload);
    std::vector<std::size_t> predicted(input.near.slaves.size());
    for (const ProvenFlow& flow : proof.flows)
        if (flow.predicted) ++predicted[*flow.predicted];
    json["near"] = end_json(input.near, proof.near_tx, proof.near_rx, predicted);
    json["far"] = input.far ? end_json(*input.far, *proof.far_tx, *proof.far_rx, {}) : Json(nullptr);
    json["untraced"] = input.untraced.empty() ? Json(nullptr) : Json(valid_utf8(input.untraced));
    json["flows"] = Json::array();
    for (const FlowRow& row : report.test.summary.rows) {
        json["flows"].push_back(traffic_flow_json(report.test, row));
        if (row.index < proof.flows.size()) add_placement(json["flows"].back(), report, row.index);
    }
    json["findings"] = Json::array();
    for (const Finding& finding : proof.findings)
        json["findings"].push_back(finding_json(finding));
    json["notes"] = Json::array();
    for (const std::string& note : report.test.summary.notes)
        json["notes"].push_back(valid_utf8(note));
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

} // namespace bondtrace
