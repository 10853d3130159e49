// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace traffic server --trace BOND`: traces the tests of clients that ask for it.
#pragma once

#include "user/base/netns.h"
#include "user/trace/tracer.h"
#include "user/traffic/end_trace.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace bondtrace {

// Makes a tracer of `bond` for each test. Each needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, and
// CAP_SYS_ADMIN for another namespace than the caller's.
traffic::TracerFactory bond_tracer(const NetNs& netns, const std::string& bond, const TraceConfig& config);

// Entries of the flow table that a test of so many flows may need, beside other traffic.
std::uint32_t entries_for(std::size_t flows);

} // namespace bondtrace
