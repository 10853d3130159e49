// SPDX-License-Identifier: GPL-2.0-or-later
// Findings about what the bond's own hash makes of the traffic it sends: the family hash.*.
#pragma once

#include "user/audit/balance.h"
#include "user/audit/finding.h"

#include <vector>

namespace bondtrace {

// `sent` and `tx` are this view's. None when the mode does not use the hash policy.
std::vector<Finding> hash_findings(const BondView& view, const std::vector<PlacedFlow>& sent,
                                   const Balance& tx);

// What few flows came to, what chance would do with them, and how many are needed.
std::string too_few_text(const Balance& balance);

// What carries other packets in one outer flow: "VXLAN", "GRE", "WireGuard", ...; empty for anything else.
// UDP tunnels are known by their registered port alone.
std::string_view tunnel_name(const ConversationKey& key);

// "tcp 10.0.0.1:40000 -> 10.0.0.2:443".
std::string describe(const ConversationKey& key);

} // namespace bondtrace
