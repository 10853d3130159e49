// SPDX-License-Identifier: GPL-2.0-or-later
// What the model of the kernel's hash has to say for itself, in words.
#pragma once

#include "user/report/flows_report.h"
#include "user/report/text_style.h"

#include <string>

namespace bondtrace {

// "agreement 18 234/18 234: ..." and every flow that does not agree, with its tuple; lines end in '\n'. Empty
// when the bond sent nothing.
std::string agreement_text(const BondReport& bond, const EraFinding& era, const TextStyle& style);

// "18 234": digits in groups of three.
std::string grouped(std::uint64_t number);

// "era 6.5, probed"; an assumed one with the reason.
std::string era_text(const EraFinding& era);

} // namespace bondtrace
