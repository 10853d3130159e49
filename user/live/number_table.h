// SPDX-License-Identifier: GPL-2.0-or-later
// A hash table of the numbers of things that are kept elsewhere, so that no key is kept twice.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace bondtrace {

// Open addressing, four bytes a place, at least half of them free. Hashes are the callers' own, who seed
// them where the keys are chosen by others.
class NumberTable {
  public:
    // The number with this hash for which `is_it` is true.
    template<typename IsIt>
    [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t hash, IsIt is_it) const {
        for (std::size_t at = hash & mask_; places_[at] != 0; at = (at + 1) & mask_)
            if (is_it(places_[at] - 1)) return places_[at] - 1;
        return std::nullopt;
    }

    // Adds the number that comes next, counted from 0. `hash_of` gives the hash of any of them.
    template<typename HashOf> void add(HashOf hash_of) {
        if ((count_ + 1) * 2 > places_.size()) return rebuild(count_ + 1, hash_of);
        insert(static_cast<std::uint32_t>(count_++), hash_of);
    }

    // Begins anew with the numbers from 0 on.
    template<typename HashOf> void rebuild(std::size_t count, HashOf hash_of) {
        places_.assign(std::bit_ceil(std::max<std::size_t>(count * 2, 64)), 0);
        mask_ = places_.size() - 1;
        for (count_ = 0; count_ < count; ++count_)
            insert(static_cast<std::uint32_t>(count_), hash_of);
    }

  private:
    template<typename HashOf> void insert(std::uint32_t number, HashOf hash_of) {
        std::size_t at = hash_of(number) & mask_;
        while (places_[at] != 0)
            at = (at + 1) & mask_;
        places_[at] = number + 1;
    }

    std::vector<std::uint32_t> places_ = std::vector<std::uint32_t>(64); // number + 1, or 0
    std::size_t mask_ = 63, count_ = 0;
};

} // namespace bondtrace
