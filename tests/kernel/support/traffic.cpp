// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/kernel/support/traffic.h"

#include "user/base/address.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bondtrace::test {
namespace {

constexpr std::chrono::seconds patience{30};
using Clock = std::chrono::steady_clock;

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    [[nodiscard]] int family() const { return storage.ss_family; }
};

Result<Address> make_address(const std::string& text, std::uint16_t port) {
    const auto ip = parse_ip(text);
    if (!ip) return fail(ErrorKind::usage, fmt::format("{} is no IP address", text));
    Address address;
    if (ip->v6) {
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(port);
        std::memcpy(&v6.sin6_addr, ip->bytes.data(), 16);
        std::memcpy(&address.storage, &v6, sizeof(v6));
        address.size = sizeof(v6);
    } else {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::memcpy(&v4.sin_addr, ip->bytes.data(), 4);
        std::memcpy(&address.storage, &v4, sizeof(v4));
        address.size = sizeof(v4);
    }
    return address;
}

// A socket of `type` inside the end's namespace, bound to its address and `port`.
Result<Fd> bound_socket(const End& end, int type, std::uint16_t port) {
    const auto address = make_address(end.address, port);
    if (!address) return tl::make_unexpected(address.error());
    return run_in(end.netns, [&]() -> Result<Fd> {
        Fd socket(::socket(address->family(), type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!socket.valid()) return fail_errno(errno, "opening a socket");
        const int on = 1;
        const int room = 32 * 1024 * 1024; // nothing may be lost for want of room at the receiver
        if (setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
            setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) != 0)
            return fail_errno(errno, "setting socket options");
        if (bind(socket.get(), address->get(), address->size) != 0)
            return fail_errno(errno, fmt::format("binding to {} port {}", end.address, port));
        return socket;
    });
}

Result<void> wait_for(int fd, short events, Clock::time_point deadline, const char* what) {
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        if (left.count() <= 0)
            return fail(ErrorKind::unavailable, fmt::format("{}: not within {} s", what, patience.count()));
        pollfd poll_fd{fd, events, 0};
        const int ready = poll(&poll_fd, 1, static_cast<int>(left.count()));
        if (ready < 0 && errno != EINTR) return fail_errno(errno, what);
        if (ready > 0) return {};
    }
}

Result<void> send_datagram(int fd, const std::vector<char>& payload, std::size_t size, const Address& to,
                           Clock::time_point deadline) {
    for (;;) {
        if (sendto(fd, payload.data(), size, 0, to.get(), to.size) == static_cast<ssize_t>(size)) return {};
        if (errno != EAGAIN && errno != ENOBUFS) return fail_errno(errno, "sending a datagram");
        if (const auto ready = wait_for(fd, POLLOUT, deadline, "sending a datagram"); !ready) return ready;
    }
}

struct Sender {
    Fd socket;
    Address to;
};

// Sends the flows' packets in turn. Each begins with its number, so that copies are told from originals.
Result<void> send_in_turn(const std::vector<Sender>& senders, const std::vector<UdpFlow>& flows,
                          Clock::time_point deadline) {
    std::size_t largest = sizeof(std::uint32_t);
    unsigned rounds = 0;
    std::uint32_t sent = 0;
    for (const UdpFlow& flow : flows) {
        if (flow.payload < sizeof(sent))
            return fail(ErrorKind::usage, "a datagram here has a payload of at least four bytes");
        largest = std::max(largest, flow.payload);
        rounds = std::max(rounds, flow.packets);
    }
    std::vector<char> payload(largest, 'x');
    for (unsigned round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < flows.size(); ++i) {
            if (round >= flows[i].packets) continue;
            std::memcpy(payload.data(), &sent, sizeof(sent));
            ++sent;
            const auto done =
                send_datagram(senders[i].socket.get(), payload, flows[i].payload, senders[i].to, deadline);
            if (!done) return done;
        }
    return {};
}

Result<std::vector<Sender>> open_senders(const End& from, const std::string& to,
                                         const std::vector<UdpFlow>& flows) {
    std::vector<Sender> senders;
    for (const UdpFlow& flow : flows) {
        auto socket = bound_socket(from, SOCK_DGRAM, flow.source_port);
        if (!socket) return tl::make_unexpected(socket.error());
        const auto destination = make_address(to, flow.destination_port);
        if (!destination) return tl::make_unexpected(destination.error());
        senders.push_back({std::move(*socket), *destination});
    }
    return senders;
}

} // namespace

