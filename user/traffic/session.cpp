// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/session.h"

#include "user/base/text.h"
#include "user/traffic/socket_address.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bondtrace::traffic {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto send_limit = 10s;              // until a client takes a message
constexpr auto arrival_limit = 5s;            // for flows that the client says are established
constexpr auto drain_limit = 5s;              // for the last bytes after the client has finished
constexpr std::size_t spare_descriptors = 64; // of a server, beside the flows

void signal_event(int fd) {
    const std::uint64_t one = 1;
    while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

} // namespace

void ServerShared::tell(const ServerEvent& event) {
    const std::lock_guard lock(sink_mutex);
    if (sink) sink(event);
}

Session::Session(ServerShared& shared, Fd control, std::string peer)
    : shared_(shared), channel_(std::move(control), "the client at " + peer), peer_(std::move(peer)) {
    thread_ = std::thread([this] { run(); });
}

Session::~Session() {
    if (thread_.joinable()) thread_.join();
}

void Session::run() {
    if (const auto served = serve(); !served && !stopped_) {
        ServerEvent event;
        event.kind = ServerEvent::Kind::refused;
        event.peer = peer_;
        event.text = served.error().what;
        if (!began_) shared_.tell(event);
    }
    give_back();
    over_.store(true);
    signal_event(shared_.changed.get());
}

// What it holds of the server's limits; before the client is told that all is over, for it may come again at
// once.
void Session::give_back() {
    {
        const std::lock_guard lock(mutex_);
        open_ = false;
        engine_.reset();
    }
    if (std::exchange(counted_, false)) shared_.flows.fetch_sub(flows_);
    if (std::exchange(udp_, false)) shared_.udp_taken.store(false);
    tracer_.reset();
    if (std::exchange(tracing_, false)) shared_.tracer_taken.store(false);
}

Result<void> Session::serve() {
    const auto request = agree();
    if (!request) return tl::make_unexpected(request.error());
    if (auto admitted = admit(*request); !admitted) return admitted;
    if (auto created = create(*request); !created) return created;
    if (auto started = wait_for_start(); !started) return started;
    // From here on a result is reported, whatever happens.
    shared_.tests.fetch_add(1);
    began_ = true;
    ServerEvent event;
    event.kind = ServerEvent::Kind::began;
    event.peer = peer_;
    event.options = options_;
    event.flows = established_;
    shared_.tell(event);
    auto driven = drive();
    engine_->stop_sending();
    if (driven) drain();
    tick();
    {
        const std::lock_guard lock(mutex_);
        open_ = false;
    }
    EndResult result = engine_->finish();
    // The flows' sockets stay open until the client has stopped counting as well: their end is no traffic of
    // the test.
    end_trace(result);
    result.intervals = meter_.intervals();
    if (driven) driven = report(result);
    give_back();
    event.kind = ServerEvent::Kind::finished;
    event.result = &result;
    if (!driven) {
        shared_.partial.fetch_add(1);
        event.text = driven.error().what;
    }
    shared_.tell(event);
    return driven;
}

Result<void> Session::refuse(std::string reason, std::string advice) {
    give_back();
    // That it does not arrive changes nothing.
    (void)channel_.send(RefusalMessage{reason, std::move(advice)}, 1s);
    return fail(ErrorKind::unavailable, std::move(reason));
}

Result<RequestMessage> Session::agree() {
    const auto limit = shared_.config.limits.handshake_time;
    auto message = channel_.wait(limit, shared_.stop.get());
    if (!message) return tl::make_unexpected(message.error());
    if (!*message) return fail(ErrorKind::unavailable, "the server ends");
    const auto* const hello = std::get_if<HelloMessage>(&**message);
    if (!hello) return fail(ErrorKind::unavailable, "it does not say hello");
    if (auto sent = channel_.send(HelloMessage{protocol_version, shared_.config.version}, send_limit); !sent)
        return tl::make_unexpected(sent.error());
    if (hello->protocol != protocol_version)
        return fail(
            ErrorKind::unavailable,
            fmt::format("it speaks version {} of the control protocol (bondtrace {}), this program {}",
                        hello->protocol, sanitize(hello->version), protocol_version));
    message = channel_.wait(limit, shared_.stop.get());
    if (!message) return tl::make_unexpected(message.error());
    if (!*message) return fail(ErrorKind::unavailable, "the server ends");
    auto* const request = std::get_if<RequestMessage>(&**message);
    if (!request) return fail(ErrorKind::unavailable, "it does not ask for a test");
    return std::move(*request);
}

