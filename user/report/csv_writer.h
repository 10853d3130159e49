// SPDX-License-Identifier: GPL-2.0-or-later
// A flows report as CSV: one line a conversation.
#pragma once

#include "user/report/flows_report.h"

#include <string>

namespace bondtrace {

// A header line, then one line a conversation. Quoted as RFC 4180 says, but lines end in a bare newline,
// which Unix tools want. Columns:
//   bond, netns           names; netns is empty for the caller's own
//   protocol, ethertype   "tcp", "0x0800"
//   local, local_port, remote, remote_port   ports are empty where there are none
//   icmp_type, icmp_code, icmp_id, spi       empty where they do not apply; as the local end sends it
//   vlan, inner_vlan      VLAN IDs, outermost first
//   fragment, unparsed    true or false
//   tx_slaves             names, separated by blanks, by first use; rx_slaves likewise
//   tx_packets, tx_bytes, tx_wire_packets, tx_wire_bytes   as handed over, and on the wire; rx_* likewise
//   rx_inactive_packets   the part of rx_wire_packets that the bond dropped since the slave is inactive
//   moves, sprayed        how often sending changed slaves; true or false
//   predicted_slave, agrees, why   empty where there is no prediction
// What was lost is not in it: losses_text() (losses_text.h) is for the side.
std::string flows_csv(const FlowsReport& report);

} // namespace bondtrace
