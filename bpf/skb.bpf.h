/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the attach points in the bonding driver (fentry, kprobe) share: a struct sk_buff as a struct bt_packet, what the
 * bond decided from, and both ends of bond_handle_frame(). By probing reads, which work in either, and of which there are
 * few for each packet: they are most of what it costs.
 */
#ifndef BONDTRACE_SKB_BPF_H
#define BONDTRACE_SKB_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/kernel.bpf.h"

#include "bpf/account.bpf.h"

struct bt_origin {
	struct bonding *bond;
	struct sk_buff *skb;
	struct net_device *slave;
};

static __always_inline long bt_read(const struct bt_packet *packet, __s32 offset, void *to, __u32 size)
{
	return bpf_probe_read_kernel(to, size, packet->frame + offset);
}

static __always_inline long bt_read_headers(const struct bt_packet *packet, struct bt_headers *headers)
{
	/*
	 * Whole, even when the frame ends before: linear data is followed by at least a struct skb_shared_info, so the
	 * read is safe, and a constant size is cheaper than a computed one. The parsers check against linear.
	 */
	if (packet->linear < ETH_HLEN) {
		__builtin_memset(headers, 0, sizeof(*headers));
		return -1;
	}
	return bt_read(packet, -(__s32)sizeof(headers->align), headers, sizeof(*headers));
}

/* tls_is_skb_tx_device_offloaded(): the socket's packets go to the device that encrypts them, whatever the hash. */
static __always_inline int bt_is_offloaded(const struct sk_buff *skb)
{
	const struct sock *sk = BPF_CORE_READ(skb, sk);
	__u8 state;

	if (!sk || !bpf_core_field_exists(sk->sk_validate_xmit_skb))
		return 0;
	state = BPF_CORE_READ(sk, __sk_common.skc_state);
	if (state == TCP_TIME_WAIT || state == TCP_NEW_SYN_RECV)
		return 0;
	return BPF_CORE_READ(sk, sk_validate_xmit_skb) != NULL;
}

/*
 * What decided about the slave, read a moment after the decision. Another CPU can change the bond in between, which
 * takes a change of configuration or link within some hundred nanoseconds. Without BTF of the driver, only what is in the
 * skb: the rest is left to user space.
 */
static __always_inline void bt_note_origin(const struct bt_origin *origin, struct bt_flow_value *value)
{
	struct bond_up_slave *usable;
	struct bonding *bond;
	struct sk_buff *skb; /* CO-RE would take origin's own layout for the kernel's, too */
	struct slave *active;

	if (!origin)
		return;
	skb = origin->skb;
	value->hash_flags |= BT_HASH_PROTOCOL | BT_HASH_SKB;
	value->skb_hash = BPF_CORE_READ(skb, hash);
	value->protocol = bpf_ntohs(BPF_CORE_READ(skb, protocol));
	if (BPF_CORE_READ_BITFIELD_PROBED(skb, l4_hash))
		value->hash_flags |= BT_HASH_L4;
	if (bt_is_offloaded(skb))
		value->hash_flags |= BT_HASH_OFFLOADED;
	if (!bpf_core_field_exists(struct bonding, usable_slaves))
		return;

	bond = origin->bond;
	value->hash_flags |= BT_HASH_NOTED;
	value->mode = BPF_CORE_READ(bond, params.mode);
	value->policy = BPF_CORE_READ(bond, params.xmit_policy);
	if (BPF_CORE_READ(bond, params.tlb_dynamic_lb))
		value->hash_flags |= BT_HASH_TLB_DYNAMIC;
	active = BPF_CORE_READ(bond, curr_active_slave);
	if (active) {
		value->hash_flags |= BT_HASH_HAS_ACTIVE;
		if (BPF_CORE_READ(active, dev) == origin->slave)
			value->hash_flags |= BT_HASH_ACTIVE;
	}

	/* The order the driver itself indexes with, at this very instant; nowhere exported. */
	usable = BPF_CORE_READ(bond, usable_slaves);
	if (!usable)
		return;
	value->usable_count = BPF_CORE_READ(usable, count);
	value->hash_flags |= BT_HASH_USABLE;
	for (__u32 i = 0; i < BT_MAX_SLAVES && i < value->usable_count; i++) {
		struct slave *slave = NULL;

		bpf_core_read(&slave, sizeof(slave), &usable->arr[i]);
		if (slave && BPF_CORE_READ(slave, dev) == origin->slave) {
			value->usable_index = i;
			break;
		}
	}
}

/*
 * Parts of kernel structs, read at once: a probing read costs about the same for one member and for all. The verifier refuses
 * the program where a part is larger than the place for it, so that nothing is ever read in half.
 */
