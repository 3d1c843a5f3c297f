// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets in a row that leave and arrive as one.
 *
 * Qdisc, netdev and the receiving host's network stack take most of the time of a packet.
 * So packets in a row with the same headers are handed over as one segmentation packet of
 * UDP with a list of packets (SKB_GSO_FRAGLIST): each keeps its own headers, payload and
 * ICRC. The kernel takes it apart in front of a driver that cannot send it, in front of a
 * socket, and so on; the packets on a wire are the same.
 *
 * Over veth it arrives as one. A filter, a qdisc or a capture would see one large packet,
 * of which it would drop, mark or show all or nothing. So packets are put together only
 * where nothing looks at them: no rules for output, a plain qdisc, no filters and no taps at
 * the netdev; and if that does not take them apart at once, a peer of veth that has none
 * either and where the hook of mrc_input.c knows their addresses.
 *
 * The spray policy lets packets in a row take one EV where that is so (mrc_flow_runs()).
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/netfilter_netdev.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/rtnetlink.h>
#include <net/sch_generic.h>

#include "compat/mrc_compat_tc.h"
#include "mrc_batch.h"
#include "mrc_net_priv.h"

#define MRC_BATCH_TYPE	(SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST)

/* Sending ------------------------------------------------------------------- */

/* A hook of this driver at a netdev: none looks at the number of packets. */
static bool mrc_batch_own_hook(nf_hookfn *hook)
{
#ifdef CONFIG_INFINIBAND_MRC_TRIM
	if (hook == mrc_trim_in)
		return true;
#endif
#ifdef CONFIG_INFINIBAND_MRC_GUARD
	if (hook == mrc_guard_out)
		return true;
#endif
	return hook == mrc_input_in;
}

/* Are all @hooks our own? Sets *@input to what belongs to mrc_input_in(), or NULL. RCU. */
static bool mrc_batch_own_hooks(const struct nf_hook_entries *hooks, const void **input)
{
	unsigned int i;

	*input = NULL;
	for (i = 0; hooks && i < hooks->num_hook_entries; i++) {
		if (!mrc_batch_own_hook(hooks->hooks[i].hook))
			return false;
		if (hooks->hooks[i].hook == mrc_input_in)
			*input = hooks->hooks[i].priv;
	}
	return true;
}

/*
 * Are all @hooks those of security modules? They look at labels and headers, not at the
 * number of packets. RCU.
 */
static bool mrc_batch_security_hooks(const struct nf_hook_entries *hooks)
{
	struct nf_hook_ops *const *all;
	unsigned int i;

	if (!hooks)
		return true;
	all = nf_hook_entries_get_hook_ops(hooks);
	for (i = 0; i < hooks->num_hook_entries; i++) {
		const struct nf_hook_ops *ops = READ_ONCE(all[i]);

		if (ops->hook_ops_type != NF_HOOK_OP_UNDEFINED ||
		    (ops->priority != NF_IP_PRI_SELINUX_FIRST &&
		     ops->priority != NF_IP_PRI_SELINUX_LAST))
			return false;
	}
	return true;
}

/* Does no rule of netfilter see what the host sends? RCU. */
static bool mrc_batch_output_plain(const struct net *net, bool ipv6)
{
#ifdef CONFIG_NETFILTER
	struct nf_hook_entries __rcu *const *hooks;

	BUILD_BUG_ON((int)NF_IP6_PRI_SELINUX_FIRST != (int)NF_IP_PRI_SELINUX_FIRST ||
		     (int)NF_IP6_PRI_SELINUX_LAST != (int)NF_IP_PRI_SELINUX_LAST);
	hooks = ipv6 ? net->nf.hooks_ipv6 : net->nf.hooks_ipv4;
	return mrc_batch_security_hooks(rcu_dereference(hooks[NF_INET_LOCAL_OUT])) &&
	       mrc_batch_security_hooks(rcu_dereference(hooks[NF_INET_POST_ROUTING]));
#else
	return true;
#endif
}

/*
 * Does @q do nothing to single packets? Others mark or drop them (CoDel), or have limits in
 * bytes. fq_codel is one of these.
 */
static bool mrc_batch_qdisc_plain(const struct Qdisc *q)
{
	return q && (!q->enqueue || !strcmp(q->ops->id, "pfifo_fast") ||
		     !strcmp(q->ops->id, "pfifo"));
}

/* Is that so for each queue of @ndev? RCU, BH off. */
static bool mrc_batch_qdiscs_plain(struct net_device *ndev)
{
	const struct netdev_queue *queue;
	unsigned int i;

	for (i = 0; i < READ_ONCE(ndev->real_num_tx_queues); i++) {
		queue = netdev_get_tx_queue(ndev, i);
		if (!mrc_batch_qdisc_plain(rcu_dereference_bh(queue->qdisc)))
			return false;
	}
	return true;
}

