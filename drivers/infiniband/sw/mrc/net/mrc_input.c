// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The direct path from the netdev.
 *
 * The IP input path does the same for each packet of a peer: it looks up that the packet
 * is for this host and may come from that peer, and finds the socket. Here each port's
 * netdev has an ingress hook behind all others. It remembers the route of packets that
 * have taken the IP input path, and hands later ones with the same addresses, DSCP and
 * mark to mrc_rcv.c, as early demultiplexing does for connected sockets. Filters at
 * ingress and taps for all protocols have seen the packets by then.
 *
 * mrc_input_plain() decides when all packets have to use the IP input path. It is called
 * for each packet, so a new netfilter rule takes effect with the next one. A change of
 * routes or addresses does too, because the route is checked. Each second packets take
 * the IP input path again, for settings that are no part of the route.
 *
 * Packets may overtake those that take the IP input path. Connected queue pairs of MRC do
 * not care; packets of plain RoCE v2 always take the IP input path.
 *
 * Without this file all packets do.
 */
#include <linux/bpf-netns.h>
#include <linux/hash.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/netfilter_netdev.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/dst.h>
#include <net/inet_ecn.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/netns/hash.h>
#include <net/raw.h>
#include <net/rawv6.h>
#include <net/route.h>
#include <net/udp.h>
#include <net/xfrm.h>

#include "compat/mrc_compat.h"
#include "mrc_batch.h"
#include "mrc_net_priv.h"

#define MRC_INPUT_BITS		8
/* An entry is valid for this long. */
#define MRC_INPUT_LIFE		HZ
/* It is not replaced by one with another key for this long. */
#define MRC_INPUT_HOLD		(HZ / 8)

/**
 * struct mrc_input_key - what the IP input path decides by
 * @saddr: peer's address, v4-mapped for IPv4
 * @daddr: own address
 * @dport: UDP port
 * @mark: mark of the skb
 * @dscp: traffic class byte without ECN
 */
struct mrc_input_key {
	struct in6_addr saddr;
	struct in6_addr daddr;
	u32 mark;
	__be16 dport;
	u8 dscp;
};

/**
 * struct mrc_input_peer - packets that the IP input path has accepted
 * @rcu: delayed free
 * @key: what they have in common
 * @dst: route that the IP input path found, referenced
 * @cookie: for dst_check()
 * @at: jiffies when it was found
 */
struct mrc_input_peer {
	struct rcu_head rcu;
	struct mrc_input_key key;
	struct dst_entry *dst;
	u32 cookie;
	unsigned long at;
};

/**
 * struct mrc_input - the hook of a port
 * @rcu: delayed free
 * @ops: hook at the port's netdev
 * @lock: (bh, leaf) protects changes of @peer and @closed
 * @closed: the port has lost its netdev: add nothing to @peer
 * @peer: by the hash of the key
 */
struct mrc_input {
	struct rcu_head rcu;
	struct nf_hook_ops ops;
	spinlock_t lock;	/* leaf */
	bool closed;
	struct mrc_input_peer __rcu *peer[1 << MRC_INPUT_BITS];
};

/* What a packet's headers say. */
struct mrc_input_head {
	struct mrc_input_key key;
	bool ipv6;
	u8 ecn;
	u32 ip_len;
	u32 len;	/* IP header and payload */
};

static unsigned int mrc_input_hash(const struct net *net,
				   const struct mrc_input_key *k)
{
	const u32 *s = (__force const u32 *)k->saddr.s6_addr32;
	const u32 *d = (__force const u32 *)k->daddr.s6_addr32;
	u32 h = net_hash_mix(net) ^ s[3] ^ s[2] ^ (d[3] ^ d[2]) * 3;

	h = hash_32(h, 32) ^ s[1] ^ s[0] ^ (d[1] ^ d[0]) * 5 ^ k->mark ^ k->dscp;
	return hash_32(h, MRC_INPUT_BITS);
}

/* Does a raw socket want copies of datagrams? Its hash chain may be another's. */
static bool mrc_input_raw_sockets(const struct net *net, bool ipv6)
{
	const u32 hash = raw_hashfunc(net, IPPROTO_UDP);

#if IS_ENABLED(CONFIG_IPV6)
	if (ipv6)
		return !hlist_empty(&raw_v6_hashinfo.ht[hash]);
#endif
	return !hlist_empty(&raw_v4_hashinfo.ht[hash]);
}

