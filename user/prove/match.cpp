// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/prove/match.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace bondtrace {
namespace {

using namespace traffic;

// The flow that a conversation with ports is.
std::optional<FlowAddress> address_of(const ConversationKey& key) {
    const auto* const local = std::get_if<IpAddress>(&key.local);
    const auto* const remote = std::get_if<IpAddress>(&key.remote);
    const auto* const ports = std::get_if<Ports>(&key.detail);
    if (!local || !remote || !ports || key.fragment) return std::nullopt;
    return FlowAddress{*local, *remote, ports->local, ports->remote};
}

TracedSlave traced_slave(const SlaveReport& slave) {
    return {slave.name,
            slave.index.has_value(),
            slave.speed_mbps,
            slave.tx.traced.wire_bytes,
            slave.rx.traced.wire_bytes,
            slave.tx.counter_bytes,
            slave.rx.counter_bytes,
            slave.tx.coverage(),
            slave.rx.coverage()};
}

void add_uses(std::vector<TracedUse>& to, const BondReport& bond, const std::vector<SlaveUse>& uses) {
    for (const SlaveUse& use : uses) {
        const auto slave =
            std::find_if(bond.slaves.begin(), bond.slaves.end(),
                         [&](const SlaveReport& report) { return report.ifindex == use.slave_ifindex; });
        if (slave == bond.slaves.end() || use.inactive) continue; // the bond has dropped those
        const auto position = static_cast<std::uint32_t>(slave - bond.slaves.begin());
        auto same = std::find_if(to.begin(), to.end(),
                                 [&](const TracedUse& known) { return known.slave == position; });
        if (same == to.end()) same = to.insert(to.end(), {position, 0, 0});
        same->packets += use.counts.wire_packets;
        same->bytes += use.counts.wire_bytes;
    }
}

void most_first(std::vector<TracedUse>& uses) {
    std::stable_sort(uses.begin(), uses.end(),
                     [](const TracedUse& a, const TracedUse& b) { return a.bytes > b.bytes; });
    if (uses.size() > max_traced_uses) uses.resize(max_traced_uses);
}

} // namespace

std::vector<std::vector<std::size_t>> match_flows(const FlowsReport& report, std::size_t bond,
                                                  Transport transport,
                                                  const std::vector<FlowAddress>& flows) {
    constexpr std::uint8_t tcp = 6, udp = 17; // IP protocol numbers
    const std::uint8_t protocol = transport == Transport::tcp ? tcp : udp;
    std::multimap<FlowAddress, std::size_t> seen;
    for (std::size_t i = 0; i < report.flows.size(); ++i) {
        const Conversation& flow = report.flows[i];
        if (flow.bond != bond || !flow.key.ip || flow.key.protocol != protocol) continue;
        if (const auto address = address_of(flow.key)) seen.emplace(*address, i);
    }
    std::vector<std::vector<std::size_t>> matches(flows.size());
    for (std::size_t i = 0; i < flows.size(); ++i) {
        const auto [begin, end] = seen.equal_range(flows[i]);
        for (auto match = begin; match != end; ++match)
            matches[i].push_back(match->second);
    }
    return matches;
}

EndTrace trace_of(const FlowsReport& report, std::size_t bond,
                  const std::vector<std::vector<std::size_t>>& matches) {
    const BondReport& seen = report.bonds.at(bond);
    EndTrace trace;
    trace.bond = seen.name;
    trace.mode = mode_words(seen);
    if (seen.policy_used) trace.policy = to_text(seen.policy);
    trace.attach = report.header.attach;
    for (const SlaveReport& slave : seen.slaves)
        if (trace.slaves.size() < max_traced_slaves) trace.slaves.push_back(traced_slave(slave));
    for (const auto& match : matches) {
        TracedFlow& flow = trace.flows.emplace_back();
        for (const std::size_t position : match) {
            add_uses(flow.tx, seen, report.flows[position].tx);
            add_uses(flow.rx, seen, report.flows[position].rx);
        }
        most_first(flow.tx);
        most_first(flow.rx);
    }
    const auto note = [&](std::uint64_t frames, const char* why) {
        if (frames != 0) trace.notes.push_back(fmt::format("{} frames {}", frames, why));
    };
    note(report.losses.untracked_packets,
         "were counted for their slaves but not by flow: the table was full");
    note(report.losses.recursion_misses, "were not seen: the programs were already running on that CPU");
    note(report.losses.unparsed_packets, "could not be parsed");
    return trace;
}

} // namespace bondtrace
