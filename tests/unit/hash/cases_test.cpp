// SPDX-License-Identifier: GPL-2.0-or-later
// Distributions that people reported, and that were counted on bonds of real kernels: how many flows each
// slave got.
#include "tests/unit/hash/frames.h"

#include <array>
#include <functional>

#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

using Counts = std::vector<int>;

Counts count(const std::vector<Bytes>& frames, HashPolicy policy, std::uint32_t usable, const Era& when) {
    Counts counts(usable, 0);
    for (const Bytes& frame : frames)
        ++counts[index(frame, policy, usable, when)];
    return counts;
}

// UDP from 192.0.2.2 to a peer, from each port in turn.
std::vector<Bytes> from_ports(unsigned first, unsigned step, unsigned flows, unsigned to = 5001) {
    std::vector<Bytes> frames;
    for (unsigned i = 0; i < flows; ++i)
        frames.push_back(ethernet("00:00:5e:00:53:01", "00:00:5e:00:53:10", 0x0800) +
                         ipv4(17, "192.0.2.2", "192.0.2.1") + ports(first + i * step, to));
    return frames;
}

// A UDP packet to 198.51.100.`last` through a gateway.
Bytes through_gateway(unsigned last) {
    return ethernet("00:00:5e:00:53:01", "00:00:5e:00:53:10", 0x0800) +
           ipv4(17, "192.0.2.2", "198.51.100." + std::to_string(last)) + ports(40000, 5001);
}

// Four streams whose source ports are all even share a slave while the hash keeps its lowest bit.
TEST(Cases, EvenPorts) {
    const auto frames = from_ports(38986, 2, 4);
    EXPECT_EQ(count(frames, HashPolicy::layer34, 2, era("4.14")), (Counts{0, 4}));
    for (const char* name : {"4.15", "5.10", "6.12", "7.2"})
        EXPECT_EQ(count(frames, HashPolicy::layer34, 2, era(name)), (Counts{2, 2})) << name;
}

// Everything through one gateway under layer2. IPv6 takes the other slave since the ethertype is hashed in
// host order.
TEST(Cases, OneGateway) {
    std::vector<Bytes> frames;
    for (unsigned i = 1; i <= 64; ++i)
        frames.push_back(through_gateway(i));
    const Bytes v6 =
        ethernet("00:00:5e:00:53:01", "00:00:5e:00:53:10", 0x86dd) + ipv6(17, "2001:db8::1", "2001:db8::2");
    for (const char* name : {"5.10", "6.12", "7.2"})
        EXPECT_EQ(count(frames, HashPolicy::layer2, 2, era(name)), (Counts{0, 64})) << name;
    EXPECT_EQ(index(v6, HashPolicy::layer2, 2, era("5.10")), 1U);
    EXPECT_EQ(index(v6, HashPolicy::layer2, 2, era("6.12")), 0U);
}

// All flows of a VXLAN tunnel with one source port: no policy enters a UDP tunnel.
TEST(Cases, VxlanWithOneSourcePort) {
    std::vector<Bytes> frames;
    for (unsigned i = 0; i < 64; ++i)
        frames.push_back(ethernet("00:00:5e:00:53:01", "00:00:5e:00:53:10", 0x0800) +
                         ipv4(17, "192.0.2.2", "192.0.2.1") + ports(55555, 4789) + hex("08000000 00002a00") +
                         ethernet(0x0800) + ipv4(17, "203.0.113.2", "203.0.113.1") + ports(40000 + i, 9));
    for (const HashPolicy policy : {HashPolicy::layer34, HashPolicy::encap34})
        EXPECT_EQ(count(frames, policy, 2, newest_era), (Counts{0, 64}));
}

// A GRE or IPIP tunnel: layer3+4 sees one flow. The slave of the outer addresses under layer3+4, of the inner
// ones under encap2+3.
TEST(Cases, TunnelsBetweenTwoHosts) {
    std::vector<Bytes> gre;
    std::vector<Bytes> ipip;
    for (unsigned i = 0; i < 64; ++i) {
        const Bytes inner = ipv4(17, "203.0.113.2", "203.0.113.1") + ports(40000 + i, 9);
        const Bytes outer = ethernet("00:00:5e:00:53:01", "00:00:5e:00:53:10", 0x0800);
        gre.push_back(outer + ipv4(47, "192.0.2.2", "192.0.2.1") + hex("0000 0800") + inner);
        ipip.push_back(outer + ipv4(4, "192.0.2.2", "192.0.2.1") + inner);
    }
    for (const auto& frames : {gre, ipip}) {
        EXPECT_EQ(count(frames, HashPolicy::layer34, 2, newest_era), (Counts{0, 64}));
        EXPECT_EQ(count(frames, HashPolicy::encap23, 2, newest_era), (Counts{64, 0}));
    }
}

