// SPDX-License-Identifier: GPL-2.0-or-later
// The conversations of a bond, one a line.
#pragma once

#include "user/report/flows_report.h"
#include "user/report/text_style.h"

#include <string>
#include <vector>

namespace bondtrace {

// `flows` are conversations of `bond`, in the order to show; not empty. `seconds` is the length of the
// window. Fits style.width() by leaving out what is least missed, then by shortening addresses, whole groups
// at a time.
std::string flow_table(const BondReport& bond, const std::vector<const Conversation*>& flows, double seconds,
                       const TextStyle& style);

} // namespace bondtrace
