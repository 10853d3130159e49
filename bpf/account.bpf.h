/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow key -> counters: the maps, and the one function that counts. Counters only grow; user space subtracts.
 */
#ifndef BONDTRACE_ACCOUNT_BPF_H
#define BONDTRACE_ACCOUNT_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/packet.bpf.h"

/* User space sets max_entries before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE); /* user space writes single members while programs add slaves */
	__type(key, __u32);
	__type(value, struct bt_bond);
} bt_bonds SEC(".maps");

const volatile __u32 bt_bond_places = 1; /* max_entries of bt_bonds */

/*
 * Slot -> ifindex of the slave that was the first to ask for it. A hash settles who that is on kernels that have no atomic
 * compare-and-exchange for programs (before 5.12), too.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} bt_claims SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct bt_flow_key);
	__type(value, struct bt_flow_value);
} bt_flows SEC(".maps");

/*
 * Each CPU's totals of every slot, one CPU after the other. Not a per-CPU map: looking it up is no call, and one answer to
 * "which CPU" is good for the cache as well.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct bt_slave_totals);
} bt_totals SEC(".maps");

const volatile __u32 bt_slots = 1; /* of a CPU */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bt_stats);
} bt_counters SEC(".maps");

/* One a CPU. Not a per-CPU map: user space reads it as memory, and looking it up is no call. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct bt_cache);
} bt_caches SEC(".maps");

/* False on a PREEMPT_RT kernel, where a program can be interrupted by another one of its CPU at any time. */
const volatile __u8 bt_caching = 1;

/*
 * The monotonic clock to a tick or so, for little: the kernel's tick counter is read without a call, and what it lacks to
 * that clock is noted whenever a flow is new, where a call does not matter.
 */
const volatile __u64 bt_tick_ns = 4000000; /* resolution of CLOCK_MONOTONIC_COARSE */
__u64 bt_clock_offset;

static __always_inline __u64 bt_now(void)
{
	return bpf_jiffies64() * bt_tick_ns + bt_clock_offset;
}

static __always_inline __u64 bt_set_clock(void)
{
	__u64 now = bpf_ktime_get_ns();

	bt_clock_offset = now - bpf_jiffies64() * bt_tick_ns;
	return now;
}

/*
 * Supplied by the attach point: where the hash inputs of a sent packet that are not in the frame come from, and what fills
 * them in for a new entry. ORIGIN is NULL for what was received.
 */
struct bt_origin;
static __always_inline void bt_note_origin(const struct bt_origin *origin, struct bt_flow_value *value);

static __always_inline struct bt_stats *bt_stats(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bt_counters, &zero);
}

/* The bond when it is traced, or NULL: for most others after a look at one place. An array's lookup is no call. */
static __always_inline struct bt_bond *bt_find_bond(struct bt_device device)
{
	__u32 place = bt_bond_place(device, bt_bond_places);

	for (int i = 0; i < BT_BOND_PROBES; i++) {
		__u32 index = (place + i) & (bt_bond_places - 1);
		struct bt_bond *bond = bpf_map_lookup_elem(&bt_bonds, &index);

		if (!bond || !bond->device.ifindex)
			return NULL;
		if (bond->device.ifindex == device.ifindex && bond->device.netns == device.netns)
			return bond;
	}
	return NULL;
}

/* Whose SLOT is now: SLAVE_IFINDEX's when it was free. 0 when that cannot be told. */
static __noinline __u32 bt_claim(__u32 slot, __u32 slave_ifindex)
{
	__u32 *owner;

	if (!bpf_map_update_elem(&bt_claims, &slot, &slave_ifindex, BPF_NOEXIST))
		return slave_ifindex;
	owner = bpf_map_lookup_elem(&bt_claims, &slot);
	return owner ? *owner : 0;
}

/*
 * Slot of a slave; a slave seen for the first time takes the first free place, so that not even the first packet of a
 * slave that was added a moment ago is lost. Negative when all places are taken.
 */
