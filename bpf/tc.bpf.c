/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The attach points by tc, on each slave or link: for kernels that allow no tracing, and for groups of links that are no
 * bond. Reads nothing but the frame and struct __sk_buff, so that lockdown does not matter, and lets every packet go on.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/direct.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, __u32);     /* ifindex */
	__type(value, struct bt_link);
} bt_links SEC(".maps");

struct bt_origin {
	struct __sk_buff *skb;
};

/* What is known of the bond is user space's to add. Whether the hash is of the transport layer cannot be seen. */
static __always_inline void bt_note_origin(const struct bt_origin *origin, struct bt_flow_value *value)
{
	if (!origin)
		return;
	value->hash_flags |= BT_HASH_PROTOCOL;
	value->skb_hash = origin->skb->hash;
	value->protocol = bpf_ntohs(origin->skb->protocol);
}

static __always_inline long bt_read(const struct bt_packet *packet, __s32 offset, void *to, __u32 size)
{
	return bpf_skb_load_bytes(packet->frame, offset, to, size);
}

static __always_inline long bt_read_headers(const struct bt_packet *packet, struct bt_headers *headers)
{
	return bt_read_direct((struct __sk_buff *)packet->frame, headers);
}

/* What the driver sends and takes for itself, as the hooks in the driver tell it (see account.bpf.h, rx_control). */
static __always_inline int bt_is_control(struct __sk_buff *skb, __u32 flags, int received)
{
	__u8 dst[ETH_ALEN], src[ETH_ALEN], subtype;

	if (skb->protocol == bpf_htons(ETH_P_SLOW) && (flags & BT_LINK_LACP)) {
		/* bond_3ad_lacpdu_recv(): LACPDUs and markers */
		return !bpf_skb_load_bytes(skb, ETH_HLEN, &subtype, sizeof(subtype)) && (subtype == 1 || subtype == 2);
	}
	/* alb_send_lp_vid(): from an address to itself */
	if (skb->protocol != bpf_htons(ETH_P_LOOPBACK) || received || !(flags & BT_LINK_LEARNING))
		return 0;
	if (bpf_skb_load_bytes(skb, 0, dst, sizeof(dst)) || bpf_skb_load_bytes(skb, ETH_ALEN, src, sizeof(src)))
		return 0;
	for (int i = 0; i < ETH_ALEN; i++)
		if (dst[i] != src[i])
			return 0;
	return 1;
}

static __always_inline int bt_tc(struct __sk_buff *skb, int received)
{
	struct bt_origin origin = {.skb = skb};
	struct bt_packet packet = {};
	struct bt_slave_totals *totals;
	struct bt_bond *traced;
	struct bt_link *link;
	__u32 ifindex = skb->ifindex, slot;

	link = bpf_map_lookup_elem(&bt_links, &ifindex);
	if (!link)
		return TC_ACT_UNSPEC;
	traced = bt_find_bond(link->bond);
	if (!traced)
		return TC_ACT_UNSPEC;
	packet.len = skb->len;
	if (bt_is_control(skb, link->flags, received)) {
		totals = bt_slave(traced, ifindex, bpf_get_smp_processor_id(), &slot);
		if (totals)
			bt_add(received ? &totals->rx_control : &totals->tx_control, packet.len, 0, 0);
		return TC_ACT_UNSPEC;
	}
	packet.frame = skb;
	packet.linear = packet.len;
	packet.tagged = skb->vlan_present;
	if (packet.tagged)
		packet.tci = skb->vlan_tci;
	packet.gso_size = skb->gso_size;
	if (packet.gso_size) {
		packet.gso_segs = skb->gso_segs;
		/* Made by __dev_queue_xmit() a moment ago; on what was received it is the sender's, or nothing. */
		if (!received)
			packet.wire_len = skb->wire_len;
	}
	bt_account(traced, ifindex, &packet, received ? BT_KEY_RX : 0, received ? NULL : &origin);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int bt_tc_tx(struct __sk_buff *skb)
{
	return bt_tc(skb, 0);
}

SEC("tc")
int bt_tc_rx(struct __sk_buff *skb)
{
	return bt_tc(skb, 1);
}
