/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counting core of bpf/ as a tc program, so that it can be timed by BPF_PROG_TEST_RUN on any kernel, with or without
 * a bond. Everything but the way to the skb is the code that runs on a bond; bytes are read by the same helper.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline long bt_read(const struct bt_packet *packet, __s32 offset, void *to, __u32 size)
{
	return bpf_probe_read_kernel(to, size, packet->frame + offset);
}

static __always_inline long bt_read_headers(const struct bt_packet *packet, struct bt_headers *headers)
{
	struct __sk_buff *skb = packet->skb;
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	__u64 *to = (__u64 *)headers->l3;
	__u16 *macs = (__u16 *)headers->dst;

	if (data + ETH_HLEN + 32 > end)
		return -1;
	for (int i = 0; i < 7; i++)
		macs[i] = ((__u16 *)data)[i];
	for (int i = 0; i < 4; i++)
		to[i] = ((__u64 *)(data + ETH_HLEN))[i];
	if (headers->ethertype == __builtin_bswap16(ETH_P_IP))
		return 0;
	if (data + ETH_HLEN + 48 > end)
		return -1;
	for (int i = 4; i < 6; i++)
		to[i] = ((__u64 *)(data + ETH_HLEN))[i];
	if (data + ETH_HLEN + 56 > end)
		return 0;
	for (int i = 6; i < 7; i++)
		to[i] = ((__u64 *)(data + ETH_HLEN))[i];
	return 0;
}

static __always_inline void bt_note_origin(const struct bt_origin *origin, struct bt_flow_value *value)
{
}

SEC("tc")
int count(struct __sk_buff *skb)
{
	struct bt_device id = {.netns = 1, .ifindex = 1};
	struct bt_packet packet = {};
	struct bt_bond *traced;

	traced = bt_find_bond(id);
	if (!traced)
		return 0;
	packet.skb = skb;
	packet.frame = (const void *)(long)skb->data;
	packet.linear = skb->data_end - skb->data;
	packet.len = skb->len;
	packet.tagged = skb->vlan_present;
	packet.tci = skb->vlan_tci;
	packet.gso_size = skb->gso_size;
	packet.gso_segs = skb->gso_segs;
	bt_account(traced, 1, &packet, 0, NULL);
	return 0;
}

/* The same for a packet of a bond that is not traced. */
SEC("tc")
int untraced(struct __sk_buff *skb)
{
	struct bt_device id = {.netns = 1, .ifindex = 2};

	return bt_find_bond(id) != NULL;
}
