// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/audit_words.h"

#include "user/base/units.h"
#include "user/report/flows_report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bondtrace {
namespace {

std::string aggregator_text(const Bond& bond) {
    if (bond.unknown.aggregator) return "aggregator unknown";
    if (!bond.aggregator) return "no active aggregator";
    const AggregatorInfo& active = *bond.aggregator;
    return fmt::format("aggregator {} with {} of {} slaves, keys {} (own) and {} (partner's), partner {}",
                       active.aggregator_id, active.ports, bond.slaves.size(), active.actor_key,
                       active.partner_key, partner_text(active.partner_mac));
}

} // namespace

std::string window_words(const AuditReport& report) {
    if (!report.seconds) return "saved state, no traffic";
    constexpr double longest = 1e9; // keeps the conversion in range, whatever was measured
    const double seconds = std::isfinite(*report.seconds) ? std::clamp(*report.seconds, 0.0, longest) : 0.0;
    return format_duration(std::chrono::nanoseconds(std::llround(seconds * 1e9))) +
           (report.interrupted ? " (interrupted)" : "");
}

std::string state_word(const Bond& bond) {
    std::string word;
    if (!bond.unknown.admin_up && !bond.admin_up)
        word = "down";
    else if (!bond.unknown.carrier)
        word = bond.carrier ? "up" : "no carrier";
    if (bond.truncated) word += word.empty() ? "truncated" : ", truncated";
    return word;
}

std::string partner_text(const MacAddress& partner) {
    return partner == MacAddress{} ? "nobody" : to_text(partner);
}

std::string lacp_words(const Bond& bond) {
    std::string text = aggregator_text(bond);
    if (!bond.unknown.lacp_rate) text += bond.lacp_fast ? "; fast" : "; slow";
    if (bond.lacp_active) text += *bond.lacp_active ? ", active" : ", passive";
    if (bond.ad_select) text += fmt::format("; chosen by {}", to_text(*bond.ad_select));
    if (bond.privileged == false) text += "; partners of single slaves are not shown to the unprivileged";
    return text;
}

std::string link_words(const Bond& bond) {
    std::vector<std::string> parts;
    if (!bond.unknown.miimon) parts.push_back(fmt::format("miimon {} ms", bond.miimon_ms));
    if (!bond.unknown.arp_interval && bond.arp_interval_ms > 0)
        parts.push_back(fmt::format("ARP monitor {} ms", bond.arp_interval_ms));
    if (bond.updelay_ms.value_or(0) > 0) parts.push_back(fmt::format("updelay {} ms", *bond.updelay_ms));
    if (bond.downdelay_ms.value_or(0) > 0)
        parts.push_back(fmt::format("downdelay {} ms", *bond.downdelay_ms));
    if (!bond.unknown.min_links && bond.min_links > 0)
        parts.push_back(fmt::format("at least {} links", bond.min_links));
    if (const Slave* active = bond.active()) parts.push_back(fmt::format("active slave {}", active->name));
    if (bond.primary_name) parts.push_back(fmt::format("primary {}", *bond.primary_name));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string program_words(const Bond& bond) {
    std::vector<std::string> parts;
    const auto add = [&](const DevicePrograms& programs, const std::string& device) {
        for (const AttachedProgram& program : programs.found)
            parts.push_back(fmt::format("{} on {}", describe(program), device));
    };
    add(bond.programs, bond.name);
    for (const Slave& slave : bond.slaves)
        add(slave.programs, slave.name);
    // Where nothing could be asked, as in a saved state, there is nothing to say.
    const DevicePrograms& asked = bond.programs;
    if (asked.xdp_known || asked.tc_known || asked.tcx_known) {
        if (!asked.xdp_known) parts.emplace_back("XDP unknown");
        if (!asked.tc_known) parts.emplace_back("tc unknown");
        if (!asked.tcx_known) parts.emplace_back("tcx unknown");
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string offload_words(const Bond& bond) {
    std::vector<std::string> all;
    bool equal = true;
    std::string first;
    for (const Slave& slave : bond.slaves) {
        if (!slave.offloads) continue;
        std::vector<std::string_view> on;
        for (const auto& [name, set] : offload_names(*slave.offloads))
            if (set) on.push_back(name);
        const std::string words = on.empty() ? "none" : fmt::format("{}", fmt::join(on, ", "));
        if (all.empty()) first = words;
        equal = equal && words == first;
        all.push_back(fmt::format("{}: {}", slave.name, words));
    }
    return equal ? first : fmt::format("{}", fmt::join(all, "; "));
}

std::string upper_words(const Bond& bond) {
    std::vector<std::string> parts;
    for (const Upper& upper : bond.uppers)
        parts.push_back(fmt::format("{}{}{}", upper.name, upper.kind.empty() ? "" : " ", upper.kind));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string_view mode_words(const Bond& bond) {
    BondReport report;
    report.group = bond.group;
    report.mode = bond.mode;
    return mode_words(report);
}

} // namespace bondtrace
