// SPDX-License-Identifier: GPL-2.0-or-later
// What is looked at, and where allowed mended, before a test starts: open files, source ports.
#pragma once

#include "user/audit/finding.h"
#include "user/audit/host_findings.h"
#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/hash/inverse.h"
#include "user/traffic/options.h"
#include "user/traffic/port_plan.h"
#include "user/traffic/results.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bondtrace::traffic {

// Sees to it that this process may have `needed` files open: raises RLIMIT_NOFILE, the hard limit as well
// where the rights allow it (CAP_SYS_RESOURCE, up to fs.nr_open). What is in force then; whether it suffices
// is fd_limit_finding()'s to say. Fails when the limit cannot even be read.
Result<FdFacts> raise_file_limit(std::uint64_t needed);

// The source ports of a network namespace.
struct HostPorts {
    std::pair<std::uint16_t, std::uint16_t> range{32768, 60999}; // net.ipv4.ip_local_port_range
    PortFilter avoid; // those that sockets of this transport hold, and ip_local_reserved_ports
};
Result<HostPorts> read_host_ports(const NetNs& netns, Transport transport);

// host.port-range of a plan that came out shorter than was asked for by want of ports in the range.
std::optional<Finding> port_finding(const PlanRequest& request, const PortPlan& plan);

// host.socket-buffer of both ends.
std::vector<Finding> window_findings(const TestOptions& options, const EndResult& client,
                                     const EndResult& server);

// A pacing congestion control on a path of less than this is not what anybody wants to measure (BBR's small
// bursts and timers cost a third to three quarters of the throughput on veth, and a cubic set after connect
// stays paced).
inline constexpr std::uint32_t short_path_us = 1000;
// What to warn of: the kernel paces the sockets by itself, the user has not asked for it (congestion control
// named, or a rate given), and a flow's RTT was below 1 ms. Empty: nothing.
std::string pacing_warning(const TestOptions& options, const EndResult& end);

} // namespace bondtrace::traffic
