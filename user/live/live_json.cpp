// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/live_json.h"

#include "user/base/text.h"
#include "user/report/era_json.h"
#include "user/report/json_parts.h"

#include <optional>
#include <vector>

namespace bondtrace {
namespace {

Json rate_json(const Rate& tx, const Rate& rx) {
    return {{"tx_bits", tx.bytes * 8},
            {"rx_bits", rx.bytes * 8},
            {"tx_packets", tx.packets},
            {"rx_packets", rx.packets}};
}

Json slave_line_json(const BondReport& report, const SlaveReport& slave, const Bond& bond,
                     const LinkCounters& counters, const LiveSlave& live) {
    Json json = slave_json(report, slave);
    json["tx"]["flows"] = live.tx_flows;
    json["rx"]["flows"] = live.rx_flows;
    json["rate"] = rate_json(live.tx, live.rx);
    json["recent_share"] = {{"tx", number_or_null(live.tx_share)}, {"rx", number_or_null(live.rx_share)}};
    json["faults"] = {{"tx_errors", counters.tx_errors},
                      {"rx_errors", counters.rx_errors},
                      {"tx_dropped", counters.tx_dropped},
                      {"rx_dropped", counters.rx_dropped}};
    const Slave* state = bond.find_slave(slave.ifindex);
    if (!state) {
        json["link"] = nullptr;
        return json;
    }
    json["link"] = {{"mii_status", to_text(state->mii_status)},
                    {"admin_up", state->admin_up},
                    {"carrier", state->carrier},
                    {"backup", state->backup},
                    {"failures", state->link_failures},
                    {"aggregator", or_null(state->aggregator_id)},
                    {"actor_port_state", or_null(state->actor_port_state)},
                    {"partner_port_state", or_null(state->partner_port_state)}};
    return json;
}

Json balance_json(const LiveBalance& balance, const LiveBondState& live, const BondReport& report) {
    Json json;
    json["verdict"] = balance.word == BalanceWord::not_expected ? Json(nullptr) : Json(to_text(balance.word));
    const bool known = balance.largest > 0 && balance.largest_slave < live.balanced.size();
    json["largest"] = known ? Json(balance.largest) : Json(nullptr);
    json["slave"] =
        known
            ? Json(valid_utf8(slave_name(report, live.slaves[live.balanced[balance.largest_slave]].ifindex)))
            : Json(nullptr);
    json["expected"] = known ? Json({balance.low, balance.high}) : Json(nullptr);
    json["flows"] = balance.throws;
    return json;
}

Json bond_line_json(const BondReport& report, const Bond& bond, const LiveBondState& live) {
    Json json = bond_json(report);
    json["carrier"] = bond.carrier;
    json["active_slave"] = Json(nullptr);
    if (bond.active_slave) json["active_slave"] = *bond.active_slave;
    json["lacp"] = nullptr;
    if (bond.aggregator)
        json["lacp"] = {{"aggregator", bond.aggregator->aggregator_id},
                        {"ports", bond.aggregator->ports},
                        {"actor_key", bond.aggregator->actor_key},
                        {"partner_key", bond.aggregator->partner_key},
                        {"partner_mac", to_text(bond.aggregator->partner_mac)}};
    json["lacp_verdict"] = live.lacp.word.empty() ? Json(nullptr) : Json(live.lacp.word);
    json["balance"] = {{"tx", balance_json(live.tx_balance, live, report)},
                       {"rx", balance_json(live.rx_balance, live, report)}};
    json["agreement"] = {{"checked", live.predicted}, {"agree", live.as_predicted}};
    return json;
}

void emit_rate(JsonEmitter& out, const Rate& tx, const Rate& rx) {
    constexpr double bits = 8;
    out.open('{')
        .member("tx_bits", tx.bytes * bits)
        .member("rx_bits", rx.bytes * bits)
        .member("tx_packets", tx.packets)
        .member("rx_packets", rx.packets)
        .close('}');
}

void append_flow(std::string& text, const BondReport& report, const FlowRow& row) {
    const auto name = [&](int ifindex) {
        return ifindex == 0 ? std::nullopt : std::optional(slave_name(report, ifindex));
    };
    JsonEmitter out(text);
    out.open('{');
    emit_flow(out, report, row.flow, row.moves, row.sprayed);
    out.member("tx_slave", name(row.tx_slave)).member("rx_slave", name(row.rx_slave)).name("rate");
    emit_rate(out, row.tx, row.rx);
    out.close('}');
}

std::string_view to_text(EventKind kind) {
    return kind == EventKind::bad ? "bad" : kind == EventKind::good ? "good" : "change";
}

Json events_json(const EventLog& log, std::uint64_t first) {
    Json list = Json::array();
    std::uint64_t number = log.total() - log.events().size();
    for (const Event& event : log.events())
        if (number++ >= first)
            list.push_back({{"time", valid_utf8(event.time)},
                            {"kind", to_text(event.kind)},
                            {"bond", valid_utf8(event.bond)},
                            {"text", valid_utf8(event.text)}});
    return list;
}

Json head_json(const LiveModel& model, const FlowView& view, std::uint64_t sequence) {
    const LiveReading& reading = model.reading();
    Json head;
    head["schema"] = "bondtrace.live/1";
    head["sequence"] = sequence;
    head["version"] = valid_utf8(reading.report.header.version);
    head["time"] = valid_utf8(reading.report.header.time);
    head["kernel"] = valid_utf8(reading.report.header.kernel);
    head["attach"] = valid_utf8(reading.report.header.attach);
    head["attach_limits"] = limits_json(reading.report.header.attach);
    head["host"] = valid_utf8(reading.host);
    head["era"] = model.era_finding() ? era_json(*model.era_finding()) : Json(nullptr);
    head["monotonic_ns"] = reading.time_ns;
    head["elapsed_seconds"] = number_or_null(reading.report.seconds);
    head["interval_seconds"] = number_or_null(model.interval_seconds());
    head["flows_total"] = view.total();
    head["flows_matching"] = view.rows().size();
    head["flows_idle"] = view.idle();
    head["max_flows"] = reading.report.max_flows;
    return head;
}

Json cost_json(const LiveModel& model) {
    const auto& sums = model.reading().cost;
    if (!sums) return nullptr;
    Json json{{"runs", sums->runs}, {"run_ns", sums->ns}, {"ns_per_packet", nullptr}, {"cpu", nullptr}};
    if (const auto cost = model.cost()) {
        json["ns_per_packet"] = cost->ns_per_packet;
        json["cpu"] = cost->cpu;
    }
    return json;
}

} // namespace

bool write_live_json(const LiveModel& model, const FlowView& view, const LiveJsonPart& part,
                     const TextSink& sink) {
    const LiveReading& reading = model.reading();
    const std::vector<BondReport>& bonds = reading.report.bonds;
    std::vector<std::vector<const FlowRow*>> flows(bonds.size());
    for (const std::uint32_t place : view.rows()) {
        const FlowRow& row = model.flows().rows()[place];
        if (row.flow.bond < flows.size() && flows[row.flow.bond].size() < part.most)
            flows[row.flow.bond].push_back(&row);
    }

    TextPieces pieces(sink);
    pieces.text() = "{";
    append_members(pieces.text(), head_json(model, view, part.sequence), ",");
    pieces.text() += ",\"bonds\":[";
    for (std::size_t i = 0; i < bonds.size(); ++i) {
        const Bond& state = reading.bonds[i].state;
        const LiveBondState& live = model.bonds()[i];
        pieces.text() += i == 0 ? "{" : ",{";
        append_members(pieces.text(), bond_line_json(bonds[i], state, live), ",");
        pieces.text() += ",\"slaves\":[";
        for (std::size_t slave = 0; slave < bonds[i].slaves.size(); ++slave)
            pieces.text() += (slave == 0 ? "" : ",") +
                             dump(slave_line_json(bonds[i], bonds[i].slaves[slave], state,
                                                  reading.bonds[i].counters[slave], live.slaves[slave]));
        pieces.text() += "],\"flows\":[";
        for (std::size_t flow = 0; flow < flows[i].size(); ++flow) {
            if (flow > 0) pieces.text() += ',';
            append_flow(pieces.text(), bonds[i], *flows[i][flow]);
            if (!pieces.pass()) return false;
        }
        pieces.text() += "]}";
    }
    pieces.text() += "],\"losses\":" + dump(losses_json(reading.report.losses));
    pieces.text() += ",\"cost\":" + dump(cost_json(model));
    pieces.text() += ",\"events\":" + dump(events_json(model.events(), part.first_event)) + "}\n";
    return pieces.finish();
}

std::string live_json(const LiveModel& model, const FlowView& view, std::uint64_t sequence, std::size_t most,
                      std::uint64_t first_event) {
    std::string text;
    write_live_json(model, view, {.sequence = sequence, .most = most, .first_event = first_event},
                    [&](const std::string& piece) {
                        text += piece;
                        return true;
                    });
    return text;
}

} // namespace bondtrace
