// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/kernel/support/frames.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>

#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace bondtrace::test {
namespace {

constexpr std::size_t batch = 128;
constexpr std::chrono::seconds patience{10};

Result<Fd> packet_socket(int interface, std::uint16_t protocol) {
    Fd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (!socket.valid()) return fail_errno(errno, "opening a packet socket");
    const int room = 64 * 1024 * 1024;
    if (setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) != 0 ||
        setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) != 0)
        return fail_errno(errno, "enlarging a packet socket's buffers");
    // Only what leaves an interface.
    std::array<sock_filter, 4> code{
        {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, static_cast<unsigned>(SKF_AD_OFF + SKF_AD_PKTTYPE)),
         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 1), BPF_STMT(BPF_RET | BPF_K, 64),
         BPF_STMT(BPF_RET | BPF_K, 0)}};
    const sock_fprog filter{static_cast<unsigned short>(code.size()), code.data()};
    if (setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) != 0)
        return fail_errno(errno, "filtering a packet socket");
    sockaddr_ll where{};
    where.sll_family = AF_PACKET;
    where.sll_protocol = htons(protocol);
    where.sll_ifindex = interface;
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0)
        return fail_errno(errno, "binding a packet socket");
    return socket;
}

// At most `batch` frames.
Result<void> send_batch(const Fd& sender, std::span<const std::vector<std::uint8_t>> frames) {
    std::array<mmsghdr, batch> messages{};
    std::array<iovec, batch> parts{};
    for (std::size_t i = 0; i < frames.size(); ++i) {
        parts[i] = {const_cast<std::uint8_t*>(frames[i].data()), frames[i].size()};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    for (std::size_t sent = 0; sent < frames.size();) {
        const int done =
            sendmmsg(sender.get(), messages.data() + sent, static_cast<unsigned>(frames.size() - sent), 0);
        if (done <= 0) return fail_errno(errno, fmt::format("sending the frame {}", to_hex(frames[sent])));
        sent += static_cast<std::size_t>(done);
    }
    return {};
}

} // namespace

Result<FramePath> FramePath::open(const NetNs& netns, int bond, std::vector<int> slaves) {
    return run_in(netns, [&]() -> Result<FramePath> {
        auto sender = packet_socket(bond, 0);
        if (!sender) return tl::make_unexpected(sender.error());
        auto observer = packet_socket(0, ETH_P_ALL);
        if (!observer) return tl::make_unexpected(observer.error());
        return FramePath(std::move(*sender), std::move(*observer), {slaves.begin(), slaves.end()});
    });
}

Result<void> FramePath::collect(std::span<const std::vector<std::uint8_t>> frames, std::vector<int>& left) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (std::size_t seen = 0; seen < frames.size();) {
        std::array<std::uint8_t, 64> start{};
        sockaddr_ll from{};
        socklen_t from_size = sizeof(from);
        const ssize_t size = recvfrom(observer_.get(), start.data(), start.size(), MSG_DONTWAIT | MSG_TRUNC,
                                      reinterpret_cast<sockaddr*>(&from), &from_size);
        if (size < 0 && errno != EAGAIN) return fail_errno(errno, "watching the slaves");
        if (size < 0) {
            pollfd waiting{observer_.get(), POLLIN, 0};
            if (std::chrono::steady_clock::now() > deadline)
                return fail(ErrorKind::unavailable, fmt::format("{} of {} frames were not seen to leave",
                                                                frames.size() - seen, frames.size()));
            if (poll(&waiting, 1, 100) < 0) return fail_errno(errno, "waiting for frames");
            continue;
        }
        if (!slaves_.contains(from.sll_ifindex)) continue; // the bond's own copy
        const std::vector<std::uint8_t>& frame = frames[seen];
        const std::size_t known = std::min(frame.size(), start.size());
        // The filter cuts, so that the length is that of its answer or of the frame.
        if (static_cast<std::size_t>(size) != known ||
            !std::equal(start.begin(), start.begin() + static_cast<std::ptrdiff_t>(known), frame.begin()))
            return fail(ErrorKind::unavailable,
                        fmt::format("another frame left: {}, expected {}", to_hex(start), to_hex(frame)));
        left.push_back(from.sll_ifindex);
        ++seen;
    }
    return {};
}

Result<std::vector<int>> FramePath::send(std::span<const std::vector<std::uint8_t>> frames) {
    std::vector<int> left;
    left.reserve(frames.size());
    while (!frames.empty()) {
        const auto now = frames.first(std::min(batch, frames.size()));
        frames = frames.subspan(now.size());
        if (const auto sent = send_batch(sender_, now); !sent) return tl::make_unexpected(sent.error());
        if (const auto seen = collect(now, left); !seen) return tl::make_unexpected(seen.error());
    }
    return left;
}

Result<void> send_frames(const NetNs& netns, int interface,
                         std::span<const std::vector<std::uint8_t>> frames) {
    const auto sender = run_in(netns, [&] { return packet_socket(interface, 0); });
    if (!sender) return tl::make_unexpected(sender.error());
    while (!frames.empty()) {
        const auto now = frames.first(std::min(batch, frames.size()));
        frames = frames.subspan(now.size());
        if (const auto sent = send_batch(*sender, now); !sent) return sent;
    }
    return {};
}

std::uint64_t test_seed() {
    const char* given = std::getenv("BONDTRACE_SEED");
    const std::uint64_t seed = given ? std::strtoull(given, nullptr, 0) : std::random_device()();
    std::cout << "seed " << seed << " (BONDTRACE_SEED=" << seed << " repeats it)\n";
    return seed;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes)
        text += fmt::format("{:02x}", byte);
    return text;
}

} // namespace bondtrace::test
