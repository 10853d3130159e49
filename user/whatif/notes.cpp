// SPDX-License-Identifier: GPL-2.0-or-later
// What the numbers of `bondtrace whatif` alone do not say.
#include "user/audit/hash_findings.h"
#include "user/base/units.h"
#include "user/whatif/analysis.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace bondtrace {
namespace {

struct Sums {
    std::uint64_t bytes = 0, fragments = 0, not_ip = 0, sockets = 0;
    std::map<std::string_view, std::pair<std::uint64_t, std::uint64_t>> tunnels; // name -> flows, bytes
    std::size_t largest = 0;
    std::uint64_t largest_bytes = 0;
};

Sums sums_of(const WhatifUnits& source) {
    Sums sums;
    for (std::size_t i = 0; i < source.units.size(); ++i) {
        const std::uint64_t bytes = source.units[i].bytes;
        const ConversationKey& key = source.keys[i];
        sums.bytes += bytes;
        if (bytes > sums.largest_bytes) {
            sums.largest_bytes = bytes;
            sums.largest = i;
        }
        if (source.units[i].socket_hash) sums.sockets += bytes;
        if (key.fragment) sums.fragments += bytes;
        if (!key.ip) sums.not_ip += bytes;
        if (const std::string_view name = tunnel_name(key); !name.empty()) {
            auto& [flows, carried] = sums.tunnels[name];
            ++flows;
            carried += bytes;
        }
    }
    return sums;
}

// Less than this of the bytes is not worth a sentence.
bool matters(std::uint64_t part, std::uint64_t whole) {
    constexpr std::uint64_t one_in = 100;
    return part > 0 && part * one_in >= whole;
}

const WhatifRow* row_with(const std::vector<WhatifRow>& rows, HashPolicy policy) {
    const auto at = std::find_if(rows.begin(), rows.end(), [&](const WhatifRow& row) {
        return row.policy == policy && row.slaves == rows.front().slaves;
    });
    return at == rows.end() ? nullptr : &*at;
}

} // namespace

std::vector<std::string> whatif_notes(const WhatifUnits& source, const std::vector<WhatifRow>& rows) {
    std::vector<std::string> notes;
    if (source.units.empty() || rows.empty()) return notes;
    const Sums sums = sums_of(source);
    const unsigned slaves = rows.front().slaves;
    if (sums.bytes > 0 && sums.largest_bytes * slaves > sums.bytes)
        notes.push_back(
            fmt::format("one flow is {} of the bytes ({}): no policy splits a flow, so that no more "
                        "than {:.2f} times one slave is possible",
                        format_percent(sums.largest_bytes, sums.bytes), describe(source.keys[sums.largest]),
                        static_cast<double>(sums.bytes) / static_cast<double>(sums.largest_bytes)));
    std::string tunnels;
    for (const auto& [name, tunnel] : sums.tunnels)
        if (matters(tunnel.second, sums.bytes))
            tunnels += fmt::format("{}{} in {} ({} flow{} apart)", tunnels.empty() ? "" : ", ",
                                   format_percent(tunnel.second, sums.bytes), name, tunnel.first,
                                   tunnel.first == 1 ? "" : "s");
    if (!tunnels.empty())
        notes.push_back(
            fmt::format("of the bytes {}: layer3+4 sees a tunnel's own addresses and ports only; encap2+3 "
                        "and encap3+4 look into GRE and IP in IP, and no policy into UDP tunnels or ESP",
                        tunnels));
    if (matters(sums.fragments, sums.bytes))
        notes.push_back(fmt::format("{} of the bytes are IP fragments, which have no ports for layer3+4 and "
                                    "encap3+4: they go by their addresses",
                                    format_percent(sums.fragments, sums.bytes)));
    if (matters(sums.not_ip, sums.bytes))
        notes.push_back(fmt::format("{} of the bytes are not IP, or of packets that are cut: most go by MAC "
                                    "addresses under every policy",
                                    format_percent(sums.not_ip, sums.bytes)));
    if (matters(sums.sockets, sums.bytes))
        notes.push_back(
            fmt::format("{} of the bytes are of TCP and connected UDP sockets of this host, which "
                        "encap3+4 spreads by a random number of each socket: as evenly as chance, and "
                        "differently each time",
                        format_percent(sums.sockets, sums.bytes)));
    else
        notes.emplace_back(
            "encap3+4 is shown as packets' headers give it; packets of a host's own TCP and connected "
            "UDP sockets go by a random number of each socket instead");
    if (const WhatifRow* ports = row_with(rows, HashPolicy::layer34); ports && ports->unknown.bytes == 0)
        notes.emplace_back(
            "layer3+4 and encap3+4 do not keep 802.3ad's promise of order where a flow has both "
            "fragments and whole packets, which may take different slaves");
    return notes;
}

} // namespace bondtrace
