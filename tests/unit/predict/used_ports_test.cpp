// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/predict/used_ports.h"

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

// As Linux 6.1 prints them: port 22 listening on every address, and two connections.
constexpr const char* table =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 "
    "0 10 0\n"
    "   1: 01004D0A:AE66 02004D0A:14B5 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 20 4 "
    "30 10 -1\n"
    " 910: 0000000000000000FFFF000001004D0A:FFFF 0000000000000000FFFF000002004D0A:14B5 06 "
    "00000000:00000000\n";

TEST(UsedPorts, ReadsTheKernelsTable) {
    PortSet ports;
    add_used_ports(table, ports);
    EXPECT_EQ(ports.count(), 3U);
    EXPECT_TRUE(ports.test(22));
    EXPECT_TRUE(ports.test(44646));
    EXPECT_TRUE(ports.test(65535));
}

TEST(UsedPorts, PassesOverWhatDoesNotFit) {
    PortSet ports;
    for (const char* damaged :
         {"", "\n\n", "0: ", "0: x", "0: 1:10000 2:3", "0: :ZZ y", "0: 00000000:", ": :16"})
        add_used_ports(damaged, ports);
    ports.reset(0x16); // ": :16" is a line as good as any
    EXPECT_EQ(ports.count(), 0U);
}

TEST(UsedPorts, ReadsReservedPorts) {
    PortSet ports;
    add_reserved_ports("8080,9000-9002\n", ports);
    EXPECT_EQ(ports.count(), 4U);
    EXPECT_TRUE(ports.test(9001));
    add_reserved_ports("", ports);
    add_reserved_ports("\n", ports);
    add_reserved_ports("x,70000,5-", ports);
    EXPECT_EQ(ports.count(), 4U);
    add_reserved_ports("0-65535", ports);
    EXPECT_TRUE(ports.all());
}

} // namespace
} // namespace bondtrace
