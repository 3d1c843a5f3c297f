// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SRv6, sending: an outer IPv6 header for each packet, made from the packet's EV (MRC
 * 1.0 §16, §11.1), and the routes of these packets.
 *
 * The route of an outer packet depends on the EV and its port, not on the connection.
 * So routes are cached with the set of EVs, one for each EV in use, and shared by all
 * QPs of the profile. No assumption is made about the prefix length that the first hop
 * uses. Cache entries are immutable: a reader under RCU always sees the outer source
 * that belongs to the route.
 */
#include <linux/rcupdate.h>
#include <linux/seg6.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <net/addrconf.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>

#include "mrc_net_priv.h"

#define MRC_SRH_LEN	(sizeof(struct ipv6_sr_hdr) + sizeof(struct in6_addr))

static_assert(sizeof(struct ipv6hdr) + MRC_SRH_LEN == MRC_SRV6_ROOM);

/* Largest packet with the smallest path MTU, IPv6 inside (§2.1), bytes. */
#define MRC_SRV6_MIN_L3	(256 + 92)

/**
 * struct mrc_srv6_out - route of packets to an SRv6 address
 * @dst: route, with a reference
 * @saddr: outer source
 */
struct mrc_srv6_out {
	struct dst_entry *dst;
	struct in6_addr saddr;
};

/**
 * struct mrc_srv6_hop - cached route of one EV
 * @rcu: delayed free, as readers hold no reference
 * @out: route and outer source
 * @cookie: for dst_check()
 */
struct mrc_srv6_hop {
	struct rcu_head rcu;
	struct mrc_srv6_out out;
	u32 cookie;
};

/**
 * struct mrc_srv6 - routes of a set
 * @lock: protects replacement of entries; leaf
 * @n: entries
 * @hop: by EV index, NULL = no route cached
 */
struct mrc_srv6 {
	spinlock_t lock;
	u16 n;
	struct mrc_srv6_hop __rcu *hop[];
};

static u32 mrc_srv6_overhead(const struct mrc_evset *set)
{
	return sizeof(struct ipv6hdr) + (set->srh ? MRC_SRH_LEN : 0);
}

static bool mrc_set_is_srv6(const struct mrc_set *set)
{
	return set && set->set.mode == MRC_EV_FMT_SRV6 && set->srv6;
}

bool mrc_flow_srv6(const struct mrc_flow *flow)
{
	return mrc_set_is_srv6(READ_ONCE(flow->set));
}

#if IS_ENABLED(CONFIG_IPV6)
static int mrc_srv6_lookup(struct net *net, const struct net_device *ndev,
			   const struct in6_addr *daddr, u32 mtu,
			   struct mrc_srv6_out *out, u32 *cookie)
{
	/*
	 * No source address is given: then the output device is mandatory, and the
	 * kernel chooses a source that goes with the route.
	 */
	struct flowi6 fl6 = {
		.flowi6_oif = ndev->ifindex,
		.flowi6_proto = IPPROTO_IPV6,
		.daddr = *daddr,
	};
	struct sock *sk = mrc_sock_v6(net);
	struct dst_entry *dst;
	int ret;

	if (!sk || !ipv6_mod_enabled())
		return -EAFNOSUPPORT;
	dst = ip6_dst_lookup_flow(net, sk, &fl6, NULL);
	if (IS_ERR(dst))
		return PTR_ERR(dst) == -EADDRNOTAVAIL ? -EADDRNOTAVAIL :
							-ENETUNREACH;
	ret = -ENETUNREACH;
	if (dst->error || dst->dev != ndev)
		goto err;
	/* Packets with a link-local source do not get past the first hop. */
	ret = -EADDRNOTAVAIL;
	if (ipv6_addr_any(&fl6.saddr) || ipv6_addr_loopback(&fl6.saddr) ||
	    (ipv6_addr_type(&fl6.saddr) & IPV6_ADDR_LINKLOCAL &&
	     !(ipv6_addr_type(daddr) & IPV6_ADDR_LINKLOCAL)))
		goto err;
	ret = -EMSGSIZE;
	if (dst_mtu(dst) < mtu)
		goto err;
	*cookie = rt6_get_cookie(dst_rt6_info(dst));
	out->dst = dst;
	out->saddr = fl6.saddr;
	return 0;
err:
	dst_release(dst);
	return ret;
}
#else
static int mrc_srv6_lookup(struct net *net, const struct net_device *ndev,
			   const struct in6_addr *daddr, u32 mtu,
			   struct mrc_srv6_out *out, u32 *cookie)
{
	return -EAFNOSUPPORT;
}
#endif

