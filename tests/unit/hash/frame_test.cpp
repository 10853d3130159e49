// SPDX-License-Identifier: GPL-2.0-or-later
// Corners of the two parsers. Expected values are hashes of frames that take part in fewer rules ("as if the
// ports were 0"), by what bond_flow_ip() and __skb_flow_dissect() do.
#include "tests/unit/hash/frames.h"

#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

constexpr std::string_view a4 = "10.0.0.1", b4 = "10.0.0.2", c4 = "192.168.7.3", d4 = "192.168.9.4";
constexpr std::string_view a6 = "2001:db8::1", b6 = "2001:db8::2", c6 = "fd00::3:4", d6 = "fd00::5:9";
constexpr HashPolicy l2 = HashPolicy::layer2, l23 = HashPolicy::layer23, l34 = HashPolicy::layer34,
                     e23 = HashPolicy::encap23, e34 = HashPolicy::encap34;

// Same Ethernet header and addresses, nothing else.
Bytes bare4() {
    return ethernet(0x0800) + ipv4(253, a4, b4);
}
Bytes bare6() {
    return ethernet(0x86dd) + ipv6(59, a6, b6);
}
Bytes udp4() {
    return ethernet(0x0800) + ipv4(17, a4, b4) + ports(1000, 2000);
}
Bytes udp6() {
    return ethernet(0x86dd) + ipv6(17, a6, b6) + ports(1000, 2000);
}

Bytes cut(Bytes bytes, std::size_t length) {
    bytes.resize(length);
    return bytes;
}

TEST(Frame, ShorterThanAnEthernetHeader) {
    for (std::size_t length = 0; length < 14; ++length)
        for (int policy = 0; policy <= 5; ++policy)
            EXPECT_EQ(
                hash(cut(udp4(), length), static_cast<HashPolicy>(policy), newest_era, std::uint16_t{100}),
                0U);
}

TEST(Frame, CutIpHeaderIsLayer2) {
    for (const HashPolicy policy : {l23, l34, e23, e34}) {
        for (std::size_t length = 14; length < 34; ++length)
            EXPECT_EQ(hash(cut(udp4(), length), policy), hash(udp4(), l2)) << length;
        for (std::size_t length = 14; length < 54; ++length)
            EXPECT_EQ(hash(cut(udp6(), length), policy), hash(udp6(), l2)) << length;
    }
}

TEST(Frame, CutPortsAreZero) {
    for (const HashPolicy policy : {l23, l34, e23, e34}) {
        for (std::size_t length = 34; length < 38; ++length)
            EXPECT_EQ(hash(cut(udp4(), length), policy), hash(bare4(), policy)) << length;
        EXPECT_EQ(hash(cut(udp4(), 38), policy), hash(udp4(), policy));
        for (std::size_t length = 54; length < 58; ++length)
            EXPECT_EQ(hash(cut(udp6(), length), policy), hash(bare6(), policy)) << length;
    }
    EXPECT_NE(hash(udp4(), l34), hash(bare4(), l34));
}

TEST(Frame, ProtocolsWithPorts) {
    for (const unsigned protocol : {6U, 17U, 33U, 50U, 132U, 136U})
        for (const HashPolicy policy : {l34, e34})
            EXPECT_EQ(hash(ethernet(0x0800) + ipv4(protocol, a4, b4) + ports(1000, 2000), policy),
                      hash(udp4(), policy));
    // AH: the SPI is behind four other bytes.
    const Bytes ah = ethernet(0x0800) + ipv4(51, a4, b4) + hex("06 04 0000") + be16(1000) + be16(2000);
    EXPECT_EQ(hash(ah, l34), hash(udp4(), l34));
    EXPECT_EQ(hash(ah, e34), hash(udp4(), e34));
    for (const unsigned protocol : {2U, 89U, 115U, 135U, 253U})
        EXPECT_EQ(hash(ethernet(0x0800) + ipv4(protocol, a4, b4) + ports(1000, 2000), l34),
                  hash(bare4(), l34));
}

