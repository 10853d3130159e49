// SPDX-License-Identifier: GPL-2.0-or-later
// What happened while the table was open.
#pragma once

#include "user/bond/model.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace bondtrace {

enum class EventKind : std::uint8_t { good, change, bad };

struct Event {
    std::uint64_t time_ns = 0; // CLOCK_MONOTONIC, of the reading that showed it
    std::string time;          // RFC 3339, of that reading
    EventKind kind = EventKind::change;
    std::string bond;
    std::string text; // "slave s0 down", "12 flows moved from s0 to s1"
};

// The newest events, oldest first.
class EventLog {
  public:
    static constexpr std::size_t kept = 1000;

    void add(Event event) {
        events_.push_back(std::move(event));
        if (events_.size() > kept) events_.pop_front();
        ++total_;
    }
    [[nodiscard]] const std::deque<Event>& events() const { return events_; }
    // Of all times.
    [[nodiscard]] std::uint64_t total() const { return total_; }

  private:
    std::deque<Event> events_;
    std::uint64_t total_ = 0;
};

// What changed from one state of a bond to the next, in words: slaves that came, went, went up or down,
// aggregator, partner and LACP states, mode, policy, carrier, active slave. Times and the bond's name are
// left to the caller. Pure.
std::vector<Event> bond_changes(const Bond& before, const Bond& after);

} // namespace bondtrace
