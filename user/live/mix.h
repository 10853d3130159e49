// SPDX-License-Identifier: GPL-2.0-or-later
// Hashing for tables whose keys are chosen by whoever sends packets.
#pragma once

#include <cstdint>
#include <random>

namespace bondtrace {

// wyhash's mixing step (public domain, Wang Yi): multiply to 128 bits, fold.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// For seeds, which must not be known outside.
inline std::uint64_t random_word() {
    std::random_device random;
    return static_cast<std::uint64_t>(random()) << 32 | random();
}

} // namespace bondtrace
