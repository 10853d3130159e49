// SPDX-License-Identifier: GPL-2.0-or-later
// Which conversations are shown and in which order. Pure.
#pragma once

#include "user/base/result.h"
#include "user/flow/filter.h"
#include "user/live/live_model.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

// Columns that can be sorted by, in the order of the menu.
enum class LiveSort : std::uint8_t {
    rate,
    packets,
    total,
    age,
    moves,
    proto,
    local,
    remote,
    tx_slave,
    rx_slave
};

struct NamedSort {
    LiveSort sort;
    std::string_view name;    // of --sort
    std::string_view meaning; // for the menu
};
inline constexpr std::array live_sorts = {
    NamedSort{LiveSort::rate, "rate", "bits a second, highest first"},
    NamedSort{LiveSort::packets, "packets", "packets a second, highest first"},
    NamedSort{LiveSort::total, "total", "bytes since the start, most first"},
    NamedSort{LiveSort::age, "age", "time since first seen, oldest first"},
    NamedSort{LiveSort::moves, "moves", "changes of the sending slave, most first"},
    NamedSort{LiveSort::proto, "proto", "protocol"},
    NamedSort{LiveSort::local, "local", "local address and port"},
    NamedSort{LiveSort::remote, "remote", "remote address and port"},
    NamedSort{LiveSort::tx_slave, "tx-slave", "sending slave"},
    NamedSort{LiveSort::rx_slave, "rx-slave", "receiving slave"},
};
// The error (ErrorKind::usage) lists the names.
Result<LiveSort> parse_live_sort(std::string_view text);
std::string_view to_text(LiveSort sort);

struct ViewSettings {
    LiveSort sort = LiveSort::rate;
    bool reverse = false;
    LiveDirection direction = LiveDirection::both; // what rates, packets and totals are of
    std::optional<std::size_t> bond;               // nullopt: all
    Filter filter;
};

class FlowView {
  public:
    // Chooses and orders. Rows that are equal in what is sorted by stand in the order of first sight, and
    // rates are coarsened (CalmRate), so that lines do not jump. Idle conversations are left out.
    void rebuild(const LiveModel& model, const ViewSettings& settings);

    // Indexes into LiveFlows::rows().
    [[nodiscard]] const std::vector<std::uint32_t>& rows() const { return rows_; }
    // Of the bond chosen, without the filter; idle ones not counted.
    [[nodiscard]] std::size_t total() const { return total_; }
    [[nodiscard]] std::size_t idle() const { return idle_; }
    // Place of the conversation with this id; nullopt when it is not shown.
    [[nodiscard]] std::optional<std::size_t> place_of(const LiveModel& model, std::uint64_t id) const;

    struct Sum {
        Rate tx, rx;
    };
    // Of the conversations from place `from` on to before place `to`.
    [[nodiscard]] Sum sum(const LiveModel& model, std::size_t from, std::size_t to) const;

  private:
    std::vector<std::uint32_t> rows_;
    std::size_t total_ = 0, idle_ = 0;
};

} // namespace bondtrace
