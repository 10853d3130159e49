// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/audit_plots.h"

#include "user/audit/placement.h"
#include "user/base/text.h"
#include "user/base/units.h"

#include <array>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// In the units of the drawing, which are about the pixels of a page and not much less on a phone. The words
// stand above their bar: beside it they would be too small there.
constexpr double bar_width = 420, row_height = 46, bar_top = 22, bar_height = 15, baseline = 15;
constexpr std::size_t colours = 8; // classes s0 ... s7 of the style sheet

std::string open_drawing(std::size_t rows, std::string_view title) {
    return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", bar_width,
                       static_cast<double>(rows) * row_height, html_text(title));
}

std::string rectangle(std::string_view style, double from, double to, double top, double height,
                      std::string_view title) {
    return fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{}\"><title>{}"
                       "</title></rect>\n",
                       style, from * bar_width, top, (to - from) * bar_width, height, html_text(title));
}

// What stands above a bar: a name on the left and a number on the right.
std::string labels(double top, std::string_view name, std::string_view number) {
    return fmt::format("<text x=\"0\" y=\"{0:.2f}\">{1}</text>\n<text class=\"number\" x=\"{2}\" "
                       "y=\"{0:.2f}\">{3}</text>\n",
                       top + baseline, html_text(name), bar_width, html_text(number));
}

std::string percent(double share) {
    return fmt::format("{:.1f} %", share * 100);
}

PolicyShares shares_with(HashPolicy policy, const BondView& view, const std::vector<PlacedFlow>& flows) {
    PolicyShares result;
    result.policy = policy;
    result.current = policy == view.report->policy;
    result.shares.assign(view.usable.size(), 0);
    double all = 0;
    for (const PlacedFlow& flow : flows) {
        const auto bytes = static_cast<double>(flow.bytes);
        // A hash that the socket or the NIC had made is what encap3+4 takes (bond_xmit_hash()).
        const bool given = policy == HashPolicy::encap34 && flow.use->origin.l4_hash;
        const auto hash = given ? std::optional(flow.use->origin.skb_hash)
                                : hash_of_tuple(sent_tuple(*flow.flow, *flow.use), policy, view.era);
        all += bytes;
        if (hash)
            result.shares[*hash % view.usable.size()] += bytes;
        else
            result.undetermined += bytes;
    }
    if (all <= 0) return result;
    for (double& share : result.shares)
        share /= all;
    result.undetermined /= all;
    return result;
}

} // namespace

std::string html_text(std::string_view text) {
    std::string result;
    for (const char c : sanitize(text)) {
        switch (c) {
        case '&':
            result += "&amp;";
            break;
        case '<':
            result += "&lt;";
            break;
        case '>':
            result += "&gt;";
            break;
        case '"':
            result += "&quot;";
            break;
        case '\'':
            result += "&#39;";
            break;
        default:
            result += c;
        }
    }
    return result;
}

std::string share_plot(const Balance& balance) {
    if (balance.largest <= 0) return {};
    std::string svg = open_drawing(balance.slaves.size(),
                                   fmt::format("{} share of each slave", to_text(balance.direction)));
    for (std::size_t i = 0; i < balance.slaves.size(); ++i) {
        const SlaveShare& slave = balance.slaves[i];
        const double top = static_cast<double>(i) * row_height, bar = top + bar_top;
        svg += labels(top, slave.name, fmt::format("{}, {} flows", percent(slave.share), slave.flows));
        svg += rectangle("track", 0, 1, bar, bar_height, "0 to 100 %");
        svg += rectangle(fmt::format("s{}", i % colours), 0, slave.share, bar, bar_height,
                         fmt::format("{}: {}", slave.name, percent(slave.share)));
        // Over the bar, so that a share inside the band does not hide it.
        if (const auto band = expected_share(balance, slave.name))
            svg += rectangle(
                "band", band->low, band->high, bar - 2, bar_height + 4,
                fmt::format("expected by chance: {} to {}", percent(band->low), percent(band->high)));
    }
    return svg + "</svg>\n";
}

std::vector<PolicyShares> shares_by_policy(const BondView& view) {
    if (!view.report || !view.report->policy_used || view.usable.size() < 2) return {};
    const std::vector<PlacedFlow> flows = placed_flows(view, Direction::tx);
    if (flows.empty()) return {};
    std::vector<PolicyShares> policies;
    for (const HashPolicy policy : {HashPolicy::layer2, HashPolicy::layer23, HashPolicy::layer34,
                                    HashPolicy::encap23, HashPolicy::encap34, HashPolicy::vlan_srcmac})
        policies.push_back(shares_with(policy, view, flows));
    return policies;
}

std::string policy_plot(const std::vector<PolicyShares>& policies, const std::vector<std::string>& slaves) {
    if (policies.empty()) return {};
    std::string svg = open_drawing(policies.size(), "what these flows would make of each policy");
    for (std::size_t row = 0; row < policies.size(); ++row) {
        const PolicyShares& policy = policies[row];
        const double top = static_cast<double>(row) * row_height, bar = top + bar_top;
        svg += rectangle("track", 0, 1, bar, bar_height, "not determined by the tuple");
        double from = 0, largest = 0;
        for (std::size_t i = 0; i < policy.shares.size() && i < slaves.size(); ++i) {
            const double to = from + policy.shares[i];
            largest = std::max(largest, policy.shares[i]);
            if (to > from)
                svg += rectangle(fmt::format("s{}", i % colours), from, to, bar, bar_height,
                                 fmt::format("{}: {}", slaves[i], percent(policy.shares[i])));
            from = to;
        }
        svg += labels(top, fmt::format("{}{}", to_text(policy.policy), policy.current ? " (now)" : ""),
                      policy.undetermined >= 0.005
                          ? fmt::format("{} not predictable", percent(policy.undetermined))
                          : fmt::format("largest {}", percent(largest)));
    }
    return svg + "</svg>\n";
}

} // namespace bondtrace
