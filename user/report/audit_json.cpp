// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/audit_json.h"

#include "user/base/text.h"
#include "user/report/json_parts.h"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

// `value` unless the source does not tell it.
template<typename Value> Json known(bool unknown, Value value) {
    return unknown ? Json(nullptr) : Json(std::move(value));
}

Json text_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(valid_utf8(text));
}

Json name_or_null(const std::optional<std::string>& name) {
    return name ? Json(valid_utf8(*name)) : Json(nullptr);
}

template<typename Value> Json word_or_null(const std::optional<Value>& value) {
    return value ? Json(to_text(*value)) : Json(nullptr);
}

Json mac_or_null(const std::optional<MacAddress>& mac) {
    return mac ? Json(to_text(*mac)) : Json(nullptr);
}

constexpr std::array<std::pair<std::uint8_t, const char*>, 8> state_bits{{
    {lacp_state::activity, "activity"},
    {lacp_state::short_timeout, "short_timeout"},
    {lacp_state::aggregation, "aggregation"},
    {lacp_state::synchronization, "synchronization"},
    {lacp_state::collecting, "collecting"},
    {lacp_state::distributing, "distributing"},
    {lacp_state::defaulted, "defaulted"},
    {lacp_state::expired, "expired"},
}};

Json port_state_json(std::optional<std::uint16_t> state) {
    if (!state) return nullptr;
    Json bits = Json::array();
    for (const auto& [bit, word] : state_bits)
        if ((*state & bit) != 0) bits.push_back(word);
    return {{"value", *state}, {"bits", bits}};
}

Json side_json(const std::optional<LacpSide>& side) {
    if (!side) return nullptr;
    return {{"system_mac", mac_or_null(side->system_mac)},
            {"system_priority", or_null(side->system_priority)},
            {"key", or_null(side->key)},
            {"port_priority", or_null(side->port_priority)},
            {"port_number", or_null(side->port_number)}};
}

Json programs_json(const DevicePrograms& programs) {
    Json found = Json::array(), unknown = Json::array();
    for (const AttachedProgram& program : programs.found) {
        Json actions = Json::array();
        for (const std::string& action : program.actions)
            actions.push_back(valid_utf8(action));
        found.push_back({{"hook", to_text(program.hook)},
                         {"kind", text_or_null(program.kind)},
                         {"name", text_or_null(program.name)},
                         {"id", program.id != 0 ? Json(program.id) : Json(nullptr)},
                         {"actions", actions}});
    }
    if (!programs.xdp_known) unknown.push_back("xdp");
    if (!programs.tc_known) unknown.push_back("tc");
    if (!programs.tcx_known) unknown.push_back("tcx");
    return {{"found", found}, {"unknown", unknown}};
}

Json offloads_json(const std::optional<Offloads>& offloads) {
    if (!offloads) return nullptr;
    Json json = Json::object();
    for (const auto& [name, on] : offload_names(*offloads))
        json[std::string(name)] = on;
    return json;
}

Json lacp_port_json(const Slave& slave) {
    return {{"aggregator", or_null(slave.aggregator_id)},
            {"actor_state", port_state_json(slave.actor_port_state)},
            {"partner_state", port_state_json(slave.partner_port_state)},
            {"actor", side_json(slave.actor)},
            {"partner", side_json(slave.partner)},
            {"actor_churn", word_or_null(slave.actor_churn)},
            {"partner_churn", word_or_null(slave.partner_churn)},
            {"actor_churn_count", or_null(slave.actor_churn_count)},
            {"partner_churn_count", or_null(slave.partner_churn_count)}};
}

Json band_json(const std::optional<Band>& band) {
    if (!band) return nullptr;
    return {{"low", number_or_null(band->low)}, {"high", number_or_null(band->high)}};
}

Json traffic_json(const AuditedBond& bond, const SlaveView& slave, bool received) {
    if (!slave.traffic || !bond.traffic) return nullptr;
    Json json = direction_json(*bond.traffic, *slave.traffic, received);
    json["expected_share"] =
        band_json(expected_share(received ? bond.audit->rx : bond.audit->tx, slave.name()));
    return json;
}

Json ifindex_json(const SlaveView& slave) {
    if (!slave.state) return slave.traffic->ifindex;
    return known(slave.state->unknown.ifindex || slave.state->ifindex == 0, slave.state->ifindex);
}

