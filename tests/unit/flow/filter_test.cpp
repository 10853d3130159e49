// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/flow/flow_builder.h"
#include "user/flow/filter.h"

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Names names = {[](std::size_t, int slave) -> std::string_view {
                         return slave == 1 ? "s0" : slave == 2 ? "s1" : "";
                     },
                     [](std::size_t bond) -> std::string_view { return bond == 0 ? "bond0" : "bond1"; }};

bool matches(std::string_view text, const Conversation& conversation) {
    const auto filter = parse_filter(text);
    if (!filter) {
        ADD_FAILURE() << filter.error().what;
        return false;
    }
    return filter->matches(conversation, names);
}

// TCP from 10.77.0.1:40001 to 10.0.0.1:443, sent on s0, received on s1.
Conversation web() {
    Conversation flow = test::conversation(6, "10.77.0.1", 40001, "10.0.0.1", 443);
    flow.tx = {test::use(1, 0, 100)};
    flow.rx = {test::use(2, 0, 100)};
    flow.tx[0].origin.local_mac = {2, 0, 0, 0, 10, 1};
    flow.tx[0].origin.remote_mac = {2, 0, 0, 0, 11, 1};
    return flow;
}

Conversation arp() {
    Conversation flow;
    flow.key.ethertype = 0x0806;
    flow.key.local = MacAddress{2, 0, 0, 0, 10, 1};
    flow.key.remote = MacAddress{255, 255, 255, 255, 255, 255};
    return flow;
}

TEST(Filter, WithoutAnExpressionMatchesEverything) {
    EXPECT_TRUE(Filter{}.matches(web(), names));
}

TEST(Filter, MatchesHosts) {
    EXPECT_TRUE(matches("host 10.77.0.1", web()));
    EXPECT_TRUE(matches("host 10.0.0.1", web()));
    EXPECT_FALSE(matches("host 10.0.0.2", web()));
    EXPECT_TRUE(matches("remote host 10.0.0.1", web()));
    EXPECT_TRUE(matches("dst host 10.0.0.1", web()));
    EXPECT_FALSE(matches("local host 10.0.0.1", web()));
    EXPECT_FALSE(matches("src host 10.0.0.1", web()));
    EXPECT_FALSE(matches("host ::1", web()));
    EXPECT_FALSE(matches("host 0.0.0.0", arp()));
}

TEST(Filter, MatchesNetworks) {
    EXPECT_TRUE(matches("net 10.77.0.0/16", web()));
    EXPECT_TRUE(matches("local net 10.77.0.0/16", web()));
    EXPECT_FALSE(matches("remote net 10.77.0.0/16", web()));
    EXPECT_TRUE(matches("net 0.0.0.0/0", web()));
    EXPECT_FALSE(matches("net ::/0", web()));
    EXPECT_TRUE(matches("net fd00::/8", test::conversation(17, "fd77::1", 1, "fd77::2", 2)));
    EXPECT_FALSE(matches("net 0.0.0.0/0", arp()));
}

TEST(Filter, MatchesPorts) {
    EXPECT_TRUE(matches("port 443", web()));
    EXPECT_TRUE(matches("port 40001", web()));
    EXPECT_FALSE(matches("local port 443", web()));
    EXPECT_TRUE(matches("remote port 400-500", web()));
    EXPECT_FALSE(matches("remote port 444-500", web()));
    EXPECT_FALSE(matches("port 0", arp()));
    Conversation ping = web();
    ping.key.detail = IcmpMessage{8, 0, 443};
    EXPECT_FALSE(matches("port 443", ping));
}

TEST(Filter, MatchesProtocols) {
    EXPECT_TRUE(matches("proto tcp", web()));
    EXPECT_TRUE(matches("tcp", web()));
    EXPECT_TRUE(matches("proto 6", web()));
    EXPECT_TRUE(matches("ip", web()));
    EXPECT_TRUE(matches("proto 0x0800", web()));
    EXPECT_FALSE(matches("udp", web()));
    EXPECT_FALSE(matches("ip6", web()));
    EXPECT_TRUE(matches("arp", arp()));
    EXPECT_FALSE(matches("proto 0", arp()));
    Conversation stp = arp();
    stp.key.ethertype = 0x0026;
    EXPECT_TRUE(matches("llc", stp));
    EXPECT_FALSE(matches("llc", arp()));
}

