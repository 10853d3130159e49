// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/flow/conversation.h"

#include "user/flow/protocols.h"

#include <algorithm>

namespace bondtrace {
namespace {

Counts total(const std::vector<SlaveUse>& uses) {
    Counts sum;
    for (const SlaveUse& use : uses)
        sum += use.counts;
    return sum;
}

// The slaves one after the other, without two at the same time?
bool one_at_a_time(std::vector<SlaveUse> uses) {
    std::sort(uses.begin(), uses.end(), [](const SlaveUse& a, const SlaveUse& b) {
        return std::pair(a.first_ns, a.last_ns) < std::pair(b.first_ns, b.last_ns);
    });
    for (std::size_t i = 1; i < uses.size(); ++i) {
        const SlaveUse &before = uses[i - 1], &after = uses[i];
        if (after.first_ns < before.last_ns) return false;
        // The clock stands still for milliseconds: a busy flow's last packet on one slave and its first on
        // the next usually carry the same time, which is a move. Only when neither use has a length can the
        // order not be told.
        if (after.first_ns == before.last_ns && before.first_ns == after.last_ns) return false;
    }
    return true;
}

} // namespace

Counts& Counts::operator+=(const Counts& other) {
    packets += other.packets;
    bytes += other.bytes;
    wire_packets += other.wire_packets;
    wire_bytes += other.wire_bytes;
    return *this;
}

Counts operator-(const Counts& later, const Counts& earlier) {
    return {later.packets - earlier.packets, later.bytes - earlier.bytes,
            later.wire_packets - earlier.wire_packets, later.wire_bytes - earlier.wire_bytes};
}

std::string to_text(const Host& host) {
    return std::visit([](const auto& address) { return to_text(address); }, host);
}

std::string protocol_name(const ConversationKey& key) {
    return key.ip ? ip_protocol_name(key.protocol) : ethertype_name(key.ethertype);
}

Counts Conversation::tx_total() const {
    return total(tx);
}

Counts Conversation::rx_total() const {
    return total(rx);
}

unsigned Conversation::moves() const {
    if (tx.size() < 2 || !one_at_a_time(tx)) return 0;
    return static_cast<unsigned>(tx.size() - 1);
}

bool Conversation::sprayed() const {
    return tx.size() > 1 && moves() == 0;
}

} // namespace bondtrace