// Takes what the test needs out of the server's limits.
Result<void> Session::admit(const RequestMessage& request) {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return fail_errno(errno, "reading the limit of open files");
    const bool tcp = request.options.transport == Transport::tcp;
    const std::size_t in_use = shared_.flows.fetch_add(request.flows);
    counted_ = true;
    flows_ = request.flows;
    const std::size_t wanted = in_use + request.flows;
    if (wanted > shared_.config.limits.flows)
        return refuse(fmt::format("{} flows are asked for, and {} of at most {} are in use", request.flows,
                                  in_use, shared_.config.limits.flows),
                      "ask for fewer flows, or wait for the other tests to end");
    if (tcp && wanted + spare_descriptors > files.rlim_cur)
        return refuse(fmt::format("{} flows need {} open files, and the server's limit is {}", request.flows,
                                  wanted + spare_descriptors, files.rlim_cur),
                      fmt::format("ask for fewer flows, or start the server after: ulimit -n {}",
                                  wanted + spare_descriptors));
    if (!tcp) {
        if (shared_.udp_taken.exchange(true))
            return refuse("another UDP test is running, and they would share the port",
                          "try again when it has ended, or start a second server with another --port");
        udp_ = true;
    }
    return {};
}

Result<void> Session::create(const RequestMessage& request) {
    options_ = request.options;
    EngineConfig config;
    config.options = options_;
    config.role = Role::server;
    config.flow_count = flows_;
    config.masked = shared_.config.masked;
    config.listen = shared_.listen;
    config.port = shared_.port;
    if (getrandom(config.token.data(), config.token.size(), 0) != static_cast<ssize_t>(config.token.size()))
        return fail_errno(errno, "drawing a token");
    const Token token = config.token;
    auto engine = Engine::create(std::move(config));
    if (!engine) return refuse(engine.error().what, engine.error().advice);
    if (!options_.congestion.empty() && options_.transport == Transport::tcp) {
        // Before a connection comes about, or BBR, where it is the default, would have switched it to pacing.
        const int fd = shared_.listen_fd.load();
        if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options_.congestion.data(),
                       static_cast<socklen_t>(options_.congestion.size())) != 0)
            return refuse(
                fmt::format("congestion control '{}': {}", sanitize(options_.congestion), errno_text(errno)),
                "see sysctl net.ipv4.tcp_allowed_congestion_control on the server");
    }
    {
        const std::lock_guard lock(mutex_);
        engine_ = std::move(*engine);
        token_ = token;
        adopted_.assign(flows_, false);
        open_ = true;
    }
    // Before the client opens a flow, so that its first packet is seen.
    const std::string untraced = request.trace ? begin_trace() : std::string{};
    return channel_.send(AcceptedMessage{token, untraced}, send_limit);
}

// Why it is not traced; empty: it is.
std::string Session::begin_trace() {
    if (!shared_.config.trace) return "the server was started without --trace BOND";
    if (shared_.tracer_taken.exchange(true)) return "the server is tracing another test";
    tracing_ = true;
    auto tracer = shared_.config.trace(flows_);
    if (!tracer) return tracer.error().what;
    tracer_ = std::move(*tracer);
    return {};
}

void Session::end_trace(const EndResult& result) {
    if (tracer_) trace_ = tracer_->finish(options_.transport, result.flows);
}

bool Session::adopt(const Token& token, std::uint32_t flow, const FlowAddress& address, Fd& connection) {
    const std::lock_guard lock(mutex_);
    if (!open_ || token != token_ || options_.transport != Transport::tcp) return false;
    if (flow >= flows_ || adopted_[flow]) return false;
    adopted_[flow] = true;
    engine_->adopt(flow, address, std::move(connection));
    return true;
}

// Waits for a message, the engine or the end of the server, and deals with what the client says.
Result<void> Session::turn(std::chrono::milliseconds limit) {
    std::array<pollfd, 3> wait{pollfd{channel_.fd(), POLLIN, 0}, pollfd{engine_->event_fd(), POLLIN, 0},
                               pollfd{shared_.stop.get(), POLLIN, 0}};
    const auto capped = std::clamp<std::chrono::milliseconds>(limit, 0ms, 1000ms);
    const int ready = poll(wait.data(), wait.size(), static_cast<int>(capped.count()));
    if (ready < 0 && errno != EINTR) return fail_errno(errno, "waiting for the client");
    if (ready > 0 && wait[1].revents != 0) engine_->clear_event();
    if (ready > 0 && wait[2].revents != 0 && !stopped_) {
        stopped_ = true;
        engine_->stop_sending();
        if (auto sent = channel_.send(EndedMessage{"the server was stopped"}, send_limit); !sent) return sent;
        ended_told_ = true;
        last_word_ = Clock::now();
    }
    // Once it is stopped, a client has little time to come for the result.
    const auto patience = stopped_ ? std::min<std::chrono::milliseconds>(3s, shared_.config.limits.silence)
                                   : shared_.config.limits.silence;
    while (true) {
        const auto message = channel_.poll_message();
        if (!message) return tl::make_unexpected(message.error());
        if (!*message) break;
        last_word_ = Clock::now();
        if (const auto* const start = std::get_if<StartMessage>(&**message)) {
            if (started_) return fail(ErrorKind::unavailable, "it says 'start' twice");
            started_ = true;
            client_flows_ = std::min(start->flows, flows_);
        } else if (std::holds_alternative<FinishMessage>(**message)) {
            finish_ = true;
        } else if (!std::holds_alternative<ProgressMessage>(**message)) {
            return fail(ErrorKind::unavailable,
                        fmt::format("it says '{}' out of turn", type_name(**message)));
        }
    }
    if (Clock::now() - last_word_ > patience)
        return fail(ErrorKind::unavailable,
                    fmt::format("{} has said nothing for {} s", channel_.peer(),
                                std::chrono::duration_cast<std::chrono::seconds>(patience).count()));
    return {};
}

