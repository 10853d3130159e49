/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The yardstick: the least that counts packets and bytes of 5-tuples in one shared hash table, with direct packet access.
 * No slaves, no directions, no times, no second byte count, no odd packets.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct key {
	__u8 src[16], dst[16];
	__u32 ports;
	__u32 protocol;
};

struct value {
	__u64 packets, bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct key);
	__type(value, struct value);
} flows SEC(".maps");

SEC("tc")
int reference(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct value *value, first = {1, skb->len};
	struct key key = {};
	__be16 proto;
	__u32 *ports;

	if ((void *)(eth + 1) > end)
		return 0;
	proto = eth->h_proto;
	data = eth + 1;
	if (proto == bpf_htons(ETH_P_8021Q)) {
		if (data + 4 > end)
			return 0;
		proto = *(__be16 *)(data + 2);
		data += 4;
	}
	if (proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = data;

		if ((void *)(ip + 1) > end)
			return 0;
		__builtin_memcpy(key.src, &ip->saddr, 4);
		__builtin_memcpy(key.dst, &ip->daddr, 4);
		key.protocol = ip->protocol;
		ports = data + ip->ihl * 4;
	} else if (proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = data;

		if ((void *)(ip + 1) > end)
			return 0;
		__builtin_memcpy(key.src, &ip->saddr, 16);
		__builtin_memcpy(key.dst, &ip->daddr, 16);
		key.protocol = ip->nexthdr;
		ports = data + sizeof(*ip);
	} else {
		return 0;
	}
	if ((void *)(ports + 1) > end)
		return 0;
	key.ports = *ports;

	value = bpf_map_lookup_elem(&flows, &key);
	if (value) {
		__sync_fetch_and_add(&value->packets, 1);
		__sync_fetch_and_add(&value->bytes, skb->len);
	} else {
		bpf_map_update_elem(&flows, &key, &first, BPF_NOEXIST);
	}
	return 0;
}
