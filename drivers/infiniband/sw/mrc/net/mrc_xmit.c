// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Handing packets to the network, a batch at a time.
 *
 * The packets of a port all go to the same next hop. Where nothing on the IP
 * output path could do anything to them but count them and look that up, it is
 * looked up once per batch, they are counted once per batch, and each goes
 * straight to the neighbour, as ip_finish_output2() would hand it over. All that
 * is below that, neighbour states, taps, qdiscs and what they report, is the same.
 *
 * What makes them take the long way is in mrc_hop_neigh(), and is looked at anew
 * for each batch: a rule of netfilter takes effect with the next one.
 */
#include <linux/netfilter.h>
#include <linux/preempt.h>
#include <net/arp.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/ndisc.h>
#include <net/neighbour.h>
#include <net/net_namespace.h>
#include <net/route.h>

#include "mrc_net.h"

/**
 * struct mrc_hop - how packets of one port leave, for the length of a batch
 * @dst: route, NULL: there is none
 * @neigh: next hop, NULL: by the IP output path
 * @ipv6: family
 * @mtu: bytes of L3 that the route takes
 * @n: packets that went to @neigh
 * @bytes: of L3, of these
 *
 * Valid as long as the RCU section in which it was found.
 */
struct mrc_hop {
	struct dst_entry *dst;
	struct neighbour *neigh;
	bool ipv6;
	u32 mtu;
	u32 n;
	u32 bytes;
};

/* Somebody wants to see what the host sends. RCU. */
static bool mrc_net_hooked(const struct net *net, bool ipv6)
{
#ifdef CONFIG_NETFILTER
	struct nf_hook_entries __rcu *const *hooks;

	hooks = ipv6 ? net->nf.hooks_ipv6 : net->nf.hooks_ipv4;
	return rcu_access_pointer(hooks[NF_INET_LOCAL_OUT]) ||
	       rcu_access_pointer(hooks[NF_INET_POST_ROUTING]);
#else
	return false;
#endif
}

/* The neighbour that the IP output path would find, if it is there already. */
static struct neighbour *mrc_hop_neigh4(const struct dst_entry *dst,
					const struct sk_buff *skb)
{
	const struct rtable *rt = container_of(dst, struct rtable, dst);
	__be32 key = ip_hdr(skb)->daddr;

	if (READ_ONCE(dst->output) != ip_output ||
	    rt->rt_type != RTN_UNICAST || rt->rt_gw_family == AF_INET6)
		return NULL;
	if (rt->rt_gw_family == AF_INET)
		key = rt->rt_gw4;
	return __ipv4_neigh_lookup_noref(dst->dev, (__force u32)key);
}

#if IS_ENABLED(CONFIG_IPV6)
static struct neighbour *mrc_hop_neigh6(const struct dst_entry *dst,
					const struct sk_buff *skb)
{
	const struct rt6_info *rt = container_of(dst, struct rt6_info, dst);
	const struct inet6_dev *idev = rt->rt6i_idev;

	if (READ_ONCE(dst->output) != ip6_output ||
	    rt->rt6i_flags & (RTF_LOCAL | RTF_ANYCAST | RTF_REJECT) || !idev ||
	    READ_ONCE(idev->cnf.disable_ipv6))
		return NULL;
	return __ipv6_neigh_lookup_noref(dst->dev,
					 rt6_nexthop(rt, &ipv6_hdr(skb)->daddr));
}
#else
static struct neighbour *mrc_hop_neigh6(const struct dst_entry *dst,
					const struct sk_buff *skb)
{
	return NULL;
}
#endif

/*
 * The next hop of @dst, if the IP output path would do no more than to find it:
 * no hook of netfilter, no IPsec, no encapsulation, no VRF; packets of no socket
 * pass no program of a control group.
 */
static struct neighbour *mrc_hop_neigh(struct net *net,
				       const struct mrc_hop *hop,
				       const struct sk_buff *skb)
{
	const struct dst_entry *dst = hop->dst;
	const struct net_device *ndev = dst->dev;

	if (mrc_net_hooked(net, hop->ipv6) || dst_xfrm(dst) || dst->lwtstate ||
	    ndev->flags & IFF_LOOPBACK || netif_is_l3_slave(ndev) ||
	    LL_RESERVED_SPACE(ndev) > LL_MAX_HEADER)
		return NULL;
	return hop->ipv6 ? mrc_hop_neigh6(dst, skb) : mrc_hop_neigh4(dst, skb);
}

