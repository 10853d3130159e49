// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the bonds of a network namespace: rtnetlink for state and counters, /proc/net/bonding for the enslave
// order, the speeds and the LACP details (these only with CAP_NET_ADMIN). Needs no privilege in the caller's
// own namespace, CAP_SYS_ADMIN for another one.
#pragma once

#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/bond/bond_table.h"

#include <string>
#include <vector>

namespace bondtrace {

class LinkReader {
  public:
    // Keeps `netns` open. Fails when it cannot be entered.
    static Result<LinkReader> open(const NetNs& netns);

    // All bonds, by ifindex, slaves in enslave order; may be empty.
    Result<std::vector<Bond>> read_bonds() const;
    // The bonds with these names, or all when there are none; see select_bonds() for the errors.
    Result<std::vector<Bond>> find_bonds(const std::vector<std::string>& names) const;
    // Everything of one moment, for those who need more than bonds (see bond_table.h).
    Result<NetnsSnapshot> read_snapshot() const;

    [[nodiscard]] const NetNs& netns() const { return netns_; }

  private:
    explicit LinkReader(NetNs netns) : netns_(std::move(netns)) {}

    NetNs netns_;
};

} // namespace bondtrace
