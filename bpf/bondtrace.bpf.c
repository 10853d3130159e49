/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The attach points. Each finds the bond in one lookup, so that bonds which are not traced cost no more, describes the
 * frame as a struct bt_packet and lets bt_account() count it.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/kernel.bpf.h"

#include "bpf/account.bpf.h"

char LICENSE[] SEC("license") = "GPL";

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
	const struct sock *sk = skb->sk;
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
 * takes a change of configuration or link within some hundred nanoseconds.
 */
static __always_inline void bt_note_origin(const struct bt_origin *origin, struct bt_flow_value *value)
{
	struct bond_up_slave *usable;
	struct slave *active;

	if (!origin)
		return;
	value->hash_flags |= BT_HASH_NOTED;
	value->skb_hash = origin->skb->hash;
	value->protocol = bpf_ntohs(origin->skb->protocol);
	value->mode = origin->bond->params.mode;
	value->policy = origin->bond->params.xmit_policy;
	if (BPF_CORE_READ_BITFIELD(origin->skb, l4_hash))
		value->hash_flags |= BT_HASH_L4;
	if (origin->bond->params.tlb_dynamic_lb)
		value->hash_flags |= BT_HASH_TLB_DYNAMIC;
	if (bt_is_offloaded(origin->skb))
		value->hash_flags |= BT_HASH_OFFLOADED;
	active = origin->bond->curr_active_slave;
	if (active) {
		value->hash_flags |= BT_HASH_HAS_ACTIVE;
		if (active->dev == origin->slave)
			value->hash_flags |= BT_HASH_ACTIVE;
	}

	/* The order the driver itself indexes with, at this very instant; nowhere exported. */
	usable = origin->bond->usable_slaves;
	if (!usable)
		return;
	value->usable_count = usable->count;
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

/* GSO fields and what else of the skb only probing reads can reach. */
static __always_inline void bt_fill_gso(struct bt_packet *packet, struct sk_buff *skb, unsigned char *head, __u32 end)
{
	struct skb_shared_info *info = (struct skb_shared_info *)(head + end);

	bpf_core_read(&packet->gso_size, sizeof(packet->gso_size), &info->gso_size);
	if (!packet->gso_size)
		return;
	packet->gso_segs = BPF_CORE_READ(info, gso_segs);
	packet->gso_type = BPF_CORE_READ(info, gso_type);
	if (BPF_CORE_READ_BITFIELD_PROBED(skb, encapsulation)) {
		const void *inner_l4 = head + BPF_CORE_READ(skb, inner_transport_header);

		if (inner_l4 > packet->frame && inner_l4 - packet->frame < packet->linear)
			packet->inner_l4 = inner_l4 - packet->frame;
	}
}

SEC("fentry/bond_dev_queue_xmit")
int BPF_PROG(bt_tx, struct bonding *bond, struct sk_buff *skb, struct net_device *slave_dev)
{
	struct bt_device id = {
		.netns = slave_dev->nd_net.net->ns.inum,
		.ifindex = bond->dev->ifindex,
	};
	struct bt_origin origin = {.bond = bond, .skb = skb, .slave = slave_dev};
	struct bt_packet packet = {};
	struct bt_bond *traced;

	traced = bt_find_bond(id);
	if (!traced)
		return 0;

	packet.frame = skb->data;
	packet.len = skb->len;
	packet.linear = packet.len - skb->data_len;
	packet.tci = skb->vlan_tci;
	if (bpf_core_field_exists(struct sk_buff___vlan_all, vlan_all))
		packet.tagged = ((struct sk_buff___vlan_all *)skb)->vlan_all != 0;
	else
		packet.tagged = BPF_CORE_READ_BITFIELD((struct sk_buff___vlan_bit *)skb, vlan_present);
	bt_fill_gso(&packet, skb, skb->head, skb->end);
	bt_account(traced, slave_dev->ifindex, &packet, 0, &origin);
	return 0;
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

/* bond_handle_frame()'s only argument is a pointer to the skb's pointer, which no context access may read before 6.19. */
static __always_inline struct sk_buff *bt_rx_skb(void *ctx)
{
	struct sk_buff *skb = NULL;
	__u64 argument = 0;

	if (!bpf_get_func_arg(ctx, 0, &argument))
		bpf_probe_read_kernel(&skb, sizeof(skb), (const void *)argument);
	return skb;
}

static __always_inline void bt_bond_of_slave(struct net_device *slave_dev, struct bt_device *bond)
{
	struct slave *slave = BPF_CORE_READ(slave_dev, rx_handler_data);

	bond->netns = BPF_CORE_READ(slave_dev, nd_net.net, ns.inum);
	bond->ifindex = BPF_CORE_READ(slave, bond, dev, ifindex);
}

SEC("fentry/bond_handle_frame")
int bt_rx_enter(void *ctx)
{
	struct sk_buff *skb = bt_rx_skb(ctx);
	struct bt_slow_frame *slow;
	struct net_device *dev;
	__u32 zero = 0;

	if (BPF_CORE_READ(skb, protocol) != bpf_htons(ETH_P_SLOW))
		return 0;
	slow = bpf_map_lookup_elem(&bt_slow_frames, &zero);
	if (!slow)
		return 0;
	dev = BPF_CORE_READ(skb, dev);
	bt_bond_of_slave(dev, &slow->bond);
	slow->slave_ifindex = BPF_CORE_READ(dev, ifindex);
	slow->len = BPF_CORE_READ(skb, len) + ETH_HLEN;
	return 0;
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

SEC("fexit/bond_handle_frame")
int bt_rx(void *ctx)
{
	struct bt_packet packet = {};
	struct bt_device id = {};
	struct bt_bond *traced;
	struct net_device *dev;
	struct sk_buff *skb;
	__u32 slave_ifindex;
	__u64 verdict = 0;
	__u8 flags = BT_KEY_RX;

	if (bpf_get_func_ret(ctx, &verdict))
		return 0;
	if ((__u32)verdict == RX_HANDLER_CONSUMED) {
		bt_rx_consumed();
		return 0;
	}

	skb = bt_rx_skb(ctx);
	dev = BPF_CORE_READ(skb, dev);
	slave_ifindex = BPF_CORE_READ(skb, skb_iif);
	if ((__u32)verdict == RX_HANDLER_ANOTHER) { /* delivered: the device is the bond's by now */
		id.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
		id.ifindex = BPF_CORE_READ(dev, ifindex);
	} else {
		bt_bond_of_slave(dev, &id);
		flags |= (__u32)verdict == RX_HANDLER_EXACT ? BT_KEY_INACTIVE : BT_KEY_PASSED;
	}
	traced = bt_find_bond(id);
	if (!traced)
		return 0;

	packet.frame = BPF_CORE_READ(skb, data) - ETH_HLEN;
	packet.len = BPF_CORE_READ(skb, len) + ETH_HLEN;
	packet.linear = packet.len - BPF_CORE_READ(skb, data_len);
	if (bpf_core_field_exists(struct sk_buff___vlan_all, vlan_all))
		packet.tagged = BPF_CORE_READ((struct sk_buff___vlan_all *)skb, vlan_all) != 0;
	else
		packet.tagged = BPF_CORE_READ_BITFIELD_PROBED((struct sk_buff___vlan_bit *)skb, vlan_present);
	if (packet.tagged)
		packet.tci = BPF_CORE_READ(skb, vlan_tci);
	bt_fill_gso(&packet, skb, BPF_CORE_READ(skb, head), BPF_CORE_READ(skb, end));
	if (bt_account(traced, slave_ifindex, &packet, flags, NULL) == ETH_P_SLOW)
		bt_forget_slow_frame();
	return 0;
}

/* What the driver sends on a slave itself, beside bond_dev_queue_xmit(): of known size, counted where it is made. */
static __always_inline void bt_control(struct slave *slave, __u32 bytes)
{
	struct net_device *dev = BPF_CORE_READ(slave, dev);
	struct bt_slave_totals *totals;
	struct bt_device id;
	struct bt_bond *traced;
	__u32 slot;

	bt_bond_of_slave(dev, &id);
	traced = bt_find_bond(id);
	if (!traced)
		return;
	totals = bt_slave(traced, BPF_CORE_READ(dev, ifindex), bpf_get_smp_processor_id(), &slot);
	if (totals)
		bt_add(&totals->tx_control, bytes, 0, 0);
}

/*
 * Where the slave is in the driver's struct port. Not by CO-RE: that takes a type of this name from the kernel proper when
 * there is one, and there is (drivers/char/virtio_console.c), before it looks at modules.
 */
const volatile __u32 bt_port_slave_offset;

SEC("fexit/ad_lacpdu_send")
int BPF_PROG(bt_lacpdu, void *port, int ret)
{
	struct slave *slave = NULL;

	if (!ret && !bpf_probe_read_kernel(&slave, sizeof(slave), port + bt_port_slave_offset))
		bt_control(slave, BT_LACPDU_LEN);
	return 0;
}

SEC("fentry/alb_send_lp_vid")
int BPF_PROG(bt_learning, struct slave *slave)
{
	bt_control(slave, BT_LEARNING_LEN);
	return 0;
}
