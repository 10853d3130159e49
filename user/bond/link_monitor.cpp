// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/link_monitor.h"

#include "user/bond/link_message.h"

#include <algorithm>
#include <cstring>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

namespace bondtrace {
namespace {

// The most datagrams taken at once, so that a storm of changes leaves time for everything else.
constexpr int max_datagrams = 512;

void add_events(std::span<const std::byte> rest, LinkChanges& changes) {
    while (rest.size() >= NLMSG_HDRLEN) {
        nlmsghdr header{};
        std::memcpy(&header, rest.data(), sizeof(header));
        if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > rest.size()) {
            changes.must_reread = true;
            return;
        }
        const auto message = rest.first(header.nlmsg_len);
        rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), rest.size()));
        if (header.nlmsg_type != RTM_NEWLINK && header.nlmsg_type != RTM_DELLINK) continue;
        auto link = parse_link_message(message);
        if (!link) {
            changes.must_reread = true;
            continue;
        }
        if (link->partial) continue;
        changes.events.push_back(LinkEvent{.ifindex = link->ifindex,
                                           .name = std::move(link->name),
                                           .is_bond = link->kind == "bond",
                                           .master = link->master,
                                           .deleted = link->deleted,
                                           .counters = link->counters});
    }
}

} // namespace

Result<LinkMonitor> LinkMonitor::open(const NetNs& netns) {
    auto socket = run_in(netns, []() -> Result<NetlinkSocket> {
        return NetlinkSocket::open(RTMGRP_LINK, NetlinkSocket::Wait::never, {});
    });
    if (!socket) return tl::make_unexpected(socket.error());
    return LinkMonitor(std::move(*socket));
}

Result<LinkChanges> LinkMonitor::poll_events() {
    LinkChanges changes;
    for (int count = 0; count < max_datagrams; ++count) {
        const auto datagram = socket_.receive();
        if (!datagram) return tl::make_unexpected(datagram.error());
        if (datagram->nothing) break;
        if (datagram->overflow)
            changes.must_reread = true;
        else
            add_events(datagram->bytes, changes);
    }
    return changes;
}

} // namespace bondtrace