TEST(Filter, MatchesSlavesAndBonds) {
    EXPECT_TRUE(matches("slave s0", web()));
    EXPECT_TRUE(matches("slave s1", web()));
    EXPECT_TRUE(matches("tx slave s0", web()));
    EXPECT_FALSE(matches("rx slave s0", web()));
    EXPECT_TRUE(matches("rx slave s1", web()));
    EXPECT_FALSE(matches("slave s2", web()));
    EXPECT_TRUE(matches("bond bond0", web()));
    EXPECT_FALSE(matches("bond bond1", web()));
    EXPECT_FALSE(matches("slave \"and\"", web()));
}

TEST(Filter, MatchesVlanMacAndMarks) {
    Conversation flow = web();
    EXPECT_FALSE(matches("vlan 100", flow));
    flow.key.vlan = 100;
    flow.key.inner_vlan = 7;
    EXPECT_TRUE(matches("vlan 100 and vlan 7", flow));
    EXPECT_FALSE(matches("vlan 0", flow));
    EXPECT_TRUE(matches("mac 02:00:00:00:0b:01", flow));
    EXPECT_FALSE(matches("local mac 02:00:00:00:0b:01", flow));
    EXPECT_TRUE(matches("remote mac ff:ff:ff:ff:ff:ff", arp()));
    EXPECT_FALSE(matches("fragment", flow));
    flow.key.fragment = true;
    EXPECT_TRUE(matches("fragment", flow));
    EXPECT_FALSE(matches("moved", flow));
    flow.tx.push_back(test::use(2, 104, 200));
    EXPECT_TRUE(matches("moved", flow));
}

TEST(Filter, CombinesConditions) {
    EXPECT_TRUE(matches("tcp and port 443", web()));
    EXPECT_FALSE(matches("udp and port 443", web()));
    EXPECT_TRUE(matches("udp or port 443", web()));
    EXPECT_TRUE(matches("not udp", web()));
    EXPECT_TRUE(matches("!udp&&port 443", web()));
    EXPECT_TRUE(matches("udp||tcp", web()));
    EXPECT_FALSE(matches("not not udp", web()));
    EXPECT_FALSE(matches("!(tcp)", web()));
    // "and" binds closer than "or"; "not" closest.
    EXPECT_TRUE(matches("tcp or udp and port 1", web()));
    EXPECT_FALSE(matches("(tcp or udp) and port 1", web()));
    EXPECT_TRUE(matches("not udp and tcp", web()));
    EXPECT_FALSE(matches("not (udp or tcp)", web()));
}

// Every truth table of a two-level expression, against C++'s own operators.
TEST(Filter, EvaluatesLikeLogic) {
    for (const bool a : {false, true}) {
        for (const bool b : {false, true}) {
            for (const bool c : {false, true}) {
                const std::string x = a ? "tcp" : "udp", y = b ? "port 443" : "port 1",
                                  z = c ? "slave s0" : "slave x";
                EXPECT_EQ(matches(x + " and " + y + " or " + z, web()), (a && b) || c);
                EXPECT_EQ(matches(x + " or " + y + " and " + z, web()), a || (b && c));
                EXPECT_EQ(matches("not " + x + " or " + y + " and not " + z, web()), !a || (b && !c));
                EXPECT_EQ(matches("not (" + x + " or " + y + ") and " + z, web()), !(a || b) && c);
                EXPECT_EQ(matches(x + " and (" + y + " or " + z + ") and " + x, web()), a && (b || c));
            }
        }
    }
}

TEST(Filter, NamesWhatItAsksFor) {
    const auto filter = parse_filter("slave s0 or tx slave \"s 9\" and bond bond0");
    ASSERT_TRUE(filter);
    EXPECT_THAT(filter->slave_names(), ElementsAre("s0", "s 9"));
    EXPECT_THAT(filter->bond_names(), ElementsAre("bond0"));
}

Error error_of(std::string_view text) {
    const auto filter = parse_filter(text);
    if (filter) {
        ADD_FAILURE() << "accepted: " << text;
        return {};
    }
    EXPECT_EQ(filter.error().kind, ErrorKind::usage);
    return filter.error();
}