/*
 * Do rules for routes look at more than the key: at ports or the protocol? Those of IPv6 may
 * look at the flow label too, so it is enough that there has been any.
 */
static bool mrc_input_rules(const struct net *net, bool ipv6)
{
#ifdef CONFIG_IPV6_MULTIPLE_TABLES
	if (ipv6)
		return READ_ONCE(net->ipv6.fib6_has_custom_rules);
#endif
#ifdef CONFIG_IP_MULTIPLE_TABLES
	return !ipv6 && READ_ONCE(net->ipv4.fib_rules_require_fldissect);
#else
	return false;
#endif
}

/*
 * Does netfilter, or an eBPF program that chooses sockets, see packets? Our own hook for
 * packets in outer headers does not look at others. RCU.
 */
static bool mrc_input_hooked(const struct net *net, bool ipv6)
{
	struct nf_hook_entries __rcu *const *hooks;

	hooks = ipv6 ? net->nf.hooks_ipv6 : net->nf.hooks_ipv4;
	return rcu_access_pointer(hooks[NF_INET_PRE_ROUTING]) ||
	       !mrc_srv6_alone(rcu_dereference(hooks[NF_INET_LOCAL_IN])) ||
	       rcu_access_pointer(net->bpf.run_array[NETNS_BPF_SK_LOOKUP]);
}

/* Are there IPsec policies for input? */
static bool mrc_input_policies(const struct net *net)
{
#ifdef CONFIG_XFRM
	return READ_ONCE(net->xfrm.policy_count[XFRM_POLICY_IN]) ||
	       READ_ONCE(net->xfrm.policy_default[XFRM_POLICY_IN]) ==
	       XFRM_USERPOLICY_BLOCK;
#else
	return false;
#endif
}

/* Is there a packet socket for one protocol? Such sockets are served behind the hook. */
static bool mrc_input_ip_taps(const struct net *net, const struct net_device *ndev)
{
#ifdef HAVE_NET_PTYPE_SPECIFIC
	if (!list_empty(&net->ptype_specific))
		return true;
#endif
	return !list_empty(&ndev->ptype_specific);
}

bool mrc_input_plain(const struct net *net, const struct net_device *ndev, bool ipv6)
{
	return !mrc_input_hooked(net, ipv6) && !mrc_input_policies(net) &&
	       !mrc_input_rules(net, ipv6) && !mrc_input_ip_taps(net, ndev) &&
	       !mrc_input_raw_sockets(net, ipv6);
}

/* A whole packet for this host, of this netdev itself, that nobody else holds; or several. */
static bool mrc_input_whole(const struct sk_buff *skb)
{
	return skb->pkt_type == PACKET_HOST && !skb_network_offset(skb) &&
	       !skb_vlan_tag_present(skb) && !skb_shared(skb) &&
	       (!skb_is_gso(skb) || mrc_batch_is(skb)) &&
	       !skb->sk && !skb_dst(skb) && !skb_sec_path(skb) &&
	       !rcu_access_pointer(skb->dev->rx_handler) &&
	       !netif_is_l3_slave(skb->dev) && !netif_is_l3_master(skb->dev);
}

/*
 * The header checks of the IP input path. Packets that fail them, and those with options,
 * fragments or a UDP checksum, are left to it.
 */
static bool mrc_input_ip4(const struct sk_buff *skb, struct mrc_input_head *h)
{
	const struct iphdr *ip = ip_hdr(skb);

	if (ip->version != 4 || ip->ihl != 5 || ip->protocol != IPPROTO_UDP ||
	    ip_is_fragment(ip))
		return false;
	h->key.dscp = ip->tos & ~INET_ECN_MASK;
	h->ecn = ip->tos & INET_ECN_MASK;
	h->len = ntohs(ip->tot_len);
	ipv6_addr_set_v4mapped(ip->saddr, &h->key.saddr);
	ipv6_addr_set_v4mapped(ip->daddr, &h->key.daddr);
	return true;
}