/* Does nothing at @ndev look at what it sends? RCU, BH off. */
static bool mrc_batch_egress_plain(struct net_device *ndev)
{
#ifdef CONFIG_NETFILTER_EGRESS
	const void *input;

	if (!mrc_batch_own_hooks(rcu_dereference(ndev->nf_hooks_egress), &input))
		return false;
#endif
	return mrc_batch_qdiscs_plain(ndev) && !mrc_tc_filters(ndev, egress) &&
	       !dev_nit_active(ndev) && !netif_is_l3_slave(ndev);
}

/*
 * Does nothing but our hook look at packets like @skb that arrive at @ndev, and will it take
 * them? RCU.
 */
static bool mrc_batch_ingress_plain(struct net_device *ndev, const struct sk_buff *skb,
				    bool ipv6)
{
	const void *input;

	return mrc_batch_own_hooks(rcu_dereference(ndev->nf_hooks_ingress), &input) &&
	       input && mrc_input_expects(input, dev_net(ndev), skb) &&
	       !rcu_access_pointer(ndev->rx_handler) &&
	       !rcu_access_pointer(ndev->xdp_prog) && !mrc_tc_filters(ndev, ingress) &&
	       !dev_nit_active(ndev) && !netif_is_l3_slave(ndev) &&
	       mrc_input_plain(dev_net(ndev), ndev, ipv6);
}

/* The other end of @ndev, if it is one of veth that passes such packets on. RCU. */
static struct net_device *mrc_batch_peer(struct net_device *ndev)
{
	const netdev_features_t takes = NETIF_F_SG | NETIF_F_FRAGLIST;

	if (!ndev->rtnl_link_ops || strcmp(ndev->rtnl_link_ops->kind, "veth") ||
	    !ndev->netdev_ops->ndo_get_peer_dev || (ndev->features & takes) != takes)
		return NULL;
	return ndev->netdev_ops->ndo_get_peer_dev(ndev);
}

u8 mrc_batch_most(const struct net *net, const struct mrc_hop *hop,
		  const struct sk_buff *skb)
{
	struct net_device *ndev = hop->dst->dev, *peer;
	u32 most = min_t(u32, READ_ONCE(ndev->gso_max_segs), MRC_BATCH_MAX);

	if (most < 2 || ndev->flags & IFF_LOOPBACK || dst_xfrm(hop->dst) ||
	    hop->dst->lwtstate || !mrc_batch_egress_plain(ndev) ||
	    !mrc_batch_output_plain(net, hop->ipv6))
		return 1;
	if (!(ndev->features & NETIF_F_GSO_FRAGLIST))
		return most;
	peer = mrc_batch_peer(ndev);
	return peer && mrc_batch_ingress_plain(peer, skb, hop->ipv6) ? most : 1;
}

/* Would @b follow @a in one packet: the same headers but for lengths? */
static bool mrc_batch_same(const struct sk_buff *a, const struct sk_buff *b)
{
	const struct udphdr *ua = udp_hdr(a), *ub = udp_hdr(b);

	if (a->protocol != b->protocol || ua->source != ub->source ||
	    ua->dest != ub->dest)
		return false;
	if (a->protocol == htons(ETH_P_IP)) {
		const struct iphdr *ia = ip_hdr(a), *ib = ip_hdr(b);

		return ia->tos == ib->tos && ia->ttl == ib->ttl &&
		       ia->saddr == ib->saddr && ia->daddr == ib->daddr;
	}
	return !memcmp(ipv6_hdr(a), ipv6_hdr(b), offsetof(struct ipv6hdr, payload_len)) &&
	       !memcmp(&ipv6_hdr(a)->hop_limit, &ipv6_hdr(b)->hop_limit,
		       sizeof(struct ipv6hdr) - offsetof(struct ipv6hdr, hop_limit));
}

/* Set the IP and UDP lengths of a packet with data at the IP header. */
static void mrc_batch_set_len(struct sk_buff *skb, u32 ip_len, u32 len)
{
	if (skb->protocol == htons(ETH_P_IP))
		ip_hdr(skb)->tot_len = htons(len);
	else
		ipv6_hdr(skb)->payload_len = htons(len - ip_len);
	udp_hdr(skb)->len = htons(len - ip_len);
}

/* Make @skb a packet that others can be appended to. */
static void mrc_batch_begin(struct sk_buff *skb, u32 hdr_len)
{
	struct skb_shared_info *info = skb_shinfo(skb);

	info->gso_type = MRC_BATCH_TYPE;
	/* The ICRC covers the IP ID. */
	if (skb->protocol == htons(ETH_P_IP))
		info->gso_type |= SKB_GSO_TCP_FIXEDID;
	info->gso_size = skb->len - hdr_len;
	info->gso_segs = 1;
	/* Without it the kernel would ask for a checksum. */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
}

