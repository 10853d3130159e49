// SPDX-License-Identifier: GPL-2.0-or-later
// Packet sockets (AF_PACKET): who has one on a slave may send there without asking the bond.
#pragma once

#include <istream>
#include <map>

namespace bondtrace {

// Number of packet sockets that are bound to each interface, by ifindex, from the text of /proc/net/packet
// (net/packet/af_packet.c, packet_seq_show()). Sockets of all interfaces, as captures have them, are not
// counted, nor are lines that are not understood.
std::map<int, unsigned> count_packet_sockets(std::istream& text);

} // namespace bondtrace
