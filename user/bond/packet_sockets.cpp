// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/packet_sockets.h"

#include <sstream>
#include <string>

namespace bondtrace {

std::map<int, unsigned> count_packet_sockets(std::istream& text) {
    std::map<int, unsigned> sockets;
    std::string line;
    while (std::getline(text, line)) {
        std::istringstream words(line);
        std::string socket, references, type, protocol;
        int ifindex = 0; // the heading has a word here
        if (words >> socket >> references >> type >> protocol >> ifindex && ifindex > 0) ++sockets[ifindex];
    }
    return sockets;
}

} // namespace bondtrace