// layer2+3 between one client and one server: one slave, which one depends on the kernel.
TEST(Cases, OnePeerUnderLayer23) {
    const auto frames = from_ports(40000, 1, 64, 5201);
    EXPECT_EQ(count(frames, HashPolicy::layer23, 2, era("5.10")), (Counts{0, 64}));
    EXPECT_EQ(count(frames, HashPolicy::layer23, 2, era("6.12")), (Counts{64, 0}));
    EXPECT_EQ(count(frames, HashPolicy::layer23, 2, era("7.2")), (Counts{64, 0}));
}

// Two streams share a slave or not by the ports they got.
TEST(Cases, TwoStreams) {
    const auto slave = [](unsigned port) { return index(from_ports(port, 1, 1)[0], HashPolicy::layer34, 2); };
    EXPECT_EQ(slave(40000), slave(40001));
    EXPECT_NE(slave(40000), slave(40002));
}

// Neighbouring destinations share a slave under layer2+3 while it drops the lowest bit.
TEST(Cases, NeighboursUnderLayer23) {
    const auto slaves = [](std::initializer_list<unsigned> destinations, const char* when) {
        Counts out;
        for (const unsigned last : destinations)
            out.push_back(static_cast<int>(index(through_gateway(last), HashPolicy::layer23, 2, era(when))));
        return out;
    };
    EXPECT_EQ(slaves({10, 11, 12, 13, 14, 15, 16, 17}, "5.10"), (Counts{1, 1, 0, 0, 1, 1, 0, 0}));
    EXPECT_EQ(slaves({10, 11, 12, 13, 14, 15, 16, 17}, "6.12"), (Counts{0, 1, 0, 1, 0, 1, 0, 1}));
    std::vector<Bytes> even;
    for (const unsigned last : {10U, 12U, 14U, 16U, 18U, 20U, 22U, 24U})
        even.push_back(through_gateway(last));
    EXPECT_EQ(count(even, HashPolicy::layer23, 2, era("5.10")), (Counts{4, 4}));
    EXPECT_EQ(count(even, HashPolicy::layer23, 2, era("6.12")), (Counts{8, 0}));
}

// layer2+3 to peers whose MAC and IP addresses count up together: the two cancel each other.
TEST(Cases, AddressCancelsMac) {
    const auto slaves = [](const char* when) {
        Counts out;
        for (unsigned i = 10; i <= 13; ++i) {
            const std::string mac = "00:00:5e:00:53:0" + std::string(1, "abcd"[i - 10]);
            out.push_back(static_cast<int>(index(ethernet(mac, "00:00:5e:00:53:10", 0x0800) +
                                                     ipv4(17, "192.0.2.2", "192.0.2." + std::to_string(i)) +
                                                     ports(40000, 5001),
                                                 HashPolicy::layer23, 2, era(when))));
        }
        return out;
    };
    EXPECT_EQ(slaves("6.1"), (Counts{0, 0, 0, 0}));
    EXPECT_EQ(slaves("5.10"), (Counts{1, 1, 1, 1}));
}

// A VLAN in a VLAN over the bond: the outer tag is metadata, the inner one is in the frame, and layer3+4 sees
// no IP.
TEST(Cases, TwoTagsUnderLayer34) {
    Counts two_tags(2, 0);
    Counts one_tag(2, 0);
    for (unsigned i = 0; i < 64; ++i) {
        const Bytes packet = ipv4(17, "192.0.2.2", "192.0.2.1") + ports(40000 + i, 9);
        const Bytes inner_tag = ethernet("00:00:5e:00:53:01", "00:00:5e:00:53:10", 0x8100) + hex("00c8 0800");
        const Bytes plain = ethernet("00:00:5e:00:53:01", "00:00:5e:00:53:10", 0x0800);
        ++two_tags[hash(inner_tag + packet, HashPolicy::layer34, newest_era, std::uint16_t{100},
                        FrameSource::local) %
                   2];
        ++one_tag[hash(plain + packet, HashPolicy::layer34, newest_era, std::uint16_t{100},
                       FrameSource::local) %
                  2];
    }
    EXPECT_EQ(one_tag, (Counts{32, 32}));
    EXPECT_TRUE(two_tags == (Counts{0, 64}) || two_tags == (Counts{64, 0}));
}

// Source ports in steps of four: the fault of even ports, moved up by one bit.
TEST(Cases, PortsInStepsOfFour) {
    const auto frames = from_ports(40000, 4, 64, 5201);
    for (const char* name : {"5.10", "6.12", "7.2"})
        EXPECT_EQ(count(frames, HashPolicy::layer34, 2, era(name)), (Counts{0, 64})) << name;
}

// Three slaves never divide consecutive ports evenly.
TEST(Cases, ThreeSlaves) {
    EXPECT_EQ(count(from_ports(40000, 1, 64), HashPolicy::layer34, 3, newest_era), (Counts{24, 16, 24}));
}

} // namespace
} // namespace bondtrace::test