TEST(Frame, FragmentsHaveNoPorts) {
    for (const unsigned fragment : {0x2000U, 0x0001U, 0x3fffU, 0x1fffU, 0x20b9U}) {
        const Bytes frame = ethernet(0x0800) + ipv4(17, a4, b4, fragment) + ports(1000, 2000);
        EXPECT_EQ(hash(frame, l34), hash(bare4(), l34)) << fragment;
        EXPECT_EQ(hash(frame, e34), hash(bare4(), e34)) << fragment;
        // An ICMP fragment has no id, and no embedded packet either.
        const Bytes icmp =
            ethernet(0x0800) + ipv4(1, a4, b4, fragment) + hex("0301 0000 00000000") + ipv4(17, c4, d4);
        EXPECT_EQ(hash(icmp, l34), hash(bare4(), l34)) << fragment;
    }
    // "Don't fragment" and the reserved bit are not fragments.
    for (const unsigned flags : {0x4000U, 0x8000U, 0xc000U})
        EXPECT_EQ(hash(ethernet(0x0800) + ipv4(17, a4, b4, flags) + ports(1000, 2000), l34),
                  hash(udp4(), l34));
    const Bytes v6 = ethernet(0x86dd) + ipv6(44, a6, b6) + hex("1100 0000 00000001") + ports(1000, 2000);
    EXPECT_EQ(hash(v6, l34), hash(bare6(), l34));
    EXPECT_EQ(hash(v6, e34), hash(bare6(), e34));
}

TEST(Frame, IcmpIds) {
    const auto icmp = [](std::string_view text) { return ethernet(0x0800) + ipv4(1, a4, b4) + hex(text); };
    for (const HashPolicy policy : {l34, e34}) {
        for (const char* type : {"00", "08", "0d", "0e", "80", "81"}) {
            const std::string start = std::string(type) + "00 0000 ";
            EXPECT_EQ(hash(icmp(start + "0000 0001"), policy), hash(icmp(start + "0001 0001"), policy))
                << type;
            EXPECT_NE(hash(icmp(start + "0002 0001"), policy), hash(icmp(start + "0001 0001"), policy))
                << type;
        }
        for (const char* type : {"09", "0a", "0f", "11", "85", "87"})
            EXPECT_EQ(hash(icmp(std::string(type) + "00 0000 1234 0001"), policy), hash(bare4(), policy))
                << type;
        EXPECT_EQ(hash(cut(icmp("0800 0000 1234 0001"), 41), policy), hash(bare4(), policy));
    }
    // Older kernels took no notice of ICMP.
    EXPECT_EQ(hash(icmp("0800 0000 1234 0001"), l34, era("5.4")), hash(bare4(), l34, era("5.4")));
}

TEST(Frame, IcmpErrorsAreHashedByTheReportedPacket) {
    const Bytes reported = ethernet(0x0800) + ipv4(6, c4, d4) + ports(5, 6);
    for (const char* type : {"03", "04", "05", "0b", "0c"}) {
        const Bytes error = ethernet(0x0800) + ipv4(1, a4, b4) + hex(std::string(type) + "01 0000 00000000") +
                            ipv4(6, c4, d4) + ports(5, 6);
        EXPECT_EQ(hash(error, l34), hash(reported, l34)) << type;
        EXPECT_EQ(hash(error, l23), hash(reported, l23)) << type;
        // The dissector behind encap policies does not look into it.
        EXPECT_EQ(hash(error, e34), hash(bare4(), e34)) << type;
        // Nor did any policy before 5.5.
        EXPECT_EQ(hash(error, l34, era("4.19")), hash(bare4(), l34, era("4.19"))) << type;
        // The reported header is cut.
        EXPECT_EQ(hash(cut(error, 14 + 20 + 8 + 19), l34), hash(error, l2));
        EXPECT_EQ(hash(cut(error, 14 + 20 + 8 + 19), l23), hash(error, l2));
        // Only its ports are.
        EXPECT_EQ(hash(cut(error, 14 + 20 + 8 + 23), l34), hash(ethernet(0x0800) + ipv4(253, c4, d4), l34));
    }
    for (const char* type : {"01", "02", "03", "04"}) {
        const Bytes error = ethernet(0x86dd) + ipv6(58, a6, b6) +
                            hex(std::string(type) + "00 0000 00000000") + ipv6(17, c6, d6) + ports(5, 6);
        EXPECT_EQ(hash(error, l34), hash(ethernet(0x86dd) + ipv6(17, c6, d6) + ports(5, 6), l34)) << type;
    }
    // A reported fragment, and a reported ICMP packet, have no ports.
    const Bytes fragment = ethernet(0x0800) + ipv4(1, a4, b4) + hex("0b01 0000 00000000") +
                           ipv4(17, c4, d4, 0x2000) + ports(5, 6);
    EXPECT_EQ(hash(fragment, l34), hash(ethernet(0x0800) + ipv4(253, c4, d4), l34));
    const Bytes echo = ethernet(0x0800) + ipv4(1, a4, b4) + hex("0b01 0000 00000000") + ipv4(1, c4, d4) +
                       hex("0800 0000 0005 0006");
    EXPECT_EQ(hash(echo, l34), hash(ethernet(0x0800) + ipv4(253, c4, d4), l34));
}

