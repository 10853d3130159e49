// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/frame_generator.h"

#include <algorithm>
#include <array>

namespace bondtrace::test {
namespace {

constexpr int deepest = 24;

// IPv6 header numbers that stand before others.
constexpr bool is_extension(std::uint8_t protocol) {
    return protocol == 0 || protocol == 43 || protocol == 44 || protocol == 60;
}

} // namespace

std::uint64_t Random::next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
    return z ^ (z >> 31U);
}

std::vector<std::uint8_t> FrameGenerator::next() {
    constexpr std::size_t ethernet_header = 14;
    bytes_.clear();
    depth_ = 0;
    if (random_.chance(2)) {
        noise(ethernet_header + random_.below(120));
    } else {
        ethernet();
        noise(random_.below(40));
    }
    if (bytes_.size() > longest_) bytes_.resize(longest_);
    if (random_.chance(15) && bytes_.size() > ethernet_header) {
        for (std::uint32_t i = random_.below(6) + 1; i > 0; --i) {
            const auto space =
                static_cast<std::uint32_t>(std::min<std::size_t>(bytes_.size(), 120) - ethernet_header);
            bytes_[ethernet_header + random_.below(space)] = random_.byte();
        }
    }
    // Cut where headers are; lengths that the headers state stay as they were.
    if (random_.chance(25)) {
        const auto space =
            static_cast<std::uint32_t>(std::min<std::size_t>(bytes_.size(), 160) - ethernet_header);
        bytes_.resize(ethernet_header + random_.below(space + 1));
    }
    return bytes_;
}

void FrameGenerator::u8(unsigned value) {
    bytes_.push_back(static_cast<std::uint8_t>(value));
}

void FrameGenerator::be16(unsigned value) {
    u8(value >> 8U);
    u8(value);
}

void FrameGenerator::be32(std::uint32_t value) {
    be16(value >> 16U);
    be16(value);
}

void FrameGenerator::noise(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        u8(random_.byte());
}

// Locally administered; unicast but for some.
void FrameGenerator::mac() {
    u8((random_.byte() & 0xfcU) | 0x02U | (random_.chance(5) ? 1U : 0U));
    noise(5);
}

std::uint16_t FrameGenerator::pick_type() {
    if (random_.chance(65)) return random_.chance(60) ? 0x0800 : 0x86dd;
    constexpr std::array<std::uint16_t, 24> others{
        0x8100, 0x88a8, 0x8100, 0x9100, 0x8864, 0x8864, 0x8863, 0x88ca, 0x4305, 0x4305, 0x892f, 0x88fb,
        0x8847, 0x8848, 0x0806, 0x8035, 0x8906, 0x88f7, 0x8902, 0x88cc, 0x05dc, 0x0000, 0x6558, 0x880b};
    if (random_.chance(5)) return static_cast<std::uint16_t>(random_.next());
    return others[random_.below(others.size())];
}

std::uint8_t FrameGenerator::pick_transport() {
    constexpr std::array<std::uint8_t, 38> common{6,  6, 6,  17, 17, 17, 1,  1,   58,  58,  47,  47, 47,
                                                  4,  4, 41, 41, 50, 51, 33, 132, 136, 137, 115, 2,  89,
                                                  59, 0, 0,  43, 43, 44, 44, 60,  60,  135, 98,  255};
    if (random_.chance(3)) return random_.byte();
    return common[random_.below(common.size())];
}

void FrameGenerator::ethernet() {
    mac();
    mac();
    const std::uint16_t type = pick_type();
    be16(type);
    by_type(type);
}

void FrameGenerator::by_type(std::uint16_t type) {
    if (++depth_ > deepest || bytes_.size() > longest_) return;
    switch (type) {
    case 0x0800:
        return ipv4();
    case 0x86dd:
        return ipv6();
    case 0x8100:
    case 0x88a8:
    case 0x9100:
        return vlan();
    case 0x8864:
        return pppoe();
    case 0x88ca:
        return tipc();
    case 0x4305:
        return batman();
    case 0x892f:
    case 0x88fb:
        return hsr();
    case 0x8847:
    case 0x8848:
        return mpls();
    case 0x0806:
    case 0x8035:
        return arp();
    case 0x6558:
        return ethernet();
    default:
        noise(30 + random_.below(20));
    }
}

void FrameGenerator::ipv4() {
    const unsigned words = random_.chance(4)    ? random_.below(5)
                           : random_.chance(20) ? 5 + random_.below(11)
                                                : 5;
    const std::uint8_t protocol = pick_transport();
    u8((random_.chance(2) ? random_.byte() & 0xf0U : 0x40U) | words);
    u8(random_.byte());
    be16(random_.chance(10) ? 0x0800 : random_.below(1500)); // 0x0800: what a mistaken tag would call IPv4
    be16(random_.below(65536));
    constexpr std::array<std::uint16_t, 8> fragments{0x2000, 0x2001, 0x0001, 0x1fff,
                                                     0x8000, 0x6000, 0x00b9, 0x4000};
    be16(random_.chance(20) ? fragments[random_.below(fragments.size())] : random_.chance(50) ? 0x4000U : 0U);
    u8(64);
    u8(protocol);
    noise(2);
    noise(8);
    if (words > 5) noise((words - 5) * std::size_t{4});
    transport(protocol, false);
}

void FrameGenerator::ipv6() {
    const std::uint8_t protocol = pick_transport();
    be32(0x60000000U | (random_.chance(50) ? random_.below(1U << 20U) : random_.chance(20) ? 0x0800U : 0U));
    be16(random_.below(1500));
    u8(protocol);
    u8(64);
    noise(32);
    transport(protocol, true);
}

