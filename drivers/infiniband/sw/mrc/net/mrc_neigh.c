// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The direct path to the neighbour.
 *
 * All packets of a port go to the same next hop. If the IP output path would only look
 * up the next hop and count the packets, both are done once per batch here. Each packet
 * then goes straight to the neighbour, as ip_finish_output2() would pass it on.
 * Everything below, such as neighbour states, taps, qdiscs and their return values, is
 * the same.
 *
 * mrc_neigh_find() decides which packets have to use the IP output path. It is called
 * for each batch, so a new netfilter rule takes effect with the next batch.
 *
 * Without this file all packets use the IP output path.
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

#include "compat/mrc_compat.h"
#include "mrc_neigh.h"

/* Does a netfilter hook see the packets that the host sends? RCU. */
static bool mrc_nf_output_hooked(const struct net *net, bool ipv6)
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

/* The neighbour that the IP output path would use, if it exists already. */
static struct neighbour *mrc_neigh_find4(const struct dst_entry *dst,
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
static struct neighbour *mrc_neigh_find6(const struct dst_entry *dst,
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
static struct neighbour *mrc_neigh_find6(const struct dst_entry *dst,
					 const struct sk_buff *skb)
{
	return NULL;
}
#endif

/*
 * Only if the IP output path would do nothing but find the neighbour: no netfilter
 * hook, no IPsec, no encapsulation, no VRF. Cgroup programs do not matter: they do not
 * run for packets without a socket.
 */
void mrc_neigh_find(struct net *net, struct mrc_hop *hop,
		    const struct sk_buff *skb)
{
	const struct dst_entry *dst = hop->dst;
	const struct net_device *ndev = dst->dev;

	if (mrc_nf_output_hooked(net, hop->ipv6) || dst_xfrm(dst) || dst->lwtstate ||
	    ndev->flags & IFF_LOOPBACK || netif_is_l3_slave(ndev) ||
	    LL_RESERVED_SPACE(ndev) > LL_MAX_HEADER)
		return;
	hop->neigh = hop->ipv6 ? mrc_neigh_find6(dst, skb) :
				 mrc_neigh_find4(dst, skb);
}

bool mrc_neigh_usable(const struct mrc_hop *hop, const struct sk_buff *skb)
{
	return hop->neigh && !READ_ONCE(hop->neigh->dead) &&
	       (skb_is_gso(skb) || skb->len <= hop->mtu);
}

int mrc_neigh_xmit(struct mrc_hop *hop, struct sk_buff *skb)
{
	hop->n++;
	hop->bytes += skb->len;
	if (!hop->ipv6)
		ip_send_check(ip_hdr(skb));
	/*
	 * The device of the route may be replaced meanwhile; that of the neighbour may
	 * not.
	 */
	skb->dev = hop->neigh->dev;
	return neigh_output(hop->neigh, skb, false);
}

/*
 * Add the statistics of the IP output path. On kernels with one counter for requests
 * and packets, IPv6 counts nothing below ip6_xmit(). BH off.
 */
void mrc_neigh_count(struct net *net, const struct mrc_hop *hop)
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
