/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few kernel structs that are read, with only the members that are read. preserve_access_index makes every access
 * relocatable (CO-RE): libbpf looks the real offsets up in the BTF of the running kernel, so that the build needs no
 * vmlinux.h and no BTF of the machine it runs on.
 */
#ifndef BONDTRACE_KERNEL_BPF_H
#define BONDTRACE_KERNEL_BPF_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct list_head {
	struct list_head *next;
};

struct net_device {
	int ifindex;
	possible_net_t nd_net;
	void *rx_handler_data; /* of a slave: its struct slave */
	struct {
		struct list_head upper; /* of struct netdev_adjacent; the master, if there is one, is the first */
	} adj_list;
};

struct netdev_adjacent {
	struct net_device *dev;
	_Bool master;
	struct list_head list;
};

struct sock_common {
	volatile unsigned char skc_state;
};

struct sock {
	struct sock_common __sk_common;
	void *sk_validate_xmit_skb; /* set while a device does the socket's TLS; absent without CONFIG_SOCK_VALIDATE_XMIT */
};

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned int len;
	unsigned int data_len;
	__be16 protocol;
	__u16 vlan_tci;
	__u32 hash;
	int skb_iif;
	__u8 l4_hash : 1;
	__u8 encapsulation : 1;
	__u16 inner_transport_header;
	unsigned int end; /* an offset from head on 64-bit kernels */
	unsigned char *head;
	unsigned char *data;
};

/* "A tag is present" was a bit of its own up to 6.1; since 6.2 it is proto and TCI, together, not being zero. */
struct sk_buff___vlan_bit {
	__u8 vlan_present : 1;
};

struct sk_buff___vlan_all {
	__u32 vlan_all;
};

struct skb_shared_info {
	unsigned short gso_size;
	unsigned short gso_segs;
	unsigned int gso_type;
};

/* From here on: drivers/net/bonding, whose types are in the module's BTF. */
struct slave {
	struct net_device *dev;
	struct bonding *bond;
};

struct bond_up_slave {
	unsigned int count;
	struct slave *arr[0];
};

struct bond_params {
	int mode;
	int xmit_policy;
	int tlb_dynamic_lb;
};

struct bonding {
	struct net_device *dev;
	struct slave *curr_active_slave;
	struct bond_up_slave *usable_slaves;
	struct bond_params params;
};

#pragma clang attribute pop

/* include/net/tcp_states.h: of the two kinds of struct sock_common that are no struct sock */
#define TCP_TIME_WAIT    6
#define TCP_NEW_SYN_RECV 12

/* include/linux/netdevice.h, enum rx_handler_result */
#define RX_HANDLER_CONSUMED 0
#define RX_HANDLER_ANOTHER  1
#define RX_HANDLER_EXACT    2
#define RX_HANDLER_PASS     3

#endif
