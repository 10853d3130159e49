// SPDX-License-Identifier: GPL-2.0-or-later
// A test, from the client's end: asks the server for it, opens the flows, drives them, and brings back what
// both ends measured. Prints nothing.
#pragma once

#include "user/audit/finding.h"
#include "user/base/result.h"
#include "user/traffic/end_trace.h"
#include "user/traffic/features.h"
#include "user/traffic/options.h"
#include "user/traffic/results.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace::traffic {

// Ends what is going on when it becomes readable, such as a signalfd; it is not read.
struct StopToken {
    int fd = -1; // -1: nothing ends it early
};

struct ClientRequest {
    IpAddress host; // of the control connection
    std::uint16_t port = default_port;
    std::optional<IpAddress> bind;  // local address of the control connection
    TestOptions options;            // the same for both ends, but for `cpus`, which are this end's
    std::vector<FlowAddress> flows; // 1 to max_flows
    std::string version;            // of this program, for the server's messages
    FeatureSet masked;              // what this end does not use, for tests
    bool trace = false;             // ask the server to trace the test on a bond of its own
    // Called once, when the last byte has arrived and the server has stopped tracing, before either end
    // closes the flows' sockets: what a tracer at this end sees until then is what the server's saw. Also
    // when the test broke.
    std::function<void()> collected;
};

struct Progress {
    Interval interval; // of this end
    std::uint32_t flows = 0;
};
// Called by the thread that runs the test, each TestOptions::interval.
using ProgressSink = std::function<void(const Progress&)>;

struct TestOutcome {
    EndResult client;
    std::optional<EndResult> server;          // absent when the control connection broke
    std::optional<EndTrace> far;              // with ClientRequest::trace, when the server traced it
    std::string untraced;                     // why it did not although it was asked
    std::vector<Finding> findings;            // that explain failures of flows: host.*
    std::uint32_t asked = 0, established = 0; // flows; established at both ends
    bool stopped = false;                     // by the token
    std::string stopped_by_server;            // why the server ended it early; empty: it did not
    std::optional<Error> broken; // the control connection ended within the test: what there is is partial
};

// Of the route to `host`, in bytes; that of Ethernet when it is not known.
std::uint32_t path_mtu(const IpAddress& host);

// Fails when nothing could be measured: no server, another version, no flow established, no io_uring. Flows
// that fail alone are in the outcome. Needs no privileges. Uses the network namespace of the calling thread.
Result<TestOutcome> run_client(const ClientRequest& request, const ProgressSink& sink, StopToken stop);

} // namespace bondtrace::traffic
