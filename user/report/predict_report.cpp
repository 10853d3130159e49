// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/predict_report.h"

#include "user/base/text.h"
#include "user/flow/protocols.h"
#include "user/report/agreement_text.h"
#include "user/report/era_json.h"
#include "user/report/json_parts.h"

#include <fmt/format.h>

namespace bondtrace {
namespace {

Json text_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(valid_utf8(text));
}

Json mac_json(const std::optional<MacAddress>& mac) {
    return mac ? Json(to_text(*mac)) : Json(nullptr);
}

Json names_json(const std::vector<std::string>& names) {
    Json list = Json::array();
    for (const std::string& name : names)
        list.push_back(valid_utf8(name));
    return list;
}

Json answer_json(const PathAnswer& answer) {
    const TypedFlow& flow = answer.flow;
    Json json;
    json["protocol"] = ip_protocol_name(flow.protocol);
    json["ip_protocol"] = flow.protocol;
    json["src"] = to_text(flow.src);
    json["src_port"] = or_null(flow.src_port);
    json["dst"] = to_text(flow.dst);
    json["dst_port"] = or_null(flow.dst_port);
    if (flow.icmp_type)
        json["icmp"] = {
            {"type", *flow.icmp_type}, {"code", flow.icmp_code.value_or(0)}, {"id", or_null(flow.icmp_id)}};
    if (flow.spi) json["spi"] = *flow.spi;
    json["src_mac"] = mac_json(answer.frame.src_mac);
    json["dst_mac"] = mac_json(answer.frame.dst_mac);
    json["tci"] = or_null(answer.frame.tci);
    json["fragment"] = answer.frame.fragment;
    json["slave"] = answer.slave ? Json(valid_utf8(*answer.slave)) : Json(nullptr);
    json["every_slave"] = answer.every_slave;
    json["index"] = or_null(answer.index);
    json["hash"] = or_null(answer.hash);
    json["why"] = text_or_null(answer.why);
    json["advice"] = text_or_null(answer.advice);
    return json;
}

} // namespace

std::string answer_text(const PathBond& bond, const PathAnswer& answer) {
    const std::string name = bond.name.empty() ? "" : sanitize(bond.name) + " ";
    const std::string where = answer.every_slave ? "all slaves"
                              : answer.slave     ? sanitize(*answer.slave)
                                                 : "not predictable: " + sanitize(answer.why);
    return fmt::format("{}{} -> {}\n", name, to_text(answer.flow), where);
}

std::string reason_text(const PathBond& bond, const EraFinding& era, const PathAnswer& answer) {
    std::string text = fmt::format("  mode    {}\n", to_text(bond.mode));
    if (answer.index) {
        text += fmt::format("  policy  {}, {}\n", to_text(bond.policy), sanitize(era_text(era)));
        text += fmt::format("  inputs  {}\n", inputs_text(answer, bond.policy));
        text += fmt::format("  hash    {:#010x}\n", *answer.hash);
        text += fmt::format("  index   {} = hash % {}\n", *answer.index, bond.usable.size());
    }
    std::string usable;
    for (std::size_t i = 0; i < bond.usable.size(); ++i)
        usable += fmt::format("{}{} {}", i == 0 ? "" : ", ", i, sanitize(bond.usable[i]));
    text += fmt::format("  usable  {}{}\n", usable.empty() ? "no slave" : usable,
                        bond.order_known ? "" : " (in an unknown order)");
    if (answer.predictable() && !answer.why.empty())
        text += fmt::format("  why     {}\n", sanitize(answer.why));
    if (!answer.advice.empty()) text += fmt::format("  advice  {}\n", sanitize(answer.advice));
    return text;
}

std::string predict_json(const PredictReport& report) {
    const PathBond& bond = report.bond;
    Json json;
    json["schema"] = "bondtrace.predict/1";
    json["version"] = valid_utf8(report.header.version);
    json["time"] = valid_utf8(report.header.time);
    json["kernel"] = valid_utf8(report.header.kernel);
    json["attach"] = valid_utf8(report.header.attach);
    json["bond"] = {{"name", text_or_null(bond.name)},
                    {"netns", text_or_null(report.netns)},
                    {"mode", to_text(bond.mode)},
                    {"xmit_hash_policy", to_text(bond.policy)},
                    {"usable", names_json(bond.usable)},
                    {"unusable", names_json(bond.others)},
                    {"active_slave", bond.active_slave ? text_or_null(*bond.active_slave) : Json(nullptr)}};
    json["era"] = era_json(report.era);
    json["predictions"] = Json::array();
    for (const PathAnswer& answer : report.answers)
        json["predictions"].push_back(answer_json(answer));
    json["reach"] = report.reach
                        ? Json{{"slave", valid_utf8(report.reach->slave)}, {"ports", report.reach->ports}}
                        : Json(nullptr);
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

} // namespace bondtrace
