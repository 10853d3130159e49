// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/flow/sort.h"

#include "user/base/text.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

namespace bondtrace {
namespace {

struct NamedKey {
    std::string_view name;
    SortKey key;
};
constexpr std::array sort_keys = {
    NamedKey{"bytes", SortKey::bytes}, NamedKey{"packets", SortKey::packets}, NamedKey{"tx", SortKey::tx},
    NamedKey{"rx", SortKey::rx},       NamedKey{"moves", SortKey::moves},     NamedKey{"age", SortKey::age},
    NamedKey{"local", SortKey::local}, NamedKey{"remote", SortKey::remote},   NamedKey{"port", SortKey::port},
    NamedKey{"proto", SortKey::proto}, NamedKey{"slave", SortKey::slave}};

std::uint64_t first_seen(const Conversation& conversation) {
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    for (const auto* uses : {&conversation.tx, &conversation.rx})
        for (const SlaveUse& use : *uses)
            first = std::min(first, use.first_ns);
    return first;
}

// What a conversation is compared by, computed once: smaller comes first.
struct Rank {
    std::uint64_t number = 0;
    std::string text;
    std::size_t index = 0; // in the input
};

std::uint64_t descending(std::uint64_t value) {
    return std::numeric_limits<std::uint64_t>::max() - value;
}

std::uint64_t port_rank(const Conversation& conversation) {
    const auto* ports = std::get_if<Ports>(&conversation.key.detail);
    if (!ports) return std::numeric_limits<std::uint64_t>::max();
    return static_cast<std::uint64_t>(ports->remote) << 16 | ports->local;
}

std::string slave_rank(const Conversation& conversation, const Names& names) {
    // Names cannot hold these two bytes: the first sorts behind every name, the second separates.
    const auto name = [&](const std::vector<SlaveUse>& uses) {
        if (uses.empty()) return std::string(1, '\xff');
        return std::string(names.slave(conversation.bond, uses.front().slave_ifindex));
    };
    return name(conversation.tx) + '\0' + name(conversation.rx);
}

Rank rank_of(const Conversation& conversation, SortKey key, const Names& names) {
    Rank rank;
    switch (key) {
    case SortKey::bytes:
        rank.number = descending(conversation.tx_total().wire_bytes + conversation.rx_total().wire_bytes);
        break;
    case SortKey::packets:
        rank.number = descending(conversation.tx_total().wire_packets + conversation.rx_total().wire_packets);
        break;
    case SortKey::tx:
        rank.number = descending(conversation.tx_total().wire_bytes);
        break;
    case SortKey::rx:
        rank.number = descending(conversation.rx_total().wire_bytes);
        break;
    case SortKey::moves:
        rank.number = descending(conversation.moves());
        break;
    case SortKey::age:
        rank.number = first_seen(conversation);
        break;
    case SortKey::port:
        rank.number = port_rank(conversation);
        break;
    case SortKey::proto:
        rank.text = protocol_name(conversation.key);
        break;
    case SortKey::slave:
        rank.text = slave_rank(conversation, names);
        break;
    case SortKey::local:
    case SortKey::remote:
        break; // compared by the identity itself
    }
    return rank;
}

// Address and port of one end; conversations without ports before those with.
auto end_of(const ConversationKey& key, bool local) {
    const auto* ports = std::get_if<Ports>(&key.detail);
    const int port = !ports ? -1 : local ? ports->local : ports->remote;
    return std::pair<const Host&, int>(local ? key.local : key.remote, port);
}

} // namespace

Result<SortKey> parse_sort_key(std::string_view text) {
    std::string names;
    for (const NamedKey& known : sort_keys) {
        if (known.name == text) return known.key;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    }
    constexpr std::size_t shown = 40;
    return fail(ErrorKind::usage,
                fmt::format("\"{}\" is no sort key", shorten_end(sanitize(text), shown, "...")),
                fmt::format("sort by one of {}", names));
}

void sort_conversations(std::vector<Conversation>& conversations, SortKey key, const Names& names,
                        std::optional<std::size_t> top) {
    std::vector<Rank> ranks;
    ranks.reserve(conversations.size());
    for (const Conversation& conversation : conversations) {
        ranks.push_back(rank_of(conversation, key, names));
        ranks.back().index = ranks.size() - 1;
    }
    const auto before = [&](const Rank& a, const Rank& b) {
        if (a.number != b.number) return a.number < b.number;
        if (const int order = a.text.compare(b.text); order != 0) return order < 0;
        const Conversation &left = conversations[a.index], &right = conversations[b.index];
        if (key == SortKey::local || key == SortKey::remote) {
            const auto order =
                end_of(left.key, key == SortKey::local) <=> end_of(right.key, key == SortKey::local);
            if (order != 0) return order < 0;
        }
        if (left.bond != right.bond) return left.bond < right.bond;
        const auto order = left.key <=> right.key;
        return order != 0 ? order < 0 : a.index < b.index;
    };
    const std::size_t kept = std::min(top.value_or(ranks.size()), ranks.size());
    if (kept < ranks.size())
        std::partial_sort(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(kept), ranks.end(),
                          before);
    else
        std::sort(ranks.begin(), ranks.end(), before);

    std::vector<Conversation> sorted;
    sorted.reserve(kept);
    for (std::size_t i = 0; i < kept; ++i)
        sorted.push_back(std::move(conversations[ranks[i].index]));
    conversations = std::move(sorted);
}

} // namespace bondtrace
