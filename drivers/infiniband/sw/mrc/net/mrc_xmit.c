// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Handing packets to the network in batches: by the direct path to the neighbour
 * (mrc_neigh.c) or by the IP output path.
 */
#include <net/dst.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "mrc_batch.h"
#include "mrc_neigh.h"
#include "mrc_net.h"

/*
 * All packets of a batch belong to one connection. @skb is the first one of this port.
 */
static void mrc_hop_find(struct mrc_flow *flow, u8 port, const struct sk_buff *skb,
			 struct mrc_hop *hop)
{
	struct dst_entry *dst = mrc_route_get(flow, port);

	memset(hop, 0, sizeof(*hop));
	hop->ipv6 = skb->protocol == htons(ETH_P_IPV6);
	hop->batch = 1;
	/* The flow may have been reused for another connection meanwhile. */
	if (!dst || dst->ops->family != (hop->ipv6 ? AF_INET6 : AF_INET))
		return;
	hop->dst = dst;
	hop->mtu = dst_mtu(dst);
	mrc_neigh_find(flow->dev->net, hop, skb);
}

/*
 * Find out whether packets in a row are sent as one, and tell the spray policy. Not for a
 * packet that is alone: it would cost more than it could gain.
 */
static void mrc_hop_batches(struct mrc_flow *flow, u8 port, const struct sk_buff *skb,
			    struct mrc_hop *hop)
{
	const u8 most = mrc_batch_most(flow->dev->net, hop, skb);
	const u16 bit = port && port <= MRC_MAX_PORTS ? 1u << (port - 1) : 0;
	const u16 old = READ_ONCE(flow->runs);
	const u16 runs = most > 1 ? old | bit : old & ~bit;

	hop->batch = most;
	/* Without a lock: a lost change is made by the next batch. */
	if (runs != old)
		WRITE_ONCE(flow->runs, runs);
}

/* Consumes @skb. Returns the result of dev_queue_xmit() or ip_local_out(). */
static int mrc_hop_xmit(struct net *net, struct mrc_hop *hop,
			struct sk_buff *skb)
{
	bool ipv6 = skb->protocol == htons(ETH_P_IPV6);

	/* The output path uses this as IPCB. */
	memset(skb->cb, 0, sizeof(skb->cb));
	if (hop && mrc_neigh_usable(hop, skb))
		return mrc_neigh_xmit(hop, skb);
	return ipv6 ? ip6_local_out(net, NULL, skb) :
		      ip_local_out(net, NULL, skb);
}

static void mrc_xmit_no_route(struct mrc_dev *dev, struct sk_buff *skb, u8 port,
			      u32 *lost)
{
	mrc_ctr_add(&dev->ctr, port, MRC_CTR_TX_ERROR, 1);
	kfree_skb(skb);
	*lost |= BIT(port);
}

u32 mrc_xmit_list(struct mrc_flow *flow, struct sk_buff_head *list)
{
	struct mrc_hop hops[MRC_MAX_PORTS + 1];
	struct net *net = flow->dev->net;
	unsigned long known = 0;
	struct sk_buff *skb;
	unsigned int port;
	u32 lost = 0;

	BUILD_BUG_ON(MRC_MAX_PORTS >= BITS_PER_LONG);
	if (skb_queue_empty(list))
		return 0;
	/* One softirq run for the whole batch. */
	local_bh_disable();
	rcu_read_lock();
	while ((skb = __skb_dequeue(list))) {
		u32 len = skb->len, hdr_len, n = 1;
		struct mrc_hop *hop = NULL;
		unsigned int out;
		int ret;

		port = mrc_tx_cb(skb)->port;
		if (mrc_tx_cb(skb)->srv6) {
			if (!skb_dst(skb)) {
				mrc_xmit_no_route(flow->dev, skb, port, &lost);
				continue;
			}
			mrc_ctr_add(&flow->dev->ctr, port, MRC_CTR_TX_SRV6, 1);
		} else {
			hop = &hops[port <= MRC_MAX_PORTS ? port : 0];
			if (!__test_and_set_bit(hop - hops, &known)) {
				mrc_hop_find(flow, port, skb, hop);
				if (hop->dst && !skb_queue_empty(list))
					mrc_hop_batches(flow, port, skb, hop);
			}
			if (!hop->dst) {
				mrc_xmit_no_route(flow->dev, skb, port, &lost);
				continue;
			}
			skb_dst_set_noref(skb, hop->dst);
			if (hop->batch > 1) {
				n = mrc_batch_gather(list, skb, hop);
				hdr_len = skb_network_header_len(skb) + MRC_UDP_HLEN;
				len = skb->len + (n - 1) * hdr_len;
			}
		}
		out = mrc_io_port(skb, port);
		ret = mrc_hop_xmit(net, hop, skb);
		if (net_xmit_eval(ret))
			mrc_ctr_add(&flow->dev->ctr, port, MRC_CTR_TX_ERROR, n);
		else
			mrc_io_add(flow->dev, out, MRC_IO_TX_PKTS, n, len, false);
	}
	for_each_set_bit(port, &known, MRC_MAX_PORTS + 1)
		if (hops[port].n)
			mrc_neigh_count(net, &hops[port]);
	rcu_read_unlock();
	local_bh_enable();
	return lost;
}
