/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same attach points by kprobe and kretprobe, for kernels that have no BTF of the bonding driver: what is read is in
 * the kernel's own, or is the driver's and found without knowing its types.
 */
#include <linux/ptrace.h>

#include "bpf/skb.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/*
 * netdev_master_upper_dev_get_rcu(). A master is put at the head of the list of uppers, so only that place is looked at.
 */
static __always_inline void bt_bond_of_slave(struct net_device *slave_dev, struct bt_device *bond)
{
	const struct list_head *first = BPF_CORE_READ(slave_dev, adj_list.upper.next);
	const struct netdev_adjacent *upper =
		(const void *)first - bpf_core_field_offset(struct netdev_adjacent, list);

	bond->ifindex = 0;
	if (!first || (const void *)first == (const void *)slave_dev + bpf_core_field_offset(struct net_device, adj_list.upper))
		return; /* the list is empty */
	if (!BPF_CORE_READ(upper, master))
		return;
	bond->netns = BPF_CORE_READ(slave_dev, nd_net.net, ns.inum);
	bond->ifindex = BPF_CORE_READ(upper, dev, ifindex);
}

SEC("kprobe/bond_dev_queue_xmit")
int BPF_KPROBE(bt_tx, struct bonding *bond, struct sk_buff *skb, struct net_device *slave_dev)
{
	bt_sent(bond, skb, slave_dev);
	return 0;
}

/*
 * A return probe sees no arguments, so the entry leaves bond_handle_frame()'s: the address of the skb's pointer, which may
 * be another skb's by then. One place per CPU is enough, for the function is not entered again before it returns: BH is
 * off, it calls no receive path, and a hard interrupt receives nothing. Taken by the return, so that one whose entry was
 * skipped finds none.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} bt_entered SEC(".maps");

SEC("kprobe/bond_handle_frame")
int BPF_KPROBE(bt_rx_enter, struct sk_buff **pskb)
{
	struct sk_buff *skb = NULL;
	__u32 zero = 0;
	__u64 *entered;

	entered = bpf_map_lookup_elem(&bt_entered, &zero);
	if (!entered)
		return 0;
	*entered = (__u64)pskb;
	if (!bpf_probe_read_kernel(&skb, sizeof(skb), pskb))
		bt_rx_entered(skb);
	return 0;
}

SEC("kretprobe/bond_handle_frame")
int BPF_KRETPROBE(bt_rx, int verdict)
{
	struct sk_buff *skb = NULL;
	__u32 zero = 0;
	__u64 *entered, pskb;
	struct bt_stats *stats;

	entered = bpf_map_lookup_elem(&bt_entered, &zero);
	if (!entered)
		return 0;
	pskb = *entered;
	*entered = 0;
	if (!pskb) {
		stats = bt_stats();
		if (stats)
			stats->entry_missed++;
		return 0;
	}
	if (verdict == RX_HANDLER_CONSUMED)
		bt_rx_consumed();
	else if (!bpf_probe_read_kernel(&skb, sizeof(skb), (const void *)pskb))
		bt_rx_returned(skb, verdict);
	return 0;
}

/* struct slave begins with its device, and the device knows its struct slave; so does nothing else. */
static __always_inline struct net_device *bt_slave_device(const void *slave)
{
	struct net_device *dev = NULL;

	if (bpf_probe_read_kernel(&dev, sizeof(dev), slave) || !dev)
		return NULL;
	return BPF_CORE_READ(dev, rx_handler_data) == slave ? dev : NULL;
}

/* More than what is in front of the slave in struct port on any kernel from 5.10 to 7.x. */
#define BT_PORT_WORDS 40

SEC("kprobe/ad_lacpdu_send")
int BPF_KPROBE(bt_lacpdu, const void *port)
{
	for (int i = 0; i < BT_PORT_WORDS; i++) {
		const void *word = NULL;
		struct net_device *dev;

		if (bpf_probe_read_kernel(&word, sizeof(word), port + i * sizeof(word)))
			return 0;
		dev = word ? bt_slave_device(word) : NULL;
		if (dev) {
			bt_control(dev, BT_LACPDU_LEN);
			return 0;
		}
	}
	return 0;
}

SEC("kprobe/alb_send_lp_vid")
int BPF_KPROBE(bt_learning, const void *slave)
{
	struct net_device *dev = bt_slave_device(slave);

	if (dev)
		bt_control(dev, BT_LEARNING_LEN);
	return 0;
}
