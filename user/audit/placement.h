// SPDX-License-Identifier: GPL-2.0-or-later
// Which slave carried each flow, and what the model of the kernel's hash makes of it.
#pragma once

#include "user/audit/input.h"
#include "user/hash/tuple.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace bondtrace {

enum class Direction : std::uint8_t { tx, rx };

// "TX", "RX".
constexpr const char* to_text(Direction direction) {
    return direction == Direction::tx ? "TX" : "RX";
}

// One direction of one conversation on the usable slaves.
struct PlacedFlow {
    const Conversation* flow = nullptr;
    const SlaveUse* use = nullptr;     // the first on the slave that carried most
    std::size_t slave = 0;             // position in BondView::usable
    std::uint64_t packets = 0;         // on the wire, on all usable slaves
    std::uint64_t bytes = 0;           // likewise
    bool whole = false;                // `slave` carried at least nine tenths of the bytes
    std::optional<std::uint32_t> hash; // TX, when the bond's policy and this tuple determine it
    bool by_mac =
        false; // TX: the policy looks at addresses, but this packet is hashed by its MAC addresses only
};

// The flows that used usable slaves in that direction. What an inactive slave received is not among them.
std::vector<PlacedFlow> placed_flows(const BondView& view, Direction direction);

// What was sent as a tuple, to compute its hash from; `use` gives the MAC addresses and the tag.
FlowTuple sent_tuple(const Conversation& flow, const SlaveUse& use);

// The hash of that tuple with the bond's policy and era; nullopt when it is not determined.
std::optional<std::uint32_t> hash_of_tuple(const FlowTuple& tuple, HashPolicy policy, const Era& era);

} // namespace bondtrace
