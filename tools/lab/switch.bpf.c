/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data plane of the lab's switch. At the ingress of its two LAGs (bonds, so that LACPDUs and frames of ports that do not
 * collect never come here) it sends what arrives at one out of the other. The member is the bond's choice, which knows
 * the state of its ports, but by a hash from here: with xmit_hash_policy encap3+4 a bond takes a packet's transport hash
 * as it is, and bpf_set_hash() sets that.
 */
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* What is hashed; tools/lab/switch.sh has the same numbers. */
#define LAB_SRC_MAC (1 << 0)
#define LAB_DST_MAC (1 << 1)
#define LAB_SRC_IP (1 << 2)
#define LAB_DST_IP (1 << 3)
#define LAB_SRC_PORT (1 << 4)
#define LAB_DST_PORT (1 << 5)
#define LAB_ABOVE_MAC (LAB_SRC_IP | LAB_DST_IP | LAB_SRC_PORT | LAB_DST_PORT)
#define LAB_ROUND_ROBIN (1 << 6) /* nothing: each packet the next member */

/* Written by tools/lab/switch.sh. Each direction has its LAG to come from and its seed. */
struct lab_switch {
	__u32 fields;
	__u32 lags[2]; /* ifindex */
	__u32 seeds[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lab_switch);
} lab_switch SEC(".maps");

/* Whose turn it is, by direction. */
struct turn {
	struct bpf_spin_lock lock;
	__u32 next;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct turn);
} lab_turns SEC(".maps");

/* What a hash may be of; what the mode leaves out, or the frame does not have, is zero. */
struct fields {
	__u8 src_mac[8], dst_mac[8]; /* of which two are padding */
	__u8 src_ip[16], dst_ip[16];
	__be16 src_port, dst_port;
};

struct vlan_tag {
	__be16 tci, ethertype;
};

/* Offset of the network header, its protocol into ETHERTYPE; tags in the bytes are looked through. */
static __always_inline __u32 network_header(struct __sk_buff *skb, __be16 *ethertype)
{
	__u32 offset = ETH_HLEN;
	struct vlan_tag tag;

	*ethertype = 0;
	bpf_skb_load_bytes(skb, offsetof(struct ethhdr, h_proto), ethertype, sizeof(*ethertype));
	for (int i = 0; i < 2; i++) {
		if (*ethertype != bpf_htons(ETH_P_8021Q) && *ethertype != bpf_htons(ETH_P_8021AD))
			break;
		if (bpf_skb_load_bytes(skb, offset, &tag, sizeof(tag)))
			break;
		*ethertype = tag.ethertype;
		offset += sizeof(tag);
	}
	return offset;
}

static __always_inline int add_ports(struct __sk_buff *skb, struct fields *fields, __u32 l4, __u8 protocol, __u32 wanted)
{
	__be16 ports[2];

	if (!(wanted & (LAB_SRC_PORT | LAB_DST_PORT)) || (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP))
		return 0;
	if (bpf_skb_load_bytes(skb, l4, ports, sizeof(ports)))
		return 0;
	if (wanted & LAB_SRC_PORT)
		fields->src_port = ports[0];
	if (wanted & LAB_DST_PORT)
		fields->dst_port = ports[1];
	return 1;
}

/* These return whether the packet has any of the fields wanted above the MAC addresses. */
static __always_inline int add_ipv4(struct __sk_buff *skb, struct fields *fields, __u32 l3, __u32 wanted)
{
	struct iphdr ip;
	int added = 0;

	if (bpf_skb_load_bytes(skb, l3, &ip, sizeof(ip)))
		return 0;
	if (wanted & LAB_SRC_IP)
		__builtin_memcpy(fields->src_ip, &ip.saddr, 4);
	if (wanted & LAB_DST_IP)
		__builtin_memcpy(fields->dst_ip, &ip.daddr, 4);
	if (!(ip.frag_off & bpf_htons(0x3fff))) /* neither more fragments nor an offset */
		added = add_ports(skb, fields, l3 + ip.ihl * 4, ip.protocol, wanted);
	return added || (wanted & (LAB_SRC_IP | LAB_DST_IP));
}