static __always_inline int bt_slot(struct bt_bond *bond, __u32 slave_ifindex)
{
	for (int i = 0; i < BT_MAX_SLAVES; i++) {
		__u32 ifindex = bond->slave_ifindex[i];

		if (!ifindex) {
			ifindex = bt_claim(bond->first_slot + i, slave_ifindex);
			bond->slave_ifindex[i] = ifindex; /* all who come here write the same */
		}
		if (ifindex == slave_ifindex)
			return bond->first_slot + i;
	}
	return -1;
}

/* Totals of a slave on this CPU, or NULL when there is no slot for it, which is counted. */
static __always_inline struct bt_slave_totals *bt_slave(struct bt_bond *bond, __u32 slave_ifindex, __u32 cpu,
							 __u32 *slot_out)
{
	int slot = bt_slot(bond, slave_ifindex);
	struct bt_stats *stats;

	if (slot >= 0) {
		__u32 index = cpu * bt_slots + slot;

		*slot_out = slot;
		return bpf_map_lookup_elem(&bt_totals, &index);
	}
	stats = bt_stats();
	if (stats)
		stats->slots_full++;
	return NULL;
}

/* BH is off at every hook, so a CPU's own counters have one writer and need no atomic operation. */
static __always_inline void bt_add(struct bt_count *count, __u64 bytes, __u64 added_packets, __u64 added_bytes)
{
	count->packets++;
	count->bytes += bytes;
	if (added_packets) {
		count->added_packets += added_packets;
		count->added_bytes += added_bytes;
	}
}

static __always_inline void bt_add_shared(struct bt_flow_value *flow, const struct bt_count *count, __u64 last_ns)
{
	__sync_fetch_and_add(&flow->count.packets, count->packets);
	__sync_fetch_and_add(&flow->count.bytes, count->bytes);
	if (count->added_packets) {
		__sync_fetch_and_add(&flow->count.added_packets, count->added_packets);
		__sync_fetch_and_add(&flow->count.added_bytes, count->added_bytes);
	}
	if (flow->last_ns < last_ns)
		flow->last_ns = last_ns;
}

/* Keys are six words of eight bytes. The compiler would compare them by the byte, for all that it knows of alignment. */
static __always_inline int bt_same_key(const struct bt_flow_key *a, const struct bt_flow_key *b)
{
	const __u64 *x = (const __u64 *)a, *y = (const __u64 *)b;

	/* The words that differ most come first. */
	return x[4] == y[4] && x[2] == y[2] && x[0] == y[0] && x[5] == y[5] && x[3] == y[3] && x[1] == y[1];
}

/* This CPU's cache, or NULL when it must not be used now. To be given back. */
static __always_inline struct bt_cache *bt_take_cache(__u32 cpu)
{
	struct bt_cache *cache;

	if (!bt_caching)
		return NULL;
	cache = bpf_map_lookup_elem(&bt_caches, &cpu);
	if (!cache || cache->busy)
		return NULL;
	*(volatile __u32 *)&cache->busy = 1;
	return cache;
}

static __always_inline void bt_give_cache(struct bt_cache *cache)
{
	*(volatile __u32 *)&cache->busy = 0;
}

/* Misses that a flow outlasts after a hit: of two flows that want one place, one has it. */
#define BT_CACHE_CREDIT 8

/* After a packet of KEY was counted in the table: gives it the place, when the flow that has it is not in use. */
static __always_inline void bt_exchange(struct bt_cached_flow *cached, const struct bt_flow_key *key)
{
	if (cached->credit) {
		cached->credit--;
		return;
	}
	/* Odd from here to the end: the reader, in user space, must not take half of one for the other. */
	__sync_fetch_and_add(&cached->version, 1);
	if (cached->count.packets) {
		struct bt_flow_value *flow = bpf_map_lookup_elem(&bt_flows, &cached->key);

		if (flow)
			bt_add_shared(flow, &cached->count, cached->last_ns);
		cached->count.packets = cached->count.bytes = 0;
		cached->count.added_packets = cached->count.added_bytes = 0;
	}
	bt_copy_words(&cached->key, key, sizeof(*key) / 8);
	__sync_fetch_and_add(&cached->version, 1);
}

