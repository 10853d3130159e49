// SPDX-License-Identifier: GPL-2.0-or-later
// One thread of the engine: a ring and the many flows it carries. What TCP and UDP share: the loop, timers,
// the commands of the controlling thread, progress intervals, CPU time. A worker's flows are touched by its
// own thread only, until it has been joined.
#pragma once

#include "user/base/fd.h"
#include "user/base/result.h"
#include "user/traffic/clock.h"
#include "user/traffic/features.h"
#include "user/traffic/flow_socket.h"
#include "user/traffic/flow_words.h"
#include "user/traffic/options.h"
#include "user/traffic/results.h"
#include "user/traffic/uring.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace bondtrace::traffic {

enum class Role : std::uint8_t { client, server };

// Multiplies `times` times, one after the other: what an application that computes between two sends does.
void compute(std::uint64_t times);

// What the workers of one end share with the thread that controls them.
struct EngineShared {
    TestOptions options;
    Role role = Role::client;
    Token token{};
    std::uint32_t flow_count = 0;
    unsigned threads = 1;
    FeatureSet masked;

    std::atomic<std::uint32_t> settled = 0;     // client: flows that are established or have failed
    std::atomic<std::uint32_t> established = 0; // flows that ever were
    std::atomic<std::uint32_t> sending = 0;     // flows that this end has not finished sending on
    std::atomic<std::uint32_t> receiving = 0;   // flows whose end has not come yet
    std::atomic<std::uint64_t> strays = 0;      // datagrams that belong to no flow
    std::vector<std::atomic<bool>> claimed;     // UDP server: flows that a worker has
    Fd event;                                   // eventfd: one of the above is worth looking at

    void notify() const;
    [[nodiscard]] bool sends() const {
        return options.direction == Direction::both ||
               (options.direction == Direction::up) == (role == Role::client);
    }
    [[nodiscard]] bool receives() const {
        return options.direction == Direction::both ||
               (options.direction == Direction::down) == (role == Role::client);
    }
};

// One flow, as its worker keeps it.
struct Flow {
    enum class State : std::uint8_t { idle, connecting, established, ended };

    std::uint32_t index = 0; // in the test
    State state = State::idle;
    bool sender = false;   // still sends
    bool receiver = false; // still receives
    bool sending = false;  // an operation is with the kernel
    bool was_established = false;
    Fd fd;
    FlowAddress address;
    std::uint64_t sent = 0, received = 0, sent_packets = 0, received_packets = 0;
    std::uint64_t chunk_left = 0; // bytes of the current send that the kernel has not taken
    std::uint64_t due_ns = 0;     // of the next send, when it is paced
    double due_exact_ns = 0;      // and the fraction of a nanosecond
    std::uint64_t timer_ns = 0;   // of its entry in the heap of timers; 0: none
    std::uint64_t marked = 0;     // sent + received at the last interval
    std::uint32_t stalled = 0, samples = 0;
    std::uint64_t rtt_sum_us = 0;
    TcpFacts tcp;
    std::string failure;
};

class Worker {
  public:
    Worker(EngineShared& shared, std::optional<unsigned> cpu);
    virtual ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Starts the thread; answers when it has its ring, or why it has none.
    Result<void> launch();

    // The commands below may come from any thread, and return at once.
    // Client: open a flow to `address`.
    void open_flow(std::uint32_t index, const FlowAddress& address);
    // Server: a connection that was accepted for a flow.
    void adopt_flow(std::uint32_t index, const FlowAddress& address, Fd fd);
    // Measure from now on, and send if this end sends.
    void begin(std::uint64_t start_ns);
    // Send nothing more.
    void stop_sending();

    // Ends the thread, which closes nothing; afterwards the results may be read.
    void join();

    // Payload so far, for progress.
    struct Totals {
        std::uint64_t sent_bytes = 0, received_bytes = 0, sent_packets = 0, received_packets = 0;
    };
    [[nodiscard]] Totals totals() const;
    // When something was received last; 0: never.
    [[nodiscard]] std::uint64_t last_received_ns() const { return last_received_ns_.load(); }

