// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/entry_index.h"

#include "user/live/mix.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace bondtrace {
namespace {

static_assert(std::has_unique_object_representations_v<bt_flow_key> && sizeof(bt_flow_key) % 8 == 0);

bool same(const bt_flow_key& a, const bt_flow_key& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

} // namespace

EntryIndex::EntryIndex() : seed_(random_word()), multiplier_(random_word() | 1) {
    rebuild(0);
}

std::uint64_t EntryIndex::hash_of(const bt_flow_key& key) const {
    std::array<std::uint64_t, sizeof(key) / 8> words;
    std::memcpy(words.data(), &key, sizeof(key));
    std::uint64_t hash = seed_;
    for (const std::uint64_t word : words)
        hash = mix(hash ^ word, multiplier_);
    return hash;
}

void EntryIndex::begin_reading() {
    order_.swap(next_order_);
    next_order_.clear();
    for (std::uint32_t place = 0; place < order_.size(); ++place)
        positions_[order_[place]] = place;
    cursor_ = 0;
}

EntryIndex::Found EntryIndex::find_or_add(const bt_flow_key& key) {
    if (cursor_ < order_.size()) {
        const std::uint32_t expected = order_[cursor_];
        if (same(keys_[expected], key)) {
            ++cursor_;
            next_order_.push_back(expected);
            return {expected, false};
        }
    }
    for (std::size_t at = hash_of(key) & mask_; slots_[at] != 0; at = (at + 1) & mask_) {
        const std::uint32_t number = slots_[at] - 1;
        if (!same(keys_[number], key)) continue;
        // What stood behind it then is likely to stand behind it now.
        if (positions_[number] != none) cursor_ = positions_[number] + 1;
        next_order_.push_back(number);
        return {number, false};
    }
    const auto number = static_cast<std::uint32_t>(keys_.size());
    keys_.push_back(key);
    positions_.push_back(none);
    next_order_.push_back(number);
    if (keys_.size() * 2 > slots_.size())
        rebuild(keys_.size());
    else
        insert(number);
    return {number, true};
}

void EntryIndex::insert(std::uint32_t number) {
    std::size_t at = hash_of(keys_[number]) & mask_;
    while (slots_[at] != 0)
        at = (at + 1) & mask_;
    slots_[at] = number + 1;
}

void EntryIndex::rebuild(std::size_t keys) {
    slots_.assign(std::bit_ceil(std::max<std::size_t>(keys * 4, 64)), 0);
    mask_ = slots_.size() - 1;
    for (std::uint32_t number = 0; number < keys_.size(); ++number)
        insert(number);
}

void EntryIndex::keep(std::span<const std::uint32_t> kept) {
    std::vector<std::uint32_t> renumbered(keys_.size(), none);
    std::vector<bt_flow_key> keys;
    keys.reserve(kept.size());
    for (const std::uint32_t number : kept) {
        renumbered[number] = static_cast<std::uint32_t>(keys.size());
        keys.push_back(keys_[number]);
    }
    keys_ = std::move(keys);
    positions_.assign(keys_.size(), none);
    for (auto* order : {&order_, &next_order_}) {
        for (std::uint32_t& number : *order)
            number = renumbered[number];
        std::erase(*order, none);
    }
    cursor_ = order_.size();
    rebuild(keys_.size());
}

} // namespace bondtrace
