// SPDX-License-Identifier: GPL-2.0-or-later
// Two hosts joined by cables, for tests that need other bonds than those of the lab.
#pragma once

#include "tests/kernel/support/namespace.h"
#include "tests/kernel/support/traffic.h"
#include "user/bond/model.h"

#include <string>
#include <vector>

namespace bondtrace::test {

// A bond as the program's reader sees it; an empty one, and a failure of the test, when it cannot be read.
Bond read_bond(const Namespace& space, const std::string& name = "bond0");

// Makes a bond of these slaves and brings it up. `options`: "mode 802.3ad miimon 100".
void make_bond(const Namespace& space, const std::string& options, const std::vector<std::string>& slaves,
               const std::string& name = "bond0");

// All slaves up by the bond's own judgement, and the bond with them.
bool all_up(const Bond& bond);
// LACP: every slave carries, by its own state and by its partner's.
bool lacp_is_up(const Bond& bond);
// LACP: every slave is up and has given up waiting for a partner.
bool settled_alone(const Bond& bond);

// The host, whose slaves are a0, a1, ..., and its peer or "switch", whose ends of the same cables are b0, b1,
// ...
struct Pair {
    Namespace host{"host"}, peer{"switch"};
    std::vector<std::string> host_ports, peer_ports;

    explicit Pair(unsigned cables = 2);
    // The bond of one side, of all its ports.
    void bond_host(const std::string& options) const { make_bond(host, options, host_ports); }
    void bond_peer(const std::string& options) const { make_bond(peer, options, peer_ports); }
    // The peer's ports in a bridge of this name, which is up.
    void bridge_peer(const std::string& name) const;
    // The first addresses of 192.0.2.0/24 on these interfaces, with neighbours that need no ARP.
    void address(const std::string& host_device = "bond0", const std::string& peer_device = "bond0",
                 const std::string& net = "192.0.2.") const;

    [[nodiscard]] End host_end(const std::string& net = "192.0.2.") const { return {host.open(), net + "1"}; }
    [[nodiscard]] End peer_end(const std::string& net = "192.0.2.") const { return {peer.open(), net + "2"}; }
};

// `count` flows from source ports that begin with `first`, `step` apart, to port 5001.
std::vector<UdpFlow> udp_flows(std::uint16_t first, unsigned count, unsigned step = 1, unsigned packets = 20);

} // namespace bondtrace::test
