// SPDX-License-Identifier: GPL-2.0-or-later
// Conversations -> entries of the kernel's flow table: for recordings, which hold conversations.
#pragma once

#include "user/flow/join.h"

#include <cstdint>

namespace bondtrace {

// An entry of which conversation_of() makes that use of that conversation. `slot` is for its key, in which
// the slave's number does not stand.
FlowEntry entry_of(const Conversation& conversation, const SlaveUse& use, bool received, std::uint16_t slot);

} // namespace bondtrace
