/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frame -> flow key. Reads the first 70 bytes once, into a place where the network header is aligned; that holds all that
 * an ordinary packet needs. VLAN tags in the bytes, IP options and extension headers cost a further read each.
 *
 * Whoever includes this defines bt_read(): how bytes of the frame come out of this kind of program's context.
 */
#ifndef BONDTRACE_PACKET_BPF_H
#define BONDTRACE_PACKET_BPF_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "bpf/abi.h"

/* include/linux/skbuff.h */
#define SKB_GSO_TCPV4 (1 << 0)
#define SKB_GSO_DODGY (1 << 1) /* the GSO fields come from outside: tun, virtio, AF_PACKET */
#define SKB_GSO_TCPV6 (1 << 4)

/* A frame as the attach point presents it. */
struct bt_packet {
	const void *frame; /* the Ethernet header, or the program's context, as bt_read() wants it */
	__u32 direct;      /* for bt_read(): which of two ways, where a program has both */
	__u32 linear;      /* bytes that bt_read() can give */
	__u32 len;         /* of the whole frame, without FCS and accelerated tag */
	__u16 tci;         /* accelerated tag, when tagged */
	__u16 tagged;
	__u16 gso_size;
	__u16 gso_segs;
	__u32 gso_type;
	__u32 inner_l4; /* offset of the inner transport header of an encapsulated GSO packet, or 0 */
	__u32 wire_len; /* the kernel's own estimate of what len is after segmentation, or 0 */
};

/* Copies SIZE bytes at OFFSET of the frame; 0, or a negative error. The caller has checked the range against linear. */
static __always_inline long bt_read(const struct bt_packet *packet, __s32 offset, void *to, __u32 size);

#define BT_L3_BYTES (sizeof(struct ipv6hdr) + 16)

/*
 * Two bytes before the frame put the network header at a multiple of eight: the verifier wants aligned stack accesses, and
 * a load that straddles two of the eight-byte stores of the copy would wait for both to reach the cache.
 */
struct bt_headers {
	__u8 align[2];
	__u8 dst[ETH_ALEN];
	__u8 src[ETH_ALEN];
	__be16 ethertype;
	union {
		__u8 l3[BT_L3_BYTES];
		struct {
			__be16 tci;
			__be16 ethertype;
			__be16 inner_tci;
			__be16 inner_ethertype;
		} vlan;
		struct {
			struct iphdr header;
			__u8 l4[BT_L3_BYTES - sizeof(struct iphdr)];
		} ipv4;
		struct {
			struct ipv6hdr header;
			__u8 l4[BT_L3_BYTES - sizeof(struct ipv6hdr)];
		} ipv6;
	};
} __attribute__((aligned(8)));

/*
 * The first bytes of the frame into their places, as many as there are but at least an Ethernet header; 0, or a negative error.
 * Also from whoever includes this: it is what costs most, and every kind of program has a cheapest way of its own.
 */
static __always_inline long bt_read_headers(const struct bt_packet *packet, struct bt_headers *headers);

/* What parsing found besides the key. */
struct bt_layout {
	__u32 l4;           /* offset of the transport header in the frame; 0: there is none */
	__u32 header_bytes; /* Ethernet to transport header, which segmentation repeats; valid when l4 is */
	__u16 outer_ethertype;
};

/* Copies by eight bytes, as they are read again when the key is compared (see struct bt_headers); both are aligned. */
static __always_inline void bt_copy_words(void *to, const void *from, int words)
{
	for (int i = 0; i < words; i++)
		((__u64 *)to)[i] = ((const __u64 *)from)[i];
}

#define BT_MAX_EXTENSION_HEADERS 8

/*
 * What the kernel's flow dissector steps over. A mobility header (135) is none: it is laid out like one, but ends its
 * packet (RFC 6275, 6.1.1), and the dissector stops there.
 */
static __always_inline int bt_is_extension(__u8 protocol)
{
	return protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_ROUTING || protocol == IPPROTO_DSTOPTS ||
	       protocol == IPPROTO_FRAGMENT;
}

/* A 16-byte window on the transport header, for when it is not within struct bt_headers' fixed places. */
struct bt_l4_window {
	__u8 bytes[16];
} __attribute__((aligned(8)));

static __always_inline int bt_icmp_has_id(__u8 type)
{
	/* The kernel's own list, for v4 and v6 alike (net/core/flow_dissector.c, icmp_has_id). */
	return type == 8 || type == 0 || type == 13 || type == 14 || type == 128 || type == 129;
}

/*
 * Fills ports, or what takes their place, and the length of the transport header from its first AVAILABLE bytes (at most
 * 14 are looked at). Returns 0 when they do not suffice.
 */