static void mrc_batch_append(struct sk_buff *skb, struct sk_buff **end,
			     struct sk_buff *next, u32 hdr_len)
{
	if (next->protocol == htons(ETH_P_IP))
		ip_send_check(ip_hdr(next));
	next->ip_summed = CHECKSUM_UNNECESSARY;
	memset(next->cb, 0, sizeof(next->cb));
	__skb_pull(next, hdr_len);
	*end = next;
	skb->len += next->len;
	skb->data_len += next->len;
	skb->truesize += next->truesize;
	skb_shinfo(skb)->gso_segs++;
	skb_shinfo(skb)->flags |= skb_shinfo(next)->flags & SKBFL_SHARED_FRAG;
}

unsigned int mrc_batch_gather(struct sk_buff_head *list, struct sk_buff *skb,
			      const struct mrc_hop *hop)
{
	const u32 ip_len = skb_network_header_len(skb), hdr_len = ip_len + MRC_UDP_HLEN;
	struct sk_buff **end = &skb_shinfo(skb)->frag_list;
	const u8 port = mrc_tx_cb(skb)->port;
	const u32 first = skb->len;
	struct sk_buff *next;
	u32 len = first;
	unsigned int n;

	for (n = 1; n < hop->batch && len == first && first <= hop->mtu; n++) {
		next = skb_peek(list);
		if (!next || next->len > first || next->len <= hdr_len ||
		    skb->len + next->len > U16_MAX || mrc_tx_cb(next)->port != port ||
		    mrc_tx_cb(next)->srv6 || !mrc_batch_same(skb, next))
			break;
		if (n == 1)
			mrc_batch_begin(skb, hdr_len);
		__skb_unlink(next, list);
		len = next->len;
		mrc_batch_append(skb, end, next, hdr_len);
		end = &next->next;
	}
	if (n > 1)
		mrc_batch_set_len(skb, ip_len, skb->len);
	return n;
}

/* Receiving ----------------------------------------------------------------- */

bool mrc_batch_is(const struct sk_buff *skb)
{
	const u32 type = skb_shinfo(skb)->gso_type;

	return (type & ~SKB_GSO_TCP_FIXEDID) == MRC_BATCH_TYPE && skb_has_frag_list(skb);
}

/* Is @n one of the packets behind the first, with its headers in front of its data? */
static bool mrc_batch_part(const struct sk_buff *skb, const struct sk_buff *n,
			   u32 hdr_len)
{
	return n->protocol == skb->protocol && !skb_shared(n) && !skb_cloned(n) &&
	       !skb_is_gso(n) && !skb_has_frag_list(n) &&
	       !(skb_shinfo(n)->flags & SKBFL_ZEROCOPY_ENABLE) &&
	       skb_network_offset(n) == -(int)hdr_len &&
	       skb_transport_offset(n) == -(int)MRC_UDP_HLEN;
}

/* What __copy_skb_header() would do: where the packet comes from. */
static void mrc_batch_arrived(struct sk_buff *n, const struct sk_buff *skb)
{
	n->dev = skb->dev;
	n->skb_iif = skb->skb_iif;
	n->mark = skb->mark;
	n->pkt_type = skb->pkt_type;
	n->tstamp = skb->tstamp;
	skb_copy_hash(n, skb);
}

bool mrc_batch_ok(const struct sk_buff *skb, u32 ip_len)
{
	const u32 hdr_len = ip_len + MRC_UDP_HLEN;
	const struct sk_buff *n;
	u32 len = 0;

	if (skb_cloned(skb))
		return false;
	skb_walk_frags(skb, n) {
		if (!mrc_batch_part(skb, n, hdr_len))
			return false;
		len += n->len;
	}
	return len <= skb->data_len &&
	       skb->len - len == hdr_len + skb_shinfo(skb)->gso_size;
}

bool mrc_batch_each(struct sk_buff *skb, u32 ip_len,
		    bool (*ok)(struct sk_buff *skb, const void *arg), const void *arg)
{
	const u32 hdr_len = ip_len + MRC_UDP_HLEN;
	struct sk_buff *n;
	bool taken = true;

	skb_walk_frags(skb, n) {
		mrc_batch_arrived(n, skb);
		__skb_push(n, hdr_len);
		taken = ok(n, arg);
		__skb_pull(n, hdr_len);
		if (!taken)
			break;
	}
	return taken;
}

void mrc_batch_split(struct sk_buff *skb, u32 ip_len, struct sk_buff_head *rest)
{
	const u32 hdr_len = ip_len + MRC_UDP_HLEN;
	struct skb_shared_info *info = skb_shinfo(skb);
	struct sk_buff *n, *next;
	u32 len = 0, truesize = 0;

	skb_set_transport_header(skb, ip_len);
	for (n = info->frag_list; n; n = next) {
		next = n->next;
		len += n->len;
		truesize += n->truesize;
		__skb_push(n, hdr_len);
		__skb_queue_tail(rest, n);
	}
	info->frag_list = NULL;
	skb->len -= len;
	skb->data_len -= len;
	skb->truesize -= truesize;
	skb_gso_reset(skb);
	mrc_batch_set_len(skb, ip_len, skb->len);
}