std::vector<std::uint16_t> ports_from(std::uint16_t first, std::uint16_t count) {
    std::vector<std::uint16_t> ports(count);
    std::iota(ports.begin(), ports.end(), first);
    return ports;
}

Result<void> send_udp_unheard(const End& from, const std::string& to, const std::vector<UdpFlow>& flows) {
    const auto senders = open_senders(from, to, flows);
    if (!senders) return tl::make_unexpected(senders.error());
    return send_in_turn(*senders, flows, Clock::now() + patience);
}

Result<void> send_udp(const End& from, const End& to, const std::vector<UdpFlow>& flows) {
    const auto deadline = Clock::now() + patience;
    std::map<std::uint16_t, Fd> receivers; // by destination port
    unsigned rounds = 0;
    for (const UdpFlow& flow : flows) {
        rounds = std::max(rounds, flow.packets);
        if (receivers.contains(flow.destination_port)) continue;
        auto receiver = bound_socket(to, SOCK_DGRAM, flow.destination_port);
        if (!receiver) return tl::make_unexpected(receiver.error());
        receivers.emplace(flow.destination_port, std::move(*receiver));
    }
    const auto senders = open_senders(from, to.address, flows);
    if (!senders) return tl::make_unexpected(senders.error());
    if (const auto sent = send_in_turn(*senders, flows, deadline); !sent) return sent;
    std::vector<char> buffer(65536);
    for (auto& [port, receiver] : receivers) {
        std::set<std::uint32_t> expected; // of this port
        std::uint32_t number = 0;
        for (unsigned round = 0; round < rounds; ++round)
            for (const UdpFlow& flow : flows) {
                if (round >= flow.packets) continue;
                if (flow.destination_port == port) expected.insert(number);
                ++number;
            }
        while (!expected.empty()) {
            const auto ready = wait_for(receiver.get(), POLLIN, deadline, "waiting for datagrams to arrive");
            if (!ready)
                return fail(ErrorKind::unavailable,
                            fmt::format("{}; {} are missing at {} port {}", ready.error().what,
                                        expected.size(), to.address, port));
            const ssize_t size = recv(receiver.get(), buffer.data(), buffer.size(), 0);
            if (size < static_cast<ssize_t>(sizeof(std::uint32_t))) continue;
            std::uint32_t arrived = 0;
            std::memcpy(&arrived, buffer.data(), sizeof(arrived));
            expected.erase(arrived);
        }
    }
    return {};
}

Result<void> transfer_tcp(const End& from, const End& to, std::uint16_t source_port, std::uint16_t port,
                          std::size_t bytes) {
    const auto deadline = Clock::now() + patience;
    auto listener = bound_socket(to, SOCK_STREAM, port);
    if (!listener) return tl::make_unexpected(listener.error());
    if (listen(listener->get(), 1) != 0) return fail_errno(errno, "listening");
    auto client = bound_socket(from, SOCK_STREAM, source_port);
    if (!client) return tl::make_unexpected(client.error());
    const auto destination = make_address(to.address, port);
    if (!destination) return tl::make_unexpected(destination.error());
    if (connect(client->get(), destination->get(), destination->size) != 0 && errno != EINPROGRESS)
        return fail_errno(errno, "connecting");
    if (const auto ready = wait_for(listener->get(), POLLIN, deadline, "accepting"); !ready) return ready;
    const Fd server(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!server.valid()) return fail_errno(errno, "accepting");
    if (const auto ready = wait_for(client->get(), POLLOUT, deadline, "connecting"); !ready) return ready;

    const std::vector<char> chunk(65536, 'x');
    std::vector<char> buffer(262144);
    std::size_t sent = 0, received = 0;
    while (received < bytes) {
        if (sent < bytes) {
            const ssize_t size =
                send(client->get(), chunk.data(), std::min(chunk.size(), bytes - sent), MSG_NOSIGNAL);
            if (size > 0) sent += static_cast<std::size_t>(size);
            if (size < 0 && errno != EAGAIN) return fail_errno(errno, "sending by TCP");
        }
        const ssize_t size = recv(server.get(), buffer.data(), buffer.size(), 0);
        if (size > 0) received += static_cast<std::size_t>(size);
        if (size < 0 && errno != EAGAIN) return fail_errno(errno, "receiving by TCP");
        if (size == 0) return fail(ErrorKind::unavailable, "the connection ended early");
        if (size < 0) // nothing to do in either direction: until one of them moves
            if (const auto ready = wait_for(server.get(), POLLIN, deadline, "receiving by TCP"); !ready)
                return ready;
    }
    // Orderly, and the side that waits for stragglers (TIME_WAIT) is ours: nothing is in flight when this
    // returns.
    shutdown(client->get(), SHUT_WR);
    if (const auto ready = wait_for(server.get(), POLLIN, deadline, "closing"); !ready) return ready;
    shutdown(server.get(), SHUT_WR);
    if (const auto ready = wait_for(client->get(), POLLIN, deadline, "closing"); !ready) return ready;
    return {};
}

