// SPDX-License-Identifier: GPL-2.0-or-later
// Fuzz target of captures: whatever the file holds, every packet of it is in exactly one place, and nothing
// is read outside a packet.
#include "user/whatif/analysis.h"
#include "user/whatif/capture.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

using namespace bondtrace;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    std::FILE* const file = fmemopen(const_cast<std::uint8_t*>(data), size, "rb");
    require(file != nullptr);
    constexpr std::size_t most_units = 64;
    UnitTable table(newest_era, most_units);
    const IpPrefix everybody{*parse_ip("0.0.0.0"), 0};
    std::uint64_t added = 0;
    const auto count =
        read_capture(file, "fuzz",
                     [&](const CapturedPacket& packet) {
                         // A copy of exactly the captured size, so that AddressSanitizer sees a read beyond
                         // its end.
                         const std::vector<std::uint8_t> bytes(packet.bytes.begin(), packet.bytes.end());
                         CapturedPacket copy = packet;
                         copy.bytes = bytes;
                         (void)is_from(copy, everybody);
                         table.add(copy);
                         ++added;
                     },
                     {});
    const WhatifUnits units = table.finish();
    std::uint64_t packets = units.lost_packets + units.elsewhere_packets;
    for (const Unit& unit : units.units)
        packets += unit.packets;
    require(packets == added);
    if (count) require(count->packets == added);
    require(units.units.size() <= most_units && units.keys.size() == units.units.size());
    const std::vector<WhatifRow> rows = analyse(units, {1, 2, 3}, {});
    for (const WhatifRow& row : rows) {
        std::uint64_t flows = row.unknown.flows;
        for (const SlaveLoad& load : row.loads)
            flows += load.flows;
        require(flows == units.units.size());
    }
    (void)whatif_notes(units, rows);
    return 0;
}
