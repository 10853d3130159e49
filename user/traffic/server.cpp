// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/server.h"

#include "user/traffic/data_header.h"
#include "user/traffic/session.h"
#include "user/traffic/socket_address.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <unordered_map>

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bondtrace::traffic {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int backlog = 4096; // cut to net.core.somaxconn

Result<Fd> listen_on(const IpAddress& address, std::uint16_t port) {
    const auto where = endpoint_text(address, port);
    Fd fd(socket(address.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) return fail_errno(errno, "making a socket to listen on " + where);
    const int on = 1, off = 0;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    const bool any = address == IpAddress{true, {}};
    if (any) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)); // and IPv4
    const SocketAddress local = to_socket_address(address, port);
    if (bind(fd.get(), local.get(), local.length) != 0 || listen(fd.get(), backlog) != 0) {
        std::string advice;
        if (errno == EADDRINUSE) advice = "is a server running already? otherwise choose another --port";
        if (errno == EADDRNOTAVAIL) advice = "this host has no such address: see ip address";
        if (errno == EACCES) advice = "ports below 1024 need privileges";
        return fail_errno(errno, "listening on " + where, std::move(advice));
    }
    return fd;
}

class Server {
  public:
    Server(const ServerConfig& config, const ServerSink& sink, StopToken stop)
        : config_(config), shared_(config), stop_(stop) {
        shared_.sink = sink;
    }

    Result<ServerReport> run() {
        if (const auto ready = prepare(); !ready) return tl::make_unexpected(ready.error());
        while (true) {
            std::array<epoll_event, 64> events{};
            const int count = epoll_wait(epoll_.get(), events.data(), events.size(), patience());
            if (count < 0 && errno != EINTR) {
                end_sessions();
                return fail_errno(errno, "waiting for clients");
            }
            bool stop = false;
            for (int i = 0; i < count; ++i) {
                const int fd = events[static_cast<std::size_t>(i)].data.fd;
                if (fd == listen_.get())
                    accept_some();
                else if (fd == shared_.changed.get())
                    reap();
                else if (fd == stop_.fd)
                    stop = true;
                else
                    read_greeting(fd);
            }
            drop_slow();
            if (stop || (config_.once && shared_.tests.load() != 0 && sessions_.empty())) break;
        }
        end_sessions();
        return ServerReport{shared_.tests.load(), shared_.partial.load(), strays_, disallowed_};
    }

  private:
    // A connection that has not said yet what it is for.
    struct Handshake {
        Fd fd;
        FlowAddress address;
        Clock::time_point until;
        std::array<std::uint8_t, data_hello_size> bytes{};
        std::size_t size = 0;
    };

