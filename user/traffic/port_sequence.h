// SPDX-License-Identifier: GPL-2.0-or-later
// The order in which one pair of addresses gets its source ports, under each pattern that no bond decides.
// Pure.
#pragma once

#include "user/hash/inverse.h"
#include "user/traffic/draw.h"
#include "user/traffic/port_choice.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bondtrace::traffic {

using PortBounds = std::pair<std::uint16_t, std::uint16_t>; // both ends included

// All ports of the range but those to avoid, ascending.
std::vector<std::uint16_t> free_ports(PortBounds range, const PortFilter& avoid);

// `count` of `free` at random, none twice; all of them when there are fewer.
std::vector<std::uint16_t> random_ports(std::vector<std::uint16_t> free, std::size_t count, Draw& draw);

// Up to `count` ports from the low end of the range on, `step` apart. When the range is through, it begins
// again one above the low end.
std::vector<std::uint16_t> sequential_ports(PortBounds range, std::uint16_t step, std::size_t count,
                                            const PortFilter& avoid);

// Up to `count` ports as connect() gives them to one destination after another from a range that nobody else
// uses: __inet_hash_connect() in net/ipv4/inet_hashtables.c of 5.10 to 6.12. It begins at a random place,
// takes ports of the low end's parity, 2 to 16 above the one before, and the other parity only when those are
// used up.
std::vector<std::uint16_t> connect_ports(PortBounds range, std::size_t count, Draw& draw,
                                         const PortFilter& avoid);

} // namespace bondtrace::traffic