/* All packets of a batch are of one connection, of which @skb is the first. */
static void mrc_hop_find(struct mrc_flow *flow, u8 port, const struct sk_buff *skb,
			 struct mrc_hop *hop)
{
	struct dst_entry *dst = mrc_route_get(flow, port);

	memset(hop, 0, sizeof(*hop));
	hop->ipv6 = skb->protocol == htons(ETH_P_IPV6);
	/* Meanwhile the flow may have become that of another connection. */
	if (!dst || dst->ops->family != (hop->ipv6 ? AF_INET6 : AF_INET))
		return;
	hop->dst = dst;
	hop->mtu = dst_mtu(dst);
	hop->neigh = mrc_hop_neigh(flow->dev->net, hop, skb);
}

/*
 * What the IP output path would have counted: where requests and packets are one
 * counter, that of IPv6 counts nothing below ip6_xmit(). BH off.
 */
static void mrc_hop_count(struct net *net, const struct mrc_hop *hop)
{
	preempt_disable();	/* with PREEMPT_RT, BH off is not enough */
	if (hop->ipv6) {
#ifdef HAVE_IPSTATS_OUTREQUESTS
		struct inet6_dev *idev = ip6_dst_idev(hop->dst);

		__IP6_ADD_STATS(net, idev, IPSTATS_MIB_OUTPKTS, hop->n);
		__IP6_ADD_STATS(net, idev, IPSTATS_MIB_OUTOCTETS, hop->bytes);
#endif
	} else {
#ifdef HAVE_IPSTATS_OUTREQUESTS
		__IP_ADD_STATS(net, IPSTATS_MIB_OUTREQUESTS, hop->n);
#endif
		__IP_ADD_STATS(net, IPSTATS_MIB_OUTPKTS, hop->n);
		__IP_ADD_STATS(net, IPSTATS_MIB_OUTOCTETS, hop->bytes);
	}
	preempt_enable();
}

/* Consumes @skb; what dev_queue_xmit() or ip_local_out() says. */
static int mrc_hop_xmit(struct net *net, struct mrc_hop *hop,
			struct sk_buff *skb)
{
	bool ipv6 = skb->protocol == htons(ETH_P_IPV6);

	/* IPCB of the output path. */
	memset(skb->cb, 0, sizeof(skb->cb));
	if (!hop || !hop->neigh || READ_ONCE(hop->neigh->dead) ||
	    skb->len > hop->mtu)
		return ipv6 ? ip6_local_out(net, NULL, skb) :
			      ip_local_out(net, NULL, skb);
	hop->n++;
	hop->bytes += skb->len;
	if (!ipv6)
		ip_send_check(ip_hdr(skb));
	/* The route's own device may be exchanged under us, the neighbour's not. */
	skb->dev = hop->neigh->dev;
	return neigh_output(hop->neigh, skb, false);
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
	/* One pass of the softirq for the whole batch. */
	local_bh_disable();
	rcu_read_lock();
	while ((skb = __skb_dequeue(list))) {
		struct mrc_hop *hop = NULL;
		u32 len = skb->len;
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
			if (!__test_and_set_bit(hop - hops, &known))
				mrc_hop_find(flow, port, skb, hop);
			if (!hop->dst) {
				mrc_xmit_no_route(flow->dev, skb, port, &lost);
				continue;
			}
			skb_dst_set_noref(skb, hop->dst);
		}
		out = mrc_io_port(skb, port);
		ret = mrc_hop_xmit(net, hop, skb);
		if (net_xmit_eval(ret))
			mrc_ctr_add(&flow->dev->ctr, port, MRC_CTR_TX_ERROR, 1);
		else
			mrc_io_add(flow->dev, out, MRC_IO_TX_PKTS, len, false);
	}
	for_each_set_bit(port, &known, MRC_MAX_PORTS + 1)
		if (hops[port].n)
			mrc_hop_count(net, &hops[port]);
	rcu_read_unlock();
	local_bh_enable();
	return lost;
}
