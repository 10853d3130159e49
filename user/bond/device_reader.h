// SPDX-License-Identifier: GPL-2.0-or-later
// Asks the kernel for what stands in an interface's path of packets: tc filters by rtnetlink, tcx programs by
// bpf(2), features and speed by ethtool netlink. XDP programs come with the link itself (link_message.h).
#pragma once

#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/bond/model.h"

namespace bondtrace {

// Adds programs and offloads to a bond and its slaves, and the speed where nobody has told it. What the
// kernel does not answer (no ethtool netlink before 5.6, tcx only to CAP_NET_ADMIN) stays unknown. Filters
// whose name begins with "bondtrace" are this program's own and left out. Fails when the namespace cannot be
// entered or netlink not be used at all.
Result<void> add_device_facts(const NetNs& netns, Bond& bond);

} // namespace bondtrace
