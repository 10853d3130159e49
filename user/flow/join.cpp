// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/flow/join.h"

#include "user/base/huge_pages.h"
#include "user/flow/protocols.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <tuple>
#include <type_traits>
#include <utility>

#include <netinet/in.h>

namespace bondtrace {
namespace {

enum class Detail : std::uint8_t { none, ports, icmp, spi };

// A conversation's identity as bytes without padding: cheap to hash and to compare, and as fine as
// ConversationKey.
struct Identity {
    std::array<std::uint8_t, 16> local, remote;
    std::uint16_t first,
        second; // local and remote port; ICMP id, and type and code; upper and lower half of the SPI
    std::uint16_t ethertype;
    std::uint16_t vlan, inner_vlan; // BT_VLAN_PRESENT | VLAN ID, or 0
    std::uint8_t protocol;
    Detail detail;
    std::uint8_t ip, fragment, unparsed, has_id;
    std::uint64_t bond;

    bool operator==(const Identity& other) const { return std::memcmp(this, &other, sizeof(*this)) == 0; }
};
static_assert(std::has_unique_object_representations_v<Identity> && sizeof(Identity) % 8 == 0);

Detail detail_of(std::uint8_t protocol) {
    switch (protocol) {
    case IPPROTO_TCP:
    case IPPROTO_UDP:
    case IPPROTO_UDPLITE:
    case IPPROTO_DCCP:
    case IPPROTO_SCTP:
        return Detail::ports;
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        return Detail::icmp;
    case IPPROTO_ESP:
    case IPPROTO_AH:
        return Detail::spi;
    default:
        return Detail::none;
    }
}

// The types for which the key has an id: bt_icmp_has_id() in bpf/packet.bpf.h.
bool icmp_has_id(std::uint8_t type) {
    return type == 8 || type == 0 || type == 13 || type == 14 || type == 128 || type == 129;
}

// Whether the key's addresses are IP addresses. A header that was not understood leaves MAC addresses in
// their place, and with them no protocol and no extension headers (bt_parse() in bpf/packet.bpf.h).
bool has_ip_addresses(const bt_flow_key& key) {
    if (key.ethertype != ethertype_ipv4 && key.ethertype != ethertype_ipv6) return false;
    return !(key.flags & BT_KEY_UNPARSED) || key.protocol != 0 || (key.flags & BT_KEY_EXTHDR);
}

Identity identify(const FlowEntry& entry) {
    const bt_flow_key& key = entry.key;
    const bool received = key.flags & BT_KEY_RX;
    Identity id{};
    id.bond = entry.bond;
    id.ethertype = key.ethertype;
    if (key.vlan & BT_VLAN_PRESENT) id.vlan = key.vlan & (BT_VLAN_PRESENT | vlan_id_mask);
    if (key.inner_vlan & BT_VLAN_PRESENT) id.inner_vlan = key.inner_vlan & (BT_VLAN_PRESENT | vlan_id_mask);
    id.ip = has_ip_addresses(key);
    id.unparsed = (key.flags & BT_KEY_UNPARSED) != 0;

    const std::size_t address_bytes = !id.ip ? 6 : key.ethertype == ethertype_ipv4 ? 4 : 16;
    std::memcpy(id.local.data(), received ? key.dst : key.src, address_bytes);
    std::memcpy(id.remote.data(), received ? key.src : key.dst, address_bytes);
    if (!id.ip) return id;

    id.protocol = key.protocol;
    id.fragment = (key.flags & BT_KEY_FRAGMENT) != 0;
    if (id.fragment || id.unparsed) return id;
    id.detail = detail_of(key.protocol);
    switch (id.detail) {
    case Detail::none:
        break;
    case Detail::ports:
        id.first = ntohs(received ? key.dst_port : key.src_port);
        id.second = ntohs(received ? key.src_port : key.dst_port);
        break;
    case Detail::icmp: {
        const std::uint16_t type_and_code = ntohs(key.dst_port);
        const auto sent_type = static_cast<std::uint8_t>(type_and_code >> 8);
        const std::uint8_t type = received ? icmp_counterpart(key.protocol, sent_type) : sent_type;
        id.second = static_cast<std::uint16_t>(type << 8 | (type_and_code & 0xff));
        id.has_id = icmp_has_id(sent_type);
        if (id.has_id) id.first = ntohs(key.src_port);
        break;
    }
    case Detail::spi:
        id.first = ntohs(key.src_port);
        id.second = ntohs(key.dst_port);
        break;
    }
    return id;
}

Host host_of(const Identity& id, const std::array<std::uint8_t, 16>& bytes) {
    if (id.ip) return IpAddress{id.ethertype == ethertype_ipv6, bytes};
    MacAddress mac{};
    std::copy_n(bytes.begin(), mac.size(), mac.begin());
    return mac;
}

std::optional<std::uint16_t> vlan_of(std::uint16_t tag) {
    if (!(tag & BT_VLAN_PRESENT)) return std::nullopt;
    return static_cast<std::uint16_t>(tag & vlan_id_mask);
}

ConversationKey key_of(const Identity& id) {
    ConversationKey key;
    key.ethertype = id.ethertype;
    key.protocol = id.protocol;
    key.ip = id.ip;
    key.local = host_of(id, id.local);
    key.remote = host_of(id, id.remote);
    key.vlan = vlan_of(id.vlan);
    key.inner_vlan = vlan_of(id.inner_vlan);
    key.fragment = id.fragment;
    key.unparsed = id.unparsed;
    switch (id.detail) {
    case Detail::none:
        break;
    case Detail::ports:
        key.detail = Ports{id.first, id.second};
        break;
    case Detail::icmp: {
        IcmpMessage message{
            static_cast<std::uint8_t>(id.second >> 8), static_cast<std::uint8_t>(id.second & 0xff), {}};
        if (id.has_id) message.id = id.first;
        key.detail = message;
        break;
    }
    case Detail::spi:
        key.detail = Spi{static_cast<std::uint32_t>(id.first) << 16 | id.second};
        break;
    }
    return key;
}

// wyhash's mixing step (public domain, Wang Yi): multiply to 128 bits, fold.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Open-addressing table of the entries' identities, which are made again from the first entry of each when
// they are compared: kept, they would be 56 bytes a conversation. Seeded, since whoever sends
// packets chooses what is hashed.
class IdentityTable {
  public:
    explicit IdentityTable(std::span<const FlowEntry> entries)
        : entries_(entries), mask_(std::bit_ceil(std::max<std::size_t>(entries.size() * 2, 16)) - 1) {
        reserve_large(slots_, mask_ + 1);
        slots_.resize(mask_ + 1);
        std::random_device random;
        seed_ = static_cast<std::uint64_t>(random()) << 32 | random();
        multiplier_ = (static_cast<std::uint64_t>(random()) << 32 | random()) | 1;
        reserve_large(first_, entries.size());
    }