static bool mrc_input_ip6(const struct sk_buff *skb, struct mrc_input_head *h)
{
	const struct ipv6hdr *ip6 = ipv6_hdr(skb);

	if (ip6->version != 6 || ip6->nexthdr != IPPROTO_UDP)
		return false;
	h->key.dscp = ipv6_get_dsfield(ip6) & ~INET_ECN_MASK;
	h->ecn = ipv6_get_dsfield(ip6) & INET_ECN_MASK;
	h->len = sizeof(*ip6) + ntohs(ip6->payload_len);
	h->key.saddr = ip6->saddr;
	h->key.daddr = ip6->daddr;
	return true;
}

static bool mrc_input_udp(const struct sk_buff *skb, struct mrc_input_head *h)
{
	const struct udphdr *udp = (const void *)(skb->data + h->ip_len);

	h->key.dport = udp->dest;
	return mrc_udp_port_ours(udp->dest) && !udp->check &&
	       h->len >= h->ip_len + MRC_UDP_HLEN + MRC_BTH_LEN && h->len <= skb->len &&
	       ntohs(udp->len) == h->len - h->ip_len &&
	       !mrc_bth_roce(skb->data + h->ip_len + MRC_UDP_HLEN);
}

static bool mrc_input_head(struct sk_buff *skb, struct mrc_input_head *h)
{
	h->ipv6 = skb->protocol == htons(ETH_P_IPV6);
	if (!h->ipv6 && skb->protocol != htons(ETH_P_IP))
		return false;
	h->ip_len = h->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	if (!pskb_may_pull(skb, h->ip_len + MRC_UDP_HLEN + MRC_BTH_LEN))
		return false;
	h->key.mark = skb->mark;
	if (h->ipv6)
		return mrc_input_ip6(skb, h) && mrc_input_udp(skb, h);
	return mrc_input_ip4(skb, h) && mrc_input_udp(skb, h) &&
	       !ip_fast_csum((const u8 *)ip_hdr(skb), 5);
}

/* Inline, because it runs for each packet. */
static __always_inline bool mrc_input_same(const struct mrc_input_key *a,
					   const struct mrc_input_key *b)
{
	return ipv6_addr_equal(&a->saddr, &b->saddr) &&
	       ipv6_addr_equal(&a->daddr, &b->daddr) && a->mark == b->mark &&
	       a->dport == b->dport && a->dscp == b->dscp;
}

/* Is @peer still accepted? RCU. */
static bool mrc_input_valid(const struct mrc_input_peer *peer)
{
	return time_in_range_open(jiffies, peer->at, peer->at + MRC_INPUT_LIFE) &&
	       dst_check(peer->dst, peer->cookie);
}

/* The valid entry for a packet, or NULL. RCU. Inline, like mrc_input_same(). */
static __always_inline const struct mrc_input_peer *
mrc_input_find(const struct net *net, const struct mrc_input *in,
	       const struct mrc_input_key *key)
{
	const struct mrc_input_peer *peer;

	peer = rcu_dereference(in->peer[mrc_input_hash(net, key)]);
	if (!peer || !mrc_input_same(&peer->key, key) || !mrc_input_valid(peer))
		return NULL;
	return peer;
}

bool mrc_input_expects(const void *priv, const struct net *net, const struct sk_buff *skb)
{
	struct mrc_input_head h = {};

	if (skb->protocol == htons(ETH_P_IPV6) ? !mrc_input_ip6(skb, &h) :
						 !mrc_input_ip4(skb, &h))
		return false;
	h.key.dport = udp_hdr(skb)->dest;
	return mrc_input_find(net, priv, &h.key);
}

/*
 * The statistics of the IP input path and of UDP, for @n packets that came as one. @len: bytes
 * of L3, as received.
 */
