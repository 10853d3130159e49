// SPDX-License-Identifier: GPL-2.0-or-later
// The slave summary of a bond: what each carried in each direction, beside what the kernel counted.
#pragma once

#include "user/report/flows_report.h"
#include "user/report/text_style.h"

#include <string>

namespace bondtrace {

// Two lines a slave, TX and RX. `seconds` is the length of the window, for rates.
std::string slave_table(const BondReport& bond, double seconds, const TextStyle& style);

} // namespace bondtrace