    [[nodiscard]] std::uint64_t hash_of(const Identity& id) const {
        std::array<std::uint64_t, sizeof(Identity) / 8> words;
        std::memcpy(words.data(), &id, sizeof(id));
        std::uint64_t hash = seed_;
        for (const std::uint64_t word : words)
            hash = mix(hash ^ word, multiplier_);
        return hash;
    }

    // A large table is not in the cache: asks for what number() will look at first, some time before.
    void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }

    // Number of the identity of this entry, of this hash, counted from 0 in the order of first sight.
    std::uint32_t number(std::uint32_t entry, const Identity& id, std::uint64_t hash) {
        const auto tag = static_cast<std::uint32_t>(hash >> 32);
        for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
            Slot& slot = slots_[at];
            if (slot.number_plus_one == 0) {
                first_.push_back(entry);
                slot = {static_cast<std::uint32_t>(first_.size()), tag};
                return slot.number_plus_one - 1;
            }
            if (slot.tag == tag && identify(entries_[first_[slot.number_plus_one - 1]]) == id)
                return slot.number_plus_one - 1;
        }
    }

    [[nodiscard]] std::size_t size() const { return first_.size(); }

  private:
    struct Slot {
        std::uint32_t number_plus_one = 0; // 0: free
        std::uint32_t tag = 0;             // upper half of the hash
    };

