// SPDX-License-Identifier: GPL-2.0-or-later
// Entries of the kernel's flow table -> conversations.
#pragma once

#include "bpf/abi.h"
#include "user/flow/conversation.h"

#include <cstddef>
#include <span>
#include <vector>

namespace bondtrace {

// One entry of the flow table whose slot has been resolved. `value` holds the counts to report, that is those
// of the window when an earlier reading was subtracted.
struct FlowEntry {
    bt_flow_key key;
    bt_flow_value value;
    std::size_t bond;  // index into the report's bonds
    int slave_ifindex; // within the bond's network namespace
};

// One conversation for each local end, remote end, protocol detail and VLAN of each bond, in the order of the
// first entry that belongs to it. What was sent has its source at the local end, what was received its
// destination. ICMP messages that answer each other (echo, timestamp) are one conversation. Frames received
// on an inactive slave are uses of their own. Every packet and byte of the entries is in exactly one use of
// one conversation. O(n).
std::vector<Conversation> join(std::span<const FlowEntry> entries);

// The conversation that one entry alone makes: of one use, in `tx` or in `rx`. For those who keep
// conversations from reading to reading and join only what is new.
Conversation conversation_of(const FlowEntry& entry);

} // namespace bondtrace
