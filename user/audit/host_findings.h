// SPDX-License-Identifier: GPL-2.0-or-later
// Findings about the host that generates traffic, not about a bond: the family host.*. Pure; whoever runs a
// test knows the facts. Their `bond` is empty.
#pragma once

#include "user/audit/finding.h"
#include "user/base/address.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace bondtrace {

// A connection was refused by something on the way although the next hop answers: "No route to host" of a
// host to which there is a route.
struct RejectFacts {
    IpAddress peer;
    std::uint16_t port = 0;
    bool udp = false;
    int error = 0; // EHOSTUNREACH, ENETUNREACH or EACCES, as the socket got it
    std::string device;
    IpAddress next_hop;
    bool gateway = false;          // `next_hop` is one
    std::string neighbour_state;   // "REACHABLE"
    std::optional<MacAddress> mac; // the next hop's
};
// host.no-route-vs-reject.
Finding reject_finding(const RejectFacts& facts);

// SO_SNDBUF and SO_RCVBUF of one end: what was asked for, and what getsockopt() says of the sockets then. The
// kernel doubles what it grants, for its own overhead (socket(7)); 0: not known.
struct BufferFacts {
    std::uint64_t asked = 0;
    std::uint64_t send_got = 0, receive_got = 0;
    std::string end; // "this host", "the server"
};
// host.socket-buffer, when less than was asked for was granted.
std::optional<Finding> socket_buffer_finding(const BufferFacts& facts);

// Open files of this process.
struct FdFacts {
    std::uint64_t needed = 0;
    std::uint64_t soft = 0, hard = 0; // RLIMIT_NOFILE in force; UINT64_MAX: unlimited
    std::uint64_t nr_open = 0;        // fs.nr_open, the most that a limit can be; 0: not known
};
// host.fd-limit, when more files are needed than may be open.
std::optional<Finding> fd_limit_finding(const FdFacts& facts);

// Source ports: those that may be given, and the flows they are for.
struct PortFacts {
    std::pair<std::uint16_t, std::uint16_t> range{32768, 60999}; // net.ipv4.ip_local_port_range
    std::size_t free = 0;                                        // of them
    std::size_t pairs = 1; // of addresses, each of which can use every port once
    std::size_t wanted = 0;
};
// host.port-range, when they do not suffice.
std::optional<Finding> port_range_finding(const PortFacts& facts);

} // namespace bondtrace