static __always_inline int add_ipv6(struct __sk_buff *skb, struct fields *fields, __u32 l3, __u32 wanted)
{
	struct ipv6hdr ip;
	__u8 type;

	if (bpf_skb_load_bytes(skb, l3, &ip, sizeof(ip)))
		return 0;
	/* Neighbour discovery goes as ARP does. */
	if (ip.nexthdr == IPPROTO_ICMPV6 && !bpf_skb_load_bytes(skb, l3 + sizeof(ip), &type, sizeof(type)) &&
	    type >= 133 && type <= 137)
		return 0;
	if (wanted & LAB_SRC_IP)
		__builtin_memcpy(fields->src_ip, &ip.saddr, 16);
	if (wanted & LAB_DST_IP)
		__builtin_memcpy(fields->dst_ip, &ip.daddr, 16);
	/* A fragment has its header here, and with it another protocol. */
	return add_ports(skb, fields, l3 + sizeof(ip), ip.nexthdr, wanted) || (wanted & (LAB_SRC_IP | LAB_DST_IP));
}

/* MurmurHash3 (x86, 32 bit), for whole words. */
static __always_inline __u32 mix(const struct fields *fields, __u32 hash)
{
	const __u32 *words = (const __u32 *)fields;

	for (unsigned int i = 0; i < sizeof(*fields) / 4; i++) {
		__u32 word = words[i] * 0xcc9e2d51;

		word = (word << 15 | word >> 17) * 0x1b873593;
		hash ^= word;
		hash = (hash << 13 | hash >> 19) * 5 + 0xe6546b64;
	}
	hash ^= hash >> 16;
	hash *= 0x85ebca6b;
	hash ^= hash >> 13;
	hash *= 0xc2b2ae35;
	return hash ^ hash >> 16;
}

static __always_inline __u32 hash_of(struct __sk_buff *skb, __u32 wanted, __u32 seed)
{
	struct fields fields __attribute__((aligned(8))) = {};
	__be16 ethertype;
	__u32 l3 = network_header(skb, &ethertype);
	int above = 0;

	if (ethertype == bpf_htons(ETH_P_IP))
		above = add_ipv4(skb, &fields, l3, wanted);
	else if (ethertype == bpf_htons(ETH_P_IPV6))
		above = add_ipv6(skb, &fields, l3, wanted);
	if (!above && (wanted & LAB_ABOVE_MAC))
		wanted |= LAB_SRC_MAC | LAB_DST_MAC;
	if (wanted & LAB_SRC_MAC)
		bpf_skb_load_bytes(skb, ETH_ALEN, fields.src_mac, ETH_ALEN);
	if (wanted & LAB_DST_MAC)
		bpf_skb_load_bytes(skb, 0, fields.dst_mac, ETH_ALEN);
	return mix(&fields, seed);
}

/* 01:80:c2:00:00:00 to :0f, for the switch itself (LACP, LLDP and the like): never forwarded. */
static __always_inline int is_link_local(struct __sk_buff *skb)
{
	__u8 dst[ETH_ALEN];

	if (bpf_skb_load_bytes(skb, 0, dst, sizeof(dst)))
		return 1;
	return dst[0] == 0x01 && dst[1] == 0x80 && dst[2] == 0xc2 && !dst[3] && !dst[4] && dst[5] < 0x10;
}

SEC("tc")
int lab_forward(struct __sk_buff *skb)
{
	__u32 key = 0, from, hash;
	struct lab_switch *config = bpf_map_lookup_elem(&lab_switch, &key);
	struct turn *turn;

	if (!config || is_link_local(skb))
		return TC_ACT_OK;
	from = skb->ifindex == config->lags[0] ? 0 : 1;
	if (config->fields & LAB_ROUND_ROBIN) {
		turn = bpf_map_lookup_elem(&lab_turns, &from);
		if (!turn)
			return TC_ACT_SHOT;
		bpf_spin_lock(&turn->lock);
		hash = turn->next++;
		bpf_spin_unlock(&turn->lock);
	} else {
		hash = hash_of(skb, config->fields, config->seeds[from]);
	}
	bpf_set_hash(skb, hash);
	return bpf_redirect(config->lags[!from], 0);
}
