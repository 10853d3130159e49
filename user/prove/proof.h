// SPDX-License-Identifier: GPL-2.0-or-later
// Whether a test proves that a bond spreads its flows as it should: from what the generator measured, what
// the tracers at both ends saw, what the model of the kernel's hash said beforehand, and what an audit of the
// same window found. Pure.
#pragma once

#include "user/audit/audit.h"
#include "user/base/exit_status.h"
#include "user/flow/conversation.h"
#include "user/prove/capacity.h"
#include "user/prove/loss.h"
#include "user/prove/split.h"
#include "user/traffic/port_plan.h"
#include "user/traffic/summary.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

struct ProofInput {
    std::string host; // the peer, as the user named it
    traffic::TestOptions options;
    traffic::PortChoice ports;
    traffic::PortPlan plan; // flows at the same positions as in the results
    traffic::EndResult client;
    std::optional<traffic::EndResult> server;  // absent when it has not reported
    traffic::TrafficSummary summary;           // of these two
    traffic::EndTrace near;                    // this end
    std::optional<traffic::EndTrace> far;      // the peer, when its server traces
    std::string untraced;                      // why it did not; empty: it did, or nobody knows
    std::vector<SharedPrediction> predictions; // of each flow, for what this end sends
    std::uint32_t mtu = 1500;                  // of the bond
    std::vector<Finding> findings;             // of an audit of the test's flows, and of the test: host.*
    Balance tx, rx;                            // of that audit
    std::string broken;                        // how the test ended before its time; empty: it did not
};

enum class CheckResult : std::uint8_t { passed, failed, unknown };
struct Check {
    std::string name; // "prediction"
    CheckResult result = CheckResult::unknown;
    std::string text; // the numbers, or why it cannot be told
};

struct ProvenFlow {
    std::optional<std::uint32_t> predicted; // position among the slaves of ProofInput::near
    std::optional<bool> agrees;
    std::string why; // no prediction
    // Frames that one end sent and the other did not receive, when both traced.
    std::optional<std::uint64_t> lost_up, lost_down;
};

// One direction of the data over one end's slaves: what they carried, and lost.
struct SideLoss {
    bool near = true;
    bondtrace::Direction side = bondtrace::Direction::tx;
    std::vector<SlaveLoss> slaves;    // at the positions of that end's trace
    std::uint64_t sent = 0, lost = 0; // packets of all flows, also of those on several slaves
};

struct Proof {
    std::vector<ProvenFlow> flows;
    Split near_tx, near_rx;
    std::optional<Split> far_rx, far_tx;
    std::vector<SideLoss> losses;     // that could be told
    std::optional<Capacity> up, down; // of the directions that carried data; on the wire
    double payload = 1;               // part of the wire's bit/s that payload can have
    std::vector<Check> checks;        // in the order of their weight
    std::vector<Finding> findings;    // the input's and the proof's own, most severe first
    ExitStatus status = ExitStatus::cannot_tell;
    std::string line; // "PASS - bond0: ...", "FAIL - ...", "CANNOT TELL - ..."
};

Proof prove(const ProofInput& input);

} // namespace bondtrace
