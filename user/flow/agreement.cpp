// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/flow/agreement.h"

#include "user/flow/protocols.h"
#include "user/hash/choice.h"

#include <map>
#include <utility>

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::string_view no_note =
    "how the bond chose was not noted: its attachment cannot see that, or the "
    "mode or policy is one that this program does not know";
constexpr std::string_view nothing_sent = "nothing was sent";
constexpr std::string_view not_usable =
    "the slave was not among the usable ones when the packet was sent: they were changing";
constexpr std::string_view no_active = "the bond had no active slave";
constexpr std::string_view other_protocol =
    "whoever sent the frame declared another protocol than the one in it";
constexpr std::string_view socket_hash =
    "the socket's or the NIC's own hash, which encap3+4 takes as it is: the tuple does not determine it";

// The kernel's order of usable slaves, seen through packets: (how many, index) -> ifindex. A pair that was
// two slaves at two times has no entry.
class SeenOrder {
  public:
    void note(const Conversation& conversation) {
        for (const SlaveUse& use : conversation.tx) {
            if (!use.origin.usable_count || !use.origin.usable_index) continue;
            const auto [at, added] =
                slaves_.try_emplace({*use.origin.usable_count, *use.origin.usable_index}, use.slave_ifindex);
            if (!added && at->second != use.slave_ifindex) at->second = 0;
        }
    }
    // 0: not known.
    [[nodiscard]] int find(std::uint32_t count, std::uint32_t index, const std::vector<int>& at_end) const {
        if (const auto at = slaves_.find({count, index}); at != slaves_.end()) return at->second;
        return at_end.size() == count && index < count ? at_end[index] : 0;
    }

  private:
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> slaves_;
};

struct UseCheck {
    std::optional<bool> agrees;
    bool by_tuple = false;  // the tuple determined the slave
    std::string_view why{}; // when it cannot be checked, or not by the tuple
    Choice choice{};
};

// skb->protocol is what the driver's parsers go by, the frame's own bytes are what the tuple has. For IEEE
// 802.3 frames, whose bytes are a length, bridges and raw sockets set different numbers, neither of which
// any parser knows.
bool same_protocol(const FrameOrigin& origin) {
    constexpr std::uint16_t first_ethertype = 0x0600;
    return origin.protocol == origin.outer_ethertype ||
           (origin.protocol < first_ethertype && origin.outer_ethertype < first_ethertype);
}

bool looks_behind_ethernet(HashPolicy policy) {
    return policy != HashPolicy::layer2 && policy != HashPolicy::vlan_srcmac;
}

ChoiceContext context_of(const FrameOrigin& origin, const BondNote& note, const PredictionBond& bond,
                         const Era& era) {
    ChoiceContext context;
    context.mode = note.mode;
    context.policy = note.policy;
    context.era = era;
    context.usable = origin.usable_count.value_or(0);
    context.tlb_dynamic_lb = note.tlb_dynamic_lb;
    context.queue_override = bond.queue_override;
    context.broadcast_neighbor = bond.broadcast_neighbor;
    context.flow_dissector = bond.flow_dissector;
    context.tls_offload = origin.offloaded;
    context.l4_hash = origin.l4_hash;
    context.skb_hash = origin.skb_hash;
    return context;
}

UseCheck unchecked(std::string_view why) {
    return {.agrees = std::nullopt, .by_tuple = false, .why = why, .choice = {}};
}

UseCheck check(const ConversationKey& key, const SlaveUse& use, const PredictionBond& bond, const Era& era) {
    const FrameOrigin& origin = use.origin;
    if (!origin.bond) return unchecked(no_note);
    const BondNote& note = *origin.bond;
    FlowTuple tuple = sent_tuple(key, origin);
    // These modes give what leaves through another slave that slave's source address, after the hash.
    const bool rewrites = note.mode == BondMode::balance_tlb || note.mode == BondMode::balance_alb;
    if (rewrites && note.active_slave != true) tuple.src_mac.reset();

    UseCheck result;
    result.choice = choose(context_of(origin, note, bond, era), tuple);
    switch (result.choice.kind) {
    case ChoiceKind::none:
    case ChoiceKind::all_slaves:
        if (result.choice.kind == ChoiceKind::all_slaves && result.choice.reason.empty())
            return unchecked("a copy goes through every slave");
        if (!origin.usable_count && note.mode != BondMode::balance_rr && note.mode != BondMode::active_backup)
            return unchecked(not_usable);
        return unchecked(result.choice.reason);
    case ChoiceKind::active_slave:
        if (!note.active_slave) return unchecked(no_active);
        result.agrees = *note.active_slave;
        result.by_tuple = true;
        return result;
    case ChoiceKind::index:
        break;
    }
    if (!origin.usable_index) return unchecked(not_usable);
    result.by_tuple = !(note.policy == HashPolicy::encap34 && origin.l4_hash);
    if (result.by_tuple && looks_behind_ethernet(note.policy) && !same_protocol(origin))
        return unchecked(other_protocol);
    if (!result.by_tuple) result.why = socket_hash;
    result.agrees = result.choice.index == *origin.usable_index;
    return result;
}