    // Valid after join().
    [[nodiscard]] const std::deque<Flow>& flows() const { return flows_; }
    std::deque<Flow>& flows() { return flows_; }
    virtual FlowResult result_of(const Flow& flow) const;
    // A socket that is like those of the flows; -1: there is none.
    [[nodiscard]] virtual int typical_socket() const;
    [[nodiscard]] const std::vector<Finding>& findings() const { return words_.findings(); }
    [[nodiscard]] const FeatureSet& features() const { return features_; }
    [[nodiscard]] std::uint64_t first_ns() const { return first_ns_; }
    [[nodiscard]] std::uint64_t last_ns() const { return last_ns_; }
    [[nodiscard]] std::uint64_t user_ns() const { return user_ns_; }
    [[nodiscard]] std::uint64_t system_ns() const { return system_ns_; }
    [[nodiscard]] const std::string& broken() const {
        return broken_;
    } // why the ring gave up; empty: it did not

  protected:
    enum class Op : std::uint8_t { wake, connect, cancel, send, receive, poll, poll_in };

    static std::uint64_t user_data(Op op, std::size_t slot) {
        return static_cast<std::uint64_t>(op) << 56 | static_cast<std::uint64_t>(slot);
    }

    // What TCP and UDP do differently. `slot` is the position of a flow in flows_.
    virtual void on_launched() {}
    virtual void on_open(std::size_t slot) = 0;
    virtual void on_adopt(std::size_t slot) = 0;
    virtual void on_completion(Op op, std::size_t slot, int result) = 0;
    virtual void on_timer(std::size_t slot) = 0;
    // The test begins; flows that come later than this begin at once.
    virtual void on_begin() = 0;
    virtual void on_stop() = 0;
    // Work that needs no completion; true when there is more of it right now.
    virtual bool on_ready() { return false; }
    virtual void on_interval(Flow& flow);

    [[nodiscard]] const TestOptions& options() const { return shared_.options; }
    void set_timer(std::size_t slot, std::uint64_t at_ns);
    // Client: the socket of a flow that is to connect; false when there is none and the flow has failed.
    bool open_socket(std::size_t slot);
    void fail_flow(Flow& flow, std::string failure);
    // Bookkeeping of the shared counts.
    void settle();
    void established(Flow& flow);
    void sender_ended(Flow& flow);
    void receiver_ended(Flow& flow);
    void count_sent(Flow& flow, std::uint64_t bytes, std::uint64_t packets);
    void count_received(Flow& flow, std::uint64_t bytes, std::uint64_t packets);

    EngineShared& shared_;
    std::optional<Ring> ring_; // of this thread
    std::deque<Flow> flows_;
    FeatureSet features_;
    FlowWords words_;
    std::uint64_t now_ = 0;      // read once a turn of the loop
    std::uint64_t start_ns_ = 0; // 0: the test has not begun
    bool stopping_ = false;      // nothing more is sent

  private:
    struct OpenFlow {
        std::uint32_t index;
        FlowAddress address;
        Fd fd; // accepted, or none
    };
    struct Begin {
        std::uint64_t start_ns;
    };
    struct Stop {};
    struct Quit {};
    using Command = std::variant<OpenFlow, Begin, Stop, Quit>;

    void post(Command command);
    Result<void> prepare();
    void run();
    void arm_wake();
    void take_commands();
    void take(OpenFlow& open);
    void stop_now();
    void run_timers();
    [[nodiscard]] std::chrono::nanoseconds time_to_next() const;
    void end_interval();

    std::optional<unsigned> cpu_;
    std::thread thread_;
    Fd wake_;
    std::uint64_t wake_value_ = 0;
    std::mutex mutex_;
    std::deque<Command> commands_; // guarded by mutex_
    bool quit_ = false;

    using Timer = std::pair<std::uint64_t, std::size_t>; // time, slot
    std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
    std::uint64_t deadline_ns_ = 0, next_interval_ns_ = 0;

    // Written by this thread alone, read by the controlling one.
    alignas(64) std::atomic<std::uint64_t> sent_bytes_ = 0;
    std::atomic<std::uint64_t> received_bytes_ = 0, sent_packets_ = 0, received_packets_ = 0;
    std::atomic<std::uint64_t> last_received_ns_ = 0;

    std::uint64_t first_ns_ = 0, last_ns_ = 0;
    std::uint64_t user_ns_ = 0, system_ns_ = 0, begin_user_ns_ = 0, begin_system_ns_ = 0;
    std::string broken_;
};

} // namespace bondtrace::traffic