// The driver does not check the header length: the "ports" of a packet with a length of 0 are its first four
// bytes.
TEST(Frame, Ipv4HeaderLengthBelowTheMinimum) {
    Bytes frame = udp4();
    frame[14] = 0x40;
    const auto first = hex("40000028");
    EXPECT_EQ(hash(frame, l34), hash(ethernet(0x0800) + ipv4(17, a4, b4) + first, l34));
    EXPECT_EQ(hash(frame, l23), hash(udp4(), l23));
    // The dissector does.
    EXPECT_EQ(hash(frame, e34), hash(udp4(), l2));
    EXPECT_EQ(hash(frame, e23), hash(udp4(), l2));
}

TEST(Frame, ExtensionHeadersMatterToEncapOnly) {
    for (const unsigned header : {0U, 43U, 60U}) {
        const Bytes frame = ethernet(0x86dd) + ipv6(header, a6, b6) +
                            hex("1101 0000 00000000 0000000000000000") + ports(1000, 2000);
        EXPECT_EQ(hash(frame, l34), hash(bare6(), l34));
        EXPECT_EQ(hash(frame, e34), hash(udp6(), e34));
        EXPECT_EQ(hash(frame, e23), hash(udp6(), e23));
        // A cut extension header is a failure of the dissector, but does not exist for the other parser.
        EXPECT_EQ(hash(cut(frame, 55), e34), hash(udp6(), l2));
        EXPECT_EQ(hash(cut(frame, 55), l34), hash(bare6(), l34));
    }
    // In IPv4 the numbers mean nothing.
    EXPECT_EQ(hash(ethernet(0x0800) + ipv4(43, a4, b4) + hex("1100 0000 00000000") + ports(1000, 2000), e34),
              hash(bare4(), e34));
}

// 15 headers are allowed. The 16th ends the walk as a success, after the ports behind it were read.
TEST(Frame, HeaderAllowance) {
    const auto chain = [](unsigned headers) {
        Bytes frame = ethernet(0x86dd) + ipv6(60, a6, b6);
        for (unsigned i = 1; i < headers; ++i)
            frame = frame + hex("3c00 0000 00000000");
        return frame + hex("1100 0000 00000000") + ports(1000, 2000);
    };
    for (unsigned headers = 1; headers <= 16; ++headers)
        EXPECT_EQ(hash(chain(headers), e34), hash(udp6(), e34)) << headers;
    EXPECT_EQ(hash(chain(17), e34), hash(bare6(), e34));
    // Tags count as well: behind the 16th no address is found, which is "good" without any.
    const auto tags = [](unsigned count) {
        Bytes frame = ethernet(0x8100);
        for (unsigned i = 1; i < count; ++i)
            frame = frame + hex("0001 8100");
        return frame + hex("0001 0800") + ipv4(17, a4, b4) + ports(1000, 2000);
    };
    EXPECT_EQ(hash(tags(15), e34), hash(udp4(), e34));
    EXPECT_EQ(hash(tags(16), e34), 0U);
    // On older kernels the accelerated tag is one of them.
    EXPECT_EQ(hash(tags(14), e34, era("5.10"), std::uint16_t{5}), hash(udp4(), e34, era("5.10")));
    EXPECT_EQ(hash(tags(15), e34, era("5.10"), std::uint16_t{5}), 0U);
}

