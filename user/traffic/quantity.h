// SPDX-License-Identifier: GPL-2.0-or-later
// Amounts and rates as people write them. Pure.
#pragma once

#include "user/base/result.h"

#include <cstdint>
#include <string_view>

namespace bondtrace::traffic {

// "1500", "64k" (64000), "64Ki" (65536), "1.5M", "2Gi", "1T": an amount of at most `most`. Usage error that
// names `option` for everything else.
Result<std::uint64_t> parse_amount(std::string_view option, std::string_view text, std::uint64_t most);

// "100M", "9.5G", "64k": bits per second, powers of 1000, with or without "bit/s" behind. More than 0, at
// most 10 Tbit/s.
Result<double> parse_rate(std::string_view option, std::string_view text);

} // namespace bondtrace::traffic