Json slave_json(const AuditedBond& bond, const SlaveView& view) {
    static const Slave left; // the bond: its state is nobody's business any more
    const bool present = view.state != nullptr;
    const Slave& slave = present ? *view.state : left;
    const SlaveUnknown& unknown = slave.unknown;
    Json json;
    json["name"] = valid_utf8(view.name());
    json["ifindex"] = ifindex_json(view);
    json["index"] = view.traffic ? or_null(view.traffic->index) : Json(nullptr);
    json["state"] = text_or_null(slave_state(view));
    json["mii_status"] = known(!present || unknown.mii_status, to_text(slave.mii_status));
    json["carrier"] = known(!present || unknown.flags, slave.carrier);
    json["admin_up"] = known(!present || unknown.flags, slave.admin_up);
    json["link_failures"] = known(!present || unknown.link_failures, slave.link_failures);
    json["mac"] = known(!present || unknown.mac, to_text(slave.mac));
    json["perm_mac"] = mac_or_null(slave.perm_mac);
    json["speed_mbps"] = present        ? or_null(slave.speed_mbps)
                         : view.traffic ? or_null(view.traffic->speed_mbps)
                                        : Json(nullptr);
    json["duplex"] = word_or_null(slave.duplex);
    json["kind"] = text_or_null(slave.kind);
    json["programs"] = programs_json(slave.programs);
    json["offloads"] = offloads_json(slave.offloads);
    json["lacp"] = present && bond.state->mode == BondMode::lacp ? lacp_port_json(slave) : Json(nullptr);
    json["tx"] = traffic_json(bond, view, false);
    json["rx"] = traffic_json(bond, view, true);
    json["counters"] = view.traffic ? counters_json(*view.traffic) : Json(nullptr);
    json["coverage"] = view.traffic ? coverage_json(*view.traffic) : Json(nullptr);
    return json;
}

Json probability_json(const Probability& probability) {
    return {{"value", number_or_null(probability.value)},
            {"bound", number_or_null(probability.bound)},
            {"exact", probability.exact}};
}

Json balance_json(const Balance& balance) {
    Json json;
    json["verdict"] = to_text(balance.word);
    json["text"] = valid_utf8(describe(balance));
    json["flows"] = balance.flows;
    json["throws"] = balance.throws;
    json["largest_share"] = number_or_null(balance.largest);
    json["largest_slave"] = balance.largest > 0 && balance.largest_slave < balance.slaves.size()
                                ? Json(valid_utf8(balance.slaves[balance.largest_slave].name))
                                : Json(nullptr);
    // Where chance has no say, its numbers would mean nothing.
    const bool chance = !balance.slaves.empty() && expected_share(balance, balance.slaves.front().name);
    json["probability_flows"] = chance ? probability_json(balance.by_flows) : Json(nullptr);
    json["probability_bytes"] = chance ? probability_json(balance.by_bytes) : Json(nullptr);
    json["chi_square_probability"] = chance ? number_or_null(balance.chi_square) : Json(nullptr);
    json["jain_index"] = chance ? number_or_null(balance.jain) : Json(nullptr);
    json["effective_flows"] = chance ? number_or_null(balance.effective) : Json(nullptr);
    json["expected_flow_share"] = chance ? band_json(balance.flow_band) : Json(nullptr);
    json["expected_byte_share"] = chance ? band_json(balance.byte_band) : Json(nullptr);
    json["flows_needed"] = chance ? or_null(balance.needed) : Json(nullptr);
    json["slaves"] = Json::array();
    for (const SlaveShare& slave : balance.slaves)
        json["slaves"].push_back({{"name", valid_utf8(slave.name)},
                                  {"flows", slave.flows},
                                  {"throws", slave.throws},
                                  {"packets", slave.packets},
                                  {"bytes", slave.bytes},
                                  {"share", number_or_null(slave.share)}});
    return json;
}

Json aggregator_json(const Bond& bond) {
    if (!bond.aggregator) return nullptr;
    const AggregatorInfo& active = *bond.aggregator;
    return {{"id", active.aggregator_id},
            {"ports", active.ports},
            {"actor_key", active.actor_key},
            {"partner_key", active.partner_key},
            {"partner_mac", to_text(active.partner_mac)}};
}

