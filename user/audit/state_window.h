// SPDX-License-Identifier: GPL-2.0-or-later
// What happened to a bond between two readings of it, as far as its state tells. Pure.
#pragma once

#include "user/bond/model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

struct SlaveChange {
    std::string slave;
    std::uint64_t rx_packets = 0; // received in the window, delivered or not
    // Of these, received while the slave was inactive, and dropped for that (rx_nohandler; facts: an inactive
    // slave's frames count there and not in rx_dropped).
    std::uint64_t rx_inactive = 0;
    // Of the inactive ones, addressed to this host alone. The counters cannot tell; a trace can.
    std::optional<std::uint64_t> rx_inactive_unicast = std::nullopt;
    std::uint32_t failures = 0; // link failures in the window
    std::uint32_t churned = 0;  // times either churn machine reached "churned" in the window
    bool lost_sync = false;     // LACP: was in sync at the beginning and is not at the end, on either side
    // By the slave's own counters (rtnl_link_stats64).
    std::uint64_t tx_packets = 0, tx_errors = 0, tx_dropped = 0, rx_errors = 0, rx_dropped = 0;
};

// An interface on the bond.
struct UpperChange {
    std::string name;
    std::optional<std::uint16_t> vlan_id;
    std::uint64_t tx_packets = 0, tx_dropped = 0, rx_packets = 0;
};

struct StateWindow {
    double seconds = 0;
    std::vector<SlaveChange> slaves;
    std::vector<UpperChange> uppers = {};
    // balance-rr: the share of TCP segments that arrived out of order, if somebody measured it.
    std::optional<double> reordered_share = std::nullopt;

    [[nodiscard]] const SlaveChange* find(const std::string& slave) const;
};

// The difference of two readings of one bond, for the slaves that are in both (by ifindex). Counters that ran
// backwards, as those of a slave that was reset, count as nothing.
StateWindow compare(const Bond& before, const Bond& after, double seconds);

} // namespace bondtrace
