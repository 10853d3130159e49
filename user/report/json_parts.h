// SPDX-License-Identifier: GPL-2.0-or-later
// The parts that several JSON documents have in common.
#pragma once

#include "user/audit/finding.h"
#include "user/report/flows_report.h"
#include "user/report/json_emitter.h"

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace bondtrace {

using Json = nlohmann::ordered_json;

template<typename Value> Json or_null(const std::optional<Value>& value) {
    return value ? Json(*value) : Json(nullptr);
}

// JSON has no word for NaN and infinity: null.
Json number_or_null(std::optional<double> value);

// {"packets", "bytes", "wire_packets", "wire_bytes"}.
Json counts_json(const Counts& counts);

// What was traced of one direction of a slave, as in the documents' "tx" and "rx".
Json direction_json(const BondReport& bond, const SlaveReport& slave, bool received);

// The members "counters" and "coverage" of a slave.
Json counters_json(const SlaveReport& slave);
Json coverage_json(const SlaveReport& slave);

// The member "losses" of a document.
// In what an attachment falls short of fentry, or sees more; [] for fentry.
Json limits_json(const std::string& attachment);
Json losses_json(const Losses& losses);

// A bond's members but for its lists and the agreement, and a slave: as docs/schema/flows.schema.json has
// them.
Json bond_json(const BondReport& bond);
Json slave_json(const BondReport& bond, const SlaveReport& slave);
// A conversation's members, into the object that is open. How often it moved and whether it is sprayed the
// live table knows better than the conversation does.
void emit_flow(JsonEmitter& out, const BondReport& bond, const Conversation& flow, unsigned moves,
               bool sprayed);

// One of a document's "findings".
Json finding_json(const Finding& finding);

// On one line. Bytes that are not UTF-8 become U+FFFD.
std::string dump(const Json& json);

// "name":value of each member, for objects that are written piece by piece.
void append_members(std::string& text, const Json& object, std::string_view separator);

} // namespace bondtrace
