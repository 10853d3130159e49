// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/predict/reach.h"

#include "user/hash/policy.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bondtrace {
namespace {

Result<std::uint32_t> index_of(const PathBond& bond, const std::string& slave) {
    const auto at = std::find(bond.usable.begin(), bond.usable.end(), slave);
    if (at != bond.usable.end()) return static_cast<std::uint32_t>(at - bond.usable.begin());
    if (std::find(bond.others.begin(), bond.others.end(), slave) != bond.others.end())
        return fail(
            ErrorKind::unavailable,
            fmt::format("{} is a slave of {}, but carries nothing now: it is down, a backup, or in another "
                        "aggregator",
                        slave, bond.name),
            fmt::format("usable: {}", fmt::join(bond.usable, ", ")));
    return fail(ErrorKind::usage, fmt::format("{} is not among the slaves", slave),
                fmt::format("usable: {}", fmt::join(bond.usable, ", ")));
}

} // namespace

Result<std::vector<std::uint16_t>> reaching_ports(const PathBond& bond, const TypedFlow& flow,
                                                  const PathFrame& frame, const ReachWish& wish,
                                                  const PortFilter& avoid) {
    const auto index = index_of(bond, wish.slave);
    if (!index) return tl::make_unexpected(index.error());
    // What no port can change is said before ports are looked for.
    TypedFlow first = flow;
    first.src_port = wish.ports.first;
    const PathAnswer any = predict_path(bond, first, frame);
    if (uses_ports(bond.policy) && !any.index)
        return fail(any.predictable() ? ErrorKind::usage : ErrorKind::unavailable,
                    fmt::format("no source port decides about the slave: {}", any.why), any.advice);
    ReachQuery query;
    query.tuple = to_tuple(first);
    query.tuple.fragment = frame.fragment;
    query.tuple.src_mac = frame.src_mac;
    query.tuple.dst_mac = frame.dst_mac;
    query.policy = bond.policy;
    query.era = bond.era;
    query.usable = static_cast<std::uint32_t>(bond.usable.size());
    query.index = *index;
    query.low = wish.ports.first;
    query.high = wish.ports.second;
    query.count = wish.count;
    auto ports = ports_reaching(query, avoid);
    if (!ports) return ports;
    for (const std::uint16_t port : *ports) {
        first.src_port = port;
        const PathAnswer forwards = predict_path(bond, first, frame);
        if (forwards.slave != wish.slave)
            return fail(ErrorKind::internal,
                        fmt::format("port {} was found for {}, but leads elsewhere", port, wish.slave));
    }
    return ports;
}

} // namespace bondtrace
