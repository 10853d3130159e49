/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counting core of bpf/ as a tc program, so that it can be timed by BPF_PROG_TEST_RUN on any kernel, with or without
 * a bond. Everything but the way to the skb is the code that runs on a bond; bytes are read by the same helper.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline long bt_read(const struct bt_packet *packet, __u32 offset, void *to, __u32 size)
{
	return bpf_probe_read_kernel(to, size, packet->frame + offset);
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

	traced = bpf_map_lookup_elem(&bt_bonds, &id);
	if (!traced)
		return 0;
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

	return bpf_map_lookup_elem(&bt_bonds, &id) != NULL;
}
