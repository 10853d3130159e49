// SPDX-License-Identifier: GPL-2.0-or-later
// One end's data path: a few threads, each with a ring, that carry all flows of a test.
#pragma once

#include "user/base/fd.h"
#include "user/base/result.h"
#include "user/traffic/features.h"
#include "user/traffic/options.h"
#include "user/traffic/results.h"
#include "user/traffic/worker.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bondtrace::traffic {

struct EngineConfig {
    TestOptions options;
    Role role = Role::client;
    Token token{};
    std::uint32_t flow_count = 0;
    FeatureSet masked;                 // what is not to be used, for tests
    IpAddress listen{true, {}};        // UDP server: where it receives
    std::uint16_t port = default_port; // UDP server
};

class Engine {
  public:
    // Starts the threads. Fails where there is no io_uring, or a CPU to be bound to does not exist.
    static Result<std::unique_ptr<Engine>> create(EngineConfig config);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Client: opens the flows, a bounded number at a time. Failures are kept with each flow.
    void open_flows(const std::vector<FlowAddress>& flows);
    // Server: a connection whose greeting has been read; `index` must be new and less than flow_count. `peer`
    // and `local` are its ends.
    void adopt(std::uint32_t index, const FlowAddress& address, Fd connection);

    void begin();        // the test begins now
    void stop_sending(); // before the time is over

    [[nodiscard]] bool settled() const; // client: every flow is established or has failed
    [[nodiscard]] std::uint32_t established() const;
    [[nodiscard]] bool senders_done() const;   // of flows that are established
    [[nodiscard]] bool receivers_done() const; // every flow's end has come; UDP: nothing comes any more
    // Readable when one of the above may have changed.
    [[nodiscard]] int event_fd() const { return shared_.event.get(); }
    void clear_event() const;

    [[nodiscard]] Worker::Totals totals() const;

    // Ends the threads and collects what they measured. Connections are closed, without leaving TIME_WAIT
    // behind, when the engine goes.
    EndResult finish();
    // What the failures of flows say about this host, each finding once; after finish().
    [[nodiscard]] std::vector<Finding> findings() const;

  private:
    explicit Engine(EngineConfig config);

    EngineConfig config_;
    EngineShared shared_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::uint64_t begin_ns_ = 0;
};

} // namespace bondtrace::traffic
