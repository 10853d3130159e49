// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/entry_index.h"

#include "user/live/mix.h"

#include <array>
#include <cstring>
#include <type_traits>

namespace bondtrace {
namespace {

static_assert(std::has_unique_object_representations_v<bt_flow_key> && sizeof(bt_flow_key) % 8 == 0);

bool same(const bt_flow_key& a, const bt_flow_key& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

} // namespace

EntryIndex::EntryIndex() : seed_(random_word()), multiplier_(random_word() | 1) {}

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

void EntryIndex::reserve(std::size_t entries) {
    keys_.reserve(entries);
    positions_.reserve(entries);
    next_order_.reserve(entries);
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
    const auto known =
        table_.find(hash_of(key), [&](std::uint32_t number) { return same(keys_[number], key); });
    if (known) {
        // What stood behind it then is likely to stand behind it now.
        if (positions_[*known] != none) cursor_ = positions_[*known] + 1;
        next_order_.push_back(*known);
        return {*known, false};
    }
    const auto number = static_cast<std::uint32_t>(keys_.size());
    keys_.push_back(key);
    positions_.push_back(none);
    next_order_.push_back(number);
    table_.add([this](std::uint32_t other) { return hash_of(keys_[other]); });
    return {number, true};
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
    table_.rebuild(keys_.size(), [this](std::uint32_t number) { return hash_of(keys_[number]); });
}

} // namespace bondtrace
