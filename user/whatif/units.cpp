// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/whatif/units.h"

#include "user/flow/agreement.h"
#include "user/hash/policy.h"
#include "user/hash/tuple.h"

#include <cstring>
#include <random>
#include <utility>

namespace bondtrace {
namespace {

constexpr std::size_t first_slots = 4096;

bool is_encap(HashPolicy policy) {
    return policy == HashPolicy::encap23 || policy == HashPolicy::encap34;
}

void set(Unit& unit, HashPolicy policy, std::uint32_t hash) {
    unit.hash[policy_index(policy)] = hash;
    unit.known = static_cast<std::uint8_t>(unit.known | 1U << policy_index(policy));
}

// What layer 2 contributes, or all of it when a parser found no addresses.
bool needs_macs(const HashInputs& inputs, HashPolicy policy) {
    return !uses_ports(policy) || inputs.flow.parsed != Parsed::ok;
}

Unit unit_of(const PacketKey& key, const Era& era) {
    constexpr std::uint8_t source = 1, both = 3;
    Unit unit;
    for (const HashPolicy policy : all_policies) {
        const bool ethernet_only = policy == HashPolicy::layer2 || policy == HashPolicy::vlan_srcmac;
        const PacketKey::Inner& inner = is_encap(policy) ? key.encap : key.plain;
        if (!ethernet_only && (inner.unknown != 0 || (inner.random != 0 && inner.parsed == Parsed::ok)))
            continue;
        const HashInputs inputs = inputs_of(key, policy);
        const std::uint8_t needed = policy == HashPolicy::vlan_srcmac             ? source
                                    : ethernet_only || needs_macs(inputs, policy) ? both
                                                                                  : std::uint8_t{0};
        if ((key.macs & needed) != needed) continue;
        set(unit, policy, hash_of(inputs, policy, era));
    }
    return unit;
}

Unit unit_of(const Conversation& conversation, const Era& era) {
    Unit unit;
    const FrameOrigin& origin = conversation.tx.front().origin;
    const FlowTuple tuple = sent_tuple(conversation.key, origin);
    for (const HashPolicy policy : all_policies) {
        if (policy == HashPolicy::encap34 && origin.l4_hash) {
            set(unit, policy, origin.skb_hash);
            unit.socket_hash = true;
            continue;
        }
        const auto inputs = hash_inputs(tuple, policy, era);
        if (inputs) set(unit, policy, hash_of(*inputs, policy, era));
    }
    const Counts sent = conversation.tx_total();
    unit.packets = sent.wire_packets;
    unit.bytes = sent.wire_bytes;
    return unit;
}

// wyhash's mixing step (public domain, Wang Yi): multiply to 128 bits, fold.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

} // namespace

WhatifUnits units_of(std::span<const Conversation> conversations, std::size_t bond, const Era& era) {
    WhatifUnits result;
    for (const Conversation& conversation : conversations) {
        if (conversation.bond != bond || conversation.tx.empty()) continue;
        result.units.push_back(unit_of(conversation, era));
        result.keys.push_back(conversation.key);
    }
    return result;
}

UnitTable::UnitTable(const Era& era, std::size_t most)
    : era_(era), most_(most), reader_(era), slots_(first_slots), mask_(first_slots - 1) {
    // Seeded, since whoever sends packets chooses what is hashed.
    std::random_device random;
    seed_ = std::uint64_t{random()} << 32U | random();
    multiplier_ = (std::uint64_t{random()} << 32U | random()) | 1U;
    multiplier2_ = (std::uint64_t{random()} << 32U | random()) | 1U;
}

void UnitTable::hash_key(Pending& packet) const {
    constexpr std::size_t words_of_key = sizeof(PacketKey) / 8;
    std::array<std::uint64_t, words_of_key> words;
    std::memcpy(words.data(), &packet.key, sizeof(packet.key));
    // Two chains, which the processor works on at the same time.
    std::uint64_t even = seed_, odd = ~seed_;
    for (std::size_t i = 0; i + 1 < words_of_key; i += 2) {
        even = mix(even ^ words[i], multiplier_);
        odd = mix(odd ^ words[i + 1], multiplier2_);
    }
    if constexpr (words_of_key % 2 != 0) even = mix(even ^ words[words_of_key - 1], multiplier_);
    packet.hash = mix(even ^ multiplier2_, odd ^ multiplier_);
    packet.tag = static_cast<std::uint32_t>((even + (odd << 1U)) >> 32U);
}

void UnitTable::grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    mask_ = larger.size() - 1;
    for (const Slot& slot : slots_) {
        if (slot.number_plus_one == 0) continue;
        std::size_t at = slot.hash & mask_;
        while (larger[at].number_plus_one != 0)
            at = (at + 1) & mask_;
        larger[at] = slot;
    }
    slots_ = std::move(larger);
}

void UnitTable::count(const Pending& packet) {
    std::size_t at = packet.hash & mask_;
    for (; slots_[at].number_plus_one != 0; at = (at + 1) & mask_) {
        Slot& slot = slots_[at];
        if (slot.hash != packet.hash || slot.tag != packet.tag) continue;
        ++slot.packets;
        slot.bytes += packet.bytes;
        return;
    }
    if (keys_.size() >= most_) {
        ++lost_packets_;
        lost_bytes_ += packet.bytes;
        return;
    }
    keys_.push_back(packet.key);
    slots_[at] = {packet.hash, packet.tag, static_cast<std::uint32_t>(keys_.size()), 1, packet.bytes};
    if (keys_.size() * 2 > slots_.size()) grow();
}

void UnitTable::count_pending() {
    for (std::size_t i = 0; i < waiting_; ++i)
        count(pending_[i]);
    waiting_ = 0;
}

void UnitTable::add(const CapturedPacket& packet) {
    Pending& next = pending_[waiting_];
    next.bytes = PacketReader::wire_bytes(packet);
    if (!reader_.read(packet, next.key)) {
        ++elsewhere_packets_;
        elsewhere_bytes_ += next.bytes;
        return;
    }
    hash_key(next);
    // A large table is not in the cache: asked for now, looked at some packets later.
    __builtin_prefetch(&slots_[next.hash & mask_], 1);
    if (++waiting_ == batch) count_pending();
}

WhatifUnits UnitTable::finish() {
    count_pending();
    WhatifUnits result;
    result.units.resize(keys_.size());
    result.keys.reserve(keys_.size());
    for (std::size_t i = 0; i < keys_.size(); ++i) {
        result.units[i] = unit_of(keys_[i], era_);
        result.keys.push_back(conversation_key(keys_[i]));
    }
    for (const Slot& slot : slots_) {
        if (slot.number_plus_one == 0) continue;
        result.units[slot.number_plus_one - 1].packets = slot.packets;
        result.units[slot.number_plus_one - 1].bytes = slot.bytes;
    }
    result.lost_packets = lost_packets_;
    result.lost_bytes = lost_bytes_;
    result.elsewhere_packets = elsewhere_packets_;
    result.elsewhere_bytes = elsewhere_bytes_;
    return result;
}

} // namespace bondtrace