struct bt_skb_part {
	__u8 bytes[256]; /* of some 200 */
} __attribute__((aligned(8)));

struct bt_gso_part {
	__u8 bytes[64]; /* of some 30 */
} __attribute__((aligned(8)));

/*
 * Too large for the stack, so one a CPU for each of the two programs that use it: one can interrupt the other, but the kernel
 * does not run a program that is at work on that CPU already (such runs are counted as recursion misses).
 */
enum bt_scratch { BT_SCRATCH_TX, BT_SCRATCH_RX, BT_SCRATCHES };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BT_SCRATCHES);
	__type(key, __u32);
	__type(value, struct bt_skb_part);
} bt_skb_parts SEC(".maps");

/*
 * The members of SKB from dev to data, which are all that are read of it but for the socket. Returns where a struct sk_buff
 * would begin of which this is the part: members are read from it as from a pointer that the verifier knows. Or NULL.
 */
static __always_inline const struct sk_buff *bt_read_skb(__u32 scratch, const struct sk_buff *skb)
{
	__u32 first = bpf_core_field_offset(struct sk_buff, dev);
	__u32 end = bpf_core_field_offset(struct sk_buff, data) + sizeof(skb->data);
	struct bt_skb_part *part = bpf_map_lookup_elem(&bt_skb_parts, &scratch);

	if (!part || bpf_probe_read_kernel(part, end - first, (const void *)skb + first))
		return NULL;
	return (const void *)part - first;
}

/* SKB is of a tracing program's argument, or of bt_read_skb(). */
static __always_inline void bt_fill_gso(struct bt_packet *packet, const struct sk_buff *skb)
{
	const struct skb_shared_info *info;
	struct bt_gso_part part;

	bpf_probe_read_kernel(&part, bpf_core_field_offset(struct skb_shared_info, gso_type) + sizeof(info->gso_type),
			      (const void *)skb->head + skb->end);
	info = (const void *)&part;
	packet->gso_size = info->gso_size;
	if (!packet->gso_size)
		return;
	packet->gso_segs = info->gso_segs;
	packet->gso_type = info->gso_type;
	if (BPF_CORE_READ_BITFIELD(skb, encapsulation)) {
		const void *inner_l4 = skb->head + skb->inner_transport_header;

		if (inner_l4 > packet->frame && inner_l4 - packet->frame < packet->linear)
			packet->inner_l4 = inner_l4 - packet->frame;
	}
}

/* SKB as above. PULLED is how much of the Ethernet header is in front of skb->data. */
static __always_inline void bt_fill_packet(struct bt_packet *packet, const struct sk_buff *skb, __u32 pulled)
{
	packet->frame = skb->data - pulled;
	packet->len = skb->len + pulled;
	packet->linear = packet->len - skb->data_len;
	packet->tci = skb->vlan_tci;
	if (bpf_core_field_exists(struct sk_buff___vlan_all, vlan_all))
		packet->tagged = ((const struct sk_buff___vlan_all *)skb)->vlan_all != 0;
	else
		packet->tagged = BPF_CORE_READ_BITFIELD((const struct sk_buff___vlan_bit *)skb, vlan_present);
	bt_fill_gso(packet, skb);
}

/* What is sent through SLAVE_DEV, into PACKET; the bond when it is traced, or NULL. */
static __always_inline struct bt_bond *bt_look_at_sent(const struct sk_buff *skb, struct net_device *slave_dev,
						       struct bt_packet *packet)
{
	const struct sk_buff *known;
	struct bt_bond *traced;
	struct bt_device id;

	known = bt_read_skb(BT_SCRATCH_TX, skb);
	if (!known)
		return NULL;
	id.netns = BPF_CORE_READ(slave_dev, nd_net.net, ns.inum);
	id.ifindex = BPF_CORE_READ(known->dev, ifindex); /* still the bond's: the driver is to change that */
	traced = bt_find_bond(id);
	if (traced)
		bt_fill_packet(packet, known, 0);
	return traced;
}

/* A frame that BOND sends through SLAVE_DEV, of which only probing reads can tell. */
static __always_inline void bt_sent(struct bonding *bond, struct sk_buff *skb, struct net_device *slave_dev)
{
	struct bt_origin origin = {.bond = bond, .skb = skb, .slave = slave_dev};
	struct bt_packet packet = {};
	struct bt_bond *traced = bt_look_at_sent(skb, slave_dev, &packet);

	if (traced)
		bt_account(traced, BPF_CORE_READ(slave_dev, ifindex), &packet, 0, &origin);
}

/*
 * A frame the bond consumes is gone when bond_handle_frame() returns, so the few that it may consume, of the slow
 * protocols (LACP, marker), leave at entry what is to be counted at the return. One per CPU: BH is off in between.
 */
