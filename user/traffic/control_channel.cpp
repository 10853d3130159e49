// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/control_channel.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace bondtrace::traffic {
namespace {

using Clock = std::chrono::steady_clock;

int milliseconds_until(Clock::time_point end) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
}

} // namespace

ControlChannel::ControlChannel(Fd socket, std::string peer) : fd_(std::move(socket)), peer_(std::move(peer)) {
    const int on = 1;
    setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    fcntl(fd_.get(), F_SETFL, fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
}

Result<void> ControlChannel::send(const Message& message, std::chrono::milliseconds timeout) {
    const std::string bytes = frame(message);
    const auto end = Clock::now() + timeout;
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        const ssize_t some = ::send(fd_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (some > 0) {
            sent += static_cast<std::size_t>(some);
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return fail_errno(errno, fmt::format("talking to {}", peer_));
        pollfd wait{fd_.get(), POLLOUT, 0};
        if (Clock::now() >= end || ::poll(&wait, 1, milliseconds_until(end)) == 0)
            return fail(ErrorKind::unavailable,
                        fmt::format("talking to {}: it takes nothing for {} s", peer_,
                                    std::chrono::duration_cast<std::chrono::seconds>(timeout).count()));
    }
    return {};
}

Result<std::optional<Message>> ControlChannel::poll_message() {
    std::array<char, 16'384> chunk{};
    while (true) {
        auto message = frames_.next();
        if (!message || *message) return message;
        const ssize_t some = recv(fd_.get(), chunk.data(), chunk.size(), 0);
        if (some > 0) {
            frames_.feed({chunk.data(), static_cast<std::size_t>(some)});
            continue;
        }
        if (some == 0 || errno == ECONNRESET)
            return fail(ErrorKind::unavailable, fmt::format("{} has ended the connection", peer_));
        if (errno == EAGAIN) return std::nullopt;
        if (errno != EINTR) return fail_errno(errno, fmt::format("listening to {}", peer_));
    }
}

Result<std::optional<Message>> ControlChannel::wait(std::chrono::milliseconds timeout, int stop) {
    const auto end = Clock::now() + timeout;
    while (true) {
        auto message = poll_message();
        if (!message || *message) return message;
        std::array<pollfd, 2> wait{pollfd{fd_.get(), POLLIN, 0}, pollfd{stop, POLLIN, 0}};
        const int ready = ::poll(wait.data(), wait.size(), milliseconds_until(end));
        if (ready > 0 && (wait[1].revents & POLLIN) != 0) return std::nullopt;
        if (ready < 0 && errno != EINTR) return fail_errno(errno, "waiting for a message");
        if (ready == 0 && Clock::now() >= end)
            return fail(ErrorKind::unavailable, fmt::format("{} does not answer within {:.0f} s", peer_,
                                                            std::chrono::duration<double>(timeout).count()));
    }
}

} // namespace bondtrace::traffic