    Result<void> prepare() {
        shared_.listen = config_.listen.value_or(IpAddress{true, {}});
        auto listening = listen_on(shared_.listen, config_.port);
        if (!listening && !config_.listen) { // a host without IPv6
            shared_.listen = IpAddress{};
            auto v4 = listen_on(shared_.listen, config_.port);
            if (v4) listening = std::move(v4);
        }
        if (!listening) return tl::make_unexpected(listening.error());
        listen_ = std::move(*listening);
        shared_.listen_fd = listen_.get();
        const auto local = local_of(listen_.get());
        shared_.port = local ? local->second : config_.port;
        epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
        shared_.stop = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        shared_.changed = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!epoll_.valid() || !shared_.stop.valid() || !shared_.changed.valid())
            return fail_errno(errno, "making descriptors to wait with");
        for (const int fd : {listen_.get(), shared_.changed.get(), stop_.fd})
            if (fd >= 0 && !watch(fd)) return fail_errno(errno, "waiting for clients");
        ServerEvent event;
        event.kind = ServerEvent::Kind::listening;
        event.peer = endpoint_text(shared_.listen, shared_.port);
        shared_.tell(event);
        return {};
    }

    bool watch(int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
    }

    [[nodiscard]] int patience() const {
        if (handshakes_.empty()) return -1;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(order_.front().second - Clock::now());
        return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
    }

    void accept_some() {
        for (int i = 0; i < 256; ++i) { // then the others have their turn
            SocketAddress remote;
            Fd fd(accept4(listen_.get(), remote.get(), &remote.length, SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (!fd.valid()) {
                if (errno == EMFILE || errno == ENFILE) give_way();
                return;
            }
            const auto peer = from_socket_address(remote);
            const auto local = local_of(fd.get());
            if (!peer || !local) continue;
            if (!config_.allow.empty() &&
                std::none_of(config_.allow.begin(), config_.allow.end(),
                             [&](const IpPrefix& prefix) { return prefix.contains(peer->first); })) {
                if (disallowed_++ < told_at_most)
                    tell_refused(peer->first, peer->second, "its address is not within --allow");
                continue;
            }
            // Too many at once: the oldest has had the most time.
            if (handshakes_.size() >= config_.limits.handshakes) drop_oldest();
            const int number = fd.get();
            if (!watch(number)) continue;
            Handshake handshake;
            handshake.address = {local->first, peer->first, local->second, peer->second};
            handshake.until = Clock::now() + config_.limits.handshake_time;
            handshake.fd = std::move(fd);
            order_.emplace_back(number, handshake.until);
            handshakes_.insert_or_assign(number, std::move(handshake));
            read_greeting(number); // it is often there already
        }
    }

    // No descriptor is left to accept with: what is least useful goes; and if there is nothing, time passes.
    void give_way() {
        if (!handshakes_.empty())
            drop_oldest();
        else
            usleep(1'000);
    }

    void read_greeting(int fd) {
        const auto found = handshakes_.find(fd);
        if (found == handshakes_.end()) return;
        Handshake& handshake = found->second;
        // Not a byte more than the greeting: the rest belongs to whoever continues.
        while (true) {
            std::size_t want = handshake.size < greeting_size ? greeting_size : data_hello_size;
            if (want == handshake.size) break;
            const ssize_t some =
                recv(fd, handshake.bytes.data() + handshake.size, want - handshake.size, MSG_DONTWAIT);
            if (some < 0 && errno == EINTR) continue;
            if (some < 0 && errno == EAGAIN) return;
            if (some <= 0) return drop(found);
            handshake.size += static_cast<std::size_t>(some);
            if (handshake.size < greeting_size) continue;
            if (handshake.size == greeting_size) {
                if (begins_with(handshake, control_greeting)) return take_control(found);
                if (!begins_with(handshake, data_greeting)) return drop(found);
            }
        }
        const auto hello = decode_data_hello(handshake.bytes);
        if (!hello) return drop(found);
        Fd connection = std::move(handshake.fd);
        const FlowAddress address = handshake.address;
        forget(found, connection.get());
        for (const auto& session : sessions_)
            if (session->adopt(hello->token, hello->flow, address, connection)) return;
        ++strays_;
    }

    static bool begins_with(const Handshake& handshake, const std::array<char, greeting_size>& greeting) {
        return std::memcmp(handshake.bytes.data(), greeting.data(), greeting_size) == 0;
    }

    using Handshakes = std::unordered_map<int, Handshake>;

    void forget(Handshakes::iterator found, int fd) {
        epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
        std::erase_if(order_, [&](const auto& entry) { return entry.first == fd; });
        handshakes_.erase(found);
    }

    void drop(Handshakes::iterator found) {
        ++strays_;
        forget(found, found->first);
    }

    void drop_oldest() { drop(handshakes_.find(order_.front().first)); }

    void drop_slow() {
        const auto now = Clock::now();
        while (!order_.empty() && order_.front().second <= now)
            drop_oldest();
    }

    void take_control(Handshakes::iterator found) {
        Fd connection = std::move(found->second.fd);
        const FlowAddress address = found->second.address;
        forget(found, connection.get());
        const std::string peer = endpoint_text(address.remote, address.remote_port);
        if (sessions_.size() >= config_.limits.sessions) {
            ControlChannel channel(std::move(connection), peer);
            (void)channel.send(RefusalMessage{fmt::format("it serves {} clients already, the most it does",
                                                          sessions_.size()),
                                              "try again when one has ended"},
                               0ms);
            tell_refused(address.remote, address.remote_port, "too many clients at once");
            return;
        }
        sessions_.push_back(std::make_unique<Session>(shared_, std::move(connection), peer));
    }

    void tell_refused(const IpAddress& address, std::uint16_t port, std::string why) {
        ServerEvent event;
        event.kind = ServerEvent::Kind::refused;
        event.peer = endpoint_text(address, port);
        event.text = std::move(why);
        shared_.tell(event);
    }

    void reap() {
        std::uint64_t value = 0;
        while (read(shared_.changed.get(), &value, sizeof(value)) < 0 && errno == EINTR) {
        }
        std::erase_if(sessions_, [](const auto& session) { return session->over(); });
    }

    void end_sessions() {
        const std::uint64_t one = 1;
        while (write(shared_.stop.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
        }
        sessions_.clear(); // each waits for its thread, which has little time left now
    }

    static constexpr std::uint64_t told_at_most = 100; // refusals by address

    const ServerConfig& config_;
    ServerShared shared_;
    StopToken stop_;
    Fd listen_, epoll_;
    Handshakes handshakes_;
    std::list<std::pair<int, Clock::time_point>> order_; // of handshakes_, oldest first
    std::vector<std::unique_ptr<Session>> sessions_;
    std::uint64_t strays_ = 0, disallowed_ = 0;
};

} // namespace

Result<ServerReport> run_server(const ServerConfig& config, const ServerSink& sink, StopToken stop) {
    return Server(config, sink, stop).run();
}

} // namespace bondtrace::traffic