SteadyTraffic::SteadyTraffic(const End& from, const End& to, std::vector<std::uint16_t> source_ports,
                             std::uint16_t destination_port, std::size_t payload,
                             std::chrono::milliseconds period) {
    const auto open = [&](const End& end, std::uint16_t port) {
        auto socket = bound_socket(end, SOCK_DGRAM, port);
        EXPECT_TRUE(socket) << socket.error().what;
        if (socket) sockets_.push_back(std::move(*socket));
    };
    open(to, destination_port);
    for (const std::uint16_t port : source_ports)
        open(from, port);
    const auto address = make_address(to.address, destination_port);
    EXPECT_TRUE(address) << address.error().what;
    if (!address || sockets_.size() != source_ports.size() + 1) return;
    thread_ = std::thread([this, address = *address, payload, period] {
        const std::vector<char> bytes(payload, 'x');
        for (auto next = Clock::now(); !stop_; next += period) {
            for (std::size_t i = 1; i < sockets_.size(); ++i)
                // One that finds no room, or no slave that is up, is left out: traffic goes on.
                (void)sendto(sockets_[i].get(), bytes.data(), bytes.size(), 0, address.get(), address.size);
            std::this_thread::sleep_until(next + period);
        }
    });
}

SteadyTraffic::~SteadyTraffic() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
}

Result<Tap> Tap::open(const NetNs& netns, const std::string& interface) {
    return run_in(netns, [&]() -> Result<Tap> {
        Fd socket(
            ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); // 0: nothing until it is bound
        if (!socket.valid()) return fail_errno(errno, "opening a packet socket");
        const int room = 64 * 1024 * 1024;
        if (setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) != 0)
            return fail_errno(errno, "enlarging a packet socket's buffer");
        sockaddr_ll where{};
        where.sll_family = AF_PACKET;
        where.sll_protocol = htons(ETH_P_ALL);
        where.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
        if (where.sll_ifindex == 0)
            return fail_errno(errno, fmt::format("looking up interface {}", interface));
        if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0)
            return fail_errno(errno, fmt::format("binding a packet socket to {}", interface));
        return Tap(std::move(socket));
    });
}

Result<std::map<std::uint16_t, Tap::Seen>> Tap::udp_by_source_port() {
    std::map<std::uint16_t, Seen> seen;
    std::array<std::uint8_t, 65536> frame{};
    for (;;) {
        sockaddr_ll from{};
        socklen_t from_size = sizeof(from);
        const ssize_t size = recvfrom(socket_.get(), frame.data(), frame.size(), MSG_TRUNC,
                                      reinterpret_cast<sockaddr*>(&from), &from_size);
        if (size < 0 && errno == EAGAIN) break;
        if (size < 0) return fail_errno(errno, "reading from a packet socket");
        constexpr std::size_t ip = 14, udp = ip + 20;
        const bool is_udp = size >= static_cast<ssize_t>(udp + 8) && frame[12] == 0x08 && frame[13] == 0x00 &&
                            frame[ip] == 0x45 && frame[ip + 9] == IPPROTO_UDP;
        if (!is_udp || from.sll_pkttype == PACKET_OUTGOING) continue;
        const auto port = static_cast<std::uint16_t>(frame[udp] << 8 | frame[udp + 1]);
        seen[port].packets++;
        seen[port].bytes += static_cast<std::uint64_t>(size);
    }
    tpacket_stats stats{};
    socklen_t stats_size = sizeof(stats);
    if (getsockopt(socket_.get(), SOL_PACKET, PACKET_STATISTICS, &stats, &stats_size) != 0)
        return fail_errno(errno, "asking a packet socket for its losses");
    if (stats.tp_drops != 0)
        return fail(ErrorKind::unavailable,
                    fmt::format("the packet socket dropped {} frames", stats.tp_drops));
    return seen;
}

} // namespace bondtrace::test