void FrameGenerator::vlan() {
    be16(random_.below(65536));
    const std::uint16_t type = random_.chance(25) ? 0x8100 : pick_type();
    be16(type);
    by_type(type);
}

void FrameGenerator::pppoe() {
    be16(random_.chance(90) ? 0x1100U : random_.below(65536));
    noise(4);
    constexpr std::array<std::uint16_t, 8> protocols{0x0021, 0x0021, 0x0057, 0x0281,
                                                     0x0283, 0xc021, 0x0121, 0x2101};
    const std::uint16_t protocol = protocols[random_.below(protocols.size())];
    be16(protocol);
    if (protocol == 0x0021) return by_type(0x0800);
    if (protocol == 0x0057) return by_type(0x86dd);
    noise(20);
}

void FrameGenerator::tipc() {
    be32(random_.chance(20) ? static_cast<std::uint32_t>(random_.next()) | 0x0e080000U
                            : static_cast<std::uint32_t>(random_.next()));
    noise(12 + random_.below(12));
}

void FrameGenerator::batman() {
    u8(random_.chance(85) ? 0x40U : random_.byte());
    u8(random_.chance(90) ? 15U : random_.byte());
    noise(8);
    ethernet();
}

void FrameGenerator::hsr() {
    noise(4);
    const std::uint16_t type = pick_type();
    be16(type);
    by_type(type);
}

void FrameGenerator::mpls() {
    be32(static_cast<std::uint32_t>(random_.next()));
    by_type(random_.chance(70) ? 0x0800 : 0x86dd);
}

void FrameGenerator::arp() {
    be32(0x00010800);
    be16(0x0604);
    be16(random_.chance(90) ? 1 + random_.below(2) : random_.below(65536));
    noise(20);
}

void FrameGenerator::transport(std::uint8_t protocol, bool v6) {
    if (++depth_ > deepest || bytes_.size() > longest_) return;
    if (v6 && is_extension(protocol)) return extension(protocol);
    switch (protocol) {
    case 1:
    case 58:
        return icmp(v6);
    case 4:
        return by_type(0x0800);
    case 41:
        return by_type(0x86dd);
    case 47:
        return gre();
    case 137:
        return mpls();
    case 6:
    case 17:
        return tcp_or_udp(protocol);
    case 51:
    case 135:
        u8(pick_transport()); // what stands where extension headers name the next one
        u8(random_.below(4));
        return noise(6 + random_.below(40));
    default:
        noise(8 + random_.below(24));
    }
}

void FrameGenerator::extension(std::uint8_t protocol) {
    // Chains longer than the kernel's allowance of 15 headers need options after options.
    const std::uint8_t next = random_.chance(40) ? std::uint8_t{60} : pick_transport();
    u8(next);
    if (protocol == 44) {
        u8(0);
        be16(random_.chance(50) ? 1U : random_.below(65536));
        noise(4);
    } else {
        const std::uint32_t words = random_.chance(85) ? 0 : random_.below(4);
        u8(words);
        noise(6 + words * std::size_t{8});
    }
    transport(next, true);
}

void FrameGenerator::gre() {
    unsigned flags = 0;
    if (random_.chance(30)) flags |= 0x8000U;
    if (random_.chance(40)) flags |= 0x2000U;
    if (random_.chance(30)) flags |= 0x1000U;
    if (random_.chance(5)) flags |= 0x4000U;
    const bool pptp = random_.chance(20);
    if (pptp) flags |= (random_.chance(90) ? 0x2001U : 0x0001U) | (random_.chance(40) ? 0x0080U : 0U);
    if (random_.chance(4)) flags |= random_.below(8);
    be16(flags);
    const std::uint16_t type = pptp                 ? std::uint16_t{0x880b}
                               : random_.chance(40) ? std::uint16_t{0x6558}
                                                    : pick_type();
    be16(type);
    if (flags & 0x8000U) noise(4);
    if (flags & 0x2000U) noise(4);
    if (flags & 0x1000U) noise(4);
    if (!pptp) return by_type(type);
    if (flags & 0x0080U) noise(4);
    const bool v6 = random_.chance(30);
    be16(random_.chance(90) ? 0xff03U : random_.below(65536));
    be16(random_.chance(85) ? (v6 ? 0x0057U : 0x0021U) : random_.below(65536));
    by_type(v6 ? 0x86dd : 0x0800);
}

void FrameGenerator::icmp(bool v6) {
    constexpr std::array<std::uint8_t, 20> types{0, 8,  8,  13,  14,  128, 128, 129, 3, 3,
                                                 3, 11, 12, 133, 135, 136, 1,   2,   4, 5};
    u8(random_.chance(95) ? types[random_.below(types.size())] : random_.byte());
    u8(random_.chance(50) ? 0U : random_.byte());
    noise(2);
    be16(random_.chance(30) ? 0U : random_.below(65536));
    noise(2);
    // Mostly an embedded packet of the same family, which is what the driver expects behind an error.
    if (random_.chance(90)) return v6 ? ipv6() : ipv4();
    noise(24);
}

void FrameGenerator::tcp_or_udp(std::uint8_t protocol) {
    const bool vxlan = protocol == 17 && random_.chance(15);
    be16(random_.below(65536));
    be16(vxlan ? 4789U : random_.below(65536));
    if (protocol == 6) return noise(16);
    noise(4);
    if (!vxlan) return;
    be32(0x08000000);
    be32(random_.below(1U << 24U) << 8U);
    ethernet();
}

} // namespace bondtrace::test
