// SPDX-License-Identifier: GPL-2.0-or-later
// The plots of an audit's page, as SVG that takes its colours from the page's style sheet. Pure.
#pragma once

#include "user/report/audit_report.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

// Text for HTML and SVG: valid UTF-8 with markup characters as entities and control characters as "?".
std::string html_text(std::string_view text);

// A bar for each slave to choose from: its share of the bytes, over the band in which chance leaves it.
// Empty when there was nothing to share.
std::string share_plot(const Balance& balance);

// What the flows that were sent would have made of each policy.
struct PolicyShares {
    HashPolicy policy = HashPolicy::layer2;
    bool current = false;
    std::vector<double> shares; // of the bytes, by usable slave
    double undetermined = 0;    // part of the bytes that the tuple does not place
};
// Empty when the mode does not consult the policy, there are fewer than two usable slaves, or nothing was
// sent.
std::vector<PolicyShares> shares_by_policy(const BondView& view);

// A bar for each policy, divided among the slaves.
std::string policy_plot(const std::vector<PolicyShares>& policies, const std::vector<std::string>& slaves);

} // namespace bondtrace
