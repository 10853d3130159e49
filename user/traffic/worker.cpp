// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/worker.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <future>
#include <limits>

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

namespace bondtrace::traffic {
namespace {

constexpr unsigned ring_entries = 512;

std::uint64_t to_ns(const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_usec) * 1'000;
}

void signal_event(int fd) {
    const std::uint64_t one = 1;
    // Only a full counter (2^64 - 2 signals nobody has read) refuses this, and then the reader wakes up
    // anyway.
    while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

// Adds without the price of an atomic read-modify-write: there is one writer.
void add(std::atomic<std::uint64_t>& counter, std::uint64_t value) {
    counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

} // namespace

void compute(std::uint64_t times) {
    std::uint64_t value = 3;
    for (std::uint64_t i = 0; i < times; ++i) {
        value *= 6364136223846793005ULL;
        asm volatile("" : "+r"(value)); // each of them is really done
    }
}

void EngineShared::notify() const {
    signal_event(event.get());
}

Worker::Worker(EngineShared& shared, std::optional<unsigned> cpu) : shared_(shared), cpu_(cpu) {}

Worker::~Worker() {
    join();
}

Result<void> Worker::launch() {
    wake_ = Fd(eventfd(0, EFD_CLOEXEC));
    if (!wake_.valid())
        return fail_errno(errno, "making an eventfd for a thread of the generator",
                          errno == EMFILE ? "raise the limit of open files: ulimit -n" : "");
    std::promise<Result<void>> ready;
    auto answer = ready.get_future();
    thread_ = std::thread([this, &ready] {
        auto prepared = prepare();
        const bool works = prepared.has_value();
        ready.set_value(std::move(prepared)); // `ready` may be gone from here on
        if (works) run();
        ring_.reset(); // by the thread that made it
    });
    auto done = answer.get();
    if (!done) thread_.join();
    return done;
}

Result<void> Worker::prepare() {
    pthread_setname_np(pthread_self(), "bondtrace-io");
    if (cpu_) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(*cpu_, &set);
        if (const int error = pthread_setaffinity_np(pthread_self(), sizeof(set), &set); error != 0)
            return fail_errno(error, fmt::format("binding a thread to CPU {}", *cpu_),
                              "name CPUs that are online and allowed: see taskset -p $$", ErrorKind::usage);
    }
    // Two operations of each flow at most.
    auto ring = Ring::open(ring_entries, 2 * shared_.flow_count + ring_entries, shared_.masked);
    if (!ring) return tl::make_unexpected(ring.error());
    ring_.emplace(std::move(*ring));
    features_.merge(ring_->features());
    return {};
}

void Worker::run() {
    arm_wake();
    on_launched();
    while (!quit_) {
        now_ = now_ns();
        run_timers();
        const bool more = on_ready();
        if (const int error = ring_->submit_and_wait(more ? std::chrono::nanoseconds(0) : time_to_next());
            error != 0) {
            broken_ = "waiting for the io_uring: " + errno_text(error);
            break;
        }
        now_ = now_ns();
        ring_->drain([this](std::uint64_t data, int result, unsigned) {
            const auto op = static_cast<Op>(data >> 56);
            if (op == Op::wake) {
                take_commands();
                if (!quit_) arm_wake();
            } else {
                on_completion(op, data & 0xffff'ffffU, result);
            }
        });
    }
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    if (start_ns_ != 0) {
        user_ns_ = to_ns(usage.ru_utime) - begin_user_ns_;
        system_ns_ = to_ns(usage.ru_stime) - begin_system_ns_;
    }
    for (Flow& flow : flows_)
        if (flow.was_established && options().transport == Transport::tcp)
            if (const auto sample = tcp_sample(flow.fd.get())) {
                flow.tcp.retransmits = sample->retransmits;
                flow.tcp.reordering = sample->reordering;
                flow.tcp.rtt_min_us = sample->min_rtt_us;
                flow.tcp.rtt_max_us = std::max(flow.tcp.rtt_max_us, sample->rtt_us);
                if (flow.samples == 0) flow.tcp.rtt_avg_us = sample->rtt_us;
            }
}

void Worker::arm_wake() {
    io_uring_prep_read(ring_->prepare(user_data(Op::wake, 0)), wake_.get(), &wake_value_, sizeof(wake_value_),
                       0);
}

void Worker::post(Command command) {
    {
        const std::lock_guard lock(mutex_);
        commands_.push_back(std::move(command));
    }
    signal_event(wake_.get());
}

void Worker::open_flow(std::uint32_t index, const FlowAddress& address) {
    post(OpenFlow{index, address, Fd{}});
}

void Worker::adopt_flow(std::uint32_t index, const FlowAddress& address, Fd fd) {
    post(OpenFlow{index, address, std::move(fd)});
}

void Worker::begin(std::uint64_t start_ns) {
    post(Begin{start_ns});
}

void Worker::stop_sending() {
    post(Stop{});
}

void Worker::join() {
    if (!thread_.joinable()) return;
    post(Quit{});
    thread_.join();
}

void Worker::take_commands() {
    std::deque<Command> commands;
    {
        const std::lock_guard lock(mutex_);
        commands.swap(commands_);
    }
    for (Command& command : commands) {
        if (auto* const open = std::get_if<OpenFlow>(&command)) take(*open);
        if (const auto* const begins = std::get_if<Begin>(&command)) {
            start_ns_ = begins->start_ns;
            rusage usage{};
            getrusage(RUSAGE_THREAD, &usage);
            begin_user_ns_ = to_ns(usage.ru_utime);
            begin_system_ns_ = to_ns(usage.ru_stime);
            next_interval_ns_ = start_ns_ + static_cast<std::uint64_t>(options().interval.count());
            if (options().duration.count() > 0)
                deadline_ns_ = start_ns_ + static_cast<std::uint64_t>(options().duration.count());
            for (Flow& flow : flows_)
                flow.marked = flow.sent + flow.received;
            on_begin();
        }
        if (std::holds_alternative<Stop>(command)) stop_now();
        if (std::holds_alternative<Quit>(command)) quit_ = true;
    }
}

void Worker::take(OpenFlow& open) {
    flows_.emplace_back();
    Flow& flow = flows_.back();
    flow.index = open.index;
    flow.address = open.address;
    flow.fd = std::move(open.fd);
    const std::size_t slot = flows_.size() - 1;
    if (flow.fd.valid())
        on_adopt(slot);
    else
        on_open(slot);
}

void Worker::stop_now() {
    if (stopping_) return;
    stopping_ = true;
    deadline_ns_ = 0;
    on_stop();
}

void Worker::set_timer(std::size_t slot, std::uint64_t at_ns) {
    flows_[slot].timer_ns = at_ns;
    timers_.emplace(at_ns, slot);
}

void Worker::run_timers() {
    if (deadline_ns_ != 0 && now_ >= deadline_ns_) stop_now();
    if (next_interval_ns_ != 0 && now_ >= next_interval_ns_) end_interval();
    while (!timers_.empty() && timers_.top().first <= now_) {
        const auto [at, slot] = timers_.top();
        timers_.pop();
        if (flows_[slot].timer_ns != at) continue; // was set anew, or is no longer wanted
        flows_[slot].timer_ns = 0;
        on_timer(slot);
    }
}

std::chrono::nanoseconds Worker::time_to_next() const {
    std::uint64_t next = now_ + 1'000'000'000;
    if (deadline_ns_ != 0) next = std::min(next, deadline_ns_);
    if (next_interval_ns_ != 0) next = std::min(next, next_interval_ns_);
    if (!timers_.empty()) next = std::min(next, timers_.top().first);
    return std::chrono::nanoseconds(next > now_ ? next - now_ : 0);
}

void Worker::end_interval() {
    for (Flow& flow : flows_)
        if (flow.state == Flow::State::established && (flow.sender || flow.receiver)) on_interval(flow);
    const auto interval = static_cast<std::uint64_t>(options().interval.count());
    while (next_interval_ns_ <= now_)
        next_interval_ns_ += interval;
}

void Worker::on_interval(Flow& flow) {
    const std::uint64_t moved = flow.sent + flow.received;
    if (moved == flow.marked) ++flow.stalled;
    flow.marked = moved;
}

bool Worker::open_socket(std::size_t slot) {
    Flow& flow = flows_[slot];
    auto fd = open_flow_socket(options(), flow.address);
    if (!fd) {
        fail_flow(flow, words_.explain(fd.error(), flow.address, options()).what);
        settle();
        return false;
    }
    flow.fd = std::move(*fd);
    flow.state = Flow::State::connecting;
    return true;
}

void Worker::fail_flow(Flow& flow, std::string failure) {
    if (flow.failure.empty()) flow.failure = std::move(failure);
    flow.state = Flow::State::ended;
    sender_ended(flow);
    receiver_ended(flow);
}

void Worker::settle() {
    if (shared_.settled.fetch_add(1) + 1 == shared_.flow_count) shared_.notify();
}

void Worker::established(Flow& flow) {
    flow.state = Flow::State::established;
    flow.was_established = true;
    if (shared_.sends()) {
        flow.sender = true;
        shared_.sending.fetch_add(1);
    }
    if (shared_.receives()) {
        flow.receiver = true;
        shared_.receiving.fetch_add(1);
    }
    if (shared_.established.fetch_add(1) + 1 == shared_.flow_count) shared_.notify();
}

void Worker::sender_ended(Flow& flow) {
    if (!flow.sender) return;
    flow.sender = false;
    flow.timer_ns = 0;
    if (shared_.sending.fetch_sub(1) == 1) shared_.notify();
}

void Worker::receiver_ended(Flow& flow) {
    if (!flow.receiver) return;
    flow.receiver = false;
    if (shared_.receiving.fetch_sub(1) == 1) shared_.notify();
}

void Worker::count_sent(Flow& flow, std::uint64_t bytes, std::uint64_t packets) {
    flow.sent += bytes;
    flow.sent_packets += packets;
    add(sent_bytes_, bytes);
    if (packets != 0) add(sent_packets_, packets);
    if (first_ns_ == 0) first_ns_ = now_;
    last_ns_ = now_;
}

void Worker::count_received(Flow& flow, std::uint64_t bytes, std::uint64_t packets) {
    flow.received += bytes;
    flow.received_packets += packets;
    add(received_bytes_, bytes);
    last_received_ns_.store(now_, std::memory_order_relaxed);
    if (packets != 0) add(received_packets_, packets);
    if (first_ns_ == 0) first_ns_ = now_;
    last_ns_ = now_;
}

Worker::Totals Worker::totals() const {
    return {sent_bytes_.load(std::memory_order_relaxed), received_bytes_.load(std::memory_order_relaxed),
            sent_packets_.load(std::memory_order_relaxed), received_packets_.load(std::memory_order_relaxed)};
}

int Worker::typical_socket() const {
    for (const Flow& flow : flows_)
        if (flow.was_established) return flow.fd.get();
    return -1;
}

FlowResult Worker::result_of(const Flow& flow) const {
    FlowResult result;
    result.established = flow.was_established;
    result.failure = flow.failure;
    result.address = flow.address;
    result.sent_bytes = flow.sent;
    result.received_bytes = flow.received;
    result.sent_packets = flow.sent_packets;
    result.received_packets = flow.received_packets;
    result.stalled_intervals = flow.stalled;
    if (options().transport == Transport::tcp && flow.was_established) {
        result.tcp = flow.tcp;
        if (flow.samples != 0)
            result.tcp->rtt_avg_us = static_cast<std::uint32_t>(flow.rtt_sum_us / flow.samples);
    }
    return result;
}

} // namespace bondtrace::traffic