static void mrc_input_count(struct net *net, const struct sk_buff *skb, u32 n, u32 len,
			    const struct mrc_input_head *h, struct dst_entry *dst)
{
	const unsigned int ect = IPSTATS_MIB_NOECTPKTS + h->ecn;

	preempt_disable();	/* with PREEMPT_RT, BH off is not enough */
	if (h->ipv6) {
#if IS_ENABLED(CONFIG_IPV6)
		struct inet6_dev *idev = __in6_dev_get(skb->dev);

		__IP6_UPD_PO_STATS(net, idev, IPSTATS_MIB_IN, len);
		__IP6_ADD_STATS(net, idev, ect, n);
		/* The netdev that has the address may be another one. */
		__IP6_INC_STATS(net, ip6_dst_idev(dst), IPSTATS_MIB_INDELIVERS);
		__SNMP_ADD_STATS(net->mib.udp_stats_in6, UDP_MIB_INDATAGRAMS, n);
#endif
	} else {
		__IP_UPD_PO_STATS(net, IPSTATS_MIB_IN, len);
		__IP_ADD_STATS(net, ect, n);
		__IP_INC_STATS(net, IPSTATS_MIB_INDELIVERS);
		__SNMP_ADD_STATS(net->mib.udp_statistics, UDP_MIB_INDATAGRAMS, n);
	}
	preempt_enable();
}

static void mrc_input_deliver(struct sk_buff *skb, u32 ip_len)
{
	skb_set_transport_header(skb, ip_len);
	__skb_pull(skb, ip_len);
	mrc_udp_rcv(NULL, skb);
}

/*
 * May @skb be taken like the packet that it came with, for which @arg is: has it the same
 * addresses, DSCP and mark, and would it be taken if it had come alone?
 */
static bool mrc_input_like(struct sk_buff *skb, const void *arg)
{
	const struct mrc_input_head *h = arg;
	struct mrc_input_head own;

	return mrc_input_whole(skb) && mrc_input_head(skb, &own) &&
	       mrc_input_same(&own.key, &h->key) && own.len == skb->len;
}

unsigned int mrc_input_in(void *priv, struct sk_buff *skb,
			  const struct nf_hook_state *state)
{
	const struct mrc_input_peer *peer;
	struct sk_buff_head rest;
	struct mrc_input_head h;
	const u32 len = skb->len;

	if (!mrc_input_whole(skb) || !mrc_input_head(skb, &h))
		return NF_ACCEPT;
	peer = mrc_input_find(state->net, priv, &h.key);
	if (!peer || !mrc_input_plain(state->net, skb->dev, h.ipv6))
		return NF_ACCEPT;
	/* What the IP input path does too, so it may do it again. */
	if (skb_orphan_frags_rx(skb, GFP_ATOMIC))
		return NF_ACCEPT;
	__skb_queue_head_init(&rest);
	if (skb_is_gso(skb)) {
		if (h.len != len || !mrc_batch_ok(skb, h.ip_len) ||
		    !mrc_batch_each(skb, h.ip_len, mrc_input_like, &h))
			return NF_ACCEPT;
		mrc_batch_split(skb, h.ip_len, &rest);
	} else if (pskb_trim_rcsum(skb, h.len)) {
		return NF_ACCEPT;
	}
	mrc_input_count(state->net, skb, skb_queue_len(&rest) + 1, len, &h, peer->dst);
	do {
		mrc_input_deliver(skb, h.ip_len);
	} while ((skb = __skb_dequeue(&rest)));
	return NF_STOLEN;
}

/* Is this what the IP input path finds for a datagram to one of the host's addresses? */
static bool mrc_input_dst_ok(const struct dst_entry *dst, bool ipv6, u32 *cookie)
{
	if (dst->lwtstate || dst->error)
		return false;
#ifdef CONFIG_IP_ROUTE_CLASSID
	if (dst->tclassid)	/* /proc/net/rt_acct */
		return false;
#endif
	*cookie = 0;
	if (!ipv6) {
		const struct rtable *rt = container_of(dst, struct rtable, dst);

		return dst->ops->family == AF_INET && rt_is_input_route(rt) &&
		       rt->rt_type == RTN_LOCAL;
	}
#if IS_ENABLED(CONFIG_IPV6)
	if (dst->ops->family == AF_INET6) {
		const struct rt6_info *rt = container_of(dst, struct rt6_info, dst);

		*cookie = rt6_get_cookie(rt);
		return rt->rt6i_flags & RTF_LOCAL &&
		       !(rt->rt6i_flags & (RTF_ANYCAST | RTF_REJECT));
	}
#endif
	return false;
}

static void mrc_input_drop(struct mrc_input_peer *peer)
{
	if (!peer)
		return;
	/* A dst is freed after a grace period. */
	dst_release(peer->dst);
	kfree_rcu(peer, rcu);
}