TEST(Frame, TagsInTheFrame) {
    const Bytes tagged = ethernet(0x8100) + hex("6064 0800") + ipv4(17, a4, b4) + ports(1000, 2000);
    const Bytes twice = ethernet(0x88a8) + hex("0001 8100 6064 0800") + ipv4(17, a4, b4) + ports(1000, 2000);
    for (const auto& frame : {tagged, twice}) {
        EXPECT_EQ(hash(frame, l34), hash(frame, l2));
        EXPECT_EQ(hash(frame, l23), hash(frame, l2));
        EXPECT_EQ(hash(frame, e34), hash(udp4(), e34));
        // Sent on this host the network header is behind the tags; the dissector reads the IP header as a tag
        // and finds the ethertype 0x0028, the total length.
        EXPECT_EQ(hash(frame, e34, newest_era, std::nullopt, FrameSource::local), hash(frame, l2));
        EXPECT_EQ(hash(frame, e23, newest_era, std::nullopt, FrameSource::local), hash(frame, l2));
        // An accelerated tag before them changes nothing but vlan+srcmac.
        EXPECT_EQ(hash(frame, e34, newest_era, std::uint16_t{7}), hash(udp4(), e34));
        EXPECT_EQ(hash(frame, e34, era("5.10"), std::uint16_t{7}), hash(udp4(), e34, era("5.10")));
    }
    EXPECT_EQ(hash(tagged, HashPolicy::vlan_srcmac, newest_era, std::uint16_t{0x6064}), 0x00026a65U);
    EXPECT_EQ(hash(tagged, HashPolicy::vlan_srcmac), 0x00020a01U);
    EXPECT_EQ(hash(cut(tagged, 17), e34), hash(tagged, l2));
}

// A tag inside a tunnel, on a packet that has an accelerated tag: from 5.15 on it is taken for the
// accelerated one, and IPv4 is looked for where the inner tag stands.
TEST(Frame, TagInATunnelBesideAnAcceleratedTag) {
    const Bytes frame = ethernet(0x0800) + ipv4(47, a4, b4) + hex("0000 8100") + hex("0064 0800") +
                        ipv4(17, c4, d4) + ports(5, 6);
    const Bytes inner = ethernet(0x0800) + ipv4(17, c4, d4) + ports(5, 6);
    EXPECT_EQ(hash(frame, e34), hash(inner, e34));
    EXPECT_EQ(hash(frame, e34, era("5.10"), std::uint16_t{7}), hash(inner, e34, era("5.10")));
    // 0x00 is no IPv4 header length.
    EXPECT_EQ(hash(frame, e34, newest_era, std::uint16_t{7}), hash(frame, l2));
}

TEST(Frame, OriginLocalFollowsAtMostSevenTags) {
    Bytes frame = ethernet(0x8100);
    for (int i = 1; i < 7; ++i)
        frame = frame + hex("0001 8100");
    frame = frame + hex("0001 0800") + ipv4(17, a4, b4);
    EXPECT_EQ(make_frame(frame, std::nullopt, FrameSource::local).network_offset, 14U + 7 * 4);
    EXPECT_EQ(make_frame(frame, std::nullopt, FrameSource::wire).network_offset, 14U);
    EXPECT_EQ(make_frame(cut(frame, 14 + 7 * 4 - 1), std::nullopt, FrameSource::local).network_offset, 14U);
    EXPECT_EQ(make_frame(ethernet(0x8100) + hex("0001 8100") + Bytes(frame.begin() + 14, frame.end()),
                         std::nullopt, FrameSource::local)
                  .network_offset,
              14U);
    EXPECT_EQ(
        make_frame(ethernet(0x8100) + hex("0001 0000"), std::nullopt, FrameSource::local).network_offset,
        14U);
}

