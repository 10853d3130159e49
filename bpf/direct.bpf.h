/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the frame of a tc program: its first bytes by direct access, which costs a load each and no call, the rest by
 * the helper.
 */
#ifndef BONDTRACE_DIRECT_BPF_H
#define BONDTRACE_DIRECT_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/packet.bpf.h"

static __always_inline void bt_copy_l3(struct bt_headers *headers, const void *data, int words)
{
	__u64 *to = (__u64 *)headers->l3;
	const __u64 *from = data + ETH_HLEN;

	for (int i = 0; i < words; i++)
		to[i] = from[i];
	for (int i = words; i < (int)(BT_L3_BYTES / 8); i++)
		to[i] = 0;
}

/* See bt_read_headers(). The sizes are those of the frames that there are: a bare TCP segment has 54 bytes, over IPv6 74. */
static __always_inline long bt_read_direct(struct __sk_buff *skb, struct bt_headers *headers)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	__u16 *to = (__u16 *)headers->dst;
	__u32 size = skb->len;

	if (data + ETH_HLEN + 32 <= end) {
		for (int i = 0; i < ETH_HLEN / 2; i++)
			to[i] = ((__u16 *)data)[i];
		if (data + ETH_HLEN + 56 <= end)
			bt_copy_l3(headers, data, 7);
		else if (data + ETH_HLEN + 48 <= end)
			bt_copy_l3(headers, data, 6);
		else if (data + ETH_HLEN + 40 <= end)
			bt_copy_l3(headers, data, 5);
		else
			bt_copy_l3(headers, data, 4);
		return 0;
	}

	/* Short frames, and those whose headers are in pages. */
	__builtin_memset(headers, 0, sizeof(*headers));
	if (size > ETH_HLEN + BT_L3_BYTES)
		size = ETH_HLEN + BT_L3_BYTES;
	if (size < ETH_HLEN)
		return -1;
	asm volatile("" : "+r"(size)); /* lest the compiler forgets the bounds that the verifier has to see */
	if (size < ETH_HLEN || size > ETH_HLEN + BT_L3_BYTES)
		return -1;
	return bpf_skb_load_bytes(skb, 0, headers->dst, size);
}

#endif