static __always_inline int bt_parse_l4(struct bt_flow_key *key, const __u8 *l4, __u32 available, __u32 *l4_len)
{
	switch (key->protocol) {
	case IPPROTO_TCP:
		if (available < 4)
			return 0;
		key->src_port = *(const __be16 *)l4;
		key->dst_port = *(const __be16 *)(l4 + 2);
		*l4_len = available >= 14 ? (l4[12] >> 4) * 4 : 20;
		return 1;
	case IPPROTO_UDP:
	case IPPROTO_UDPLITE:
	case IPPROTO_DCCP:
	case IPPROTO_SCTP:
		if (available < 4)
			return 0;
		key->src_port = *(const __be16 *)l4;
		key->dst_port = *(const __be16 *)(l4 + 2);
		*l4_len = 8;
		return 1;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		if (available < 2)
			return 0;
		key->dst_port = *(const __be16 *)l4;
		if (!bt_icmp_has_id(l4[0]))
			return 1;
		if (available < 6)
			return 0;
		key->src_port = *(const __be16 *)(l4 + 4);
		return 1;
	case IPPROTO_ESP:
		if (available < 4)
			return 0;
		key->src_port = *(const __be16 *)l4;
		key->dst_port = *(const __be16 *)(l4 + 2);
		return 1;
	case IPPROTO_AH:
		if (available < 8)
			return 0;
		key->src_port = *(const __be16 *)(l4 + 4);
		key->dst_port = *(const __be16 *)(l4 + 6);
		return 1;
	}
	return 1;
}

/* The same for a transport header at L4, wherever that is: reads it. */
static __always_inline int bt_read_l4(const struct bt_packet *packet, struct bt_flow_key *key, __u32 l4, __u32 *l4_len)
{
	struct bt_l4_window window = {};
	__u32 available = l4 < packet->linear ? packet->linear - l4 : 0;

	if (available >= sizeof(window)) {
		if (bt_read(packet, l4, &window, sizeof(window)))
			return 0;
	} else if (available >= 8) {
		if (bt_read(packet, l4, &window, 8))
			return 0;
		available = 8;
	} else if (available >= 4) {
		if (bt_read(packet, l4, &window, 4))
			return 0;
		available = 4;
	} else {
		available = 0;
	}
	return bt_parse_l4(key, window.bytes, available, l4_len);
}

/* L3 is the offset of the network header in the frame. Both return 0 for a header that is cut or makes no sense. */
static __always_inline int bt_parse_ipv4(const struct bt_packet *packet, const struct bt_headers *headers, __u32 l3,
					 struct bt_flow_key *key, struct bt_layout *layout)
{
	const struct iphdr *ip = &headers->ipv4.header;
	__u32 l4_len = 0, ihl;

	if (packet->linear < l3 + sizeof(*ip))
		return 0;
	ihl = ip->ihl * 4;
	if (ip->version != 4 || ihl < sizeof(*ip))
		return 0;

	__builtin_memcpy(key->src, &ip->saddr, 4);
	__builtin_memcpy(key->dst, &ip->daddr, 4);
	key->protocol = ip->protocol;
	layout->l4 = l3 + ihl;
	if (ip->frag_off & __builtin_bswap16(0x3fff)) { /* more fragments, or an offset */
		key->flags |= BT_KEY_FRAGMENT;
	} else if (ihl == sizeof(*ip) && l3 + sizeof(*ip) + 8 <= packet->linear) {
		bt_parse_l4(key, headers->ipv4.l4, packet->linear - l3 - sizeof(*ip), &l4_len);
	} else if (!bt_read_l4(packet, key, layout->l4, &l4_len)) {
		key->flags |= BT_KEY_UNPARSED;
	}
	layout->header_bytes = layout->l4 + l4_len;
	return 1;
}

static __always_inline int bt_parse_ipv6(const struct bt_packet *packet, const struct bt_headers *headers, __u32 l3,
					 struct bt_flow_key *key, struct bt_layout *layout)
{
	const struct ipv6hdr *ip = &headers->ipv6.header;
	__u32 l4 = l3 + sizeof(*ip), l4_len = 0;
	__u8 next;

	if (packet->linear < l4 || ip->version != 6)
		return 0;

	bt_copy_words(key->src, &ip->saddr, 2);
	bt_copy_words(key->dst, &ip->daddr, 2);
	next = ip->nexthdr;
	for (int i = 0; i < BT_MAX_EXTENSION_HEADERS; i++) {
		__u8 extension[8] __attribute__((aligned(8)));

		if (!bt_is_extension(next))
			break;
		key->flags |= BT_KEY_EXTHDR;
		if (l4 + sizeof(extension) > packet->linear || bt_read(packet, l4, extension, sizeof(extension))) {
			key->flags |= BT_KEY_UNPARSED;
			break;
		}
		if (next == IPPROTO_FRAGMENT) {
			key->flags |= BT_KEY_FRAGMENT;
			next = extension[0];
			l4 += sizeof(extension);
			break; /* what follows a fragment header need not be a header at all */
		}
		next = extension[0];
		l4 += (extension[1] + 1) * 8;
	}
	if (!(key->flags & BT_KEY_FRAGMENT) && bt_is_extension(next)) /* longer than is followed here, or cut */
		key->flags |= BT_KEY_UNPARSED;
	key->protocol = next;
	layout->l4 = l4;
	if (!(key->flags & (BT_KEY_EXTHDR | BT_KEY_UNPARSED)) && l3 + sizeof(*ip) + 8 <= packet->linear)
		bt_parse_l4(key, headers->ipv6.l4, packet->linear - l3 - sizeof(*ip), &l4_len);
	else if (!(key->flags & (BT_KEY_FRAGMENT | BT_KEY_UNPARSED)) && !bt_read_l4(packet, key, l4, &l4_len))
		key->flags |= BT_KEY_UNPARSED;
	layout->header_bytes = l4 + l4_len;
	return 1;
}

