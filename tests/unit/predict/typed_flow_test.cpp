// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/predict/typed_flow.h"

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

using testing::HasSubstr;

TypedFlow flow(std::uint8_t protocol, const char* src, std::optional<std::uint16_t> src_port, const char* dst,
               std::optional<std::uint16_t> dst_port) {
    TypedFlow typed;
    typed.protocol = protocol;
    typed.src = *parse_ip(src);
    typed.dst = *parse_ip(dst);
    typed.src_port = src_port;
    typed.dst_port = dst_port;
    return typed;
}

TEST(TypedFlow, ReadsWhatPeopleType) {
    EXPECT_EQ(parse_typed_flow("tcp", "10.0.0.1:40000", "10.0.0.2:443").value(),
              flow(6, "10.0.0.1", 40000, "10.0.0.2", 443));
    EXPECT_EQ(parse_typed_flow("udp", "[fd00::1]:5000", "[fd00::2]:53").value(),
              flow(17, "fd00::1", 5000, "fd00::2", 53));
    EXPECT_EQ(parse_typed_flow("icmp6", "fd00::1", "fd00::2").value(),
              flow(58, "fd00::1", {}, "fd00::2", {}));
    EXPECT_EQ(parse_typed_flow("tcp", "10.0.0.1", "10.0.0.2:443").value(),
              flow(6, "10.0.0.1", {}, "10.0.0.2", 443));
    EXPECT_EQ(parse_typed_flow("132", "10.0.0.1:1", "10.0.0.2:65535").value(),
              flow(132, "10.0.0.1", 1, "10.0.0.2", 65535));
    // A group of an IPv6 address is no port.
    EXPECT_EQ(parse_typed_flow("tcp", "fd00::1:443", "fd00::2").value(),
              flow(6, "fd00::1:443", {}, "fd00::2", {}));
}

TEST(TypedFlow, SaysWhatIsWrong) {
    const auto what = [](const char* protocol, const char* src, const char* dst) {
        const auto parsed = parse_typed_flow(protocol, src, dst);
        if (parsed) return std::string("nothing");
        EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
        return parsed.error().what;
    };
    EXPECT_THAT(what("tpc", "10.0.0.1:1", "10.0.0.2:2"), HasSubstr("\"tpc\" is no IP protocol"));
    EXPECT_THAT(what("arp", "10.0.0.1", "10.0.0.2"), HasSubstr("no IP protocol"));
    EXPECT_THAT(what("256", "10.0.0.1", "10.0.0.2"), HasSubstr("no IP protocol"));
    EXPECT_THAT(what("tcp", "10.0.0:1", "10.0.0.2:2"), HasSubstr("\"10.0.0:1\" is no address"));
    EXPECT_THAT(what("tcp", "10.0.0.1:65536", "10.0.0.2:2"), HasSubstr("10.0.0.1:65536"));
    EXPECT_THAT(what("tcp", "10.0.0.1:", "10.0.0.2:2"), HasSubstr("no address"));
    EXPECT_THAT(what("tcp", "10.0.0.1:-1", "10.0.0.2:2"), HasSubstr("no address"));
    EXPECT_THAT(what("tcp", "[fd00::1:1", "[fd00::2]:2"), HasSubstr("no address"));
    EXPECT_THAT(what("tcp", "[]:1", "[fd00::2]:2"), HasSubstr("no address"));
    EXPECT_THAT(what("tcp", "", ""), HasSubstr("no address"));
    EXPECT_THAT(what("tcp", "10.0.0.1:1", "[fd00::2]:2"), HasSubstr("two families"));
    EXPECT_THAT(what("gre", "10.0.0.1:1", "10.0.0.2"), HasSubstr("gre has no ports"));
}

