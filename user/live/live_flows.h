// SPDX-License-Identifier: GPL-2.0-or-later
// The conversations of successive readings: sums that only grow, rates, and moves from slave to slave. Pure.
#pragma once

#include "user/bond/model.h"
#include "user/flow/conversation.h"
#include "user/flow/join.h"
#include "user/live/entry_index.h"
#include "user/live/number_table.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bondtrace {

enum class LiveDirection : std::uint8_t { both, tx, rx };

struct Rate { // a second, on the wire
    double packets = 0, bytes = 0;
};
inline Rate operator+(const Rate& a, const Rate& b) {
    return {a.packets + b.packets, a.bytes + b.bytes};
}

// A rate, coarsened so that it changes only when the rate does by more than a tenth: what is ordered by it
// does not jump.
struct CalmRate {
    std::uint16_t level = 0;
    void follow(double rate);
};

// Tables hold tens of thousands: a member more is memory.
struct FlowRow {
    std::uint64_t id = 0;                               // in the order of first sight, never used again
    Conversation flow;                                  // sums since the start
    Rate tx, rx;                                        // of the last interval
    std::array<CalmRate, 3> bytes_order, packets_order; // by LiveDirection
    std::optional<std::uint32_t> tx_hash; // under the bond's policy; nullopt: not determined, or not asked
    bool sprayed = false; // over several slaves at once, in the last interval in which it sent
    // CLOCK_MONOTONIC. `active`: the reading by which it had carried something.
    std::uint64_t first_ns = 0, active_ns = 0, moved_ns = 0;
    // Bytes of the last seconds: older ones count less and less (weight_seconds).
    double tx_weight = 0, rx_weight = 0;
    // The slaves that carried it last; 0: none yet.
    int tx_slave = 0, rx_slave = 0;
    int moved_from = 0;
    unsigned moves = 0; // of sending, from one slave to another

    [[nodiscard]] Rate rate(LiveDirection direction) const {
        return direction == LiveDirection::tx ? tx : direction == LiveDirection::rx ? rx : tx + rx;
    }

  private:
    friend class LiveFlows;
    std::uint64_t rx_last_ns = 0;
    std::uint32_t epoch = 0;  // of the interval in which it last grew
    std::uint32_t growth = 0; // of that interval: into LiveFlows::growths_, from 1; 0: it did not send
};

// A flow that changed its sending slave between two readings.
struct FlowMove {
    std::uint32_t row = 0;
    int from = 0, to = 0;
};

class LiveFlows {
  public:
    // Time in which a byte's weight falls to 1/e.
    static constexpr double weight_seconds = 5;

    LiveFlows();

    // Takes in a reading. `bonds` are those that FlowEntry::bond counts, `seconds` the length of the interval
    // since the reading before, 0 for the first: it gives sums, but no rates. Counts that are smaller than
    // before come from a reading that met a write, and leave the sum as it is; those of an entry that had
    // vanished begin anew. O(entries + conversations).
    void update(std::span<const FlowEntry> entries, std::span<const BondMode> bonds, std::uint64_t time_ns,
                double seconds);

    [[nodiscard]] const std::vector<FlowRow>& rows() const { return rows_; }
    // Of the last update: moves, and the rows that are new or on a slave where they were not before.
    [[nodiscard]] const std::vector<FlowMove>& moves() const { return moves_; }
    [[nodiscard]] const std::vector<std::uint32_t>& changed() const { return changed_; }

    // For what others know of a row: its prediction and its hash.
    [[nodiscard]] FlowRow& row(std::uint32_t index) { return rows_[index]; }
    [[nodiscard]] std::optional<std::uint32_t> find(std::size_t bond, const ConversationKey& key) const;

  private:
    struct EntryState {
        Counts counts; // as last read
        std::uint32_t row = 0;
        std::uint32_t epoch = 0; // when it was last read
        std::uint64_t present_ns = 0;
    };
    // What a flow sent on one slave in the interval that is being added up.
    struct Growth {
        std::uint64_t first_ns = 0, last_ns = 0;
        int slave = 0;
        std::uint32_t next = 0; // the flow's on another slave, from 1; 0: no more
        bool is_new = false;    // the flow was not on that slave before
    };

    void add(const FlowEntry& entry, std::uint64_t time_ns);
    std::uint32_t row_of(const FlowEntry& entry);
    [[nodiscard]] std::uint64_t hash_of(std::size_t bond, const ConversationKey& key) const;
    [[nodiscard]] std::uint64_t hash_of_row(std::uint32_t row) const;
    void reserve(std::size_t entries);
    void grow(FlowRow& row, const FlowEntry& entry, const Counts& delta, bool received, bool is_new);
    void finish_row(std::uint32_t index, bool moves_mean_something, std::uint64_t time_ns, double seconds,
                    double fading);
    void follow_slave(std::uint32_t index, bool moves_mean_something, std::uint64_t time_ns);
    void forget(std::uint64_t time_ns);

    EntryIndex index_;
    std::vector<EntryState> entries_;
    std::vector<FlowRow> rows_;
    NumberTable known_; // rows by bond and key
    std::uint64_t seed_, multiplier_;
    std::vector<Growth> growths_; // in the order of their first entries
    std::vector<FlowMove> moves_;
    std::vector<std::uint32_t> changed_;
    std::uint64_t next_id_ = 1;
    std::uint32_t epoch_ = 0;
    std::size_t absent_ = 0;
};

} // namespace bondtrace
