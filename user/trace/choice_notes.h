// SPDX-License-Identifier: GPL-2.0-or-later
// What a bond decided from, for attachments that cannot see it: the bond's state as it was read, for flows
// that began while nothing changed. Pure.
#pragma once

#include "user/bond/model.h"
#include "user/flow/join.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace bondtrace {

// The part of a bond's state from which it chooses slaves.
struct ChoiceState {
    BondMode mode = BondMode::balance_rr;
    HashPolicy policy = HashPolicy::layer2;
    std::optional<bool> tlb_dynamic_lb;
    std::optional<int> active_slave; // ifindex
    std::vector<int> usable;         // ifindexes, in the kernel's order

    bool operator==(const ChoiceState&) const = default;
};
// nullopt when the order of the slaves is not known.
std::optional<ChoiceState> choice_state(const Bond& bond);

// Of one bond. Times are CLOCK_MONOTONIC in nanoseconds.
class ChoiceNotes {
  public:
    // The state that was read just before `now`.
    void begin(std::uint64_t now, std::optional<ChoiceState> state);
    // Nothing had changed until `time`.
    void quiet_until(std::uint64_t time);
    // Something has changed since then; what is the state now is told by the next begin().
    void disturbed();
    // The state has turned out to be another without a word of it: what was noted last is not to be trusted.
    void check(const std::optional<ChoiceState>& now);

    // Adds to a sent flow what the programs could not note, if it is known.
    void complete(FlowEntry& entry) const;

  private:
    struct Epoch {
        std::uint64_t begin = 0, end = 0; // of the time in which the state is known
        bool open = true;
        std::optional<ChoiceState> state;
    };
    static constexpr std::size_t most_epochs = 64;

    std::deque<Epoch> epochs_;
};

} // namespace bondtrace