Result<void> Session::wait_for_start() {
    last_word_ = Clock::now();
    while (!started_) {
        if (auto done = turn(1s); !done) return done;
        if (stopped_ || finish_) return fail(ErrorKind::unavailable, "it ended before the test began");
    }
    const auto end = Clock::now() + arrival_limit;
    while (engine_->established() < client_flows_ && Clock::now() < end)
        if (auto done = turn(10ms); !done) return done;
    established_ = engine_->established();
    meter_.begin(engine_->totals()); // before anything is sent
    begin_ = Clock::now();
    engine_->begin();
    return channel_.send(StartedMessage{established_}, send_limit);
}

Result<void> Session::drive() {
    auto next_tick = begin_ + options_.interval;
    const bool sends = options_.direction != Direction::up;
    while (!finish_) {
        if (auto done = turn(std::chrono::ceil<std::chrono::milliseconds>(next_tick - Clock::now())); !done)
            return done;
        if (sends && !ended_told_ && engine_->senders_done()) {
            ended_told_ = true;
            if (auto sent = channel_.send(EndedMessage{}, send_limit); !sent) return sent;
        }
        if (Clock::now() < next_tick || finish_) continue;
        next_tick += options_.interval;
        tick();
        if (auto sent = channel_.send(ProgressMessage{meter_.intervals().back()}, send_limit); !sent)
            return sent;
    }
    return {};
}

void Session::drain() {
    const auto end = Clock::now() + drain_limit;
    while (!(engine_->receivers_done() && engine_->senders_done()) && Clock::now() < end) {
        pollfd wait{engine_->event_fd(), POLLIN, 0};
        if (poll(&wait, 1, 100) > 0) engine_->clear_event();
    }
}

void Session::tick() {
    const Interval& interval =
        meter_.cut(static_cast<std::uint64_t>((Clock::now() - begin_).count()), engine_->totals());
    ServerEvent event;
    event.kind = ServerEvent::Kind::progress;
    event.peer = peer_;
    event.interval = interval;
    event.flows = established_;
    shared_.tell(event);
}

Result<void> Session::report(EndResult& result) {
    SummaryMessage summary;
    summary.flows = flows_;
    summary.result.elapsed_ns = result.elapsed_ns;
    summary.result.user_ns = result.user_ns;
    summary.result.system_ns = result.system_ns;
    summary.result.features = result.features;
    summary.result.congestion = result.congestion;
    summary.result.pacing = result.pacing;
    summary.result.send_buffer = result.send_buffer;
    summary.result.receive_buffer = result.receive_buffer;
    summary.result.notes = result.notes;
    if (auto sent = channel_.send(summary, send_limit); !sent) return sent;
    for (std::size_t first = 0; first < result.flows.size(); first += max_flows_chunk) {
        const auto end = std::min(first + max_flows_chunk, result.flows.size());
        FlowsMessage chunk;
        chunk.first = static_cast<std::uint32_t>(first);
        chunk.flows.assign(result.flows.begin() + static_cast<std::ptrdiff_t>(first),
                           result.flows.begin() + static_cast<std::ptrdiff_t>(end));
        if (auto sent = channel_.send(chunk, send_limit); !sent) return sent;
    }
    if (auto reported = report_trace(); !reported) return reported;
    give_back();
    return channel_.send(DoneMessage{}, send_limit);
}

Result<void> Session::report_trace() {
    if (!trace_) return {};
    TraceMessage message;
    if (!*trace_) {
        message.failure = trace_->error().what;
        return channel_.send(message, send_limit);
    }
    const std::vector<TracedFlow> flows = std::exchange((*trace_)->flows, {});
    message.trace = std::move(**trace_);
    message.flows = static_cast<std::uint32_t>(flows.size());
    if (auto sent = channel_.send(message, send_limit); !sent) return sent;
    for (std::size_t first = 0; first < flows.size(); first += max_traced_chunk) {
        const auto end = std::min(first + max_traced_chunk, flows.size());
        TracedMessage chunk;
        chunk.first = static_cast<std::uint32_t>(first);
        chunk.flows.assign(flows.begin() + static_cast<std::ptrdiff_t>(first),
                           flows.begin() + static_cast<std::ptrdiff_t>(end));
        if (auto sent = channel_.send(chunk, send_limit); !sent) return sent;
    }
    return {};
}

} // namespace bondtrace::traffic
