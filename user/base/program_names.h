// SPDX-License-Identifier: GPL-2.0-or-later
// What the programs that are attached to links by tc are called, so that nobody takes them for somebody
// else's.
#pragma once

#include <string_view>

namespace bondtrace {

// bpf/tc.bpf.c: bt_tc_tx and bt_tc_rx.
inline constexpr std::string_view tc_program_prefix = "bt_tc_";

} // namespace bondtrace