TEST(Frame, Tunnels) {
    const Bytes inner4 = ipv4(17, c4, d4) + ports(5, 6);
    const Bytes inner6 = ipv6(17, c6, d6) + ports(5, 6);
    const std::uint32_t hash4 = hash(ethernet(0x0800) + inner4, e34);
    const std::uint32_t hash6 = hash(ethernet(0x86dd) + inner6, e34);
    const auto over4 = [](unsigned protocol, const Bytes& rest) {
        return ethernet(0x0800) + ipv4(protocol, a4, b4) + rest;
    };
    const auto over6 = [](unsigned protocol, const Bytes& rest) {
        return ethernet(0x86dd) + ipv6(protocol, a6, b6) + rest;
    };
    EXPECT_EQ(hash(over4(4, inner4), e34), hash4);
    EXPECT_EQ(hash(over4(41, inner6), e34), hash6);
    EXPECT_EQ(hash(over6(4, inner4), e34), hash4);
    EXPECT_EQ(hash(over6(41, inner6), e34), hash6);
    EXPECT_EQ(hash(over4(47, hex("0000 0800") + inner4), e34), hash4);
    EXPECT_EQ(hash(over4(47, hex("b000 0800 11112222 00000007 00000001") + inner4), e34), hash4);
    EXPECT_EQ(hash(over4(47, hex("0000 86dd") + inner6), e34), hash6);
    EXPECT_EQ(hash(over4(47, hex("0000 6558") + ethernet(0x0800) + inner4), e34), hash4);
    EXPECT_EQ(hash(over4(47, hex("3081 880b 00000007 00000001 00000002 ff030021") + inner4), e34), hash4);
    EXPECT_EQ(hash(over4(47, hex("2001 880b 00000007 ff030057") + inner6), e34), hash6);
    // Routing, a version above 1, and version 1 that is not PPTP end the walk at the outer addresses.
    for (const char* header : {"4000 0800", "0002 0800", "0001 880b", "2001 0800"})
        EXPECT_EQ(hash(over4(47, hex(header) + hex("00000007") + inner4), e34), hash(bare4(), e34)) << header;
    // A payload that the dissector does not know is a failure.
    EXPECT_EQ(hash(over4(47, hex("0000 88be") + inner4), e34), hash(udp4(), l2));
    EXPECT_EQ(hash(over4(47, hex("2001 880b 00000007 ff03c021") + inner4), e34), hash(udp4(), l2));
    // A cut inner header as well, even though the outer one is fine.
    EXPECT_EQ(hash(cut(over4(4, inner4), 14 + 20 + 19), e34), hash(udp4(), l2));
    // A fragment of the outer packet is not entered; one of the inner packet counts for its addresses.
    EXPECT_EQ(hash(ethernet(0x0800) + ipv4(4, a4, b4, 0x2000) + inner4, e34), hash(bare4(), e34));
    EXPECT_EQ(hash(over4(4, ipv4(17, c4, d4, 0x2000) + ports(5, 6)), e34),
              hash(ethernet(0x0800) + ipv4(253, c4, d4), e34));
    // MPLS in IP and inside GRE keep the outer addresses.
    EXPECT_EQ(hash(over4(137, hex("00010140") + inner4), e34), hash(bare4(), e34));
    EXPECT_EQ(hash(over4(47, hex("0000 8847 00010140") + inner4), e34), hash(bare4(), e34));
    // The other parser knows none of this.
    EXPECT_EQ(hash(over4(4, inner4), l34), hash(bare4(), l34));
    EXPECT_EQ(hash(over4(47, hex("0000 0800") + inner4), l34), hash(bare4(), l34));
}

