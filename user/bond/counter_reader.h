// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the kernel's own counters of some interfaces, quickly: the less time passes between two of them, and
// between them and a reading of the BPF maps, the better they can be compared.
#pragma once

#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/bond/model.h"
#include "user/bond/netlink_socket.h"

#include <map>
#include <span>

namespace bondtrace {

class CounterReader {
  public:
    // Opens its socket in `netns`; reading needs no privilege from then on.
    static Result<CounterReader> open(const NetNs& netns);

    // Counters (struct rtnl_link_stats64) by ifindex; an interface that is gone is left out.
    Result<std::map<int, LinkCounters>> read(std::span<const int> ifindexes);

  private:
    explicit CounterReader(NetlinkSocket socket) : socket_(std::move(socket)) {}

    Result<void> request(int ifindex);

    NetlinkSocket socket_;
    std::uint32_t sequence_ = 0;
};

} // namespace bondtrace
