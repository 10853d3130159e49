/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a packet costs where a struct sk_buff can be read by probing only (kprobe both ways, fentry what is received), timed in
 * tc programs, whose context the kernel's struct sk_buff is. The device that stands for bond and slave is the loopback.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/skb.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void bt_bond_of_slave(struct net_device *slave_dev, struct bt_device *bond)
{
}

SEC("tc")
int sent(struct __sk_buff *context)
{
	struct sk_buff *skb = (void *)context;

	bt_sent(NULL, skb, BPF_CORE_READ(skb, dev));
	return 0;
}

/*
 * As bt_rx_returned(), but for two things that BPF_PROG_TEST_RUN does not do: pull the Ethernet header, and note the device in
 * skb->skb_iif.
 */
SEC("tc")
int received(struct __sk_buff *context)
{
	struct bt_packet packet = {};
	struct bt_bond *traced;
	__u32 slave_ifindex = 0;
	__u8 flags = 0;

	traced = bt_look_at_received((void *)context, RX_HANDLER_ANOTHER, &packet, &flags, &slave_ifindex);
	if (!traced)
		return 0;
	packet.frame += ETH_HLEN;
	packet.len -= ETH_HLEN;
	packet.linear -= ETH_HLEN;
	bt_account(traced, slave_ifindex ? slave_ifindex : 1, &packet, flags, NULL);
	return 0;
}
