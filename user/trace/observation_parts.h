// SPDX-License-Identifier: GPL-2.0-or-later
// Small things that the parts of Observation share. Pure.
#pragma once

#include "bpf/abi.h"
#include "user/bond/model.h"

#include <chrono>
#include <cstdint>
#include <map>

namespace bondtrace {

LinkCounters operator-(const LinkCounters& later, const LinkCounters& earlier);
void operator+=(LinkCounters& sum, const LinkCounters& part);

// Frames counted from one reading to the next, of the interfaces that are in both.
std::uint64_t frames_between(const std::map<int, LinkCounters>& earlier,
                             const std::map<int, LinkCounters>& later);

// On Linux this clock is CLOCK_MONOTONIC, which the programs use as well.
std::uint64_t nanoseconds_of(std::chrono::steady_clock::time_point time);

// What the programs know a bond by, or a group of links.
bt_device device_of(const Bond& bond);
// What they must know of a bond to tell its control frames.
std::uint32_t link_flags(const Bond& bond);

} // namespace bondtrace
