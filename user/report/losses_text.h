// SPDX-License-Identifier: GPL-2.0-or-later
// How much of the traffic is in a report, and what is not and why, in words.
#pragma once

#include "user/report/flows_report.h"
#include "user/report/text_style.h"

#include <string>

namespace bondtrace {

// The line "coverage TX 100 % RX 100 %" of a bond, and a line for everything that is counted elsewhere or not
// at all.
std::string coverage_text(const BondReport& bond, const TextStyle& style);

// A line for every loss of the run that is not 0; empty when there was none.
std::string run_losses_text(const FlowsReport& report, const TextStyle& style);

// Both, for all bonds, each line with the bond's name: what accompanies a format that has no place for it
// (CSV).
std::string losses_text(const FlowsReport& report, const TextOptions& options);

} // namespace bondtrace
