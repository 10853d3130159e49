/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The only types that the BPF programs and the program in user space share. Sizes and offsets are asserted on both
 * sides; there is no padding that the compiler could leave uninitialised (hash keys are compared as bytes).
 */
#ifndef BONDTRACE_ABI_H
#define BONDTRACE_ABI_H

#include <linux/types.h>

#ifdef __cplusplus
#define BT_STATIC_ASSERT static_assert
#else
#define BT_STATIC_ASSERT _Static_assert
#endif

/* Slaves remembered for one bond, past ones included. A bond of more is counted in bt_stats.slots_full. */
#define BT_MAX_SLAVES 32

/* LACPDU as the bonding driver sends it: 14 bytes of Ethernet header and 110 of LACP (IEEE 802.1AX-2014, 6.4.2). */
#define BT_LACPDU_LEN 124
/* Learning packet of balance-tlb and balance-alb: the Ethernet minimum without FCS. */
#define BT_LEARNING_LEN 60

enum bt_key_flags {
	BT_KEY_RX = 1 << 0,          /* received by the slave; otherwise sent through it */
	BT_KEY_FRAGMENT = 1 << 1,    /* an IP fragment (also the first): ports are 0 */
	BT_KEY_EXTHDR = 1 << 2,      /* IPv6 with extension headers before the transport header */
	BT_KEY_VLAN_INBAND = 1 << 3, /* at least one of the tags was in the frame's bytes, not in the skb's metadata */
	BT_KEY_UNPARSED = 1 << 4,    /* cut or malformed: only what stands before the damage is in the key */
	BT_KEY_INACTIVE = 1 << 5,    /* RX: the slave is inactive, the bond dropped the frame (rx handler: EXACT) */
	BT_KEY_PASSED = 1 << 6,      /* RX: left to the slave itself, a link-local group on an inactive slave (PASS) */
};

/* In a key's VLAN fields: the tag is present; the VLAN ID is in the low 12 bits. */
#define BT_VLAN_PRESENT 0x1000

/* One direction of one flow on one slave. A flow that moves to another slave gets another entry. */
struct bt_flow_key {
	__u8 src[16];      /* IPv4: first four bytes, the rest 0; not IP: the MAC address in the first six */
	__u8 dst[16];
	__be16 src_port;   /* ICMP: id; ESP and AH: upper half of the SPI */
	__be16 dst_port;   /* ICMP: type in the first byte, code in the second; ESP and AH: lower half of the SPI */
	__u16 ethertype;   /* host order, behind all VLAN tags */
	__u16 vlan;        /* outermost tag, BT_VLAN_PRESENT | VID, or 0 */
	__u16 inner_vlan;  /* next tag, likewise */
	__u16 slot;        /* bt_bond.first_slot + index into bt_bond.slave_ifindex */
	__u8 protocol;     /* IP protocol; for IPv6 that behind the extension headers */
	__u8 flags;        /* enum bt_key_flags */
	__u16 zero;
} __attribute__((aligned(8)));
BT_STATIC_ASSERT(sizeof(struct bt_flow_key) == 48, "key layout");

/*
 * Packets and bytes as skbs are handed over, and what segmentation adds to them on the wire: there are
 * packets + added_packets frames of bytes + added_bytes there. Kept as differences since most packets add nothing,
 * and an atomic addition not made is the cheapest.
 */
struct bt_count {
	__u64 packets;
	__u64 bytes;         /* frame without FCS and without a VLAN tag that travels as metadata */
	__u64 added_packets; /* segments - 1 */
	__u64 added_bytes;   /* the headers that segmentation repeats */
};
BT_STATIC_ASSERT(sizeof(struct bt_count) == 32, "count layout");

enum bt_hash_flags {
	BT_HASH_L4 = 1 << 0,           /* skb->l4_hash: encap3+4 takes skb->hash as it is */
	BT_HASH_USABLE = 1 << 1,       /* usable_index and usable_count were read */
	BT_HASH_NOTED = 1 << 2,        /* mode, policy and the three flags that follow were read */
	BT_HASH_TLB_DYNAMIC = 1 << 3,  /* the bond's tlb_dynamic_lb */
	BT_HASH_HAS_ACTIVE = 1 << 4,   /* the bond had an active slave */
	BT_HASH_ACTIVE = 1 << 5,       /* and it was this one */
	BT_HASH_OFFLOADED = 1 << 6,    /* of a socket that has TLS offload, which binds it to one slave */
	BT_HASH_PROTOCOL = 1 << 7,     /* protocol was read */
	BT_HASH_SKB = 1 << 8,          /* skb_hash, BT_HASH_L4 and BT_HASH_OFFLOADED were read */
};

#define BT_NO_INDEX 0xffff

