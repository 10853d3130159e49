// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/json_writer.h"

#include "user/base/text.h"
#include "user/report/era_json.h"
#include "user/report/json_parts.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

constexpr std::string_view no_prediction = "no prediction was made";

} // namespace

Json slave_json(const BondReport& bond, const SlaveReport& slave) {
    Json json;
    json["name"] = valid_utf8(slave.name);
    json["ifindex"] = slave.ifindex;
    json["index"] = or_null(slave.index);
    json["state"] = valid_utf8(slave.state);
    json["speed_mbps"] = or_null(slave.speed_mbps);
    json["tx"] = direction_json(bond, slave, false);
    json["rx"] = direction_json(bond, slave, true);
    json["counters"] = counters_json(slave);
    json["coverage"] = coverage_json(slave);
    return json;
}

namespace {

Json uses_json(const BondReport& bond, const std::vector<SlaveUse>& uses, bool received) {
    Json list = Json::array();
    for (const SlaveUse& use : uses) {
        Json json;
        json["slave"] = valid_utf8(slave_name(bond, use.slave_ifindex));
        json.update(counts_json(use.counts));
        json["first_ns"] = use.first_ns;
        json["last_ns"] = use.last_ns;
        if (received) json["inactive"] = use.inactive;
        list.push_back(std::move(json));
    }
    return list;
}

// The MAC addresses of the first use, sending before receiving: what layer 2 of the hash sees.
void add_macs(Json& json, const Conversation& flow) {
    const SlaveUse* use = !flow.tx.empty() ? &flow.tx.front() : !flow.rx.empty() ? &flow.rx.front() : nullptr;
    json["local_mac"] = use ? Json(to_text(use->origin.local_mac)) : Json(nullptr);
    json["remote_mac"] = use ? Json(to_text(use->origin.remote_mac)) : Json(nullptr);
}

// What else the hash is made of, of the first frame sent; null when nothing was.
Json hash_inputs_json(const Conversation& flow) {
    if (flow.tx.empty()) return nullptr;
    const FrameOrigin& origin = flow.tx.front().origin;
    return {{"outer_ethertype", origin.outer_ethertype},
            {"tci", origin.tci},
            {"extension_headers", origin.extension_headers},
            {"skb_hash", origin.l4_hash ? Json(origin.skb_hash) : Json(nullptr)}};
}

void add_detail(Json& json, const ConversationKey& key) {
    if (const auto* icmp = std::get_if<IcmpMessage>(&key.detail)) {
        json["icmp"] = {{"type", icmp->type}, {"code", icmp->code}, {"id", or_null(icmp->id)}};
    } else if (const auto* spi = std::get_if<Spi>(&key.detail)) {
        json["spi"] = spi->value;
    }
}

} // namespace

Json flow_json(const BondReport& bond, const Conversation& flow) {
    const ConversationKey& key = flow.key;
    const auto* ports = std::get_if<Ports>(&key.detail);
    Json json;
    json["protocol"] = protocol_name(key);
    json["ethertype"] = key.ethertype;
    if (key.ip) json["ip_protocol"] = key.protocol;
    json["local"] = to_text(key.local);
    json["local_port"] = ports ? Json(ports->local) : Json(nullptr);
    json["remote"] = to_text(key.remote);
    json["remote_port"] = ports ? Json(ports->remote) : Json(nullptr);
    add_macs(json, flow);
    add_detail(json, key);
    json["vlan"] = or_null(key.vlan);
    json["inner_vlan"] = or_null(key.inner_vlan);
    json["fragment"] = key.fragment;
    json["unparsed"] = key.unparsed;
    json["hash_inputs"] = hash_inputs_json(flow);
    json["tx"] = uses_json(bond, flow.tx, false);
    json["rx"] = uses_json(bond, flow.rx, true);
    json["moves"] = flow.moves();
    json["sprayed"] = flow.sprayed();
    const bool predicted = flow.prediction.has_value();
    json["predicted_slave"] =
        predicted && flow.prediction->slave ? Json(valid_utf8(*flow.prediction->slave)) : Json(nullptr);
    json["agrees"] = predicted ? or_null(flow.prediction->agrees) : Json(nullptr);
    json["why"] = predicted ? valid_utf8(flow.prediction->why) : std::string(no_prediction);
    return json;
}