// The words for a use that went elsewhere, and the slave it should have taken, if that is known.
std::string disagreement(const SlaveUse& use, const UseCheck& found, const PredictionBond& bond,
                         const SeenOrder& order, std::optional<std::string>& slave) {
    if (found.choice.kind == ChoiceKind::active_slave)
        return fmt::format("sent through {}, which was not the active slave",
                           bond.slave_name(use.slave_ifindex));
    const std::uint32_t count = use.origin.usable_count.value_or(0);
    const int ifindex = order.find(count, found.choice.index, bond.usable);
    if (ifindex != 0) slave = bond.slave_name(ifindex);
    return fmt::format("{} gives index {} of {}{}, and {} had index {}", to_text(use.origin.bond->policy),
                       found.choice.index, count, slave ? fmt::format(", which is {}", *slave) : "",
                       bond.slave_name(use.slave_ifindex), use.origin.usable_index.value_or(0));
}

Prediction predict_one(const Conversation& conversation, const PredictionBond& bond, const SeenOrder& order,
                       const Era& era) {
    Prediction prediction;
    if (conversation.tx.empty()) {
        prediction.why = nothing_sent;
        return prediction;
    }
    std::string_view unknown, note;
    bool last_by_tuple = false;
    for (const SlaveUse& use : conversation.tx) {
        const UseCheck found = check(conversation.key, use, bond, era);
        if (!found.agrees) {
            if (unknown.empty()) unknown = found.why;
            continue;
        }
        if (!*found.agrees) {
            prediction.agrees = false;
            prediction.why = disagreement(use, found, bond, order, prediction.slave);
            return prediction;
        }
        last_by_tuple = found.by_tuple;
        note = found.why;
    }
    if (!unknown.empty()) {
        prediction.why = unknown;
        return prediction;
    }
    prediction.agrees = true;
    prediction.why = note;
    if (last_by_tuple) prediction.slave = bond.slave_name(conversation.tx.back().slave_ifindex);
    return prediction;
}

} // namespace

FlowTuple sent_tuple(const ConversationKey& key, const FrameOrigin& origin) {
    FlowTuple tuple;
    tuple.ethertype = key.ethertype;
    tuple.outer_ethertype = origin.outer_ethertype;
    tuple.protocol = key.protocol;
    if (const auto* local = std::get_if<IpAddress>(&key.local)) tuple.src = *local;
    if (const auto* remote = std::get_if<IpAddress>(&key.remote)) tuple.dst = *remote;
    if (const auto* ports = std::get_if<Ports>(&key.detail)) {
        tuple.src_port = ports->local;
        tuple.dst_port = ports->remote;
    } else if (const auto* icmp = std::get_if<IcmpMessage>(&key.detail)) {
        tuple.icmp_type = icmp->type;
        tuple.icmp_code = icmp->code;
        tuple.icmp_id = icmp->id.value_or(0);
    } else if (const auto* spi = std::get_if<Spi>(&key.detail)) {
        tuple.src_port = static_cast<std::uint16_t>(spi->value >> 16U);
        tuple.dst_port = static_cast<std::uint16_t>(spi->value);
    }
    tuple.fragment = key.fragment;
    tuple.extension_headers = origin.extension_headers;
    tuple.unparsed = key.unparsed;
    tuple.src_mac = origin.local_mac;
    tuple.dst_mac = origin.remote_mac;
    tuple.tci = origin.tci;
    return tuple;
}

void predict(std::vector<Conversation>& conversations, std::span<const PredictionBond> bonds, const Era& era,
             PredictionPool& pool) {
    std::vector<SeenOrder> orders(bonds.size());
    for (const Conversation& conversation : conversations)
        if (conversation.bond < bonds.size()) orders[conversation.bond].note(conversation);
    for (Conversation& conversation : conversations)
        if (conversation.bond < bonds.size())
            conversation.prediction = pool.share(
                predict_one(conversation, bonds[conversation.bond], orders[conversation.bond], era));
}

void predict(std::vector<Conversation>& conversations, std::span<const PredictionBond> bonds,
             const Era& era) {
    PredictionPool pool;
    predict(conversations, bonds, era, pool);
}

} // namespace bondtrace
