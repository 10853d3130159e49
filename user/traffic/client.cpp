// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/client.h"

#include "user/base/text.h"
#include "user/traffic/control_channel.h"
#include "user/traffic/data_header.h"
#include "user/traffic/engine.h"
#include "user/traffic/flow_words.h"
#include "user/traffic/interval_meter.h"
#include "user/traffic/socket_address.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace bondtrace::traffic {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto connect_limit = 5s, answer_limit = 10s, start_limit = 20s;
constexpr auto opening_limit = 180s; // all flows
constexpr auto drain_limit = 15s;    // from the end of sending to the last byte received
constexpr auto send_limit = 10s;

// Connects, and says what a connection that comes about is for.
Result<Fd> connect_control(const ClientRequest& request) {
    TestOptions options; // of a plain connection
    const IpAddress any{request.host.v6, {}};
    const FlowAddress address{request.bind.value_or(any), request.host, 0, request.port};
    const auto where = endpoint_text(request.host, request.port);
    FlowWords words;
    auto fd = open_flow_socket(options, address);
    if (!fd) {
        auto why = words.explain(fd.error(), address, options);
        return fail(ErrorKind::unavailable, std::move(why.what), std::move(why.advice));
    }
    const int flags = fcntl(fd->get(), F_GETFL);
    fcntl(fd->get(), F_SETFL, flags | O_NONBLOCK);
    const SocketAddress remote = to_socket_address(request.host, request.port);
    int error = connect(fd->get(), remote.get(), remote.length) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        pollfd wait{fd->get(), POLLOUT, 0};
        const int ready = poll(&wait, 1, static_cast<int>(std::chrono::milliseconds(connect_limit).count()));
        socklen_t length = sizeof(error);
        if (ready == 0)
            error = ETIMEDOUT;
        else if (getsockopt(fd->get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0)
            error = errno;
    }
    if (error != 0) {
        auto why = words.explain({Step::connect, error}, address, options);
        return fail(ErrorKind::unavailable, std::move(why.what), std::move(why.advice));
    }
    if (send(fd->get(), control_greeting.data(), control_greeting.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(control_greeting.size()))
        return fail_errno(errno, fmt::format("greeting {}", where));
    return std::move(*fd);
}

// The longest payload of a UDP datagram to `host` that is not fragmented, by the route's MTU.
std::uint32_t unfragmented_payload(const IpAddress& host) {
    constexpr std::uint32_t udp_header = 8, ipv4_header = 20, ipv6_header = 40;
    return path_mtu(host) - udp_header - (host.v6 ? ipv6_header : ipv4_header);
}

// A receiver does not see what is lost after the last datagram that it got. With both ends' counts it is
// exact.
void settle_losses(const std::vector<FlowResult>& senders, std::vector<FlowResult>& receivers) {
    for (std::size_t i = 0; i < std::min(senders.size(), receivers.size()); ++i) {
        if (!receivers[i].udp) continue;
        const std::uint64_t came = receivers[i].received_packets -
                                   std::min(receivers[i].udp->duplicated, receivers[i].received_packets);
        receivers[i].udp->lost = senders[i].sent_packets > came ? senders[i].sent_packets - came : 0;
    }
}

// One test, step by step.
class ClientTest {
  public:
    ClientTest(const ClientRequest& request, const ProgressSink& sink, StopToken stop)
        : request_(request), sink_(sink), stop_(stop) {}

    Result<TestOutcome> run() {
        if (const auto agreed = agree(); !agreed) return tl::make_unexpected(agreed.error());
        if (const auto opened = open(); !opened) return tl::make_unexpected(opened.error());
        if (const auto started = start(); !started) return tl::make_unexpected(started.error());
        // From here on there is something to tell, whatever happens.
        if (const auto driven = drive(); !driven) outcome_.broken = driven.error();
        if (!outcome_.broken)
            if (const auto collected = collect(); !collected) outcome_.broken = collected.error();
        engine_->stop_sending();
        tell_collected();
        outcome_.client = engine_->finish();
        outcome_.findings = engine_->findings();
        if (outcome_.server && request_.options.transport == Transport::udp) {
            settle_losses(outcome_.client.flows, outcome_.server->flows);
            settle_losses(outcome_.server->flows, outcome_.client.flows);
        }
        outcome_.client.intervals = meter_.intervals();
        for (const std::string& note : notes_)
            outcome_.client.notes.push_back(note);
        return std::move(outcome_);
    }

  private:
    // Waits for a message of type T. The user's stop is an error here.
    template<typename T> Result<T> expect(std::chrono::milliseconds limit) {
        auto message = channel_->wait(limit, stop_.fd);
        if (!message) return tl::make_unexpected(message.error());
        if (!*message) return fail(ErrorKind::unavailable, "stopped before the test began");
        if (const auto* const refusal = std::get_if<RefusalMessage>(&**message))
            return fail(ErrorKind::unavailable,
                        fmt::format("{} refuses: {}", channel_->peer(), sanitize(refusal->reason)),
                        sanitize(refusal->advice));
        if (auto* const wanted = std::get_if<T>(&**message)) return std::move(*wanted);
        return fail(ErrorKind::unavailable,
                    fmt::format("{} says '{}' out of turn", channel_->peer(), type_name(**message)),
                    "is it the same version of bondtrace?");
    }

    Result<void> agree() {
        auto connection = connect_control(request_);
        if (!connection) return tl::make_unexpected(connection.error());
        channel_.emplace(std::move(*connection),
                         "the server at " + endpoint_text(request_.host, request_.port));
        if (auto sent = channel_->send(HelloMessage{protocol_version, request_.version}, send_limit); !sent)
            return sent;
        const auto hello = expect<HelloMessage>(answer_limit);
        if (!hello) return tl::make_unexpected(hello.error());
        if (hello->protocol != protocol_version)
            return fail(
                ErrorKind::unavailable,
                fmt::format("{} speaks version {} of the control protocol (bondtrace {}), this program "
                            "version {} (bondtrace {})",
                            channel_->peer(), hello->protocol, sanitize(hello->version), protocol_version,
                            request_.version),
                "install the same version of bondtrace at both ends");
        const RequestMessage request{request_.options, static_cast<std::uint32_t>(request_.flows.size()),
                                     request_.trace};
        if (auto sent = channel_->send(request, send_limit); !sent) return sent;
        const auto accepted = expect<AcceptedMessage>(answer_limit);
        if (!accepted) return tl::make_unexpected(accepted.error());
        token_ = accepted->token;
        outcome_.untraced = sanitize(accepted->untraced);
        return {};
    }

    Result<void> open() {
        EngineConfig config;
        config.options = request_.options;
        config.token = token_;
        config.flow_count = static_cast<std::uint32_t>(request_.flows.size());
        config.masked = request_.masked;
        auto engine = Engine::create(std::move(config));
        if (!engine) return tl::make_unexpected(engine.error());
        engine_ = std::move(*engine);
        engine_->open_flows(request_.flows);
        const auto end = Clock::now() + opening_limit;
        while (!engine_->settled()) {
            const auto turn = this->turn(1s);
            if (!turn) return tl::make_unexpected(turn.error());
            if (*turn) return fail(ErrorKind::unavailable, "stopped before the test began");
            if (Clock::now() >= end)
                return fail(ErrorKind::unavailable,
                            fmt::format("only {} of {} flows could be opened in {} s", engine_->established(),
                                        request_.flows.size(), opening_limit.count()));
        }
        return {};
    }

    Result<void> start() {
        outcome_.asked = static_cast<std::uint32_t>(request_.flows.size());
        outcome_.established = engine_->established();
        if (outcome_.established == 0) {
            const EndResult result = engine_->finish();
            return fail(ErrorKind::unavailable, fmt::format("no flow could be opened ({} were asked for): {}",
                                                            outcome_.asked, result.flows.front().failure));
        }
        if (auto sent = channel_->send(StartMessage{outcome_.established}, send_limit); !sent) return sent;
        // What the server has to say meanwhile is progress.
        const auto end = Clock::now() + start_limit;
        while (Clock::now() < end) {
            auto message = channel_->wait(start_limit, stop_.fd);
            if (!message) return tl::make_unexpected(message.error());
            if (!*message) return fail(ErrorKind::unavailable, "stopped before the test began");
            if (const auto* const started = std::get_if<StartedMessage>(&**message)) {
                outcome_.established = std::min(outcome_.established, started->flows);
                break;
            }
        }
        meter_.begin(engine_->totals()); // before anything is sent
        begin_ = Clock::now();
        engine_->begin();
        return {};
    }

    // Until nothing more is sent or received, or the user or the server ends it.
    Result<void> drive() {
        const TestOptions& options = request_.options;
        auto next_tick = begin_ + options.interval;
        std::optional<Clock::time_point> drained_by;
        while (!outcome_.stopped && outcome_.stopped_by_server.empty()) {
            const bool sent = engine_->senders_done() && (server_ended_ || !server_sends());
            if (sent && engine_->receivers_done()) return {};
            if (sent && !drained_by) drained_by = Clock::now() + drain_limit;
            if (drained_by && Clock::now() >= *drained_by) {
                notes_.push_back("some flows were not received to their end in time");
                return {};
            }
            auto limit = std::chrono::ceil<std::chrono::milliseconds>(next_tick - Clock::now());
            if (sent)
                limit = std::min<std::chrono::milliseconds>(limit, 20ms); // nothing says that UDP is quiet
            const auto turn = this->turn(limit);
            if (!turn) return tl::make_unexpected(turn.error());
            if (*turn) outcome_.stopped = true;
            if (Clock::now() >= next_tick && !sent) {
                tick();
                next_tick += options.interval;
            }
        }
        engine_->stop_sending();
        return {};
    }

    Result<void> collect() {
        finish_interval();
        if (auto sent = channel_->send(FinishMessage{}, send_limit); !sent) return sent;
        EndResult server;
        std::optional<std::uint32_t> flows;
        while (true) {
            auto message = channel_->wait(drain_limit + answer_limit, -1);
            if (!message) return tl::make_unexpected(message.error());
            if (!*message) continue;
            if (auto* const summary = std::get_if<SummaryMessage>(&**message)) {
                if (flows || summary->flows != request_.flows.size()) return out_of_turn("summary");
                tell_collected();
                flows = summary->flows;
                server = std::move(summary->result);
                server.flows.reserve(*flows);
            } else if (auto* const chunk = std::get_if<FlowsMessage>(&**message)) {
                if (!flows || chunk->first != server.flows.size() ||
                    chunk->flows.size() > *flows - server.flows.size())
                    return out_of_turn("flows");
                std::move(chunk->flows.begin(), chunk->flows.end(), std::back_inserter(server.flows));
            } else if (auto* const trace = std::get_if<TraceMessage>(&**message)) {
                if (outcome_.far || !request_.trace) return out_of_turn("trace");
                begin_trace(*trace);
            } else if (auto* const traced = std::get_if<TracedMessage>(&**message)) {
                if (!take_traced(*traced)) return out_of_turn("traced");
            } else if (std::holds_alternative<DoneMessage>(**message)) {
                if (!flows || server.flows.size() != *flows) return out_of_turn("done");
                if (outcome_.far && outcome_.far->flows.size() != request_.flows.size())
                    return out_of_turn("done");
                server.intervals = std::move(server_intervals_);
                outcome_.server = std::move(server);
                return {};
            } else if (const auto* const progress = std::get_if<ProgressMessage>(&**message)) {
                keep(progress->interval);
            }
        }
    }

    void begin_trace(TraceMessage& message) {
        if (message.failure.empty())
            outcome_.far = std::move(message.trace);
        else
            outcome_.untraced = sanitize(message.failure);
    }

    // False for what does not follow on what is there, or names a slave that is not.
    bool take_traced(TracedMessage& message) {
        if (!outcome_.far || message.first != outcome_.far->flows.size() ||
            message.flows.size() > request_.flows.size() - outcome_.far->flows.size())
            return false;
        for (TracedFlow& flow : message.flows) {
            for (const auto* uses : {&flow.tx, &flow.rx})
                for (const TracedUse& use : *uses)
                    if (use.slave >= outcome_.far->slaves.size()) return false;
            outcome_.far->flows.push_back(std::move(flow));
        }
        return true;
    }

    void tell_collected() {
        if (request_.collected && !std::exchange(told_, true)) request_.collected();
    }

    Result<void> out_of_turn(std::string_view what) const {
        return fail(ErrorKind::unavailable, fmt::format("{} says '{}' out of turn", channel_->peer(), what));
    }

    [[nodiscard]] bool server_sends() const { return request_.options.direction != Direction::up; }

    void keep(const Interval& interval) {
        if (server_intervals_.size() < IntervalMeter::most_kept) server_intervals_.push_back(interval);
    }

    // Waits for the server, the engine or the user for at most `limit`; true when the user wants it to end.
    Result<bool> turn(std::chrono::milliseconds limit) {
        std::array<pollfd, 3> wait{pollfd{channel_->fd(), POLLIN, 0}, pollfd{engine_->event_fd(), POLLIN, 0},
                                   pollfd{stop_.fd, POLLIN, 0}};
        const auto capped = std::clamp<std::chrono::milliseconds>(limit, 0ms, 1000ms);
        const int ready = poll(wait.data(), wait.size(), static_cast<int>(capped.count()));
        if (ready < 0 && errno != EINTR) return fail_errno(errno, "waiting for the server");
        if (ready > 0 && (wait[2].revents & POLLIN) != 0) return true;
        if (ready > 0 && wait[1].revents != 0) engine_->clear_event();
        while (true) {
            auto message = channel_->poll_message();
            if (!message) return tl::make_unexpected(message.error());
            if (!*message) break;
            if (const auto* const progress = std::get_if<ProgressMessage>(&**message))
                keep(progress->interval);
            if (const auto* const ended = std::get_if<EndedMessage>(&**message)) {
                server_ended_ = true;
                outcome_.stopped_by_server = sanitize(ended->reason);
            }
        }
        // The server takes a client that says nothing for dead.
        if (Clock::now() - last_word_ >= 1s) {
            last_word_ = Clock::now();
            if (auto sent = channel_->send(ProgressMessage{}, send_limit); !sent)
                return tl::make_unexpected(sent.error());
        }
        return false;
    }

    void tick() {
        finish_interval();
        if (sink_) sink_({meter_.intervals().back(), outcome_.established});
    }

    void finish_interval() {
        meter_.cut(static_cast<std::uint64_t>((Clock::now() - begin_).count()), engine_->totals());
    }

    const ClientRequest& request_;
    const ProgressSink& sink_;
    StopToken stop_;
    std::optional<ControlChannel> channel_;
    std::unique_ptr<Engine> engine_;
    Token token_{};
    TestOutcome outcome_;
    bool server_ended_ = false, told_ = false;
    Clock::time_point begin_{}, last_word_ = Clock::now();
    IntervalMeter meter_;
    std::vector<Interval> server_intervals_;
    std::vector<std::string> notes_;
};

} // namespace

std::uint32_t path_mtu(const IpAddress& host) {
    constexpr std::uint32_t fallback = 1'500;
    int mtu = 0;
    socklen_t length = sizeof(mtu);
    const Fd fd(socket(host.v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const SocketAddress remote = to_socket_address(host, default_port);
    const bool known = fd.valid() && connect(fd.get(), remote.get(), remote.length) == 0 && // sends nothing
                       getsockopt(fd.get(), host.v6 ? IPPROTO_IPV6 : IPPROTO_IP, host.v6 ? IPV6_MTU : IP_MTU,
                                  &mtu, &length) == 0;
    return known ? static_cast<std::uint32_t>(std::clamp(mtu, 576, 65'000)) : fallback;
}

Result<TestOutcome> run_client(const ClientRequest& request, const ProgressSink& sink, StopToken stop) {
    if (request.options.transport == Transport::tcp || request.options.length != 0)
        return ClientTest(request, sink, stop).run();
    ClientRequest whole = request; // both ends must know the length
    whole.options.length = unfragmented_payload(request.host);
    return ClientTest(whole, sink, stop).run();
}

} // namespace bondtrace::traffic
