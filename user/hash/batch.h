// SPDX-License-Identifier: GPL-2.0-or-later
// Predictions for many IPv4 flows at once: columns in, slave indexes out, written so that compilers use
// vector instructions.
#pragma once

#include "user/hash/era.h"

#include <cstdint>
#include <span>

namespace bondtrace {

// Exact x % n for every 32-bit x without a division (Granlund and Montgomery, "Division by Invariant Integers
// using Multiplication", PLDI 1994, figure 4.1).
class Modulus {
  public:
    // `n` must not be 0.
    explicit constexpr Modulus(std::uint32_t n) : n_(n) {
        unsigned log = 0; // ceil(log2(n))
        while (log < 32 && (std::uint64_t{1} << log) < n)
            ++log;
        // 2^32 * (2^log - n) / n + 1 fits in 32 bits, for 2^log < 2n.
        factor_ = static_cast<std::uint32_t>((((std::uint64_t{1} << log) - n) << 32U) / n + 1);
        first_shift_ = log < 1 ? log : 1;
        second_shift_ = log < 1 ? 0 : log - 1;
    }

    [[nodiscard]] constexpr std::uint32_t n() const { return n_; }
    [[nodiscard]] constexpr std::uint32_t operator()(std::uint32_t x) const {
        const auto high = static_cast<std::uint32_t>(std::uint64_t{x} * factor_ >> 32U);
        const std::uint32_t quotient = (high + ((x - high) >> first_shift_)) >> second_shift_;
        return x - quotient * n_;
    }

  private:
    std::uint32_t n_;
    std::uint32_t factor_ = 0;
    unsigned first_shift_ = 0;
    unsigned second_shift_ = 0;
};

// Flows as columns of words as the kernel loads them: address_word() and ports_word() of policy.h. All of one
// length.
struct Ipv4Columns {
    std::span<const std::uint32_t> src;
    std::span<const std::uint32_t> dst;
    std::span<const std::uint32_t> ports; // layer3+4 only: of TCP, UDP, DCCP, SCTP, UDP-Lite, ESP, AH; else 0
    std::span<const std::uint32_t> layer2; // layer2+3 only: layer2_hash()
};

// Slave indexes under layer3+4 (and encap3+4 of untunnelled packets without a socket's or a NIC's hash):
// indexes[i] belongs to the i-th flow. Unfragmented IPv4 only. Handles as many flows as the shortest of src,
// dst, ports and indexes has; returns that number. At most 65536 slaves.
std::size_t batch_layer34(const Ipv4Columns& flows, const Era& era, const Modulus& usable,
                          std::span<std::uint16_t> indexes);

// The same under layer2+3 (and encap2+3), from src, dst and layer2.
std::size_t batch_layer23(const Ipv4Columns& flows, const Era& era, const Modulus& usable,
                          std::span<std::uint16_t> indexes);

} // namespace bondtrace
