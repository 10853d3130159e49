// SPDX-License-Identifier: GPL-2.0-or-later
// Frames of every kind, byte by byte: which flow the programs in the kernel make of each, where it is sent
// and where it arrives.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/window.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

namespace bondtrace::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes operator+(Bytes left, const Bytes& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

// Source and destination of the frames: addresses of the lab's two bonds, so that the receiver takes them.
const Bytes macs{0x02, 0x77, 0, 0, 0, 0x02, 0x02, 0x77, 0, 0, 0, 0x01};

// The same from another station: what cannot be parsed is told apart by nothing else.
const Bytes other_macs{0x02, 0x77, 0, 0, 0, 0x02, 0x02, 0x77, 0, 0, 0, 0x09};

Bytes be16(unsigned value) {
    return {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
}

// 192.0.2.1 -> 192.0.2.2; `words` 32-bit words of options; checksum left out, since nobody here is to answer.
Bytes ipv4(unsigned protocol, unsigned fragment = 0, unsigned words = 0, unsigned version = 4) {
    Bytes header{static_cast<std::uint8_t>(version << 4 | (5 + words)), 0, 0, 60, 0, 1};
    header = header + be16(fragment) +
             Bytes{64, static_cast<std::uint8_t>(protocol), 0, 0, 192, 0, 2, 1, 192, 0, 2, 2};
    return header + Bytes(std::size_t{words} * 4, 1);
}

// 2001:db8::1 -> 2001:db8::2
Bytes ipv6(unsigned next_header) {
    Bytes header{0x60, 0, 0, 0, 0, 32, static_cast<std::uint8_t>(next_header), 64};
    for (const std::uint8_t last : Bytes{1, 2})
        header = header + Bytes{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last};
    return header;
}

Bytes ports(unsigned source, unsigned destination) {
    return be16(source) + be16(destination) + Bytes(28, 0);
}

// That many extension headers, each naming `next`.
Bytes chain(unsigned count, unsigned next) {
    Bytes headers;
    for (; count > 0; --count)
        headers = headers + Bytes{static_cast<std::uint8_t>(next), 0, 1, 4, 0, 0, 0, 0};
    return headers;
}

struct Case {
    const char* name;
    Bytes frame;
    unsigned ethertype, protocol;
    unsigned first, second; // src_port and dst_port of the key, as 16-bit numbers of the wire
    unsigned flags;         // but for BT_KEY_RX
    unsigned vlan = 0, inner_vlan = 0;
    // Where the receiver's stack takes the outermost tag off the frame, it is no longer in-band.
    bool tag_leaves = false;
};

constexpr unsigned tag(unsigned id) {
    return BT_VLAN_PRESENT | id;
}

std::vector<Case> cases() {
    const Bytes ip = be16(0x0800), ip6 = be16(0x86dd);
    const Bytes spi{0x11, 0x22, 0x33, 0x44};
    const Bytes rest(40, 0);
    const Bytes hop_by_hop{17, 0, 1, 4, 0, 0, 0, 0}; // next header UDP, PadN
    return {
        {"sctp", macs + ip + ipv4(132) + ports(1001, 1002), 0x0800, 132, 1001, 1002, 0},
        {"dccp", macs + ip + ipv4(33) + ports(1003, 1004), 0x0800, 33, 1003, 1004, 0},
        {"udplite", macs + ip + ipv4(136) + ports(1005, 1006), 0x0800, 136, 1005, 1006, 0},
        {"options", macs + ip + ipv4(6, 0, 3) + ports(1007, 1008), 0x0800, 6, 1007, 1008, 0},
        {"most options", macs + ip + ipv4(6, 0, 10) + ports(1009, 1010), 0x0800, 6, 1009, 1010, 0},
        {"first fragment", macs + ip + ipv4(17, 0x2000) + ports(1011, 1012), 0x0800, 17, 0, 0,
         BT_KEY_FRAGMENT},
        {"later fragment", macs + ip + ipv4(6, 0x0010) + ports(1013, 1014), 0x0800, 6, 0, 0, BT_KEY_FRAGMENT},
        {"do not fragment", macs + ip + ipv4(6, 0x4000) + ports(1015, 1016), 0x0800, 6, 1015, 1016, 0},
        {"esp", macs + ip + ipv4(50) + spi + rest, 0x0800, 50, 0x1122, 0x3344, 0},
        {"ah", macs + ip + ipv4(51) + Bytes{6, 4, 0, 0} + spi + rest, 0x0800, 51, 0x1122, 0x3344, 0},
        {"gre", macs + ip + ipv4(47) + rest, 0x0800, 47, 0, 0, 0},
        {"icmp error", macs + ip + ipv4(1) + Bytes{3, 1, 0, 0, 0xde, 0xad} + rest, 0x0800, 1, 0, 0x0301, 0},
        {"icmp timestamp", macs + ip + ipv4(1) + Bytes{14, 0, 0, 0, 0xbe, 0xef} + rest, 0x0800, 1, 0xbeef,
         0x0e00, 0},
        {"bad version", macs + ip + ipv4(6, 0, 0, 5) + ports(1, 2), 0x0800, 0, 0, 0, BT_KEY_UNPARSED},
        {"cut ipv4", other_macs + ip + Bytes{0x45, 0, 0, 40}, 0x0800, 0, 0, 0, BT_KEY_UNPARSED},
        {"cut ports", macs + ip + ipv4(33) + Bytes{1, 2}, 0x0800, 33, 0, 0, BT_KEY_UNPARSED},
        {"ipv6 sctp", macs + ip6 + ipv6(132) + ports(1017, 1018), 0x86dd, 132, 1017, 1018, 0},
        {"ipv6 hop-by-hop", macs + ip6 + ipv6(0) + hop_by_hop + ports(1019, 1020), 0x86dd, 17, 1019, 1020,
         BT_KEY_EXTHDR},
        {"ipv6 fragment", macs + ip6 + ipv6(44) + Bytes{17, 0, 0, 1, 0, 0, 0, 1} + ports(1021, 1022), 0x86dd,
         17, 0, 0, BT_KEY_EXTHDR | BT_KEY_FRAGMENT},
        {"cut extension", macs + ip6 + ipv6(60) + Bytes{17, 0}, 0x86dd, 60, 0, 0,
         BT_KEY_EXTHDR | BT_KEY_UNPARSED},
        // Its first byte stands where an extension header names the next one, but what follows is no ESP.
        {"ipv6 mobility", macs + ip6 + ipv6(135) + Bytes{50, 0, 5, 0, 0, 0, 0, 0} + spi + rest, 0x86dd, 135,
         0, 0, 0},
        {"eight extensions", macs + ip6 + ipv6(0) + chain(7, 60) + hop_by_hop + ports(1027, 1028), 0x86dd, 17,
         1027, 1028, BT_KEY_EXTHDR},
        {"more extensions than are followed", macs + ip6 + ipv6(0) + chain(8, 43) + hop_by_hop + ports(1, 2),
         0x86dd, 43, 0, 0, BT_KEY_EXTHDR | BT_KEY_UNPARSED},
        {"vlan", macs + be16(0x8100) + be16(0x6064) + ip + ipv4(132) + ports(1023, 1024), 0x0800, 132, 1023,
         1024, BT_KEY_VLAN_INBAND, tag(100), 0, true},
        {"qinq",
         macs + be16(0x88a8) + be16(200) + be16(0x8100) + be16(300) + ip6 + ipv6(132) + ports(1025, 1026),
         0x86dd, 132, 1025, 1026, BT_KEY_VLAN_INBAND, tag(200), tag(300), false},
        {"mpls", macs + be16(0x8847) + Bytes{0, 1, 1, 0x40} + rest, 0x8847, 0, 0, 0, 0},
        {"experimental", macs + be16(0x88b5) + rest, 0x88b5, 0, 0, 0, 0},
    };
}

// Sends each frame `copies` times through bond0 as it stands.
Result<void> send_raw(const NetNs& netns, const std::vector<Case>& all, unsigned copies) {
    return run_in(netns, [&]() -> Result<void> {
        const Fd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
        if (!socket.valid()) return fail_errno(errno, "opening a packet socket");
        sockaddr_ll to{};
        to.sll_family = AF_PACKET;
        to.sll_ifindex = static_cast<int>(if_nametoindex("bond0"));
        for (const Case& one : all) {
            to.sll_protocol = htons(static_cast<std::uint16_t>(one.frame[12] << 8 | one.frame[13]));
            for (unsigned copy = 0; copy < copies; ++copy)
                if (sendto(socket.get(), one.frame.data(), one.frame.size(), 0,
                           reinterpret_cast<const sockaddr*>(&to),
                           sizeof(to)) != static_cast<ssize_t>(one.frame.size()))
                    return fail_errno(errno, fmt::format("sending the frame \"{}\"", one.name));
        }
        return {};
    });
}

bool matches(const bt_flow_key& key, const Case& one, bool received) {
    const bool tag_left = received && one.tag_leaves;
    unsigned flags = one.flags | (received ? static_cast<unsigned>(BT_KEY_RX) : 0U);
    if (tag_left) flags &= ~static_cast<unsigned>(BT_KEY_VLAN_INBAND);
    const bool by_mac = one.protocol == 0;
    if (key.ethertype != one.ethertype || key.protocol != one.protocol || key.flags != flags ||
        key.vlan != one.vlan || key.inner_vlan != one.inner_vlan || ntohs(key.src_port) != one.first ||
        ntohs(key.dst_port) != one.second)
        return false;
    if (by_mac)
        return std::memcmp(key.src, one.frame.data() + 6, 6) == 0 &&
               std::memcmp(key.dst, one.frame.data(), 6) == 0;
    if (one.ethertype == 0x0800)
        return key.src[0] == 192 && key.src[3] == 1 && key.dst[0] == 192 && key.dst[3] == 2;
    return key.src[0] == 0x20 && key.src[15] == 1 && key.dst[0] == 0x20 && key.dst[15] == 2;
}

TEST(Keys, AreTheSameAtBothEndsAndWhatTheFramesSay) {
    const Lab lab("direct --mode balance-xor --policy layer2");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    constexpr unsigned copies = 3;
    const std::vector<Case> all = cases();
    auto receiver = Observation::start(ends.b, {"bond0"}, test_config());
    ASSERT_TRUE(receiver) << receiver.error().what;
    const auto sent = observe(ends.a, [&] { return send_raw(ends.a, all, copies); });
    ASSERT_TRUE(sent) << sent.error().what;
    const auto received = receiver->finish();
    ASSERT_TRUE(received) << received.error().what;
    expect_conservation(*sent, Unit::skb, Unit::skb);

    for (const Case& one : all) {
        SCOPED_TRACE(one.name);
        const auto count = [&](const Observed& observed, bool rx) {
            std::uint64_t packets = 0, bytes = 0;
            for (const FlowEntry& entry : observed.flows)
                if (matches(entry.key, one, rx)) {
                    packets += entry.value.count.packets;
                    bytes += entry.value.count.bytes;
                }
            return std::pair(packets, bytes);
        };
        EXPECT_EQ(count(*sent, false),
                  std::pair(std::uint64_t{copies}, std::uint64_t{copies} * one.frame.size()));
        // An untagged frame arrives as it was sent; the tag that the receiver takes off is not in its bytes.
        const std::size_t length = one.frame.size() - (one.vlan != 0 ? 4 : 0);
        EXPECT_EQ(count(*received, true), std::pair(std::uint64_t{copies}, std::uint64_t{copies} * length));
    }
}

} // namespace
} // namespace bondtrace::test