static bool mrc_input_may_replace(const struct mrc_input_peer *old,
				  const struct mrc_input_key *key)
{
	if (!old)
		return true;
	if (mrc_input_same(&old->key, key))
		return !mrc_input_valid(old);
	/* Keys with the same hash do not take the place from each other all the time. */
	return !time_in_range_open(jiffies, old->at, old->at + MRC_INPUT_HOLD);
}

static struct mrc_input_peer *mrc_input_make(const struct mrc_input_key *key,
					     struct dst_entry *dst, u32 cookie)
{
	struct mrc_input_peer *peer = kmalloc(sizeof(*peer), GFP_ATOMIC | __GFP_NOWARN);

	if (!peer)
		return NULL;
	if (!dst_hold_safe(dst)) {
		kfree(peer);
		return NULL;
	}
	peer->key = *key;
	peer->dst = dst;
	peer->cookie = cookie;
	peer->at = jiffies;
	return peer;
}

void mrc_input_learn(const struct mrc_pkt *pkt)
{
	const struct mrc_port *port = &pkt->dev->port[pkt->rx.port];
	const struct net_device *ndev = pkt->skb->dev;
	const struct net *net = pkt->dev->net;
	struct dst_entry *dst = skb_dst(pkt->skb);
	struct mrc_input_key key = {
		.saddr = pkt->saddr,
		.daddr = pkt->daddr,
		.dport = udp_hdr(pkt->skb)->dest,
		.mark = pkt->skb->mark,
		.dscp = pkt->tos & ~INET_ECN_MASK,
	};
	struct mrc_input_peer __rcu **place;
	struct mrc_input_peer *peer, *old;
	struct mrc_input *in;
	u32 cookie;

	in = rcu_dereference(port->input);
	if (!in || ndev != rcu_access_pointer(port->ndev) ||
	    !mrc_input_plain(net, ndev, pkt->ipv6))
		return;
	place = &in->peer[mrc_input_hash(net, &key)];
	if (!mrc_input_may_replace(rcu_dereference(*place), &key) ||
	    !mrc_input_dst_ok(dst, pkt->ipv6, &cookie))
		return;
	peer = mrc_input_make(&key, dst, cookie);
	if (!peer)
		return;
	spin_lock(&in->lock);
	if (in->closed)
		old = peer;
	else
		old = rcu_replace_pointer(*place, peer, lockdep_is_held(&in->lock));
	spin_unlock(&in->lock);
	mrc_input_drop(old);
}

static int mrc_input_open(struct mrc_port *port, struct net_device *ndev)
{
	struct mrc_input *in = kzalloc(sizeof(*in), GFP_KERNEL);
	int ret;

	if (!in)
		return -ENOMEM;
	spin_lock_init(&in->lock);
	in->ops = (struct nf_hook_ops) {
		.hook = mrc_input_in,
		.dev = ndev,
		.priv = in,
		.pf = NFPROTO_NETDEV,
		.hooknum = NF_NETDEV_INGRESS,
		.priority = INT_MAX,	/* behind all filters */
	};
	ret = nf_register_net_hook(port->dev->net, &in->ops);
	if (ret) {
		kfree(in);
		return ret;
	}
	rcu_assign_pointer(port->input, in);
	return 0;
}

static void mrc_input_close(struct mrc_port *port)
{
	struct mrc_input *in = rtnl_dereference(port->input);
	struct mrc_input_peer *peer;
	unsigned int i;

	if (!in)
		return;
	nf_unregister_net_hook(port->dev->net, &in->ops);
	RCU_INIT_POINTER(port->input, NULL);
	spin_lock_bh(&in->lock);
	in->closed = true;
	for (i = 0; i < ARRAY_SIZE(in->peer); i++) {
		peer = rcu_replace_pointer(in->peer[i], NULL,
					   lockdep_is_held(&in->lock));
		mrc_input_drop(peer);
	}
	spin_unlock_bh(&in->lock);
	/* The hook may still run. */
	kfree_rcu(in, rcu);
}

const struct mrc_port_client mrc_input_client = {
	.open = mrc_input_open,
	.close = mrc_input_close,
};