/* A flow's first packet on a slave: its entry, with what only the first packet notes. Negative when there is no room. */
static __always_inline long bt_enter(const struct bt_flow_key *key, const struct bt_count *count,
				     const struct bt_packet *packet, const struct bt_headers *headers,
				     const struct bt_layout *layout, const struct bt_origin *origin)
{
	__u64 now = bt_set_clock();
	struct bt_flow_value value = {
		.count = *count,
		.first_ns = now,
		.last_ns = now,
		.tci = packet->tagged ? packet->tci : 0,
		.outer_ethertype = layout->outer_ethertype,
		.usable_index = BT_NO_INDEX,
	};

	__builtin_memcpy(value.dst_mac, headers->dst, ETH_ALEN);
	__builtin_memcpy(value.src_mac, headers->src, ETH_ALEN);
	bt_note_origin(origin, &value);
	return bpf_map_update_elem(&bt_flows, key, &value, BPF_NOEXIST);
}

/* Counts PACKET on a slave of BOND. FLAGS: BT_KEY_RX and the verdict. Returns the frame's EtherType, 0 if unknown. */
static __always_inline __u16 bt_account(struct bt_bond *bond, __u32 slave_ifindex, const struct bt_packet *packet,
					__u8 flags, const struct bt_origin *origin)
{
	struct bt_headers headers;
	struct bt_flow_key key = {};
	struct bt_layout layout = {};
	struct bt_slave_totals *totals;
	struct bt_cached_flow *cached = NULL;
	struct bt_flow_value *flow;
	struct bt_cache *cache;
	struct bt_count count;
	__u64 added_packets, added_bytes;
	__u32 slot, cpu = bpf_get_smp_processor_id();

	totals = bt_slave(bond, slave_ifindex, cpu, &slot);
	if (!totals)
		return 0;

	key.slot = slot;
	key.flags = flags;
	if (bt_read_headers(packet, &headers))
		key.flags |= BT_KEY_UNPARSED;
	else
		bt_parse(packet, &headers, &key, &layout);
	bt_segments(packet, &key, &layout, &added_packets, &added_bytes);

	if (flags & BT_KEY_RX) {
		bt_add(&totals->rx, packet->len, added_packets, added_bytes);
		if (flags & (BT_KEY_INACTIVE | BT_KEY_PASSED))
			bt_add(&totals->rx_inactive, packet->len, added_packets, added_bytes);
		if (key.flags & BT_KEY_UNPARSED)
			totals->rx_unparsed++;
	} else {
		bt_add(&totals->tx, packet->len, added_packets, added_bytes);
		if (key.flags & BT_KEY_UNPARSED)
			totals->tx_unparsed++;
	}

	cache = bt_take_cache(cpu);
	if (cache) {
		cached = &cache->flows[bt_cache_place(&key) & (BT_CACHE_FLOWS - 1)];
		if (cached->version && bt_same_key(&cached->key, &key)) {
			bt_add(&cached->count, packet->len, added_packets, added_bytes);
			cached->last_ns = bt_now();
			cached->credit = BT_CACHE_CREDIT;
			bt_give_cache(cache);
			return layout.outer_ethertype;
		}
	}

	count.packets = 1;
	count.bytes = packet->len;
	count.added_packets = added_packets;
	count.added_bytes = added_bytes;
	flow = bpf_map_lookup_elem(&bt_flows, &key);
	if (!flow && bt_enter(&key, &count, packet, &headers, &layout, origin)) {
		/* Another CPU was faster, or the table is full. */
		flow = bpf_map_lookup_elem(&bt_flows, &key);
		if (!flow) {
			bt_add(flags & BT_KEY_RX ? &totals->rx_untracked : &totals->tx_untracked, packet->len,
			       added_packets, added_bytes);
			if (cache)
				bt_give_cache(cache);
			return layout.outer_ethertype;
		}
	}
	if (flow)
		bt_add_shared(flow, &count, bt_now());
	if (cache) {
		bt_exchange(cached, &key);
		bt_give_cache(cache);
	}
	return layout.outer_ethertype;
}

#endif
