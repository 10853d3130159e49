// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/engine.h"

#include "user/traffic/flow_socket.h"
#include "user/traffic/tcp_worker.h"
#include "user/traffic/udp_worker.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bondtrace::traffic {
namespace {

// UDP has no end: this long without a datagram is one, once the sender has ended.
constexpr std::uint64_t quiet_ns = 250'000'000;

unsigned usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
    return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

unsigned thread_count(const TestOptions& options, std::uint32_t flows) {
    unsigned threads = options.threads;
    if (threads == 0)
        threads = options.cpus.empty() ? usable_cpus() : static_cast<unsigned>(options.cpus.size());
    return std::clamp(threads, 1U, std::max(flows, 1U));
}

} // namespace

Engine::Engine(EngineConfig config) : config_(std::move(config)) {
    shared_.options = config_.options;
    shared_.role = config_.role;
    shared_.token = config_.token;
    shared_.flow_count = config_.flow_count;
    shared_.masked = config_.masked;
    if (config_.options.transport == Transport::udp && config_.role == Role::server)
        shared_.claimed = std::vector<std::atomic<bool>>(config_.flow_count);
}

Engine::~Engine() {
    for (const auto& worker : workers_)
        worker->join();
    if (config_.role != Role::client) return;
    // All data has been delivered or given up: a reset leaves neither end with ports in TIME_WAIT, so the
    // next run can have the same tuples.
    const linger reset{1, 0};
    for (const auto& worker : workers_)
        for (const Flow& flow : worker->flows())
            if (flow.fd.valid()) setsockopt(flow.fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

Result<std::unique_ptr<Engine>> Engine::create(EngineConfig config) {
    std::unique_ptr<Engine> engine(new Engine(std::move(config)));
    engine->shared_.event = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!engine->shared_.event.valid())
        return fail_errno(errno, "making an eventfd",
                          errno == EMFILE ? "raise the limit of open files: ulimit -n" : "");
    const TestOptions& options = engine->shared_.options;
    const unsigned threads = thread_count(options, engine->shared_.flow_count);
    engine->shared_.threads = threads;
    for (unsigned i = 0; i < threads; ++i) {
        std::optional<unsigned> cpu;
        if (!options.cpus.empty()) cpu = options.cpus[i % options.cpus.size()];
        if (options.transport == Transport::udp) {
            Fd socket;
            if (engine->shared_.role == Role::server) {
                auto opened = UdpWorker::open_shared(options, engine->config_.listen, engine->config_.port);
                if (!opened) return tl::make_unexpected(opened.error());
                socket = std::move(*opened);
            }
            engine->workers_.push_back(std::make_unique<UdpWorker>(engine->shared_, cpu, std::move(socket)));
        } else {
            engine->workers_.push_back(std::make_unique<TcpWorker>(engine->shared_, cpu));
        }
        if (auto launched = engine->workers_.back()->launch(); !launched)
            return tl::make_unexpected(launched.error());
    }
    return engine;
}

void Engine::open_flows(const std::vector<FlowAddress>& flows) {
    for (std::uint32_t i = 0; i < flows.size(); ++i)
        workers_[i % workers_.size()]->open_flow(i, flows[i]);
}

void Engine::adopt(std::uint32_t index, const FlowAddress& address, Fd connection) {
    workers_[index % workers_.size()]->adopt_flow(index, address, std::move(connection));
}

void Engine::begin() {
    begin_ns_ = now_ns();
    for (const auto& worker : workers_)
        worker->begin(begin_ns_);
}

void Engine::stop_sending() {
    for (const auto& worker : workers_)
        worker->stop_sending();
}

bool Engine::settled() const {
    return shared_.settled.load() >= shared_.flow_count;
}

std::uint32_t Engine::established() const {
    return shared_.established.load();
}

bool Engine::senders_done() const {
    return shared_.sending.load() == 0;
}

bool Engine::receivers_done() const {
    if (shared_.receiving.load() == 0) return true;
    if (shared_.options.transport == Transport::tcp) return false;
    std::uint64_t last = begin_ns_;
    for (const auto& worker : workers_)
        last = std::max(last, worker->last_received_ns());
    return now_ns() - last >= quiet_ns;
}

void Engine::clear_event() const {
    std::uint64_t value = 0;
    while (read(shared_.event.get(), &value, sizeof(value)) < 0 && errno == EINTR) {
    }
}

Worker::Totals Engine::totals() const {
    Worker::Totals sum;
    for (const auto& worker : workers_) {
        const Worker::Totals part = worker->totals();
        sum.sent_bytes += part.sent_bytes;
        sum.received_bytes += part.received_bytes;
        sum.sent_packets += part.sent_packets;
        sum.received_packets += part.received_packets;
    }
    return sum;
}

EndResult Engine::finish() {
    for (const auto& worker : workers_)
        worker->join();
    EndResult result;
    result.flows.resize(shared_.flow_count);
    FeatureSet features;
    std::uint64_t first = 0, last = 0;
    bool sockets_read = false;
    for (const auto& worker : workers_) {
        features.merge(worker->features());
        result.user_ns += worker->user_ns();
        result.system_ns += worker->system_ns();
        if (worker->first_ns() != 0 && (first == 0 || worker->first_ns() < first)) first = worker->first_ns();
        last = std::max(last, worker->last_ns());
        if (!worker->broken().empty()) result.notes.push_back(worker->broken());
        for (const Flow& flow : worker->flows())
            result.flows[flow.index] = worker->result_of(flow);
        const int socket = worker->typical_socket();
        if (sockets_read || socket < 0) continue;
        sockets_read = true;
        result.send_buffer = send_buffer_of(socket);
        result.receive_buffer = receive_buffer_of(socket);
        if (shared_.options.transport != Transport::tcp) continue;
        result.congestion = congestion_of(socket);
        result.pacing = paces(result.congestion);
    }
    result.elapsed_ns = last - first;
    result.features = features.names();
    return result;
}

std::vector<Finding> Engine::findings() const {
    std::vector<Finding> all;
    for (const auto& worker : workers_)
        for (const Finding& finding : worker->findings())
            if (std::none_of(all.begin(), all.end(),
                             [&](const Finding& known) { return known.id == finding.id; }))
                all.push_back(finding);
    return all;
}

} // namespace bondtrace::traffic
