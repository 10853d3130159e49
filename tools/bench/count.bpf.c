/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counting core of bpf/ in tc programs, so that it can be timed by BPF_PROG_TEST_RUN on any kernel, with or without a
 * bond. Everything but the way to the skb is the code that runs on a bond; the bytes are read in both of the ways there are.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/direct.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Which one is known when a program is compiled: packet->frame is the context of a tc program, or the frame's address. */
struct bt_origin {
	struct __sk_buff *skb;
};

static __always_inline long bt_read(const struct bt_packet *packet, __s32 offset, void *to, __u32 size)
{
	if (packet->direct)
		return bpf_skb_load_bytes(packet->frame, offset, to, size);
	return bpf_probe_read_kernel(to, size, packet->frame + offset);
}

static __always_inline long bt_read_headers(const struct bt_packet *packet, struct bt_headers *headers)
{
	if (packet->direct)
		return bt_read_direct((struct __sk_buff *)packet->frame, headers);
	return bt_read(packet, -(__s32)sizeof(headers->align), headers, sizeof(*headers));
}

static __always_inline void bt_note_origin(const struct bt_origin *origin, struct bt_flow_value *value)
{
}

static __always_inline void bt_bench(struct __sk_buff *skb, const void *frame, int direct)
{
	struct bt_device id = {.netns = 1, .ifindex = 1};
	struct bt_packet packet = {.frame = frame, .direct = direct};
	struct bt_bond *traced;

	traced = bt_find_bond(id);
	if (!traced)
		return;
	packet.linear = packet.len = skb->len;
	packet.tagged = skb->vlan_present;
	packet.tci = skb->vlan_tci;
	packet.gso_size = skb->gso_size;
	packet.gso_segs = skb->gso_segs;
	bt_account(traced, 1, &packet, 0, NULL);
}

/* As attached by tc. */
SEC("tc")
int count_tc(struct __sk_buff *skb)
{
	bt_bench(skb, skb, 1);
	return 0;
}

/* As attached by fentry and kprobe. */
SEC("tc")
int count_probe(struct __sk_buff *skb)
{
	bt_bench(skb, (const void *)(long)skb->data, 0);
	return 0;
}

/* A packet of a bond that is not traced. */
SEC("tc")
int untraced(struct __sk_buff *skb)
{
	struct bt_device id = {.netns = 1, .ifindex = 2};

	return bt_find_bond(id) != NULL;
}
