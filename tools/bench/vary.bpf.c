/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BPF_PROG_TEST_RUN repeats one packet. This program gives it the next of a number of source ports and goes on to the
 * program under test by a tail call, so that any tc program can be timed over many flows; what it costs itself is what
 * the same run with an empty program shows.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 port_offset = 34; /* of the source port in the packet */
const volatile __u32 port_mask = 0;    /* flows - 1 */
__u32 next_port = 0;

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} target SEC(".maps");

SEC("tc")
int vary(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	__u16 *port = data + port_offset;

	if ((void *)(port + 1) <= end)
		*port = __builtin_bswap16(next_port++ & port_mask);
	bpf_tail_call(skb, &target, 0);
	return -1; /* the target is missing: the caller takes it as an error */
}

SEC("tc")
int null(struct __sk_buff *skb)
{
	return 0;
}
