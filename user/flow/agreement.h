// SPDX-License-Identifier: GPL-2.0-or-later
// Every traced flow against the model of the kernel's hash: would it have taken the slave that it took? Pure.
#pragma once

#include "user/flow/conversation.h"
#include "user/hash/era.h"
#include "user/hash/tuple.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace bondtrace {

// What the predictions for one bond need beside its flows.
struct PredictionBond {
    // Slaves that were usable at the end, in the kernel's order; a name for what disagrees, never a verdict.
    std::vector<int> usable;
    bool queue_override = false;                // some slave has a queue_id
    bool broadcast_neighbor = false;            // 802.3ad's option of that name
    bool flow_dissector = false;                // a BPF flow dissector may be attached; encap policies only
    std::function<std::string(int)> slave_name; // by ifindex
};

// The tuple of what a conversation sent, of the frame that `origin` is of.
FlowTuple sent_tuple(const ConversationKey& key, const FrameOrigin& origin);

// Fills the prediction of every conversation from what the kernel noted with the first packet of each use:
// the bond's policy, the slave's index and the number of usable slaves of that moment. So a flow that moved
// since slaves came or went agrees when each of its slaves was the right one at its time. `bonds` is indexed
// by Conversation::bond.
//   slave   the slave of the last use, as its tuple determines it
//   agrees  of all uses; null when a single one cannot be checked, or nothing was sent
//   why     when either is missing, or they disagree
void predict(std::vector<Conversation>& conversations, std::span<const PredictionBond> bonds, const Era& era);
// The same for those who predict again and again: equal predictions are one from call to call.
void predict(std::vector<Conversation>& conversations, std::span<const PredictionBond> bonds, const Era& era,
             PredictionPool& pool);

} // namespace bondtrace
