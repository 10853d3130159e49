// SPDX-License-Identifier: GPL-2.0-or-later
// Traffic of known size between two namespaces of a lab, from sockets opened inside them.
#pragma once

#include "user/base/fd.h"
#include "user/base/netns.h"
#include "user/base/result.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace bondtrace::test {

// An end of a transfer: where, and its address there.
struct End {
    NetNs netns;
    std::string address;
};

struct UdpFlow {
    std::uint16_t source_port = 0, destination_port = 0;
    unsigned packets = 1;
    std::size_t payload = 100; // bytes each; beyond the MTU the packets are sent in fragments
};

// `count` ports from `first` on.
std::vector<std::uint16_t> ports_from(std::uint16_t first, std::uint16_t count);

// Sends the flows one packet at a time in turn, to sockets that are bound at the other end (so that nothing
// comes back), and waits until all that were sent have arrived at least once (broadcast bonds deliver several
// copies).
Result<void> send_udp(const End& from, const End& to, const std::vector<UdpFlow>& flows);

// The same without waiting, for what will not all arrive; `to` need not be an address of the other end.
Result<void> send_udp_unheard(const End& from, const std::string& to, const std::vector<UdpFlow>& flows);

// Transfers `bytes` over one TCP connection from `source_port` (0: any) to `port`, and closes it from both
// sides; returns when the receiver has them all.
Result<void> transfer_tcp(const End& from, const End& to, std::uint16_t source_port, std::uint16_t port,
                          std::size_t bytes);

// UDP flows that send as long as the object lives, one packet each in every period, to one port at which
// nobody reads; on a thread of its own.
class SteadyTraffic {
  public:
    // Failures are reported to the running test.
    SteadyTraffic(const End& from, const End& to, std::vector<std::uint16_t> source_ports,
                  std::uint16_t destination_port, std::size_t payload, std::chrono::milliseconds period);
    SteadyTraffic(const SteadyTraffic&) = delete;
    SteadyTraffic& operator=(const SteadyTraffic&) = delete;
    ~SteadyTraffic();

  private:
    std::vector<Fd> sockets_; // the first is that which receives
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

// Records what arrives at, or leaves through, one interface, as packet sockets see it.
class Tap {
  public:
    static Result<Tap> open(const NetNs& netns, const std::string& interface);

    struct Seen {
        std::uint64_t packets = 0, bytes = 0; // frames without FCS
    };
    // Incoming IPv4 UDP frames without VLAN tag by source port, of all that were captured so far. An error
    // when the socket had to drop some.
    Result<std::map<std::uint16_t, Seen>> udp_by_source_port();

  private:
    explicit Tap(Fd socket) : socket_(std::move(socket)) {}
    Fd socket_;
};

} // namespace bondtrace::test