TEST(FlowLine, ReadsListsAndSs) {
    const auto line = [](std::string_view text) { return parse_flow_line(text).value(); };
    EXPECT_EQ(line("  tcp  10.0.0.1:40000   10.0.0.2:443 \r"), flow(6, "10.0.0.1", 40000, "10.0.0.2", 443));
    EXPECT_EQ(line("tcp 10.0.0.1:40000 -> 10.0.0.2:443 # web"), flow(6, "10.0.0.1", 40000, "10.0.0.2", 443));
    // Lines of iproute2's ss 6.1: `ss -Htun`, with its columns and with -p's.
    EXPECT_EQ(line("tcp   ESTAB  0      0               10.77.0.1:44646          10.77.0.2:5301 "),
              flow(6, "10.77.0.1", 44646, "10.77.0.2", 5301));
    EXPECT_EQ(line("udp   ESTAB  0      0      10.0.2.15%ens3:68         10.0.2.2:67    "
                   "users:((\"dhclient\",pid=9,fd=6))"),
              flow(17, "10.0.2.15", 68, "10.0.2.2", 67));
    EXPECT_EQ(line("tcp   TIME-WAIT 0   0      [::ffff:10.0.0.1]:22  [::ffff:10.0.0.9]:50122"),
              flow(6, "10.0.0.1", 22, "10.0.0.9", 50122));
    EXPECT_EQ(line("tcp   FIN-WAIT-2 0  0      [fd77::1]:22  [fd77::2]:50122"),
              flow(6, "fd77::1", 22, "fd77::2", 50122));
    EXPECT_EQ(line("udp   ESTAB 0  0  [fe80::1]%eth0:546  [fe80::2]%eth0:547"),
              flow(17, "fe80::1", 546, "fe80::2", 547));
    // Nothing to predict.
    for (const char* nothing :
         {"", "   ", "# a comment", "Netid State Recv-Q Send-Q Local Address:Port Peer Address:Port",
          "udp   UNCONN 0 0 0.0.0.0:68 0.0.0.0:*", "tcp   LISTEN 0 128 *:22 *:*",
          "tcp   LISTEN 0 128 [::]:22 [::]:*"})
        EXPECT_EQ(line(nothing), std::nullopt) << nothing;
}

TEST(FlowLine, RejectsTheRest) {
    for (const char* wrong :
         {"tcp", "tcp 10.0.0.1:1", "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2", "tcp 10.0.0.1:1 => 10.0.0.2:2",
          "tcp ESTAB 0 0 nonsense 10.0.0.2:2", "\x01\x02 \xff \xfe"})
        EXPECT_FALSE(parse_flow_line(wrong)) << wrong;
    EXPECT_FALSE(parse_flow_line(std::string(100'000, 'x')));
}

TEST(FlowLine, ReadsItsOwnText) {
    for (const TypedFlow& typed :
         {flow(6, "10.0.0.1", 40000, "10.0.0.2", 443), flow(17, "fd00::1", 1, "fd00::2", 2),
          flow(47, "10.0.0.1", {}, "10.0.0.2", {}), flow(89, "fd00::1", {}, "fd00::2", {})})
        EXPECT_EQ(parse_flow_line(to_text(typed)).value(), typed) << to_text(typed);
}

TEST(TypedFlow, KnowsWhatIsMissingForPorts) {
    EXPECT_THAT(missing_for_ports(flow(6, "10.0.0.1", {}, "10.0.0.2", 443)), HasSubstr("source port"));
    EXPECT_THAT(missing_for_ports(flow(6, "10.0.0.1", 1, "10.0.0.2", {})), HasSubstr("destination port"));
    EXPECT_EQ(missing_for_ports(flow(6, "10.0.0.1", 1, "10.0.0.2", 2)), "");
    EXPECT_EQ(missing_for_ports(flow(47, "10.0.0.1", {}, "10.0.0.2", {})), "");
    TypedFlow esp = flow(50, "10.0.0.1", {}, "10.0.0.2", {});
    EXPECT_THAT(missing_for_ports(esp), HasSubstr("SPI"));
    esp.spi = 0x11223344;
    EXPECT_EQ(missing_for_ports(esp), "");
    EXPECT_EQ(to_tuple(esp).src_port, 0x1122);
    EXPECT_EQ(to_tuple(esp).dst_port, 0x3344);
    TypedFlow ping = flow(1, "10.0.0.1", {}, "10.0.0.2", {});
    EXPECT_THAT(missing_for_ports(ping), HasSubstr("ICMP type"));
    ping.icmp_type = 8;
    EXPECT_THAT(missing_for_ports(ping), HasSubstr("ICMP id"));
    ping.icmp_id = 0;
    EXPECT_EQ(missing_for_ports(ping), "");
    ping.icmp_type = 135;
    ping.icmp_id.reset();
    EXPECT_EQ(missing_for_ports(ping), "");
}

} // namespace
} // namespace bondtrace
