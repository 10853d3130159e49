// SPDX-License-Identifier: GPL-2.0-or-later
// Reports the changes of a network namespace's interfaces as they happen.
#pragma once

#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/bond/model.h"
#include "user/bond/netlink_socket.h"

#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

// One change of one interface: what it is after it.
struct LinkEvent {
    int ifindex = 0;
    std::string name;
    bool is_bond = false;
    int master = 0;       // ifindex; 0 for none
    bool deleted = false; // it has left the namespace: removed, or moved to another one
    std::optional<LinkCounters> counters;
};

struct LinkChanges {
    std::vector<LinkEvent> events; // in the order in which they happened
    // Events were lost, or could not be understood: what is known of the namespace must be read again.
    bool must_reread = false;
};

class LinkMonitor {
  public:
    // Subscribes in `netns`. What happens from now on is reported; read the state after opening, not before.
    static Result<LinkMonitor> open(const NetNs& netns);

    // Readable when there are events.
    [[nodiscard]] int fd() const { return socket_.fd(); }
    // The events that have come in, a bounded number at a time (fd() stays readable when there are more);
    // never waits. The LACP state of a port changes without an event; so do counters.
    Result<LinkChanges> poll_events();

  private:
    explicit LinkMonitor(NetlinkSocket socket) : socket_(std::move(socket)) {}

    NetlinkSocket socket_;
};

} // namespace bondtrace
