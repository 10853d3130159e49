// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/address.h"

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

TEST(Address, Ipv6TextIsRfc5952) {
    // RFC 5952, sections 4.1 to 4.3: no leading zeros, longest run shortened, lower case.
    EXPECT_EQ(to_text(*parse_ip("2001:0DB8:0000:0000:0001:0000:0000:0001")), "2001:db8::1:0:0:1");
    EXPECT_EQ(to_text(*parse_ip("fe80:0:0:0:0:0:0:1")), "fe80::1");
    EXPECT_EQ(to_text(*parse_ip("::")), "::");
}

TEST(Address, Ipv4RoundTrip) {
    EXPECT_EQ(to_text(*parse_ip("10.77.0.1")), "10.77.0.1");
    EXPECT_FALSE(parse_ip("10.77.0"));
    EXPECT_FALSE(parse_ip("10.77.0.256"));
    EXPECT_FALSE(parse_ip(""));
}

TEST(Address, Mac) {
    EXPECT_EQ(to_text(*parse_mac("02:00:00:00:0A:01")), "02:00:00:00:0a:01");
    EXPECT_FALSE(parse_mac("02:00:00:00:0a"));
    EXPECT_FALSE(parse_mac("02-00-00-00-0a-01"));
    EXPECT_FALSE(parse_mac("02:00:00:00:0a:0g"));
}

TEST(Address, PrefixContains) {
    const auto net = parse_prefix("10.64.0.0/10");
    ASSERT_TRUE(net);
    EXPECT_TRUE(net->contains(*parse_ip("10.127.255.255")));
    EXPECT_FALSE(net->contains(*parse_ip("10.128.0.0")));
    EXPECT_FALSE(net->contains(*parse_ip("::1")));
    EXPECT_TRUE(parse_prefix("0.0.0.0/0")->contains(*parse_ip("255.255.255.255")));
    EXPECT_TRUE(parse_prefix("fd77::1")->contains(*parse_ip("fd77::1")));
    EXPECT_FALSE(parse_prefix("fd77::/129"));
    EXPECT_FALSE(parse_prefix("10.0.0.0/33"));
    EXPECT_FALSE(parse_prefix("10.0.0.0/"));
}

} // namespace
} // namespace bondtrace
