// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/text.h"
#include "user/report/era_json.h"
#include "user/report/json_parts.h"
#include "user/report/whatif_report.h"

namespace bondtrace {
namespace {

std::string_view source_name(WhatifReport::Source source) {
    switch (source) {
    case WhatifReport::Source::live:
        return "live";
    case WhatifReport::Source::flows:
        return "flows";
    case WhatifReport::Source::capture:
        return "pcap";
    }
    return "?";
}

Json band_json(const Band& band) {
    return {{"low", number_or_null(band.low)}, {"high", number_or_null(band.high)}};
}

Json row_json(const WhatifRow& row) {
    std::uint64_t flows = 0, bytes = 0;
    for (const SlaveLoad& load : row.loads) {
        flows += load.flows;
        bytes += load.bytes;
    }
    const auto share = [](std::uint64_t part, std::uint64_t whole) {
        return whole == 0 ? Json(nullptr) : Json(static_cast<double>(part) / static_cast<double>(whole));
    };
    Json json;
    json["policy"] = to_text(row.policy);
    json["slaves"] = row.slaves;
    json["current"] = row.current;
    json["loads"] = Json::array();
    for (const SlaveLoad& load : row.loads)
        json["loads"].push_back({{"flows", load.flows},
                                 {"bytes", load.bytes},
                                 {"flow_share", share(load.flows, flows)},
                                 {"byte_share", share(load.bytes, bytes)}});
    const bool any = row.hashes > 0;
    json["largest_flow_share"] = any ? Json(row.largest_flow_share) : Json(nullptr);
    json["largest_byte_share"] = any ? Json(row.largest_byte_share) : Json(nullptr);
    json["bandwidth"] = any ? Json(row.bandwidth) : Json(nullptr);
    json["expected_flow_share"] = band_json(row.expected_flows);
    json["expected_byte_share"] = band_json(row.expected_bytes);
    json["hashes"] = row.hashes;
    json["unknown"] = {{"flows", row.unknown.flows}, {"bytes", row.unknown.bytes}};
    return json;
}

} // namespace

std::string whatif_json(const WhatifReport& report) {
    Json json;
    json["schema"] = "bondtrace.whatif/1";
    json["version"] = valid_utf8(report.header.version);
    json["time"] = valid_utf8(report.header.time);
    json["kernel"] = valid_utf8(report.header.kernel);
    json["attach"] = valid_utf8(report.header.attach);
    json["source"] = {
        {"kind", source_name(report.source)},        {"name", valid_utf8(report.name)},
        {"seconds", number_or_null(report.seconds)}, {"interrupted", report.interrupted},
        {"incomplete", report.incomplete},           {"both_directions", report.both_directions}};
    json["bond"] = report.bond ? Json(valid_utf8(*report.bond)) : Json(nullptr);
    json["mode"] = report.mode ? Json(to_text(*report.mode)) : Json(nullptr);
    json["xmit_hash_policy"] = report.current.policy ? Json(to_text(*report.current.policy)) : Json(nullptr);
    json["usable_slaves"] = report.current.slaves > 0 ? Json(report.current.slaves) : Json(nullptr);
    json["era"] = era_json(report.era);
    json["flows"] = report.flows;
    json["packets"] = report.packets;
    json["bytes"] = report.bytes;
    json["left_out"] = {{"packets_beyond_max_flows", report.lost_packets},
                        {"bytes_beyond_max_flows", report.lost_bytes},
                        {"packets_not_sent_from_here", report.elsewhere_packets}};
    json["rows"] = Json::array();
    for (const WhatifRow& row : report.rows)
        json["rows"].push_back(row_json(row));
    json["notes"] = Json::array();
    for (const std::string& note : report.notes)
        json["notes"].push_back(valid_utf8(note));
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

} // namespace bondtrace
