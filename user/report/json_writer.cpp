// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/json_writer.h"

#include "user/base/text.h"
#include "user/report/era_json.h"
#include "user/report/json_emitter.h"
#include "user/report/json_parts.h"

#include <optional>
#include <vector>

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

void emit_uses(JsonEmitter& out, const BondReport& bond, const std::vector<SlaveUse>& uses, bool received) {
    out.open('[');
    for (const SlaveUse& use : uses) {
        const SlaveReport* const slave = bond.find_slave(use.slave_ifindex);
        out.open('{').name("slave");
        if (slave)
            out.value(slave->name);
        else
            out.value(slave_name(bond, use.slave_ifindex));
        out.member("packets", use.counts.packets)
            .member("bytes", use.counts.bytes)
            .member("wire_packets", use.counts.wire_packets)
            .member("wire_bytes", use.counts.wire_bytes)
            .member("first_ns", use.first_ns)
            .member("last_ns", use.last_ns);
        if (received) out.member("inactive", use.inactive);
        out.close('}');
    }
    out.close(']');
}

// The MAC addresses of the first use, sending before receiving: what layer 2 of the hash sees.
void emit_macs(JsonEmitter& out, const Conversation& flow) {
    const SlaveUse* use = !flow.tx.empty() ? &flow.tx.front() : !flow.rx.empty() ? &flow.rx.front() : nullptr;
    const auto mac = [use](MacAddress FrameOrigin::*member) {
        return use ? std::optional(to_text(use->origin.*member)) : std::nullopt;
    };
    out.member("local_mac", mac(&FrameOrigin::local_mac)).member("remote_mac", mac(&FrameOrigin::remote_mac));
}

// What else the hash is made of, of the first frame sent; null when nothing was.
void emit_hash_inputs(JsonEmitter& out, const Conversation& flow) {
    out.name("hash_inputs");
    if (flow.tx.empty()) return out.null();
    const FrameOrigin& origin = flow.tx.front().origin;
    out.open('{')
        .member("outer_ethertype", origin.outer_ethertype)
        .member("tci", origin.tci)
        .member("extension_headers", origin.extension_headers)
        .member("skb_hash", origin.l4_hash ? std::optional(origin.skb_hash) : std::nullopt)
        .close('}');
}

void emit_detail(JsonEmitter& out, const ConversationKey& key) {
    if (const auto* icmp = std::get_if<IcmpMessage>(&key.detail))
        out.name("icmp")
            .open('{')
            .member("type", icmp->type)
            .member("code", icmp->code)
            .member("id", icmp->id)
            .close('}');
    else if (const auto* spi = std::get_if<Spi>(&key.detail))
        out.member("spi", spi->value);
}

} // namespace

void emit_flow(JsonEmitter& out, const BondReport& bond, const Conversation& flow, unsigned moves,
               bool sprayed) {
    const ConversationKey& key = flow.key;
    const auto* ports = std::get_if<Ports>(&key.detail);
    out.member("protocol", protocol_name(key)).member("ethertype", key.ethertype);
    if (key.ip) out.member("ip_protocol", key.protocol);
    out.member("local", to_text(key.local))
        .member("local_port", ports ? std::optional(ports->local) : std::nullopt)
        .member("remote", to_text(key.remote))
        .member("remote_port", ports ? std::optional(ports->remote) : std::nullopt);
    emit_macs(out, flow);
    emit_detail(out, key);
    out.member("vlan", key.vlan)
        .member("inner_vlan", key.inner_vlan)
        .member("fragment", key.fragment)
        .member("unparsed", key.unparsed);
    emit_hash_inputs(out, flow);
    out.name("tx");
    emit_uses(out, bond, flow.tx, false);
    out.name("rx");
    emit_uses(out, bond, flow.rx, true);
    out.member("moves", moves).member("sprayed", sprayed);
    if (const auto& prediction = flow.prediction)
        out.member("predicted_slave", prediction->slave)
            .member("agrees", prediction->agrees)
            .member("why", prediction->why);
    else
        out.member("predicted_slave", nullptr).member("agrees", nullptr).member("why", no_prediction);
}

namespace {

std::string flow_text(const BondReport& bond, const Conversation& flow) {
    std::string text;
    JsonEmitter out(text);
    out.open('{');
    emit_flow(out, bond, flow, flow.moves(), flow.sprayed());
    out.close('}');
    return text;
}

Json agreement_json(const BondReport& bond) {
    const Agreement& agreement = bond.agreement;
    Json json;
    json["checked"] = agreement.checked;
    json["agree"] = agreement.agree;
    json["unchecked_why"] = agreement.unchecked_why.empty() ? Json(nullptr) : Json(agreement.unchecked_why);
    json["disagreements"] = Json::array();
    for (const Conversation& flow : agreement.disagreements)
        json["disagreements"].push_back(Json::parse(flow_text(bond, flow))); // they are few
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

// One more member, a list with each element on a line, which `to_text` makes. False when nobody reads it.
template<typename List, typename ToText>
bool write_list(TextPieces& pieces, std::string_view name, const List& list, ToText to_text) {
    pieces.text() += fmt::format(",\n   \"{}\":[", name);
    bool first = true;
    for (const auto& element : list) {
        pieces.text() += first ? "\n    " : ",\n    ";
        pieces.text() += to_text(element);
        first = false;
        if (!pieces.pass()) return false;
    }
    pieces.text() += ']';
    return true;
}

Json head_json(const FlowsReport& report) {
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
    return head;
}

} // namespace

bool write_flows_json(const FlowsReport& report, const TextSink& sink) {
    std::vector<std::vector<const Conversation*>> flows(report.bonds.size());
    for (const Conversation& flow : report.flows)
        if (flow.bond < flows.size()) flows[flow.bond].push_back(&flow);

    TextPieces pieces(sink);
    pieces.text() = "{\n ";
    append_members(pieces.text(), head_json(report), ",\n ");
    pieces.text() += ",\n \"bonds\":[";
    for (std::size_t i = 0; i < report.bonds.size(); ++i) {
        const BondReport& bond = report.bonds[i];
        pieces.text() += i == 0 ? "\n  {" : ",\n  {";
        Json json = bond_json(bond);
        json["agreement"] = report.era ? agreement_json(bond) : Json(nullptr);
        append_members(pieces.text(), json, ",\n   ");
        const bool written =
            write_list(pieces, "slaves", bond.slaves,
                       [&](const SlaveReport& slave) { return dump(slave_json(bond, slave)); }) &&
            write_list(pieces, "flows", flows[i],
                       [&](const Conversation* flow) { return flow_text(bond, *flow); });
        if (!written) return false;
        pieces.text() += '}';
    }
    pieces.text() += "],\n \"losses\":" + dump(losses_json(report.losses)) + "\n}\n";
    return pieces.finish();
}

std::string flows_json(const FlowsReport& report) {
    std::string text;
    write_flows_json(report, [&](const std::string& piece) {
        text += piece;
        return true;
    });
    return text;
}

} // namespace bondtrace