/* VLAN tags in the bytes: notes up to two, and reads what follows to where an untagged frame has it. */
static __always_inline __u32 bt_parse_vlan(const struct bt_packet *packet, struct bt_headers *headers,
					   struct bt_flow_key *key)
{
	__u32 l3 = ETH_HLEN, available;

	if (packet->linear < ETH_HLEN + 4) {
		key->flags |= BT_KEY_UNPARSED;
		return l3;
	}
	key->flags |= BT_KEY_VLAN_INBAND;
	for (int i = 0; i < 2; i++) {
		__u16 id = BT_VLAN_PRESENT | (__builtin_bswap16(headers->vlan.tci) & 0x0fff);

		if (!key->vlan)
			key->vlan = id;
		else if (!key->inner_vlan)
			key->inner_vlan = id;
		key->ethertype = __builtin_bswap16(headers->vlan.ethertype);
		l3 += 4;
		if (i || (key->ethertype != ETH_P_8021Q && key->ethertype != ETH_P_8021AD) ||
		    packet->linear < ETH_HLEN + 8)
			break;
		headers->vlan.tci = headers->vlan.inner_tci;
		headers->vlan.ethertype = headers->vlan.inner_ethertype;
	}

	/* The fixed places are filled as far as the frame goes; every parser checks linear before it looks. */
	available = packet->linear - l3;
	if (available >= BT_L3_BYTES)
		bt_read(packet, l3, headers->l3, BT_L3_BYTES);
	else if (available >= sizeof(struct ipv6hdr))
		bt_read(packet, l3, headers->l3, sizeof(struct ipv6hdr));
	else if (available >= sizeof(struct iphdr))
		bt_read(packet, l3, headers->l3, sizeof(struct iphdr));
	return l3;
}

/* Fills KEY, which the caller has zeroed but for slot and direction flags, and LAYOUT. HEADERS keeps the MAC addresses. */
static __always_inline void bt_parse(const struct bt_packet *packet, struct bt_headers *headers,
				     struct bt_flow_key *key, struct bt_layout *layout)
{
	__u32 l3 = ETH_HLEN;
	int parsed = 1;

	layout->outer_ethertype = key->ethertype = __builtin_bswap16(headers->ethertype);
	if (packet->tagged)
		key->vlan = BT_VLAN_PRESENT | (packet->tci & 0x0fff);
	if (key->ethertype == ETH_P_8021Q || key->ethertype == ETH_P_8021AD)
		l3 = bt_parse_vlan(packet, headers, key);

	if (key->ethertype == ETH_P_IP)
		parsed = bt_parse_ipv4(packet, headers, l3, key, layout);
	else if (key->ethertype == ETH_P_IPV6)
		parsed = bt_parse_ipv6(packet, headers, l3, key, layout);
	if (!parsed)
		key->flags |= BT_KEY_UNPARSED;
	if (!layout->l4) { /* not IP, or not to be trusted as such: by MAC address */
		__builtin_memcpy(key->src, headers->src, ETH_ALEN);
		__builtin_memcpy(key->dst, headers->dst, ETH_ALEN);
	}
}

/*
 * What segmentation adds, as the kernel estimates it in qdisc_pkt_len_init() (net/core/dev.c): one more set of headers for
 * each segment but the first. gso_segs is 0 for much that is not TCP, and not to be trusted when it came from a guest.
 */
static __always_inline void bt_segments(const struct bt_packet *packet, const struct bt_flow_key *key,
					const struct bt_layout *layout, __u64 *added_packets, __u64 *added_bytes)
{
	__u32 header_bytes = layout->header_bytes, segments = packet->gso_segs;

	*added_packets = 0;
	*added_bytes = 0;
	if (!packet->gso_size || !layout->l4)
		return;
	if (packet->inner_l4 && packet->inner_l4 + 14 <= packet->linear) {
		__u8 offset_byte[1];

		/* Only TCP and UDP are segmented inside a tunnel; a TCP header is never as short as UDP's. */
		if (!bt_read(packet, packet->inner_l4 + 12, offset_byte, 1))
			header_bytes = packet->inner_l4 + (packet->gso_type & (SKB_GSO_TCPV4 | SKB_GSO_TCPV6) ? (offset_byte[0] >> 4) * 4 : 8);
	}
	if ((!segments || (packet->gso_type & SKB_GSO_DODGY)) && packet->len > header_bytes)
		segments = (packet->len - header_bytes + packet->gso_size - 1) / packet->gso_size;
	if (segments > 1) {
		*added_packets = segments - 1;
		*added_bytes = packet->wire_len > packet->len ? packet->wire_len - packet->len :
								(__u64)(segments - 1) * header_bytes;
	}
}

#endif
