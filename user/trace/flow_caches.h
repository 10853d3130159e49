// SPDX-License-Identifier: GPL-2.0-or-later
// What the CPUs have counted of flows and not yet added to the flow table (struct bt_cache). Pure: the memory
// is given.
#pragma once

#include "bpf/abi.h"
#include "user/flow/join.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace bondtrace {

// Of the entries, only key and value matter here.
using FlowTable = std::vector<FlowEntry>;
// Reads one entry of the table anew; nullopt: there is none.
using FlowLookup = std::function<std::optional<bt_flow_value>(const bt_flow_key&)>;

// Joins the caches and a reading of the table that is made while programs count on. A flow's sum is never
// less than what was counted when the reading began, and never more than when it ended: a flow that leaves
// its cache in between is neither counted twice nor forgotten.
class FlowCaches {
  public:
    // Takes a first look: before the table is read.
    explicit FlowCaches(std::span<const bt_cache> caches);

    // Adds to `table`, which was read since, what waits in the caches.
    void add_to(FlowTable& table, const FlowLookup& look_up);

  private:
    struct Seen {
        std::uint32_t version = 0;
        bt_flow_key key{};
        bt_count count{};
        std::uint64_t last_ns = 0;
    };
    static Seen see(const bt_cached_flow& flow);
    [[nodiscard]] std::optional<bt_flow_value> sum_of(const bt_flow_key& key,
                                                      const FlowLookup& look_up) const;

    std::span<const bt_cache> caches_;
    std::vector<Seen> seen_; // of each CPU one after the other
};

} // namespace bondtrace
