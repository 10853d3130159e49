// SPDX-License-Identifier: GPL-2.0-or-later
// Quantities as people read and write them: SI units, three significant digits.
#pragma once

#include "user/base/result.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace bondtrace {

// "999 B", "1.5 MB", "18.4 EB": powers of 1000, rounded to three significant digits.
std::string format_bytes(std::uint64_t bytes);

// "99999", "123 k", "1.23 M": exact up to five digits, three significant ones beyond.
std::string format_count(std::uint64_t count);

// "941 kbit/s", "9.41 Gbit/s". Below one bit per second, and for what is not a finite number: "0 bit/s".
std::string format_bit_rate(double bits_per_second);

// "850 us", "500 ms", "9.98 s", "2 min 5 s", "1 h 3 min", "2 d 4 h". Negative durations as 0.
std::string format_duration(std::chrono::nanoseconds duration);

// Per cent of `part` in `whole`, never rounded to or across 100: "100 %" is exactly all, "99.99 %" almost.
// `whole` must not be 0.
std::string format_percent(std::uint64_t part, std::uint64_t whole);

// Parses "10s", "500ms", "250us", "2m" or "2min", "1h", "1.5s", "0"; a plain number means seconds. Errors
// (ErrorKind::usage) name what is wrong: no number, unknown unit, negative, longer than 366 days.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

} // namespace bondtrace
