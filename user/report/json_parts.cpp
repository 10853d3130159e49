// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/json_parts.h"

#include "user/base/text.h"
#include "user/trace/attachment.h"

#include <cmath>

namespace bondtrace {
namespace {

std::string_view unit_text(const SlaveDirection& direction) {
    return direction.counter_unit() == CountUnit::wire ? "wire" : "skb";
}

} // namespace

Json number_or_null(std::optional<double> value) {
    return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json counts_json(const Counts& counts) {
    return {{"packets", counts.packets},
            {"bytes", counts.bytes},
            {"wire_packets", counts.wire_packets},
            {"wire_bytes", counts.wire_bytes}};
}

Json direction_json(const BondReport& bond, const SlaveReport& slave, bool received) {
    const SlaveDirection& direction = received ? slave.rx : slave.tx;
    Json json = counts_json(direction.traced);
    json["flows"] = direction.flows;
    json["share"] = number_or_null(bond.share(slave, received));
    json["untracked"] = counts_json(direction.untracked);
    json["control"] = counts_json(direction.control);
    if (received) json["inactive"] = counts_json(direction.inactive);
    json["unparsed_packets"] = direction.unparsed;
    return json;
}

Json counters_json(const SlaveReport& slave) {
    return {{"tx_packets", slave.tx.counter_packets},
            {"tx_bytes", slave.tx.counter_bytes},
            {"rx_packets", slave.rx.counter_packets},
            {"rx_bytes", slave.rx.counter_bytes}};
}

Json coverage_json(const SlaveReport& slave) {
    return {{"tx", number_or_null(slave.tx.coverage())},
            {"rx", number_or_null(slave.rx.coverage())},
            {"tx_unit", unit_text(slave.tx)},
            {"rx_unit", unit_text(slave.rx)}};
}

Json finding_json(const Finding& finding) {
    Json json;
    json["id"] = finding.id;
    json["severity"] = to_text(finding.severity);
    json["bond"] = finding.bond.empty() ? Json(nullptr) : Json(valid_utf8(finding.bond));
    if (finding.slave) json["slave"] = valid_utf8(*finding.slave);
    json["summary"] = valid_utf8(finding.summary);
    json["seen"] = valid_utf8(finding.seen);
    json["why"] = valid_utf8(finding.why);
    json["fix"] = Json::array();
    for (const Fix& fix : finding.fixes)
        json["fix"].push_back({{"where", fix.where}, {"command", valid_utf8(fix.command)}});
    return json;
}

Json limits_json(const std::string& attachment) {
    Json json = Json::array();
    if (const auto parsed = parse_attachment(attachment))
        for (const std::string& limit : limits(*parsed))
            json.push_back(limit);
    return json;
}

Json losses_json(const Losses& losses) {
    return {{"untracked_packets", losses.untracked_packets},
            {"unparsed_packets", losses.unparsed_packets},
            {"recursion_misses", losses.recursion_misses},
            {"slots_full", losses.slots_full},
            {"consumed_unknown", losses.consumed_unknown},
            {"uncounted_bonds", losses.uncounted_bonds},
            {"reading_skew", losses.reading_skew}};
}

} // namespace bondtrace