TEST(FilterError, PointsAtTheColumn) {
    EXPECT_EQ(error_of("host tcp and port 80").what, "filter: expected an IP address after \"host\"\n"
                                                     "  host tcp and port 80\n"
                                                     "       ^");
    EXPECT_EQ(error_of("host").what,
              "filter: expected an IP address after \"host\", but the filter ends there\n"
              "  host\n"
              "      ^");
    EXPECT_EQ(error_of("tcp port 443").what, "filter: expected \"and\" or \"or\" before \"port\"\n"
                                             "  tcp port 443\n"
                                             "      ^");
    EXPECT_EQ(error_of("(tcp or udp").what, "filter: expected \")\": a parenthesis is not closed\n"
                                            "  (tcp or udp\n"
                                            "             ^");
    EXPECT_EQ(error_of("tcp) or udp").what, "filter: unexpected \")\", no \"(\" is open\n"
                                            "  tcp) or udp\n"
                                            "     ^");
}

// The caret stands under the column, not the byte, and control characters are not passed on.
TEST(FilterError, PointsAtTheColumnBehindOtherScripts) {
    EXPECT_THAT(error_of("slave grün tcp").what, HasSubstr("\n  slave grün tcp\n             ^"));
    EXPECT_THAT(error_of("slave \"a\tb\" \x1b[31m").what,
                HasSubstr("\n  slave \"a?b\" ?[31m\n              ^"));
}

TEST(FilterError, HelpsOn) {
    EXPECT_THAT(error_of("10.0.0.1").advice, HasSubstr("host 10.0.0.1"));
    EXPECT_THAT(error_of("host 10.0.0.0/8").advice, HasSubstr("net 10.0.0.0/8"));
    EXPECT_THAT(error_of("port 90-80").advice, HasSubstr("port 80-90"));
    EXPECT_THAT(error_of("tcp port 1").advice, HasSubstr("\"and\" or \"or\""));
    EXPECT_THAT(error_of("proto quic").advice, HasSubstr("tcp, udp"));
    EXPECT_THAT(error_of("hosts 10.0.0.1").advice, HasSubstr("host, net, port"));
    EXPECT_THAT(error_of("").advice, HasSubstr("for example"));
}

TEST(FilterError, RejectsWhatMakesNoSense) {
    for (const char* text : {"   ",
                             "and",
                             "tcp and",
                             "tcp or",
                             "not",
                             "()",
                             "(",
                             ")",
                             "port 65536",
                             "port -1",
                             "port 1-",
                             "port 80,443",
                             "port http",
                             "vlan 4096",
                             "vlan",
                             "vlan tcp",
                             "mac 1:2",
                             "net 10.0.0.0/33",
                             "proto 256",
                             "proto 0x12345",
                             "proto",
                             "slave",
                             "slave and",
                             "slave \"\"",
                             "slave \"s0",
                             "slave (x)",
                             "slave sixteencharacter",
                             "tx s0",
                             "local slave s0",
                             "local 10.0.0.1",
                             "tcp && || udp",
                             "\"tcp\"",
                             "tcp & udp"})
        EXPECT_FALSE(parse_filter(text)) << text;
}

TEST(FilterError, BoundsLengthAndDepth) {
    EXPECT_TRUE(parse_filter(std::string(max_filter_length - 3, ' ') + "tcp"));
    EXPECT_THAT(error_of(std::string(max_filter_length - 2, ' ') + "tcp").what, HasSubstr("4097 bytes long"));
    const auto nested = [](unsigned depth) {
        return std::string(depth, '(') + "tcp" + std::string(depth, ')');
    };
    EXPECT_TRUE(parse_filter(nested(max_filter_depth - 1)));
    EXPECT_THAT(error_of(nested(max_filter_depth)).what, HasSubstr("nested deeper than 64"));
    EXPECT_THAT(error_of(std::string(4000, '!') + "tcp").what, HasSubstr("nested deeper than 64"));
    EXPECT_THAT(error_of(std::string(4000, '(')).what, HasSubstr("nested deeper than 64"));
}

// A long filter is cut around the place, so that the caret stays on the line it belongs to.
TEST(FilterError, CutsLongFilters) {
    std::string text = "tcp";
    for (int i = 0; i < 100; ++i)
        text += " or port 80";
    const std::string what = error_of(text + " or host x or " + text).what;
    EXPECT_THAT(what, HasSubstr("or port 80 or host x or tcp"));
    std::vector<std::string> lines;
    for (std::size_t start = 0; start <= what.size();) {
        const std::size_t end = std::min(what.find('\n', start), what.size());
        lines.push_back(what.substr(start, end - start));
        start = end + 1;
    }
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_LT(lines[1].size(), 120U);
    EXPECT_EQ(lines[1].find("x or tcp"), lines[2].find('^'));
}

} // namespace
} // namespace bondtrace
