// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/hash/batch.h"

#include "user/hash/policy.h"

#include <algorithm>

namespace bondtrace {
namespace {

// The shift is a value, not a branch, and no pointer may alias another: then the loop becomes vector code.
// Modulus is copied so that the compiler sees that the stores leave it alone.
template<typename Fold>
void each(std::size_t count, const std::uint32_t* __restrict first, const std::uint32_t* __restrict src,
          const std::uint32_t* __restrict dst, std::uint16_t* __restrict out, Fold fold_one) {
    for (std::size_t i = 0; i < count; ++i)
        out[i] = static_cast<std::uint16_t>(fold_one(first[i], src[i], dst[i]));
}

std::size_t run(std::span<const std::uint32_t> first, const Ipv4Columns& flows, bool drop_low_bit,
                Modulus usable, std::span<std::uint16_t> indexes) {
    const std::size_t count = std::min({first.size(), flows.src.size(), flows.dst.size(), indexes.size()});
    each(count, first.data(), flows.src.data(), flows.dst.data(), indexes.data(),
         [usable, drop_low_bit](std::uint32_t hash, std::uint32_t src, std::uint32_t dst) {
             return usable(fold(hash, src, dst, drop_low_bit));
         });
    return count;
}

} // namespace

std::size_t batch_layer34(const Ipv4Columns& flows, const Era& era, const Modulus& usable,
                          std::span<std::uint16_t> indexes) {
    return run(flows.ports, flows, low_bit_dropped(HashPolicy::layer34, era), usable, indexes);
}

std::size_t batch_layer23(const Ipv4Columns& flows, const Era& era, const Modulus& usable,
                          std::span<std::uint16_t> indexes) {
    return run(flows.layer2, flows, low_bit_dropped(HashPolicy::layer23, era), usable, indexes);
}

} // namespace bondtrace
