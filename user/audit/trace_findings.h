// SPDX-License-Identifier: GPL-2.0-or-later
// Findings about the tracing itself: what of the traffic the numbers do not cover. The family trace.*.
#pragma once

#include "user/audit/finding.h"
#include "user/audit/input.h"

#include <vector>

namespace bondtrace {

// Coverage and bypass of one bond's slaves.
std::vector<Finding> trace_findings(const BondView& view);

// What concerns all bonds: attachment and a full table. Their `bond` is empty.
std::vector<Finding> attach_findings(const FlowsReport& traffic);

// That nothing could be attached at all: only what the state shows is left. Its `bond` is empty.
Finding not_attached(const Error& obstacle);

} // namespace bondtrace