struct bt_flow_value {
	struct bt_count count;
	__u64 first_ns;        /* CLOCK_MONOTONIC, last_ns to a tick or two */
	__u64 last_ns;
	/* What else the bond's hash was computed from: of the first packet of the entry; TX only but for the MACs. */
	__u8 dst_mac[6];
	__u8 src_mac[6];
	__u16 tci;             /* accelerated tag with priority bits, or 0 */
	__u16 outer_ethertype; /* host order, bytes 12 and 13 of the frame */
	__u32 skb_hash;
	__u16 usable_index;    /* position of the slave in bond->usable_slaves, BT_NO_INDEX when it is not in there */
	__u16 usable_count;
	__u16 hash_flags;      /* enum bt_hash_flags */
	__u16 protocol;        /* skb->protocol, host order */
	__u8 mode;             /* of the bond at that moment: BOND_MODE_*, BOND_XMIT_POLICY_* (linux/if_bonding.h) */
	__u8 policy;
	__u16 zero;
};
BT_STATIC_ASSERT(sizeof(struct bt_flow_value) == 80, "value layout");

/*
 * What a CPU has counted of a flow and not yet added to its entry in the table: counting that needs no atomic operation.
 * Each CPU has BT_CACHE_FLOWS of them, which flows share by a hash of their key.
 */
struct bt_cached_flow {
	struct bt_flow_key key;
	struct bt_count count;
	__u64 last_ns;
	__u32 version; /* odd while the flow is exchanged for another; 0: never used */
	__u32 credit;  /* misses that the flow outlasts */
};
BT_STATIC_ASSERT(sizeof(struct bt_cached_flow) == 96, "cached flow layout");

#define BT_CACHE_FLOWS 256

/* Place of a key in a cache: a multiplicative hash, of whose product the upper bits are the best ones. */
static inline __u32 bt_cache_place(const struct bt_flow_key *key)
{
	__u64 words[sizeof(*key) / 8], mix;

	__builtin_memcpy(words, key, sizeof(words));
	mix = words[0] + (words[1] ^ words[3]) + (words[2] << 1) + (words[4] ^ words[5] << 32);

	return (__u32)(mix * 0x9e3779b97f4a7c15ULL >> 56); /* BT_CACHE_FLOWS is 256 */
}

struct bt_cache {
	struct bt_cached_flow flows[BT_CACHE_FLOWS];
	__u32 busy; /* a program of this CPU is at it: one that interrupts it keeps away */
	__u32 zero[15];
} __attribute__((aligned(64)));
BT_STATIC_ASSERT(sizeof(struct bt_cache) == 96 * BT_CACHE_FLOWS + 64, "cache layout");

/* A device of one network namespace: interface indexes repeat across namespaces. */
struct bt_device {
	__u32 netns; /* inode number of the namespace */
	__u32 ifindex;
};
BT_STATIC_ASSERT(sizeof(struct bt_device) == 8, "device layout");

/*
 * A traced bond. Bonds stand in an array at the place that bt_bond_place() gives, or in one of the next BT_BOND_PROBES - 1;
 * whoever puts them there leaves no free place before. Unknown slaves are added by the BPF side when they first carry a
 * packet.
 */
struct bt_bond {
	struct bt_device device; /* ifindex 0: a free place */
	__u32 first_slot;
	__u32 slave_ifindex[BT_MAX_SLAVES]; /* 0: free, and all behind it are */
	__u32 zero;
};
BT_STATIC_ASSERT(sizeof(struct bt_bond) == 8 + 4 + 4 * BT_MAX_SLAVES + 4, "bond layout");

#define BT_BOND_PROBES 4

/* Where programs are attached to each link (tc): what link belongs to which bond, by ifindex in one network namespace. */
struct bt_link {
	struct bt_device bond;
	__u32 flags; /* enum bt_link_flags */
	__u32 zero;
};
BT_STATIC_ASSERT(sizeof(struct bt_link) == 16, "link layout");

enum bt_link_flags {
	BT_LINK_LACP = 1 << 0,     /* the bond sends LACPDUs and markers, and consumes those that it receives */
	BT_LINK_LEARNING = 1 << 1, /* it sends learning packets */
};

/* PLACES is a power of two. */
static inline __u32 bt_bond_place(struct bt_device device, __u32 places)
{
	return (device.ifindex ^ device.netns * 0x9e3779b1U >> 16) & (places - 1);
}

/* Per slave and CPU. tx and rx hold every frame that the hooks saw but for rx_control. */
struct bt_slave_totals {
	struct bt_count tx;
	struct bt_count rx;
	struct bt_count tx_untracked; /* part of tx: no flow entry, the table was full */
	struct bt_count rx_untracked;
	struct bt_count rx_inactive;  /* part of rx: dropped by the bond since the slave is inactive */
	struct bt_count tx_control;   /* beside tx: LACPDUs and learning packets that the driver sends on the slave itself */
	struct bt_count rx_control;   /* beside rx: LACPDUs and markers that the driver consumed */
	__u64 tx_unparsed;            /* packets whose flow entry is marked BT_KEY_UNPARSED */
	__u64 rx_unparsed;
};
BT_STATIC_ASSERT(sizeof(struct bt_slave_totals) == 7 * 32 + 16, "totals layout");

/* Per CPU, of all bonds. */
struct bt_stats {
	__u64 slots_full;       /* packets of a slave beyond BT_MAX_SLAVES: counted nowhere else */
	__u64 consumed_unknown; /* the bond consumed a frame that was no LACPDU (out of memory, or a newer driver) */
	__u64 entry_missed;     /* kprobe: received frames that were not counted, for the probe of the entry was skipped */
};
BT_STATIC_ASSERT(sizeof(struct bt_stats) == 24, "stats layout");

#endif
