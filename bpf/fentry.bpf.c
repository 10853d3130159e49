/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The attach points by fentry and fexit, which need BTF of the bonding driver. Each finds the bond in one lookup, so that
 * bonds which are not traced cost no more, describes the frame as a struct bt_packet and lets bt_account() count it.
 */
#include "bpf/skb.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void bt_bond_of_slave(struct net_device *slave_dev, struct bt_device *bond)
{
	struct slave *slave = BPF_CORE_READ(slave_dev, rx_handler_data);

	bond->netns = BPF_CORE_READ(slave_dev, nd_net.net, ns.inum);
	bond->ifindex = BPF_CORE_READ(slave, bond, dev, ifindex);
}

SEC("fentry/bond_dev_queue_xmit")
int BPF_PROG(bt_tx, struct bonding *bond, struct sk_buff *skb, struct net_device *slave_dev)
{
	struct bt_device id = {
		.netns = slave_dev->nd_net.net->ns.inum,
		.ifindex = bond->dev->ifindex,
	};
	struct bt_origin origin = {.bond = bond, .skb = skb, .slave = slave_dev};
	struct bt_packet packet = {};
	struct bt_bond *traced;

	traced = bt_find_bond(id);
	if (!traced)
		return 0;

	bt_fill_packet(&packet, skb, 0);
	bt_account(traced, slave_dev->ifindex, &packet, 0, &origin);
	return 0;
}

/* bond_handle_frame()'s only argument is a pointer to the skb's pointer, which no context access may read before 6.19. */
static __always_inline struct sk_buff *bt_rx_skb(void *ctx)
{
	struct sk_buff *skb = NULL;
	__u64 argument = 0;

	if (!bpf_get_func_arg(ctx, 0, &argument))
		bpf_probe_read_kernel(&skb, sizeof(skb), (const void *)argument);
	return skb;
}

SEC("fentry/bond_handle_frame")
int bt_rx_enter(void *ctx)
{
	bt_rx_entered(bt_rx_skb(ctx));
	return 0;
}

SEC("fexit/bond_handle_frame")
int bt_rx(void *ctx)
{
	__u64 verdict = 0;

	if (bpf_get_func_ret(ctx, &verdict))
		return 0;
	if ((__u32)verdict == RX_HANDLER_CONSUMED)
		bt_rx_consumed();
	else
		bt_rx_returned(bt_rx_skb(ctx), verdict);
	return 0;
}

/*
 * Where the slave is in the driver's struct port. Not by CO-RE: that takes a type of this name from the kernel proper when
 * there is one, and there is (drivers/char/virtio_console.c), before it looks at modules.
 */
const volatile __u32 bt_port_slave_offset;

SEC("fexit/ad_lacpdu_send")
int BPF_PROG(bt_lacpdu, void *port, int ret)
{
	struct slave *slave = NULL;

	if (!ret && !bpf_probe_read_kernel(&slave, sizeof(slave), port + bt_port_slave_offset))
		bt_control(BPF_CORE_READ(slave, dev), BT_LACPDU_LEN);
	return 0;
}

SEC("fentry/alb_send_lp_vid")
int BPF_PROG(bt_learning, struct slave *slave)
{
	bt_control(BPF_CORE_READ(slave, dev), BT_LEARNING_LEN);
	return 0;
}
