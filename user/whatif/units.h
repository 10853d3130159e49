// SPDX-License-Identifier: GPL-2.0-or-later
// What `bondtrace whatif` puts on slaves: flows with their hash under every policy, from conversations or
// from captured packets. Pure.
#pragma once

#include "user/flow/conversation.h"
#include "user/hash/era.h"
#include "user/hash/frame.h"
#include "user/whatif/packet.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bondtrace {

inline constexpr std::array<HashPolicy, 6> all_policies{HashPolicy::layer2,  HashPolicy::layer23,
                                                        HashPolicy::layer34, HashPolicy::encap23,
                                                        HashPolicy::encap34, HashPolicy::vlan_srcmac};

// Position of a policy in a unit's hashes: its number in the kernel.
constexpr std::size_t policy_index(HashPolicy policy) {
    return static_cast<std::size_t>(policy);
}

// Packets that no policy can tell apart, so that each policy keeps them together.
struct Unit {
    std::array<std::uint32_t, 6> hash{}; // by policy_index()
    std::uint8_t known = 0;              // one bit for each policy: its hash is what the kernel would compute
    bool socket_hash = false;            // the hash under encap3+4 is the socket's own, as it was noted
    std::uint64_t packets = 0, bytes = 0; // frames on the wire

    [[nodiscard]] bool knows(HashPolicy policy) const { return (known >> policy_index(policy) & 1U) != 0; }
};

// All units of a source, with who they are, for notes.
struct WhatifUnits {
    std::vector<Unit> units;
    std::vector<ConversationKey> keys;                        // of the same size
    std::uint64_t lost_packets = 0, lost_bytes = 0;           // beyond the most flows that are kept
    std::uint64_t elsewhere_packets = 0, elsewhere_bytes = 0; // not sent from here, or not understood at all
};

// What conversations sent; those that sent nothing are left out. Only those of `bond`.
WhatifUnits units_of(std::span<const Conversation> conversations, std::size_t bond, const Era& era);

// Units of packets as they come. Memory grows with different flows, up to `most` of them.
class UnitTable {
  public:
    UnitTable(const Era& era, std::size_t most);

    // Counts one captured packet.
    void add(const CapturedPacket& packet);

    // Different flows so far, but for the last few packets.
    [[nodiscard]] std::size_t size() const { return keys_.size(); }
    // Hands over what was counted.
    WhatifUnits finish();

  private:
    // All that a packet of a known flow touches. A flow is known by 96 bits of a seeded hash of its key:
    // among ten million flows two are taken for one with a probability of 1e-15.
    struct Slot {
        std::uint64_t hash = 0;
        std::uint32_t tag = 0;
        std::uint32_t number_plus_one = 0; // 0: free
        std::uint64_t packets = 0, bytes = 0;
    };
    struct Pending {
        PacketKey key;
        std::uint64_t hash = 0;
        std::uint32_t tag = 0;
        std::uint64_t bytes = 0;
    };
    static constexpr std::size_t batch = 16;

    void hash_key(Pending& packet) const;
    void count(const Pending& packet);
    void count_pending();
    void grow();

    Era era_;
    std::size_t most_;
    PacketReader reader_;
    std::vector<Slot> slots_;
    std::size_t mask_;
    std::uint64_t seed_, multiplier_, multiplier2_;
    std::array<Pending, batch> pending_{};
    std::size_t waiting_ = 0;
    std::vector<PacketKey> keys_;
    std::uint64_t lost_packets_ = 0, lost_bytes_ = 0, elsewhere_packets_ = 0, elsewhere_bytes_ = 0;
};

} // namespace bondtrace
