// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/predict/used_ports.h"

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

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