namespace {

Json agreement_json(const BondReport& bond) {
    const Agreement& agreement = bond.agreement;
    Json json;
    json["checked"] = agreement.checked;
    json["agree"] = agreement.agree;
    json["unchecked_why"] = agreement.unchecked_why.empty() ? Json(nullptr) : Json(agreement.unchecked_why);
    json["disagreements"] = Json::array();
    for (const Conversation& flow : agreement.disagreements)
        json["disagreements"].push_back(flow_json(bond, flow));
    return json;
}

} // namespace

Json bond_json(const BondReport& bond) {
    Json json;
    json["name"] = valid_utf8(bond.name);
    json["netns"] = bond.netns.empty() ? Json(nullptr) : Json(valid_utf8(bond.netns));
    json["ifindex"] = bond.group ? Json(nullptr) : Json(bond.ifindex);
    json["mode"] = bond.group ? Json(nullptr) : Json(to_text(bond.mode));
    json["xmit_hash_policy"] = bond.group ? Json(nullptr) : Json(to_text(bond.policy));
    json["xmit_hash_policy_used"] = bond.policy_used;
    json["removed"] = bond.removed;
    return json;
}

std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// ,"name":value for what follows the first member of an object that is written by hand.
void append_members(std::string& text, const Json& object, std::string_view separator) {
    bool first = true;
    for (const auto& [name, value] : object.items()) {
        text += fmt::format("{}{}:{}", first ? "" : separator, dump(name), dump(value));
        first = false;
    }
}

namespace {

// One more member, a list with each element on a line.
template<typename List, typename ToJson>
void append_list(std::string& text, std::string_view name, const List& list, ToJson to_json) {
    text += fmt::format(",\n   \"{}\":[", name);
    bool first = true;
    for (const auto& element : list) {
        text += first ? "\n    " : ",\n    ";
        text += dump(to_json(element));
        first = false;
    }
    text += ']';
}

} // namespace

std::string flows_json(const FlowsReport& report) {
    std::vector<std::vector<const Conversation*>> flows(report.bonds.size());
    for (const Conversation& flow : report.flows)
        if (flow.bond < flows.size()) flows[flow.bond].push_back(&flow);

    Json head;
    head["schema"] = "bondtrace.flows/1";
    head["version"] = valid_utf8(report.header.version);
    head["time"] = valid_utf8(report.header.time);
    head["kernel"] = valid_utf8(report.header.kernel);
    head["attach"] = valid_utf8(report.header.attach);
    head["attach_limits"] = limits_json(report.header.attach);
    head["window_seconds"] = number_or_null(report.seconds);
    head["interrupted"] = report.interrupted;
    head["flows_total"] = report.flows_total;
    head["flows_matching"] = report.flows_matching;
    head["max_flows"] = report.max_flows;
    head["era"] = report.era ? era_json(*report.era) : Json(nullptr);

    // Flows are written one by one: a document tree of a full table would take gigabytes.
    std::string text = "{\n ";
    append_members(text, head, ",\n ");
    text += ",\n \"bonds\":[";
    for (std::size_t i = 0; i < report.bonds.size(); ++i) {
        text += i == 0 ? "\n  {" : ",\n  {";
        Json bond = bond_json(report.bonds[i]);
        bond["agreement"] = report.era ? agreement_json(report.bonds[i]) : Json(nullptr);
        append_members(text, bond, ",\n   ");
        append_list(text, "slaves", report.bonds[i].slaves,
                    [&](const SlaveReport& slave) { return slave_json(report.bonds[i], slave); });
        append_list(text, "flows", flows[i],
                    [&](const Conversation* flow) { return flow_json(report.bonds[i], *flow); });
        text += '}';
    }
    text += "],\n \"losses\":" + dump(losses_json(report.losses)) + "\n}\n";
    return text;
}

} // namespace bondtrace
