// SPDX-License-Identifier: GPL-2.0-or-later
// Why a flow did not start, or ended, in the user's words. Pure: an errno and what is known of the way to the
// peer.
#pragma once

#include "user/audit/finding.h"
#include "user/audit/host_findings.h"
#include "user/bond/peer_path.h"
#include "user/traffic/options.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bondtrace::traffic {

// What was being done.
enum class Operation : std::uint8_t { open, bind, connect, send, receive };

// What is known, which may be nothing of the optional ones.
struct FailureScene {
    Transport transport = Transport::tcp;
    FlowAddress address;
    std::optional<PeerPath> path; // read after the failure: only then the neighbour table has an answer
    std::optional<FdFacts> files;
    std::optional<PortFacts> ports;
};

struct FailureWords {
    // One phrase without a full stop that names the errno: "nobody listens on 10.0.0.2 port 5477
    // (ECONNREFUSED)".
    std::string what;
    std::string advice;             // may be empty
    std::optional<Finding> finding; // where there is one for it: host.*
};

// True for the errors whose words are better with a fresh `path`.
bool needs_path(int error);

FailureWords explain_failure(Operation operation, int error, const FailureScene& scene);

} // namespace bondtrace::traffic
