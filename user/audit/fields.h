// SPDX-License-Identifier: GPL-2.0-or-later
// The header fields of flows, as a hash could use them: how much each varies.
#pragma once

#include "user/audit/placement.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

enum class Field : std::uint8_t { vlan, src_mac, dst_mac, src_ip, dst_ip, src_port, dst_port };
inline constexpr std::size_t field_count = 7;

// "vlan", "src-mac", ...
std::string_view to_text(Field field);

// A set of fields, one bit each: 1 << Field.
using FieldSet = std::uint8_t;
constexpr FieldSet only(Field field) {
    return static_cast<FieldSet>(1U << static_cast<unsigned>(field));
}
// "src-ip and dst-ip".
std::string to_text(FieldSet fields);

// For each flow a small number for the value of each field; equal numbers, equal values. Source and
// destination are those of the frames in that direction. What a flow does not have (the ports of a fragment)
// is a value too.
class FieldTable {
  public:
    FieldTable(const std::vector<PlacedFlow>& flows, Direction direction);

    using Row = std::array<std::uint32_t, field_count>;
    [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
    [[nodiscard]] std::uint64_t distinct(Field field) const {
        return distinct_[static_cast<std::size_t>(field)];
    }
    // The fields that any flow has: no tag, and a MAC address of zeros (not known), are none.
    [[nodiscard]] FieldSet present() const { return present_; }
    // Shannon's, over flows.
    [[nodiscard]] double entropy(Field field) const;

  private:
    std::vector<Row> rows_;
    std::array<std::uint64_t, field_count> distinct_{};
    FieldSet present_ = 0;
};

// "values (entropy) src-ip 1, dst-ip 5 (2.32 bits), src-port 64 (6 bits)": the fields present.
std::string describe(const FieldTable& fields);

} // namespace bondtrace