static int mrc_srv6_find(struct mrc_dev *dev, u8 port, const u8 *ev, u32 mtu,
			 struct mrc_srv6_out *out, u32 *cookie)
{
	struct net_device *ndev;
	struct in6_addr daddr;

	if (!port || port > dev->n_ports)
		return -ENETUNREACH;
	ndev = rcu_dereference(dev->port[port].ndev);
	if (!ndev)
		return -ENETUNREACH;
	memcpy(&daddr, ev, sizeof(daddr));
	return mrc_srv6_lookup(dev->net, ndev, &daddr, mtu, out, cookie);
}

/*
 * Find the route of an outer packet with @ev, MRC_EV_BYTES bytes, through @port. @mtu:
 * bytes of L3 that must fit, outer header included. Any context, under RCU. Always does
 * a lookup; QPs have their routes cached with the set. The outer source is chosen by
 * the kernel for that route: its "src" attribute, or else an address of the port's
 * netdev. The caller passes on or releases @out->dst. 0, -EAFNOSUPPORT, -ENETUNREACH,
 * -EADDRNOTAVAIL or -EMSGSIZE.
 */
static int mrc_srv6_route(struct mrc_dev *dev, u8 port, const u8 *ev, u32 mtu,
			  struct mrc_srv6_out *out)
{
	u32 cookie;

	return mrc_srv6_find(dev, port, ev, mtu, out, &cookie);
}

/*
 * Prepend the outer header to a complete packet that was built with room for it: outer
 * source @saddr, outer destination @ev, and with @srh an SRH of one segment. DSCP, ECN
 * and flow label are copied from the inner packet. The result is an IPv6 packet for
 * ip6_local_out().
 */
static void mrc_srv6_push(struct sk_buff *skb, const struct in6_addr *saddr,
			  const u8 *ev, bool srh)
{
	u8 next = IPPROTO_IPV6;
	struct ipv6hdr *outer;
	__be32 flow;

	if (skb->protocol == htons(ETH_P_IPV6)) {
		flow = *(__be32 *)ipv6_hdr(skb);
	} else {
		/* The IP output path completes only the outer header. */
		ip_send_check(ip_hdr(skb));
		flow = htonl(6 << 28 | ip_hdr(skb)->tos << 20);
		next = IPPROTO_IPIP;
	}
	if (srh) {
		struct ipv6_sr_hdr *h = skb_push(skb, MRC_SRH_LEN);

		/* Reduced SRH: the first segment is only in the outer destination. */
		h->nexthdr = next;
		h->hdrlen = MRC_SRH_LEN / 8 - 1;
		h->type = IPV6_SRCRT_TYPE_4;
		h->segments_left = 1;
		h->first_segment = 0;
		h->flags = 0;
		h->tag = 0;
		memcpy(&h->segments[0], ev + sizeof(struct in6_addr),
		       sizeof(struct in6_addr));
		next = IPPROTO_ROUTING;
	}
	outer = skb_push(skb, sizeof(*outer));
	*(__be32 *)outer = flow;
	outer->payload_len = htons(skb->len - sizeof(*outer));
	outer->nexthdr = next;
	outer->hop_limit = MRC_HOP_LIMIT;
	outer->saddr = *saddr;
	memcpy(&outer->daddr, ev, sizeof(outer->daddr));

	skb_reset_network_header(skb);
	skb_set_transport_header(skb, sizeof(*outer));
	skb->protocol = htons(ETH_P_IPV6);
}

int mrc_srv6_xmit(struct mrc_dev *dev, u8 port, struct sk_buff *skb,
		  const u8 *ev)
{
	const u8 *segment = ev + sizeof(struct in6_addr);
	bool srh = memchr_inv(segment, 0, sizeof(struct in6_addr));
	struct mrc_srv6_out out;
	unsigned int way = 0;
	u32 len = 0;
	int ret;

	ret = mrc_srv6_route(dev, port, ev, skb->len + sizeof(struct ipv6hdr) +
			     (srh ? MRC_SRH_LEN : 0), &out);
	if (ret) {
		kfree_skb(skb);
	} else {
		mrc_srv6_push(skb, &out.saddr, ev, srh);
		skb_dst_set(skb, out.dst);
		memset(skb->cb, 0, sizeof(skb->cb));
		len = skb->len;
		way = mrc_io_port(skb, port);
		/* net_xmit_eval() evaluates its argument twice. */
		ret = ip6_local_out(dev->net, NULL, skb);
		ret = net_xmit_eval(ret);
	}
	mrc_ctr_add(&dev->ctr, port,
		    ret ? MRC_CTR_TX_ERROR : MRC_CTR_TX_SRV6, 1);
	if (!ret)
		mrc_io_add(dev, way, MRC_IO_TX_PKTS, 1, len, false);
	return ret;
}