    std::span<const FlowEntry> entries_;
    std::vector<Slot> slots_;
    std::size_t mask_;
    std::uint64_t seed_ = 0, multiplier_ = 1;
    std::vector<std::uint32_t> first_; // entry of each identity
};

MacAddress mac_of(const __u8 (&bytes)[6]) {
    MacAddress mac;
    std::copy_n(bytes, mac.size(), mac.begin());
    return mac;
}

std::optional<BondNote> note_of(const bt_flow_value& value) {
    constexpr auto last_mode = static_cast<std::uint8_t>(BondMode::balance_alb);
    constexpr auto last_policy = static_cast<std::uint8_t>(HashPolicy::vlan_srcmac);
    if (!(value.hash_flags & BT_HASH_NOTED) || value.mode > last_mode || value.policy > last_policy)
        return std::nullopt;
    BondNote note;
    note.mode = static_cast<BondMode>(value.mode);
    note.policy = static_cast<HashPolicy>(value.policy);
    note.tlb_dynamic_lb = value.hash_flags & BT_HASH_TLB_DYNAMIC;
    if (value.hash_flags & BT_HASH_HAS_ACTIVE) note.active_slave = value.hash_flags & BT_HASH_ACTIVE;
    return note;
}

SlaveUse use_of(const FlowEntry& entry) {
    const bt_flow_value& value = entry.value;
    const bool received = entry.key.flags & BT_KEY_RX;
    SlaveUse use;
    use.slave_ifindex = entry.slave_ifindex;
    use.counts = {value.count.packets, value.count.bytes, value.count.packets + value.count.added_packets,
                  value.count.bytes + value.count.added_bytes};
    use.first_ns = value.first_ns;
    use.last_ns = value.last_ns;
    use.inactive = received && (entry.key.flags & (BT_KEY_INACTIVE | BT_KEY_PASSED));
    use.origin.local_mac = mac_of(received ? value.dst_mac : value.src_mac);
    use.origin.remote_mac = mac_of(received ? value.src_mac : value.dst_mac);
    if (received) return use;
    use.origin.tci = value.tci;
    use.origin.outer_ethertype = value.outer_ethertype;
    use.origin.protocol = value.protocol;
    use.origin.extension_headers = entry.key.flags & BT_KEY_EXTHDR;
    use.origin.skb_hash = value.skb_hash;
    use.origin.l4_hash = value.hash_flags & BT_HASH_L4;
    use.origin.offloaded = value.hash_flags & BT_HASH_OFFLOADED;
    use.origin.bond = note_of(value);
    if (value.hash_flags & BT_HASH_USABLE) {
        use.origin.usable_count = value.usable_count;
        if (value.usable_index != BT_NO_INDEX) use.origin.usable_index = value.usable_index;
    }
    return use;
}

// Adds `use` to the slave's own, or as another. Several entries of one slave: they differ in flags that are
// not part of a conversation's identity (extension headers, where the tag was). There are at most a few dozen
// uses.
void add_use(std::vector<SlaveUse>& uses, const SlaveUse& use) {
    for (SlaveUse& known : uses) {
        if (known.slave_ifindex != use.slave_ifindex || known.inactive != use.inactive) continue;
        known.counts += use.counts;
        if (use.first_ns < known.first_ns) known.origin = use.origin;
        known.first_ns = std::min(known.first_ns, use.first_ns);
        known.last_ns = std::max(known.last_ns, use.last_ns);
        return;
    }
    uses.push_back(use);
}

