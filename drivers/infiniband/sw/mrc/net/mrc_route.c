// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Routes: one cached dst per connection and port. It always uses that port's netdev, a
 * VLAN above it, or leads to the host itself.
 */
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/ip_fib.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>

#include "mrc_net_priv.h"

/* Largest transport headers of a data packet: BTH, METH, TSETH, RETH, ImmDt (§2.1). */
#define MRC_DATA_HDR_MAX	40

static bool mrc_dst_ok(const struct dst_entry *dst,
		       const struct net_device *ndev, u32 mtu)
{
	return (dst->dev == ndev || dst->dev->flags & IFF_LOOPBACK) &&
	       dst_mtu(dst) >= mtu;
}

static struct dst_entry *mrc_route4(struct net *net, struct net_device *ndev,
				    const struct mrc_ends *ends, u32 mtu, u32 *cookie)
{
	const __be32 daddr = ends->daddr->s6_addr32[3];
	struct flowi4 fl4 = {
		.flowi4_oif = ndev->ifindex,
		.flowi4_proto = IPPROTO_UDP,
		.saddr = ends->saddr->s6_addr32[3],
		.daddr = daddr,
		.fl4_dport = ends->dport,
	};
	struct flowi4 probe = fl4;
	struct fib_result res;
	struct rtable *rt;

	/*
	 * With an output device given, the lookup below treats any destination as
	 * on-link. A plane without a route must not be used, so check for a route
	 * first.
	 */
	if (!ipv4_is_multicast(daddr) && fib_lookup(net, &probe, &res, 0))
		return NULL;
	rt = ip_route_output_flow(net, &fl4, NULL);
	if (IS_ERR(rt))
		return NULL;
	if ((rt->rt_type != RTN_UNICAST && rt->rt_type != RTN_LOCAL &&
	     rt->rt_type != RTN_MULTICAST) ||
	    !mrc_dst_ok(&rt->dst, ndev, mtu)) {
		ip_rt_put(rt);
		return NULL;
	}
	*cookie = 0;
	return &rt->dst;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct dst_entry *mrc_route6(struct net *net, struct net_device *ndev,
				    const struct mrc_ends *ends, u32 mtu, u32 *cookie)
{
	struct flowi6 fl6 = {
		.flowi6_oif = ndev->ifindex,
		.flowi6_proto = IPPROTO_UDP,
		.saddr = *ends->saddr,
		.daddr = *ends->daddr,
		.fl6_dport = ends->dport,
	};
	struct sock *sk = mrc_sock_v6(net);
	struct dst_entry *dst;
	int tries;

	/* IPv4 lookups require that the source address is a local one; these do not. */
	if (!sk || !ipv6_chk_addr(net, ends->saddr, NULL, 0))
		return NULL;
	/*
	 * With a source address, the output device is only a preference. Without one it
	 * is mandatory, but then rules on the source address do not match. Try both.
	 */
	for (tries = 0; tries < 2; tries++) {
		dst = ip6_dst_lookup_flow(net, sk, &fl6, NULL);
		if (!IS_ERR(dst)) {
			if (!dst->error && mrc_dst_ok(dst, ndev, mtu)) {
				*cookie = rt6_get_cookie(dst_rt6_info(dst));
				return dst;
			}
			dst_release(dst);
		}
		fl6.saddr = in6addr_any;
	}
	return NULL;
}
#else
static struct dst_entry *mrc_route6(struct net *net, struct net_device *ndev,
				    const struct mrc_ends *ends, u32 mtu, u32 *cookie)
{
	return NULL;
}
#endif

/* The netdev that is searched for among those above a port's. */
struct mrc_vlan_search {
	bool ipv6;
	const struct in6_addr *addr;
	struct net_device *found;
};

static bool mrc_ndev_has_addr(struct net_device *ndev, bool ipv6,
			      const struct in6_addr *addr)
{
	struct in_device *in_dev;

	if (ipv6)
		return IS_ENABLED(CONFIG_IPV6) &&
		       ipv6_chk_addr(dev_net(ndev), addr, ndev, 1);
	in_dev = __in_dev_get_rcu(ndev);
	return in_dev && inet_confirm_addr(dev_net(ndev), in_dev, 0, addr->s6_addr32[3],
					   RT_SCOPE_HOST);
}

static int mrc_vlan_has_addr(struct net_device *upper, struct netdev_nested_priv *priv)
{
	struct mrc_vlan_search *s = priv->data;

	if (!is_vlan_dev(upper) || !mrc_ndev_has_addr(upper, s->ipv6, s->addr))
		return 0;
	s->found = upper;
	return 1;
}

/*
 * The RDMA core makes GIDs of the addresses of VLANs above a port's netdev. Packets with
 * such an address leave through the VLAN.
 */
static struct net_device *mrc_route_ndev(struct net *net, struct net_device *ndev,
					 bool ipv6, const struct in6_addr *saddr)
{
	struct mrc_vlan_search s = { .ipv6 = ipv6, .addr = saddr };
	struct netdev_nested_priv priv = { .data = &s };

	if (!mrc_ndev_has_addr(ndev, ipv6, saddr))
		netdev_walk_all_upper_dev_rcu(ndev, mrc_vlan_has_addr, &priv);
	return s.found && net_eq(dev_net(s.found), net) ? s.found : ndev;
}

struct dst_entry *mrc_route_lookup(struct net *net, struct net_device *ndev,
				   const struct mrc_ends *ends, u32 mtu, u32 *cookie)
{
	ndev = mrc_route_ndev(net, ndev, ends->ipv6, ends->saddr);
	if (ends->ipv6)
		return mrc_route6(net, ndev, ends, mtu, cookie);
	return mrc_route4(net, ndev, ends, mtu, cookie);
}

u32 mrc_route_mtu(const struct mrc_flow *flow)
{
	return (flow->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) +
	       MRC_UDP_HLEN + MRC_DATA_HDR_MAX + flow->pmtu + MRC_ICRC_LEN;
}

/* Look up the route again and cache it. */
static struct dst_entry *mrc_route_refresh(struct mrc_flow *flow, u8 port)
{
	struct dst_entry *dst = NULL, *old;
	struct mrc_route *r = &flow->route[port - 1];
	struct net_device *ndev;
	struct mrc_ends ends;
	u32 gen, cookie = 0;

	gen = smp_load_acquire(&flow->route_gen);	/* before the addresses */
	ends = (struct mrc_ends) {
		.saddr = &flow->saddr,
		.daddr = &flow->daddr,
		.dport = flow->dport,
		.ipv6 = flow->ipv6,
	};
	ndev = rcu_dereference(flow->dev->port[port].ndev);
	if (ndev)
		dst = mrc_route_lookup(flow->dev->net, ndev, &ends, mrc_route_mtu(flow),
				       &cookie);

	spin_lock(&flow->route_lock);
	if (gen != flow->route_gen) {	/* the flow has another connection now */
		old = dst;
		dst = NULL;
	} else {
		old = rcu_replace_pointer(r->dst, dst,
					  lockdep_is_held(&flow->route_lock));
		WRITE_ONCE(r->cookie, cookie);
	}
	spin_unlock(&flow->route_lock);
	/*
	 * A dst is freed after a grace period, so readers without a reference are safe.
	 */
	dst_release(old);
	return dst;
}

struct dst_entry *mrc_route_get(struct mrc_flow *flow, u8 port)
{
	struct mrc_route *r;
	struct dst_entry *dst;

	if (!port || port > flow->dev->n_ports)
		return NULL;
	r = &flow->route[port - 1];
	dst = rcu_dereference(r->dst);
	/* dst_check() keeps IPv6 routes valid when the netdev's MTU shrinks. */
	if (dst && dst_check(dst, READ_ONCE(r->cookie)) &&
	    dst_mtu(dst) >= mrc_route_mtu(flow))
		return dst;
	return mrc_route_refresh(flow, port);
}

void mrc_route_drop(struct mrc_flow *flow)
{
	struct dst_entry *old[MRC_MAX_PORTS];
	unsigned int i;

	spin_lock_bh(&flow->route_lock);
	/*
	 * Pairs with the acquire in mrc_route_refresh(), which then sees the new
	 * addresses.
	 */
	smp_store_release(&flow->route_gen, flow->route_gen + 1);
	for (i = 0; i < flow->dev->n_ports; i++)
		old[i] = rcu_replace_pointer(flow->route[i].dst, NULL,
					     lockdep_is_held(&flow->route_lock));
	spin_unlock_bh(&flow->route_lock);
	for (i = 0; i < flow->dev->n_ports; i++)
		dst_release(old[i]);
}