struct bt_slow_frame {
	struct bt_device bond;
	__u32 slave_ifindex;
	__u32 len; /* 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bt_slow_frame);
} bt_slow_frames SEC(".maps");

/* Supplied by the attach point: the bond that a device is a slave of; ifindex 0 when that is none. */
static __always_inline void bt_bond_of_slave(struct net_device *slave_dev, struct bt_device *bond);

/* At the entry of bond_handle_frame(). */
static __always_inline void bt_rx_entered(struct sk_buff *skb)
{
	struct bt_slow_frame *slow;
	struct net_device *dev;
	__u32 zero = 0;

	if (BPF_CORE_READ(skb, protocol) != bpf_htons(ETH_P_SLOW))
		return;
	slow = bpf_map_lookup_elem(&bt_slow_frames, &zero);
	if (!slow)
		return;
	dev = BPF_CORE_READ(skb, dev);
	bt_bond_of_slave(dev, &slow->bond);
	slow->slave_ifindex = BPF_CORE_READ(dev, ifindex);
	slow->len = BPF_CORE_READ(skb, len) + ETH_HLEN;
}

static __always_inline void bt_rx_consumed(void)
{
	struct bt_slave_totals *totals;
	struct bt_slow_frame *slow;
	struct bt_bond *traced;
	struct bt_stats *stats;
	__u32 zero = 0, slot;

	slow = bpf_map_lookup_elem(&bt_slow_frames, &zero);
	if (!slow)
		return;
	if (!slow->len) {
		stats = bt_stats();
		if (stats)
			stats->consumed_unknown++;
		return;
	}
	traced = bt_find_bond(slow->bond);
	if (traced) {
		totals = bt_slave(traced, slow->slave_ifindex, bpf_get_smp_processor_id(), &slot);
		if (totals)
			bt_add(&totals->rx_control, slow->len, 0, 0);
	}
	slow->len = 0;
}

/* A slow-protocol frame that was not consumed after all (OAM, or a bond that is not 802.3ad). */
static __always_inline void bt_forget_slow_frame(void)
{
	struct bt_slow_frame *slow;
	__u32 zero = 0;

	slow = bpf_map_lookup_elem(&bt_slow_frames, &zero);
	if (slow)
		slow->len = 0;
}

/* What was received, into PACKET, FLAGS and SLAVE_IFINDEX; the bond when it is traced, or NULL. */
static __always_inline struct bt_bond *bt_look_at_received(const struct sk_buff *skb, __u32 verdict, struct bt_packet *packet,
							   __u8 *flags, __u32 *slave_ifindex)
{
	const struct sk_buff *known;
	struct bt_device id = {};
	struct bt_bond *traced;

	known = bt_read_skb(BT_SCRATCH_RX, skb);
	if (!known)
		return NULL;
	*flags = BT_KEY_RX;
	if (verdict == RX_HANDLER_ANOTHER) { /* delivered: the device is the bond's by now */
		id.netns = BPF_CORE_READ(known->dev, nd_net.net, ns.inum);
		id.ifindex = BPF_CORE_READ(known->dev, ifindex);
	} else {
		bt_bond_of_slave(known->dev, &id);
		*flags |= verdict == RX_HANDLER_EXACT ? BT_KEY_INACTIVE : BT_KEY_PASSED;
	}
	traced = bt_find_bond(id);
	if (traced) {
		*slave_ifindex = known->skb_iif;
		bt_fill_packet(packet, known, ETH_HLEN);
	}
	return traced;
}

/* At its return with a verdict other than RX_HANDLER_CONSUMED: the skb is still there. */
static __always_inline void bt_rx_returned(const struct sk_buff *skb, __u32 verdict)
{
	struct bt_packet packet = {};
	struct bt_bond *traced;
	__u32 slave_ifindex = 0;
	__u8 flags = 0;

	traced = bt_look_at_received(skb, verdict, &packet, &flags, &slave_ifindex);
	if (traced && bt_account(traced, slave_ifindex, &packet, flags, NULL) == ETH_P_SLOW)
		bt_forget_slow_frame();
}

/* What the driver sends on a slave itself, beside bond_dev_queue_xmit(): of known size, counted where it is made. */
static __always_inline void bt_control(struct net_device *slave_dev, __u32 bytes)
{
	struct bt_slave_totals *totals;
	struct bt_device id = {};
	struct bt_bond *traced;
	__u32 slot;

	bt_bond_of_slave(slave_dev, &id);
	traced = bt_find_bond(id);
	if (!traced)
		return;
	totals = bt_slave(traced, BPF_CORE_READ(slave_dev, ifindex), bpf_get_smp_processor_id(), &slot);
	if (totals)
		bt_add(&totals->tx_control, bytes, 0, 0);
}

#endif
