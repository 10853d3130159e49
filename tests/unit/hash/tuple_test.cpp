// SPDX-License-Identifier: GPL-2.0-or-later
// Typed inputs must give what the frames of the same flow give, or say why they cannot.
#include "tests/unit/hash/frames.h"
#include "user/hash/tuple.h"

#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

constexpr MacAddress src_mac{0x02, 0, 0, 0, 0x0a, 0x01};
constexpr MacAddress dst_mac{0x02, 0, 0, 0, 0x0b, 0x02};
constexpr std::array all_policies{HashPolicy::layer2,  HashPolicy::layer34, HashPolicy::layer23,
                                  HashPolicy::encap23, HashPolicy::encap34, HashPolicy::vlan_srcmac};

FlowTuple tuple_of(std::uint8_t protocol, std::string_view src, unsigned sport, std::string_view dst,
                   unsigned dport) {
    FlowTuple tuple = make_tuple(protocol, parse_ip(src).value(), static_cast<std::uint16_t>(sport),
                                 parse_ip(dst).value(), static_cast<std::uint16_t>(dport));
    tuple.src_mac = src_mac;
    tuple.dst_mac = dst_mac;
    return tuple;
}

void expect_same(const FlowTuple& tuple, const Bytes& frame, const Era& when = newest_era) {
    for (const HashPolicy policy : all_policies) {
        SCOPED_TRACE(static_cast<int>(policy));
        const auto inputs = hash_inputs(tuple, policy, when);
        ASSERT_TRUE(inputs) << inputs.error();
        EXPECT_EQ(hash_of(*inputs, policy, when), hash(frame, policy, when, tuple.tci));
    }
}

void expect_unknown(const FlowTuple& tuple, std::initializer_list<HashPolicy> policies,
                    const Era& when = newest_era) {
    for (const HashPolicy policy : policies) {
        const auto inputs = hash_inputs(tuple, policy, when);
        ASSERT_FALSE(inputs) << static_cast<int>(policy);
        EXPECT_GT(inputs.error().size(), 10U);
    }
}

TEST(Tuple, PortsOfBothFamilies) {
    for (const char* name : {"4.14", "5.10", "5.15", "6.12"}) {
        for (const std::uint8_t protocol : std::initializer_list<std::uint8_t>{6, 17, 33, 132, 136}) {
            expect_same(tuple_of(protocol, "10.0.0.1", 40000, "10.0.0.2", 443),
                        ethernet(0x0800) + ipv4(protocol, "10.0.0.1", "10.0.0.2") + ports(40000, 443),
                        era(name));
            expect_same(tuple_of(protocol, "2001:db8::1", 40000, "2001:db8::2", 443),
                        ethernet(0x86dd) + ipv6(protocol, "2001:db8::1", "2001:db8::2") + ports(40000, 443),
                        era(name));
        }
    }
}

TEST(Tuple, AcceleratedTag) {
    FlowTuple tuple = tuple_of(6, "10.0.0.1", 40000, "10.0.0.2", 443);
    tuple.tci = 0x6064;
    expect_same(tuple, ethernet(0x0800) + ipv4(6, "10.0.0.1", "10.0.0.2") + ports(40000, 443));
}

TEST(Tuple, Spi) {
    expect_same(tuple_of(50, "10.0.0.1", 0x1122, "10.0.0.2", 0x3344),
                ethernet(0x0800) + ipv4(50, "10.0.0.1", "10.0.0.2") + hex("11223344 00000001"));
    expect_same(tuple_of(51, "10.0.0.1", 0x1122, "10.0.0.2", 0x3344),
                ethernet(0x0800) + ipv4(51, "10.0.0.1", "10.0.0.2") + hex("06040000 11223344 00000001"));
}

TEST(Tuple, OtherProtocolsHaveNoPorts) {
    for (const std::uint8_t protocol : std::initializer_list<std::uint8_t>{2, 89, 112, 137})
        expect_same(tuple_of(protocol, "10.0.0.1", 7, "10.0.0.2", 9),
                    ethernet(0x0800) + ipv4(protocol, "10.0.0.1", "10.0.0.2") + ports(1, 2));
}

TEST(Tuple, Icmp) {
    for (const char* name : {"5.4", "5.10", "6.12"}) {
        for (const std::uint16_t id : {std::uint16_t{0}, std::uint16_t{0x1234}}) {
            FlowTuple tuple = tuple_of(1, "10.0.0.1", 0, "10.0.0.2", 0);
            tuple.icmp_type = 8;
            tuple.icmp_id = id;
            expect_same(tuple,
                        ethernet(0x0800) + ipv4(1, "10.0.0.1", "10.0.0.2") + hex("0800 0000") + be16(id) +
                            be16(1),
                        era(name));
        }
    }
    FlowTuple solicitation = tuple_of(58, "fe80::1", 0, "ff02::1:ff00:1", 0);
    solicitation.icmp_type = 135;
    solicitation.icmp_id = 0x4444;
    expect_same(solicitation,
                ethernet(0x86dd) + ipv6(58, "fe80::1", "ff02::1:ff00:1") + hex("8700 0000 44440000"));
    FlowTuple error = tuple_of(1, "10.0.0.1", 0, "10.0.0.2", 0);
    error.icmp_type = 3;
    expect_unknown(error, {HashPolicy::layer23, HashPolicy::layer34});
    const Bytes frame = ethernet(0x0800) + ipv4(1, "10.0.0.1", "10.0.0.2") + hex("0301 0000 00000000") +
                        ipv4(6, "10.9.0.1", "10.9.0.2");
    EXPECT_EQ(hash_of(*hash_inputs(error, HashPolicy::encap34, newest_era), HashPolicy::encap34, newest_era),
              hash(frame, HashPolicy::encap34));
    expect_same(error, frame, era("5.4"));
}

