// SPDX-License-Identifier: GPL-2.0-or-later
// Whether somebody has replaced the kernel's flow dissector, from which the encap policies take their inputs.
#pragma once

#include "user/base/netns.h"
#include "user/base/result.h"

namespace bondtrace {

// True when a BPF program of type flow_dissector is attached to `netns`, or to the first namespace, whose
// program is everybody's. Needs CAP_NET_ADMIN. From within a container the first namespace is not seen.
Result<bool> flow_dissector_attached(const NetNs& netns);

} // namespace bondtrace