/* --- the routes of a set ------------------------------------------------------ */

int mrc_srv6_attach(struct mrc_set *set)
{
	struct mrc_srv6 *s;

	if (set->set.mode != MRC_EV_FMT_SRV6)
		return 0;
	s = kvzalloc(struct_size(s, hop, set->set.n),
		     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!s)
		return -ENOMEM;
	spin_lock_init(&s->lock);
	s->n = set->set.n;
	set->srv6 = s;
	return 0;
}

static void mrc_srv6_hop_free(struct rcu_head *rcu)
{
	struct mrc_srv6_hop *hop = container_of(rcu, struct mrc_srv6_hop, rcu);

	dst_release(hop->out.dst);
	kfree(hop);
}

void mrc_srv6_detach(struct mrc_set *set)
{
	struct mrc_srv6 *s = set->srv6;
	unsigned int i;

	if (!s)
		return;
	for (i = 0; i < s->n; i++) {
		struct mrc_srv6_hop *hop;

		hop = rcu_dereference_protected(s->hop[i], 1);
		if (hop)
			mrc_srv6_hop_free(&hop->rcu);
	}
	set->srv6 = NULL;
	kvfree(s);
}

/* Look up the route of @ev again and cache it. RCU, BH off. */
static struct mrc_srv6_hop *
mrc_srv6_refresh(struct mrc_dev *dev, const struct mrc_set *set, u16 ev)
{
	struct mrc_srv6 *s = set->srv6;
	struct mrc_srv6_hop *hop, *old;

	hop = kmalloc(sizeof(*hop), GFP_ATOMIC | __GFP_NOWARN);
	if (!hop)
		return NULL;
	/* No minimum MTU: it depends on the flow, and the route is shared. */
	if (mrc_srv6_find(dev, set->set.ev[ev].port, set->set.addr[ev], 0,
			  &hop->out, &hop->cookie)) {
		kfree(hop);
		hop = NULL;
	}
	spin_lock(&s->lock);
	old = rcu_replace_pointer(s->hop[ev], hop, lockdep_is_held(&s->lock));
	spin_unlock(&s->lock);
	if (old)
		call_rcu(&old->rcu, mrc_srv6_hop_free);
	return hop;
}

static struct mrc_srv6_hop *mrc_srv6_get(struct mrc_flow *flow,
					 const struct mrc_set *set, u16 ev)
{
	u32 mtu = mrc_route_mtu(flow) + mrc_srv6_overhead(&set->set);
	struct mrc_srv6_hop *hop = rcu_dereference(set->srv6->hop[ev]);

	if (!hop || !dst_check(hop->out.dst, hop->cookie))
		hop = mrc_srv6_refresh(flow->dev, set, ev);
	return hop && dst_mtu(hop->out.dst) >= mtu ? hop : NULL;
}

/* The EV of a packet: @ev, or the first one of @port if @ev < 0; -1 = none. */
static int mrc_srv6_ev(const struct mrc_evset *set, int ev, u8 port)
{
	if (ev >= 0)
		return ev < set->n ? ev : -1;
	for (ev = 0; ev < set->n; ev++)
		if (set->ev[ev].port == port)
			return ev;
	return -1;
}

void mrc_srv6_encap(struct mrc_flow *flow, struct sk_buff *skb, int ev, u8 port)
{
	const struct mrc_set *set = READ_ONCE(flow->set);
	struct mrc_srv6_hop *hop;

	ev = mrc_srv6_ev(&set->set, ev, port);
	if (ev < 0)
		return;
	rcu_read_lock();
	hop = mrc_srv6_get(flow, set, ev);
	/* The last reference to the dst may be dropped concurrently. */
	if (hop && dst_hold_safe(hop->out.dst)) {
		mrc_srv6_push(skb, &hop->out.saddr, set->set.addr[ev],
			      set->set.srh);
		skb_dst_set(skb, hop->out.dst);
	}
	rcu_read_unlock();
}