TEST(Tuple, FragmentsAndExtensionHeaders) {
    FlowTuple fragment = tuple_of(17, "10.0.0.1", 0, "10.0.0.2", 0);
    fragment.fragment = true;
    const Bytes udp = ethernet(0x0800) + ipv4(17, "10.0.0.1", "10.0.0.2", 0x2000) + ports(1000, 2000);
    expect_same(fragment, udp);
    fragment.protocol = 4; // a fragment of a tunnel's packet is not entered
    expect_same(fragment, ethernet(0x0800) + ipv4(4, "10.0.0.1", "10.0.0.2", 0x2000) + udp);
    FlowTuple fragment6 = tuple_of(17, "2001:db8::1", 0, "2001:db8::2", 0);
    fragment6.fragment = true;
    fragment6.extension_headers = true;
    expect_same(fragment6, ethernet(0x86dd) + ipv6(44, "2001:db8::1", "2001:db8::2") +
                               hex("1100 0001 00000001") + ports(1000, 2000));
    FlowTuple options = tuple_of(17, "2001:db8::1", 1000, "2001:db8::2", 2000);
    options.extension_headers = true;
    expect_same(options, ethernet(0x86dd) + ipv6(0, "2001:db8::1", "2001:db8::2") +
                             hex("1100 0104 00000000") + ports(1000, 2000));
    FlowTuple echo = options;
    echo.protocol = 58;
    echo.icmp_type = 128;
    echo.icmp_id = 7;
    expect_same(echo, ethernet(0x86dd) + ipv6(0, "2001:db8::1", "2001:db8::2") + hex("3a00 0104 00000000") +
                          hex("8000 0000 0007 0001"));
}

TEST(Tuple, OtherEthertypes) {
    for (const std::uint16_t type :
         std::initializer_list<std::uint16_t>{0x0806, 0x8035, 0x8847, 0x8848, 0x88cc, 0x05dc, 0x8902}) {
        FlowTuple tuple = tuple_of(0, "0.0.0.0", 0, "0.0.0.0", 0);
        tuple.ethertype = tuple.outer_ethertype = static_cast<std::uint16_t>(type);
        expect_same(tuple, ethernet(type) + hex("00010800060400010102030405060a000001"));
        expect_same(tuple, ethernet(type) + hex("00010800060400010102030405060a000001"), era("6.1"));
    }
    FlowTuple ptp = tuple_of(0, "0.0.0.0", 0, "0.0.0.0", 0);
    ptp.ethertype = ptp.outer_ethertype = 0x88f7;
    expect_same(ptp, ethernet(0x88f7) + Bytes(40), era("5.10"));
    expect_unknown(ptp, {HashPolicy::encap23, HashPolicy::encap34});
}

TEST(Tuple, TagInTheFrame) {
    FlowTuple tuple = tuple_of(17, "10.0.0.1", 1000, "10.0.0.2", 2000);
    tuple.outer_ethertype = 0x8100;
    tuple.tci = 100;
    const Bytes frame =
        ethernet(0x8100) + hex("0064 0800") + ipv4(17, "10.0.0.1", "10.0.0.2") + ports(1000, 2000);
    for (const HashPolicy policy :
         {HashPolicy::layer2, HashPolicy::layer23, HashPolicy::layer34, HashPolicy::vlan_srcmac})
        EXPECT_EQ(hash_of(*hash_inputs(tuple, policy, newest_era), policy, newest_era),
                  hash(frame, policy, newest_era, tuple.tci));
    expect_unknown(tuple, {HashPolicy::encap23, HashPolicy::encap34});
}

TEST(Tuple, WhatATupleCannotTell) {
    for (const std::uint8_t tunnel : std::initializer_list<std::uint8_t>{4, 41, 47})
        expect_unknown(tuple_of(tunnel, "10.0.0.1", 0, "10.0.0.2", 0),
                       {HashPolicy::encap23, HashPolicy::encap34});
    FlowTuple cut = tuple_of(6, "10.0.0.1", 0, "10.0.0.2", 0);
    cut.unparsed = true;
    expect_unknown(cut, {HashPolicy::layer23, HashPolicy::layer34, HashPolicy::encap23, HashPolicy::encap34});
    FlowTuple no_macs = tuple_of(6, "10.0.0.1", 40000, "10.0.0.2", 443);
    no_macs.dst_mac.reset();
    expect_unknown(no_macs, {HashPolicy::layer2, HashPolicy::layer23, HashPolicy::encap23});
    EXPECT_TRUE(hash_inputs(no_macs, HashPolicy::layer34, newest_era));
    EXPECT_TRUE(hash_inputs(no_macs, HashPolicy::encap34, newest_era));
    EXPECT_TRUE(hash_inputs(no_macs, HashPolicy::vlan_srcmac, newest_era));
    no_macs.src_mac.reset();
    expect_unknown(no_macs, {HashPolicy::vlan_srcmac});
}

} // namespace
} // namespace bondtrace::test
