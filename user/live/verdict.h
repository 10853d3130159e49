// SPDX-License-Identifier: GPL-2.0-or-later
// The state of a bond's LACP in a word. Pure.
#pragma once

#include "user/bond/model.h"

#include <cstdint>
#include <string>

namespace bondtrace {

// How much a word should be seen.
enum class Weight : std::uint8_t { quiet, good, bad };

struct Verdict {
    std::string word; // "up", "1 of 2 up", "no partner"; empty: nothing to say
    Weight weight = Weight::quiet;
};

// Of an 802.3ad bond: whether every slave is aggregated and carries traffic with one partner (IEEE 802.1AX
// port states; a slave carries when aggregation, synchronization, collecting and distributing are set).
Verdict judge_lacp(const Bond& bond);

// What keeps an 802.3ad slave from carrying: "not synchronized", "not distributing", "defaulted", "other
// aggregator", ...; empty when nothing does, and for other modes.
std::string lacp_trouble(const Bond& bond, const Slave& slave);

} // namespace bondtrace
