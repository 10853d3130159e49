// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the flow table's entries again from one reading to the next.
#pragma once

#include "bpf/abi.h"
#include "user/live/number_table.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bondtrace {

// Numbers keys in the order of first sight. The kernel walks its table in the same order each time, so that
// most keys are found where they are expected, without a hash.
class EntryIndex {
  public:
    EntryIndex();

    // Makes room for that many, without some to spare.
    void reserve(std::size_t entries);

    // Begins a reading: the keys that follow are expected in the order of the reading before.
    void begin_reading();

    struct Found {
        std::uint32_t number = 0;
        bool is_new = false;
    };
    Found find_or_add(const bt_flow_key& key);

    [[nodiscard]] std::size_t size() const { return keys_.size(); }
    // Forgets the keys whose number is not in `kept`; that with number kept[i] has number i from now on.
    void keep(std::span<const std::uint32_t> kept);

  private:
    static constexpr std::uint32_t none = 0xffffffff;

    [[nodiscard]] std::uint64_t hash_of(const bt_flow_key& key) const;

    std::vector<bt_flow_key> keys_;        // by number
    std::vector<std::uint32_t> positions_; // by number: the place in the reading before
    std::vector<std::uint32_t> order_, next_order_;
    std::size_t cursor_ = 0;
    NumberTable table_;
    std::uint64_t seed_ = 0, multiplier_ = 1; // whoever sends packets chooses what is hashed
};

} // namespace bondtrace
