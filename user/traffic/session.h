// SPDX-License-Identifier: GPL-2.0-or-later
// One client of the server: its control connection, and the test it asks for, on a thread of its own.
#pragma once

#include "user/base/fd.h"
#include "user/traffic/control_channel.h"
#include "user/traffic/engine.h"
#include "user/traffic/interval_meter.h"
#include "user/traffic/server.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace bondtrace::traffic {

// What the sessions of a server share.
struct ServerShared {
    const ServerConfig& config;
    IpAddress listen{true, {}}; // in force
    std::uint16_t port = 0;     // in force
    ServerSink sink;
    std::mutex sink_mutex;
    std::atomic<std::size_t> flows = 0;     // of all tests
    std::atomic<bool> udp_taken = false;    // one UDP test at a time: the port is one
    std::atomic<bool> tracer_taken = false; // one traced test at a time: programs and maps cost memory
    std::atomic<std::uint64_t> tests = 0, partial = 0;
    std::atomic<int> listen_fd = -1;
    Fd stop;    // eventfd: all sessions end
    Fd changed; // eventfd: a session has ended

    explicit ServerShared(const ServerConfig& c) : config(c) {}
    void tell(const ServerEvent& event);
};

class Session {
  public:
    Session(ServerShared& shared, Fd control, std::string peer);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    [[nodiscard]] bool over() const { return over_.load(); }
    // The token of its test matches; may be called from another thread. False when the flow is unwanted.
    bool adopt(const Token& token, std::uint32_t flow, const FlowAddress& address, Fd& connection);

  private:
    void run();
    Result<void> serve();
    void give_back();
    Result<RequestMessage> agree();
    Result<void> admit(const RequestMessage& request);
    Result<void> refuse(std::string reason, std::string advice);
    Result<void> create(const RequestMessage& request);
    Result<void> wait_for_start();
    Result<void> drive();
    Result<void> turn(std::chrono::milliseconds limit);
    void drain();
    void tick();
    std::string begin_trace();
    void end_trace(const EndResult& result);
    Result<void> report(EndResult& result);
    Result<void> report_trace();

    ServerShared& shared_;
    ControlChannel channel_;
    std::string peer_;
    std::atomic<bool> over_ = false;

    std::mutex mutex_; // of what adopt() touches
    bool open_ = false;
    Token token_{};
    std::vector<bool> adopted_;
    std::unique_ptr<Engine> engine_;

    TestOptions options_;
    std::uint32_t flows_ = 0, established_ = 0;
    bool counted_ = false, udp_ = false, tracing_ = false; // what is given back at the end
    std::unique_ptr<TestTracer> tracer_;
    std::optional<Result<EndTrace>> trace_;
    bool began_ = false, started_ = false, finish_ = false, ended_told_ = false, stopped_ = false;
    std::uint32_t client_flows_ = 0;
    std::chrono::steady_clock::time_point begin_{}, last_word_{};
    IntervalMeter meter_;
    std::thread thread_; // last: everything above is there when it starts
};

} // namespace bondtrace::traffic