bool mrc_srv6_port_ok(struct mrc_flow *flow, u8 port)
{
	const struct mrc_set *set = READ_ONCE(flow->set);
	unsigned int i;

	if (!mrc_set_is_srv6(set))
		return false;
	for (i = 0; i < set->set.n; i++)
		if (set->set.ev[i].port == port && mrc_srv6_get(flow, set, i))
			return true;
	return false;
}

/*
 * --- checks for a controller -------------------------------------------------------
 */

int mrc_srv6_fits(const struct mrc_flow *flow, u8 port)
{
	const struct net_device *ndev;
	const struct mrc_set *set;
	int ret = 0;

	rcu_read_lock();
	set = READ_ONCE(flow->set);
	ndev = rcu_dereference(flow->dev->port[port].ndev);
	if (ndev && mrc_set_is_srv6(set) &&
	    mrc_route_mtu(flow) + mrc_srv6_overhead(&set->set) >
		    READ_ONCE(ndev->mtu))
		ret = -EINVAL;
	rcu_read_unlock();
	return ret;
}

static void mrc_srv6_explain(struct mrc_dev *dev, const struct mrc_evset *set,
			     u16 ev, int error)
{
	const char *name = dev_name(&dev->ib.dev);
	u8 port = set->ev[ev].port;

	switch (error) {
	case -EINVAL:
		pr_notice_ratelimited("%s: SRv6 EV %u names port %u, which does not exist\n",
				      name, ev, port);
		break;
	case -EADDRNOTAVAIL:
		pr_notice_ratelimited("%s: port %u has no IPv6 address that can be the source of SRv6 packets to %pI6c\n",
				      name, port, set->addr[ev]);
		break;
	case -EMSGSIZE:
		pr_notice_ratelimited("%s: the MTU towards %pI6c (port %u) is too small for SRv6\n",
				      name, set->addr[ev], port);
		break;
	case -EAFNOSUPPORT:
		pr_notice_ratelimited("%s: SRv6 needs IPv6, which is disabled (port %u)\n",
				      name, port);
		break;
	default:
		pr_notice_ratelimited("%s: no route to %pI6c through port %u\n",
				      name, set->addr[ev], port);
		break;
	}
}

/* disable_ipv6 of the netdev; RCU */
static bool mrc_srv6_disabled(struct mrc_dev *dev, u8 port)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct net_device *ndev;
	const struct inet6_dev *idev;

	ndev = rcu_dereference(dev->port[port].ndev);
	if (!ndev)
		return false;
	idev = __in6_dev_get(ndev);
	return !idev || READ_ONCE(idev->cnf.disable_ipv6);
#else
	return true;
#endif
}

int mrc_srv6_check(struct mrc_dev *dev, const struct mrc_evset *set)
{
	u32 up = mrc_dev_ports_up(dev);
	struct mrc_srv6_out out;
	unsigned int i, n = 0;
	int ret = 0;

	if (set->mode != MRC_EV_FMT_SRV6)
		return 0;
	if (!mrc_sock_v6(dev->net)) {
		pr_notice_ratelimited("%s: SRv6 needs IPv6 in this kernel and namespace\n",
				      dev_name(&dev->ib.dev));
		return -EAFNOSUPPORT;
	}
	for (i = 0; i < set->n && !ret; i++) {
		u8 port = set->ev[i].port;

		if (!port || port > dev->n_ports) {
			ret = -EINVAL;
		} else if (up & BIT(port)) {
			n++;
			local_bh_disable();
			rcu_read_lock();
			if (mrc_srv6_disabled(dev, port))
				ret = -EAFNOSUPPORT;
			else
				ret = mrc_srv6_route(dev, port, set->addr[i],
						     MRC_SRV6_MIN_L3 +
						     mrc_srv6_overhead(set),
						     &out);
			rcu_read_unlock();
			local_bh_enable();
			if (!ret)
				dst_release(out.dst);
		}
		if (ret)
			mrc_srv6_explain(dev, set, i, ret);
	}
	if (!ret && !n) {
		pr_notice_ratelimited("%s: no port of the SRv6 EVs is up\n",
				      dev_name(&dev->ib.dev));
		ret = -ENETDOWN;
	}
	return ret;
}
