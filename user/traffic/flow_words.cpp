// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/flow_words.h"

#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/base/text.h"
#include "user/bond/peer_path.h"
#include "user/traffic/clock.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <fmt/format.h>
#include <sys/resource.h>

namespace bondtrace::traffic {
namespace {

constexpr std::uint64_t path_age_ns = 1'000'000'000;

Operation operation_of(Step step) {
    switch (step) {
    case Step::bind:
        return Operation::bind;
    case Step::connect:
        return Operation::connect;
    case Step::send:
        return Operation::send;
    case Step::receive:
        return Operation::receive;
    default:
        return Operation::open;
    }
}

// Options that the kernel refuses, which are no failure of the network.
std::optional<FailureWords> refused_option(const SocketFailure& failure, const TestOptions& options) {
    if (failure.step == Step::congestion)
        return FailureWords{fmt::format("the congestion control '{}' cannot be set: {}",
                                        sanitize(options.congestion), errno_text(failure.error)),
                            failure.error == ENOENT
                                ? fmt::format("load it: modprobe tcp_{}", sanitize(options.congestion))
                                : "see sysctl net.ipv4.tcp_allowed_congestion_control",
                            {}};
    if (failure.step == Step::buffer)
        return FailureWords{"the socket buffer cannot be set: " + errno_text(failure.error), {}, {}};
    if (failure.step == Step::dscp)
        return FailureWords{"the DSCP cannot be set: " + errno_text(failure.error), {}, {}};
    if (failure.step == Step::segment)
        return FailureWords{
            "UDP_SEGMENT cannot be set: " + errno_text(failure.error), "try without --gso", {}};
    return std::nullopt;
}

} // namespace

FailureWords FlowWords::explain(const SocketFailure& failure, const FlowAddress& flow,
                                const TestOptions& options) {
    if (auto words = refused_option(failure, options)) return *words;
    FailureScene scene;
    scene.transport = options.transport;
    scene.address = flow;
    if (needs_path(failure.error)) {
        Known& known = paths_[flow.remote];
        if (known.until_ns < now_ns()) {
            const auto netns = NetNs::current();
            const auto path = netns ? read_peer_path(*netns, flow.remote) : Result<PeerPath>{};
            if (netns && path) known = {*path, now_ns() + path_age_ns};
        }
        if (known.until_ns != 0) scene.path = known.path;
    }
    rlimit files{};
    if (failure.error == EMFILE && getrlimit(RLIMIT_NOFILE, &files) == 0)
        scene.files = FdFacts{files.rlim_cur + 1, files.rlim_cur, files.rlim_max, 0};
    FailureWords words = explain_failure(operation_of(failure.step), failure.error, scene);
    const auto& found = words.finding;
    if (found && std::none_of(findings_.begin(), findings_.end(),
                              [&](const Finding& known) { return known.id == found->id; }))
        findings_.push_back(*found);
    return words;
}

} // namespace bondtrace::traffic
