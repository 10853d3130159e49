// SPDX-License-Identifier: GPL-2.0-or-later
// Pieces that several JSON documents have in common.
#pragma once

#include "user/report/flows_report.h"

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace bondtrace {

using Json = nlohmann::ordered_json;

// JSON has no word for NaN and infinity: null.
Json number_or_null(std::optional<double> value);

// A bond's members but for its lists, a slave, a conversation, the losses: as docs/schema/flows.schema.json
// has them.
Json bond_json(const BondReport& bond);
Json slave_json(const BondReport& bond, const SlaveReport& slave);
Json flow_json(const BondReport& bond, const Conversation& flow);
Json losses_json(const Losses& losses);

// On one line. Bytes that are not UTF-8 become U+FFFD.
std::string dump(const Json& json);

// "name":value of each member, for objects that are written piece by piece.
void append_members(std::string& text, const Json& object, std::string_view separator);

} // namespace bondtrace