Json lacp_json(const Bond& bond) {
    if (bond.mode != BondMode::lacp) return nullptr;
    return {{"rate", known(bond.unknown.lacp_rate, bond.lacp_fast ? "fast" : "slow")},
            {"active", or_null(bond.lacp_active)},
            {"ad_select", word_or_null(bond.ad_select)},
            {"aggregator_known", !bond.unknown.aggregator},
            {"aggregator", aggregator_json(bond)},
            {"system_mac", mac_or_null(bond.system_mac)},
            {"system_priority", or_null(bond.system_priority)},
            {"details_visible", or_null(bond.privileged)}};
}

Json uppers_json(const Bond& bond) {
    if (bond.unknown.uppers) return nullptr;
    Json uppers = Json::array();
    for (const Upper& upper : bond.uppers)
        uppers.push_back({{"name", valid_utf8(upper.name)}, {"kind", text_or_null(upper.kind)}});
    return uppers;
}

Json bond_json(const AuditReport& report, const AuditedBond& audited) {
    const Bond& bond = *audited.state;
    const BondUnknown& unknown = bond.unknown;
    Json json;
    json["name"] = valid_utf8(bond.name);
    json["netns"] = text_or_null(report.netns);
    json["ifindex"] = known(unknown.ifindex || bond.ifindex == 0, bond.ifindex);
    json["driver"] = text_or_null(bond.driver);
    json["truncated"] = bond.truncated;
    json["mode"] = known(bond.group, to_text(bond.mode));
    json["xmit_hash_policy"] = known(unknown.policy, to_text(bond.policy));
    json["xmit_hash_policy_used"] = audited.traffic ? Json(audited.traffic->policy_used) : Json(nullptr);
    json["carrier"] = known(unknown.carrier, bond.carrier);
    json["admin_up"] = known(unknown.admin_up, bond.admin_up);
    json["mac"] = known(unknown.mac, to_text(bond.mac));
    json["miimon_ms"] = known(unknown.miimon, bond.miimon_ms);
    json["arp_interval_ms"] = known(unknown.arp_interval, bond.arp_interval_ms);
    json["min_links"] = known(unknown.min_links, bond.min_links);
    const Slave* const active = bond.active();
    json["active_slave"] = active ? Json(valid_utf8(active->name)) : name_or_null(bond.active_name);
    json["primary"] = name_or_null(bond.primary_name);
    json["manager"] = word_or_null(bond.manager);
    json["lacp"] = lacp_json(bond);
    json["uppers"] = uppers_json(bond);
    json["programs"] = programs_json(bond.programs);
    json["offloads"] = offloads_json(bond.offloads);
    json["missing_slaves"] = Json::array();
    for (const std::string& slave : bond.missing_slaves)
        json["missing_slaves"].push_back(valid_utf8(slave));
    const bool watched = audited.audit->watched;
    json["balance"] =
        watched ? Json{{"tx", balance_json(audited.audit->tx)}, {"rx", balance_json(audited.audit->rx)}}
                : Json(nullptr);
    json["slaves"] = Json::array();
    for (const SlaveView& slave : audited.slaves)
        json["slaves"].push_back(slave_json(audited, slave));
    return json;
}

Json era_json(const std::optional<EraFinding>& era) {
    if (!era) return nullptr;
    return {{"name", to_text(era->era)}, {"source", to_text(era->source)}, {"why", text_or_null(era->why)}};
}

} // namespace

std::string audit_json(const AuditReport& report) {
    Json json;
    json["schema"] = "bondtrace.audit/1";
    json["version"] = valid_utf8(report.header.version);
    json["time"] = valid_utf8(report.header.time);
    json["kernel"] = text_or_null(report.header.kernel);
    json["attach"] = valid_utf8(report.header.attach);
    json["window_seconds"] = number_or_null(report.seconds);
    json["interrupted"] = report.interrupted;
    json["era"] = era_json(report.era);
    json["status"] = plugin_word(report.result.status);
    json["exit_status"] = static_cast<int>(report.result.status);
    json["line"] = valid_utf8(report.result.line);
    json["notes"] = Json::array();
    for (const std::string& note : report.notes)
        json["notes"].push_back(valid_utf8(note));
    json["bonds"] = Json::array();
    for (const AuditedBond& bond : audited_bonds(report))
        json["bonds"].push_back(bond_json(report, bond));
    json["findings"] = Json::array();
    for (const Finding& finding : report.result.findings)
        json["findings"].push_back(finding_json(finding));
    json["losses"] = report.input.traffic ? losses_json(report.input.traffic->losses) : Json(nullptr);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace bondtrace
