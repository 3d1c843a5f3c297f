/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The direct path to the neighbour, which can be left out:
 * CONFIG_INFINIBAND_MRC_NEIGH. Used by mrc_xmit.c.
 */
#ifndef MRC_NEIGH_H
#define MRC_NEIGH_H

#include <linux/skbuff.h>

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

#ifdef CONFIG_INFINIBAND_MRC_NEIGH

/* Look the next hop of @hop->dst up, for packets like @skb. RCU, BH off. */
void mrc_neigh_find(struct net *net, struct mrc_hop *hop,
		    const struct sk_buff *skb);

/* May @skb go to @hop->neigh? */
bool mrc_neigh_takes(const struct mrc_hop *hop, const struct sk_buff *skb);

/* Send it there; consumes it. What dev_queue_xmit() says. */
int mrc_neigh_xmit(struct mrc_hop *hop, struct sk_buff *skb);

/* Add all that went to @hop->neigh to IP's statistics. BH off. */
void mrc_neigh_count(struct net *net, const struct mrc_hop *hop);

#else

static inline void mrc_neigh_find(struct net *net, struct mrc_hop *hop,
				  const struct sk_buff *skb)
{
}

static inline bool mrc_neigh_takes(const struct mrc_hop *hop,
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
