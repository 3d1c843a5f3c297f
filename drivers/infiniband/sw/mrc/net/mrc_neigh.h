/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The direct path to the neighbour, used by mrc_xmit.c. It can be left out:
 * CONFIG_INFINIBAND_MRC_NEIGH.
 */
#ifndef MRC_NEIGH_H
#define MRC_NEIGH_H

#include <linux/skbuff.h>

/**
 * struct mrc_hop - how packets of one port leave, during one batch
 * @dst: route, NULL: there is none
 * @neigh: next hop, NULL: use the IP output path
 * @ipv6: IP version
 * @batch: so many packets in a row may leave as one (mrc_batch.c); 1: each by itself
 * @mtu: MTU of the route, bytes of L3
 * @n: packets sent to @neigh, those in one count as one
 * @bytes: bytes of L3 of these packets
 *
 * Valid until the end of the RCU section in which it was found.
 */
struct mrc_hop {
	struct dst_entry *dst;
	struct neighbour *neigh;
	bool ipv6;
	u8 batch;
	u32 mtu;
	u32 n;
	u32 bytes;
};

#ifdef CONFIG_INFINIBAND_MRC_NEIGH

/* Find the next hop of @hop->dst for packets like @skb. RCU, BH off. */
void mrc_neigh_find(struct net *net, struct mrc_hop *hop,
		    const struct sk_buff *skb);

/* May @skb go to @hop->neigh? */
bool mrc_neigh_usable(const struct mrc_hop *hop, const struct sk_buff *skb);

/* Send @skb to @hop->neigh; consumes @skb. Returns the result of dev_queue_xmit(). */
int mrc_neigh_xmit(struct mrc_hop *hop, struct sk_buff *skb);

/* Add all packets sent to @hop->neigh to the IP statistics. BH off. */
void mrc_neigh_count(struct net *net, const struct mrc_hop *hop);

#else

static inline void mrc_neigh_find(struct net *net, struct mrc_hop *hop,
				  const struct sk_buff *skb)
{
}

static inline bool mrc_neigh_usable(const struct mrc_hop *hop,
				    const struct sk_buff *skb)
{
	return false;
}

static inline int mrc_neigh_xmit(struct mrc_hop *hop, struct sk_buff *skb)
{
	kfree_skb(skb);	/* not called */
	return NET_XMIT_DROP;
}

static inline void mrc_neigh_count(struct net *net, const struct mrc_hop *hop)
{
}

#endif

#endif /* MRC_NEIGH_H */
