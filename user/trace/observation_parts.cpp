// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/observation_parts.h"

namespace bondtrace {

LinkCounters operator-(const LinkCounters& later, const LinkCounters& earlier) {
    return {.rx_packets = later.rx_packets - earlier.rx_packets,
            .rx_bytes = later.rx_bytes - earlier.rx_bytes,
            .rx_dropped = later.rx_dropped - earlier.rx_dropped,
            .rx_errors = later.rx_errors - earlier.rx_errors,
            .rx_nohandler = later.rx_nohandler - earlier.rx_nohandler,
            .tx_packets = later.tx_packets - earlier.tx_packets,
            .tx_bytes = later.tx_bytes - earlier.tx_bytes,
            .tx_dropped = later.tx_dropped - earlier.tx_dropped,
            .tx_errors = later.tx_errors - earlier.tx_errors};
}

void operator+=(LinkCounters& sum, const LinkCounters& part) {
    sum.rx_packets += part.rx_packets;
    sum.rx_bytes += part.rx_bytes;
    sum.rx_dropped += part.rx_dropped;
    sum.rx_errors += part.rx_errors;
    sum.rx_nohandler += part.rx_nohandler;
    sum.tx_packets += part.tx_packets;
    sum.tx_bytes += part.tx_bytes;
    sum.tx_dropped += part.tx_dropped;
    sum.tx_errors += part.tx_errors;
}

std::uint64_t frames_between(const std::map<int, LinkCounters>& earlier,
                             const std::map<int, LinkCounters>& later) {
    std::uint64_t frames = 0;
    for (const auto& [ifindex, counters] : later) {
        const auto before = earlier.find(ifindex);
        if (before == earlier.end()) continue;
        frames +=
            counters.rx_packets - before->second.rx_packets + counters.tx_packets - before->second.tx_packets;
    }
    return frames;
}

std::uint64_t nanoseconds_of(std::chrono::steady_clock::time_point time) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

namespace {

// A group of links has no interface of its own, and no interface has this index.
constexpr std::uint32_t group_ifindex = UINT32_MAX;

} // namespace

bt_device device_of(const Bond& bond) {
    return {bond.netns, bond.group ? group_ifindex : static_cast<std::uint32_t>(bond.ifindex)};
}

std::uint32_t link_flags(const Bond& bond) {
    if (bond.group) return 0;
    if (bond.mode == BondMode::lacp) return BT_LINK_LACP;
    if (bond.mode == BondMode::balance_tlb || bond.mode == BondMode::balance_alb) return BT_LINK_LEARNING;
    return 0;
}

} // namespace bondtrace
