// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/hash/frames.h"
#include "user/hash/inverse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ReachQuery query() {
    ReachQuery query;
    query.tuple = make_tuple(17, *parse_ip("192.0.2.2"), 0, *parse_ip("192.0.2.1"), 5001);
    query.usable = 2;
    query.low = 40000;
    query.high = 40100;
    query.count = 4;
    return query;
}

void expect_error(const ReachQuery& query, std::string_view text) {
    const auto ports = ports_reaching(query);
    ASSERT_FALSE(ports);
    EXPECT_EQ(ports.error().kind, ErrorKind::usage);
    EXPECT_THAT(ports.error().what, HasSubstr(std::string(text)));
}

// Counted on real kernels: of 38986, 38988, 38990, 38992 two take each slave (see cases_test.cpp), and
// before 4.15 all four take slave 1, as all even ports do.
TEST(Inverse, FindsPorts) {
    ReachQuery wanted = query();
    wanted.low = 38986;
    wanted.high = 38992;
    wanted.era = era("4.14");
    wanted.index = 1;
    EXPECT_THAT(ports_reaching(wanted).value(), ElementsAre(38986, 38988, 38990, 38992));
    wanted.index = 0;
    EXPECT_THAT(ports_reaching(wanted).value(), ElementsAre(38987, 38989, 38991));
}

TEST(Inverse, AvoidsAndStops) {
    ReachQuery wanted = query();
    wanted.index = 1;
    const auto all = ports_reaching(wanted).value();
    ASSERT_EQ(all.size(), 4U);
    const auto rest = ports_reaching(wanted, [&all](std::uint16_t port) {
                          return port == all[0] || port == all[2];
                      }).value();
    ASSERT_EQ(rest.size(), 4U);
    EXPECT_EQ(rest[0], all[1]);
    EXPECT_EQ(rest[1], all[3]);
    EXPECT_GT(rest[2], all[3]);
    wanted.count = 0;
    EXPECT_TRUE(ports_reaching(wanted).value().empty());
    wanted.count = 100000;
    wanted.low = 0;
    wanted.high = 65535;
    EXPECT_EQ(ports_reaching(wanted).value().size(), 32768U);
    EXPECT_TRUE(ports_reaching(wanted, [](std::uint16_t) { return true; }).value().empty());
}

TEST(Inverse, SaysWhyNot) {
    ReachQuery wanted = query();
    wanted.policy = HashPolicy::layer23;
    expect_error(wanted, "layer2+3 does not hash ports");
    wanted.tuple.src_mac = *parse_mac("00:00:5e:00:53:10");
    wanted.tuple.dst_mac = *parse_mac("00:00:5e:00:53:01");
    expect_error(wanted, "every source port takes the slave with index 0"); // as counted on 6.12
    wanted.era = era("5.10");
    expect_error(wanted, "every source port takes the slave with index 1"); // as counted on 5.10
    for (const HashPolicy policy : {HashPolicy::layer2, HashPolicy::encap23, HashPolicy::vlan_srcmac}) {
        wanted.policy = policy;
        expect_error(wanted, "does not hash ports");
    }

    wanted = query();
    wanted.policy = HashPolicy::encap34;
    EXPECT_TRUE(ports_reaching(wanted));
    wanted.socket_hash = true;
    expect_error(wanted, "random number");

    wanted = query();
    wanted.usable = 0;
    expect_error(wanted, "no usable slave");
    wanted = query();
    wanted.index = 2;
    expect_error(wanted, "no slave with index 2");
    wanted = query();
    wanted.high = 39999;
    expect_error(wanted, "empty");
    for (const std::uint8_t protocol : std::initializer_list<std::uint8_t>{1, 47, 50, 51}) {
        wanted = query();
        wanted.tuple.protocol = protocol;
        expect_error(wanted, "no source port");
    }
    wanted = query();
    wanted.tuple.fragment = true;
    expect_error(wanted, "fragments");
    wanted = query();
    wanted.tuple.outer_ethertype = 0x8100;
    expect_error(wanted, "MAC addresses");
}

} // namespace
} // namespace bondtrace::test
