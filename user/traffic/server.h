// SPDX-License-Identifier: GPL-2.0-or-later
// The server: one TCP port for control and data (the first bytes tell them apart), the same UDP port for
// data. It connects nowhere and runs nothing; it sends only on connections that a client opened, and
// datagrams only to addresses that have shown a test's token. What a peer can make it use is limited
// (ServerLimits). Needs no privileges. Prints nothing.
#pragma once

#include "user/base/result.h"
#include "user/traffic/client.h"
#include "user/traffic/end_trace.h"
#include "user/traffic/features.h"
#include "user/traffic/options.h"
#include "user/traffic/results.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace::traffic {

struct ServerLimits {
    std::size_t sessions = 16;                       // control connections at once
    std::size_t flows = max_flows;                   // of all tests at once
    std::size_t handshakes = 1'024;                  // connections whose purpose is not known yet
    std::chrono::milliseconds handshake_time{5'000}; // to say what it is for
    std::chrono::milliseconds silence{15'000};       // of a client, until it is taken for dead
};

struct ServerConfig {
    std::optional<IpAddress> listen;   // absent: every address of this host
    std::uint16_t port = default_port; // 0: the kernel chooses
    std::vector<IpPrefix> allow;       // peers that may connect; empty: all
    bool once = false;                 // ends after the first test
    std::string version;               // of this program, for the clients' messages
    FeatureSet masked;                 // what is not used, for tests
    TracerFactory trace;               // for clients that ask for it; empty: nothing is traced
    ServerLimits limits;
};

// What happens at the server, for whoever runs it. The sink is called by several threads, one at a time.
struct ServerEvent {
    enum class Kind : std::uint8_t {
        listening, // address and port
        refused,   // a client, or a connection that is none: `text` says why
        began,     // a test: options, flows
        progress,  // interval
        finished,  // result; `text` says why it is partial, when it is
    };
    Kind kind = Kind::listening;
    std::string peer; // or the server's own address (listening)
    std::string text;
    TestOptions options;
    std::uint32_t flows = 0; // established, of a test
    Interval interval;
    const EndResult* result = nullptr; // finished; not kept after the call
};
using ServerSink = std::function<void(const ServerEvent&)>;

// What the server did in all.
struct ServerReport {
    std::uint64_t tests = 0;
    std::uint64_t partial = 0;    // tests that did not come to their end
    std::uint64_t strays = 0;     // connections dropped: no greeting in time, a wrong token
    std::uint64_t disallowed = 0; // connections that --allow refuses
};

// Serves until `stop`, or with `once` until a test has ended. Fails when it cannot listen.
Result<ServerReport> run_server(const ServerConfig& config, const ServerSink& sink, StopToken stop);

} // namespace bondtrace::traffic
