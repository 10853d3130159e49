/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BPF_PROG_TEST_RUN repeats one packet. This program makes it one of a number of flows, in an order that jumps over all of
 * them so that caches miss as they do in life, and goes on to the program under test by a tail call, so that any tc program
 * can be timed; what it costs itself is what the same run with an empty program shows.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 port_offset = 34; /* of the source port in the packet; the destination port follows */
const volatile __u32 flow_mask = 0;    /* flows - 1; a power of two less one */
const volatile __u32 first_flow = 0;
const volatile __u8 swapped = 0; /* the flow's number stands in the other port: packets of the other direction */
const volatile __s32 no_target = -1000; /* returned when there is nothing to go on to */

/* Of each CPU, a cache line apart. */
struct {
	__u32 value;
	__u32 apart[15];
} next_flow[256];

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
	__u32 *ports = data + port_offset, cpu = bpf_get_smp_processor_id() & 255, flow;

	/* An odd factor makes it a permutation of the flows. */
	flow = first_flow + (next_flow[cpu].value++ * 0x9e3779b1U & flow_mask);
	if ((void *)(ports + 1) <= end)
		*ports = __builtin_bswap32(swapped ? flow : flow << 16 | flow >> 16);
	bpf_tail_call(skb, &target, 0);
	return no_target;
}

SEC("tc")
int null(struct __sk_buff *skb)
{
	return 0;
}
