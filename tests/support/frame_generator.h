// SPDX-License-Identifier: GPL-2.0-or-later
// Random and adversarial Ethernet frames, reproducible from a seed: nests of every protocol that the bonding
// driver's packet parsers know, with options, extension headers, fragments, wrong lengths, cut short and
// overwritten at random places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bondtrace::test {

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers from a seed everywhere, unlike the distributions of
// <random>.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next();
    // 0 … n - 1; n must not be 0.
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>((next() >> 32U) * n >> 32U); }
    // True in `percent` of 100 cases.
    bool chance(std::uint32_t percent) { return below(100) < percent; }
    std::uint8_t byte() { return static_cast<std::uint8_t>(next()); }

  private:
    std::uint64_t state_;
};

class FrameGenerator {
  public:
    // Frames have 14 to `longest` bytes, as an AF_PACKET socket takes them.
    explicit FrameGenerator(std::uint64_t seed, std::size_t longest = 1514)
        : random_(seed), longest_(longest) {}

    // The next frame, from its Ethernet header.
    std::vector<std::uint8_t> next();

    Random& random() { return random_; }

  private:
    void u8(unsigned value);
    void be16(unsigned value);
    void be32(std::uint32_t value);
    void noise(std::size_t count);
    void mac();
    std::uint16_t pick_type();
    std::uint8_t pick_transport();

    void ethernet();
    void by_type(std::uint16_t type);
    void ipv4();
    void ipv6();
    void vlan();
    void pppoe();
    void tipc();
    void batman();
    void hsr();
    void mpls();
    void arp();
    void transport(std::uint8_t protocol, bool v6);
    void extension(std::uint8_t protocol);
    void gre();
    void icmp(bool v6);
    void tcp_or_udp(std::uint8_t protocol);

    Random random_;
    std::size_t longest_;
    std::vector<std::uint8_t> bytes_;
    int depth_ = 0;
};

} // namespace bondtrace::test