void sort_by_first_use(std::vector<SlaveUse>& uses) {
    std::sort(uses.begin(), uses.end(), [](const SlaveUse& a, const SlaveUse& b) {
        return std::tuple(a.first_ns, a.slave_ifindex, a.inactive) <
               std::tuple(b.first_ns, b.slave_ifindex, b.inactive);
    });
}

// The number of every entry's identity. In batches, so that the table's cache misses overlap.
std::vector<std::uint32_t> number_entries(std::span<const FlowEntry> entries, IdentityTable& table) {
    constexpr std::size_t batch = 32;
    std::vector<std::uint32_t> numbers;
    numbers.reserve(entries.size());
    std::array<Identity, batch> ids;
    std::array<std::uint64_t, batch> hashes;
    for (std::size_t start = 0; start < entries.size(); start += batch) {
        const std::size_t count = std::min(batch, entries.size() - start);
        for (std::size_t i = 0; i < count; ++i) {
            ids[i] = identify(entries[start + i]);
            hashes[i] = table.hash_of(ids[i]);
            table.prefetch(hashes[i]);
        }
        for (std::size_t i = 0; i < count; ++i)
            numbers.push_back(table.number(static_cast<std::uint32_t>(start + i), ids[i], hashes[i]));
    }
    return numbers;
}

// Entries by identity: those of number n are order[first[n]] to order[first[n + 1]], in their own order.
struct Grouping {
    std::vector<std::uint32_t> first, order;
};

// A counting sort: conversations can then be built one after the other.
Grouping group(const std::vector<std::uint32_t>& numbers, std::size_t identities) {
    Grouping result{std::vector<std::uint32_t>(identities + 2), std::vector<std::uint32_t>(numbers.size())};
    for (const std::uint32_t number : numbers)
        ++result.first[number + 2];
    for (std::size_t i = 2; i < result.first.size(); ++i)
        result.first[i] += result.first[i - 1];
    for (std::uint32_t entry = 0; entry < numbers.size(); ++entry)
        result.order[result.first[numbers[entry] + 1]++] = entry;
    return result;
}

constexpr std::size_t prefetch_distance = 16; // entries
constexpr std::size_t cache_line = 64;

void prefetch_entry(const FlowEntry& entry) {
    const auto* bytes = reinterpret_cast<const char*>(&entry);
    for (std::size_t at = 0; at < sizeof(entry); at += cache_line)
        __builtin_prefetch(bytes + at);
}

} // namespace

std::vector<Conversation> join(std::span<const FlowEntry> entries) {
    Grouping groups;
    { // what takes memory goes before the conversations come
        IdentityTable table(entries);
        const std::vector<std::uint32_t> numbers = number_entries(entries, table);
        groups = group(numbers, table.size());
    }

    const std::size_t count = groups.first.size() - 2;
    std::vector<Conversation> conversations;
    reserve_large(conversations, count);
    for (std::size_t i = 0; i < count; ++i) {
        const Identity id = identify(entries[groups.order[groups.first[i]]]);
        Conversation& conversation = conversations.emplace_back();
        conversation.bond = static_cast<std::size_t>(id.bond);
        conversation.key = key_of(id);
        for (std::size_t at = groups.first[i]; at < groups.first[i + 1]; ++at) {
            if (at + prefetch_distance < entries.size())
                prefetch_entry(entries[groups.order[at + prefetch_distance]]);
            const FlowEntry& entry = entries[groups.order[at]];
            add_use(entry.key.flags & BT_KEY_RX ? conversation.rx : conversation.tx, use_of(entry));
        }
        if (conversation.tx.size() > 1) sort_by_first_use(conversation.tx);
        if (conversation.rx.size() > 1) sort_by_first_use(conversation.rx);
    }
    return conversations;
}

Conversation conversation_of(const FlowEntry& entry) {
    Conversation conversation;
    conversation.bond = entry.bond;
    conversation.key = key_of(identify(entry));
    ((entry.key.flags & BT_KEY_RX) ? conversation.rx : conversation.tx).push_back(use_of(entry));
    return conversation;
}

} // namespace bondtrace
