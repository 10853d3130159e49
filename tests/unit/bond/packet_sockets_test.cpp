// SPDX-License-Identifier: GPL-2.0-or-later
// Lines as packet_seq_show() of net/packet/af_packet.c prints them.
#include "user/bond/packet_sockets.h"

#include <sstream>

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(PacketSockets, AreCountedByInterface) {
    std::istringstream text("sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n"
                            "00000000e1fb7be1 3      3    88cc   2     1 0      0      21811\n"
                            "000000004bc9ab7c 3      3    0003   0     1 0      0      30422\n"
                            "00000000a3cd1f21 3      2    0800   3     1 0      1000   30423\n"
                            "000000001b2c3d4e 3      3    88cc   3     0 0      0      21812\n");
    EXPECT_THAT(count_packet_sockets(text), ElementsAre(Pair(2, 1U), Pair(3, 2U)));
}

TEST(PacketSockets, WhatIsNotUnderstoodIsNotCounted) {
    std::istringstream text("sk RefCnt Type Proto Iface\n\nx y\n1 2 3 4 -5\n1 2 3 4 99999999999999\n");
    EXPECT_THAT(count_packet_sockets(text), IsEmpty());
}

} // namespace
} // namespace bondtrace::test
