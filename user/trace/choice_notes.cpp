// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/choice_notes.h"

#include "bpf/abi.h"
#include "user/bond/usable.h"

#include <algorithm>
#include <utility>

namespace bondtrace {

std::optional<ChoiceState> choice_state(const Bond& bond) {
    if (!bond.order_known) return std::nullopt;
    ChoiceState state{.mode = bond.mode,
                      .policy = bond.policy,
                      .tlb_dynamic_lb = bond.tlb_dynamic_lb,
                      .active_slave = bond.active_slave,
                      .usable = {}};
    for (const Slave* slave : usable_slaves(bond))
        state.usable.push_back(slave->ifindex);
    return state;
}

void ChoiceNotes::begin(std::uint64_t now, std::optional<ChoiceState> state) {
    if (epochs_.size() == most_epochs) epochs_.pop_front();
    epochs_.push_back({.begin = now, .end = 0, .open = true, .state = std::move(state)});
}

void ChoiceNotes::quiet_until(std::uint64_t time) {
    if (!epochs_.empty() && epochs_.back().open) epochs_.back().end = time;
}

void ChoiceNotes::disturbed() {
    if (!epochs_.empty()) epochs_.back().open = false;
}

void ChoiceNotes::check(const std::optional<ChoiceState>& now) {
    if (!epochs_.empty() && epochs_.back().open && epochs_.back().state != now) epochs_.back().state.reset();
}

void ChoiceNotes::complete(FlowEntry& entry) const {
    bt_flow_value& value = entry.value;
    if ((entry.key.flags & BT_KEY_RX) != 0 || (value.hash_flags & BT_HASH_NOTED) != 0 ||
        (value.hash_flags & BT_HASH_PROTOCOL) == 0)
        return;
    const auto epoch = std::find_if(epochs_.begin(), epochs_.end(), [&](const Epoch& candidate) {
        return candidate.begin <= value.first_ns && value.first_ns <= candidate.end;
    });
    if (epoch == epochs_.end() || !epoch->state) return;
    const ChoiceState& state = *epoch->state;
    // Whether the skb's hash takes the place of the tuple's is not known then.
    if (state.policy == HashPolicy::encap34 && (value.hash_flags & BT_HASH_SKB) == 0) return;
    const bool balances_load = state.mode == BondMode::balance_tlb || state.mode == BondMode::balance_alb;
    if (balances_load && !state.tlb_dynamic_lb) return;

    unsigned flags = value.hash_flags | BT_HASH_NOTED | BT_HASH_USABLE;
    value.mode = static_cast<std::uint8_t>(state.mode);
    value.policy = static_cast<std::uint8_t>(state.policy);
    if (state.tlb_dynamic_lb.value_or(false)) flags |= BT_HASH_TLB_DYNAMIC;
    if (state.active_slave) flags |= BT_HASH_HAS_ACTIVE;
    if (state.active_slave == entry.slave_ifindex) flags |= BT_HASH_ACTIVE;
    value.hash_flags = static_cast<std::uint16_t>(flags);
    value.usable_count = static_cast<std::uint16_t>(state.usable.size());
    const auto place = std::find(state.usable.begin(), state.usable.end(), entry.slave_ifindex);
    value.usable_index = place == state.usable.end()
                             ? std::uint16_t{BT_NO_INDEX}
                             : static_cast<std::uint16_t>(place - state.usable.begin());
}

} // namespace bondtrace
