// SPDX-License-Identifier: GPL-2.0-or-later
// The few requests to the kernel's traffic control that attaching to a link takes: its ingress and egress
// filters, and the clsact qdisc that holds them.
#pragma once

#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/bond/netlink_socket.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct nlmsghdr;

namespace bondtrace {

enum class TcDirection : std::uint8_t { in, out };

struct TcFilter {
    TcDirection direction = TcDirection::in;
    std::uint32_t priority = 0;
    std::uint32_t handle = 0; // 0: no filter, but the place of some
    std::string kind;         // "bpf", "flower"
    std::string name;         // of a BPF program
};

// What stands at the place for filters of a link.
struct TcPlace {
    int ifindex = 0;
    std::string kind; // "clsact", "ingress"
};

class TcNetlink {
  public:
    // Opens its socket in `netns`; changing anything takes CAP_NET_ADMIN there, at that moment as well.
    static Result<TcNetlink> open(const NetNs& netns);

    // The links that have a place for filters; empty where the kernel has no traffic control.
    Result<std::vector<TcPlace>> places();
    // False when there is something already.
    Result<bool> add_clsact(int ifindex);
    Result<void> remove_clsact(int ifindex);

    // Of both directions, in the order in which they run.
    Result<std::vector<TcFilter>> filters(int ifindex);
    // A BPF program in direct-action mode, for every protocol. The positive errno, 0 for success.
    Result<int> add_filter(int ifindex, const TcFilter& filter, int program);
    // One that is gone already is no error.
    Result<void> remove_filter(int ifindex, const TcFilter& filter);

  private:
    explicit TcNetlink(NetlinkSocket socket) : socket_(std::move(socket)) {}

    // Sends what `buffer` holds, and calls `use` for each answer; the positive errno the kernel ended with.
    Result<int> ask(std::vector<std::byte>& buffer, const std::function<void(const nlmsghdr*)>& use = {});

    NetlinkSocket socket_;
    std::uint32_t sequence_ = 0;
};

// The link has vanished, by the errno of a request about it.
bool is_gone(int error);

} // namespace bondtrace