TEST(Frame, OtherEthertypes) {
    const Bytes packet = ipv4(17, a4, b4) + ports(1000, 2000);
    const std::uint32_t wanted = hash(udp4(), e34);
    EXPECT_EQ(hash(ethernet(0x8864) + hex("1100 0001 0022 0021") + packet, e34), wanted);
    EXPECT_EQ(hash(ethernet(0x8864) + hex("1100 0001 0022 0057") + ipv6(17, a6, b6) + ports(1000, 2000), e34),
              hash(udp6(), e34));
    EXPECT_EQ(hash(ethernet(0x8864) + hex("1100 0001 0022 c021") + packet, e34),
              0U); // LCP: good, without addresses
    EXPECT_EQ(hash(ethernet(0x8864) + hex("1100 0001 0022 2145") + packet, e34),
              hash(ethernet(0x8864), l2)); // compressed
    EXPECT_EQ(hash(ethernet(0x8864) + hex("1109 0001 0022 0021") + packet, e34),
              hash(ethernet(0x8864), l2)); // discovery
    EXPECT_EQ(hash(ethernet(0x892f) + hex("0001 0002 0800") + packet, e34), wanted);
    EXPECT_EQ(hash(ethernet(0x88fb) + hex("0001 0002 0800") + packet, e34), wanted);
    EXPECT_EQ(hash(ethernet(0x892f) + hex("0001 0002 0800") + packet, e34, era("5.10")),
              hash(ethernet(0x892f), l2, era("5.10")));
    const Bytes batman = hex("40 0f 32 01 020000000c03") + ethernet(0x0800) + packet;
    EXPECT_EQ(hash(ethernet(0x4305) + batman, e34), wanted);
    EXPECT_EQ(hash(ethernet(0x4305) + hex("41") + Bytes(batman.begin() + 1, batman.end()), e34),
              hash(ethernet(0x4305), l2));
    // Good without addresses, whatever follows.
    for (const unsigned type : {0x0806U, 0x8035U, 0x8847U, 0x8848U}) {
        EXPECT_EQ(hash(ethernet(type), e34), 0U) << type;
        EXPECT_NE(hash(ethernet(type), e23), hash(ethernet(type), l2)) << type;
        EXPECT_EQ(hash(ethernet(type), l34), hash(ethernet(type), l2)) << type;
    }
    // Good when long enough.
    const auto padded = [](unsigned type, std::size_t length) { return cut(ethernet(type), 14 + length); };
    EXPECT_EQ(hash(padded(0x8906, 38), e34), 0U);
    EXPECT_EQ(hash(padded(0x8906, 37), e34), hash(ethernet(0x8906), l2));
    EXPECT_EQ(hash(padded(0x88f7, 34), e34), 0U);
    EXPECT_EQ(hash(padded(0x88f7, 33), e34), hash(ethernet(0x88f7), l2));
    EXPECT_EQ(hash(padded(0x88f7, 34), e34, era("5.10")), hash(ethernet(0x88f7), l2, era("5.10")));
    EXPECT_EQ(hash(padded(0x8902, 0), e34, era("6.5")), 0U);
    EXPECT_EQ(hash(padded(0x8902, 0), e34, era("6.1")), hash(ethernet(0x8902), l2));
    // TIPC: the fourth word is the key, there is no destination.
    const Bytes tipc = ethernet(0x88ca) + hex("00000000 00000000 00000000 0a000001");
    EXPECT_EQ(hash(tipc, e34), fold(0, native_word(0x0a, 0, 0, 1), 0, true));
    EXPECT_EQ(hash(cut(tipc, 29), e34), hash(tipc, l2));
    EXPECT_FALSE(encap_inputs(make_frame(tipc), newest_era).random);
    const Bytes keep_alive = ethernet(0x88ca) + hex("0e080000 00000000 00000000 0a000001");
    EXPECT_TRUE(encap_inputs(make_frame(keep_alive), newest_era).random);
}

TEST(Frame, WhatWasFoundIsTold) {
    EXPECT_EQ(flow_inputs(make_frame(udp4()), newest_era).parsed, Parsed::ok);
    EXPECT_EQ(flow_inputs(make_frame(ethernet(0x88cc)), newest_era).parsed, Parsed::other_protocol);
    EXPECT_EQ(flow_inputs(make_frame(cut(udp4(), 20)), newest_era).parsed, Parsed::cut);
    EXPECT_EQ(hash_inputs(make_frame(udp4()), l2, newest_era).flow.parsed, Parsed::not_asked);
    EXPECT_EQ(to_text(Parsed::ok), "");
    for (const Parsed parsed :
         {Parsed::not_asked, Parsed::other_protocol, Parsed::cut, Parsed::malformed, Parsed::embedded_cut})
        EXPECT_GT(to_text(parsed).size(), 10U);
    const Bytes error = ethernet(0x0800) + ipv4(1, a4, b4) + hex("0301 0000 00000000") + ipv4(6, c4, d4);
    EXPECT_TRUE(flow_inputs(make_frame(error), newest_era).embedded);
    const Bytes tunnel = ethernet(0x0800) + ipv4(4, a4, b4) + ipv4(6, c4, d4);
    EXPECT_TRUE(encap_inputs(make_frame(tunnel), newest_era).tunnelled);
    EXPECT_FALSE(encap_inputs(make_frame(udp4()), newest_era).tunnelled);
}

} // namespace
} // namespace bondtrace::test
