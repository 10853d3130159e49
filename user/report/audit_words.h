// SPDX-License-Identifier: GPL-2.0-or-later
// A bond's state in words, for text and page alike. Names are as they are: not yet harmless.
#pragma once

#include "user/report/audit_report.h"

#include <string>
#include <string_view>

namespace bondtrace {

// "4 s", "4 s (interrupted)", "saved state, no traffic".
std::string window_words(const AuditReport& report);
// "up", "no carrier", "down", ""; with "truncated" when the source ends in the middle.
std::string state_word(const Bond& bond);
// "nobody" for a MAC address of zeros.
std::string partner_text(const MacAddress& partner);
// The active aggregator, rate and activity; of 802.3ad.
std::string lacp_words(const Bond& bond);
// How links are monitored, and which slave is active.
std::string link_words(const Bond& bond);
// What stands on the bond.
std::string upper_words(const Bond& bond);
// "tc egress flower (gact) on bond0; tcx unknown": programs and filters of others, and which kinds could not
// be asked for where others could; empty when there is nothing to say.
std::string program_words(const Bond& bond);
// "tso, gso, gro", or by slave where they differ; empty when nobody told.
std::string offload_words(const Bond& bond);

// "802.3ad", or what stands for it with a group of links.
std::string_view mode_words(const Bond& bond);

} // namespace bondtrace
