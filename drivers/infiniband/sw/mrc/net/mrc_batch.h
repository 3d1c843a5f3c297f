/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets in a row that leave and arrive as one, used by mrc_xmit.c and mrc_input.c. Left
 * out with the direct path from the netdev: CONFIG_INFINIBAND_MRC_INPUT.
 */
#ifndef MRC_BATCH_H
#define MRC_BATCH_H

#include <linux/skbuff.h>

#include "mrc_neigh.h"

#define MRC_BATCH_MAX		16	/* packets in one; their sum is below 64 KiB */

#ifdef CONFIG_INFINIBAND_MRC_INPUT

/*
 * How many packets in a row that are like @skb may leave as one through @hop->dst, a route of
 * @net; 1: none. RCU, BH off.
 */
u8 mrc_batch_most(const struct net *net, const struct mrc_hop *hop,
		  const struct sk_buff *skb);

/**
 * mrc_batch_gather - append the packets that follow
 * @list: packets of the same flow, in order
 * @skb: packet before those of @list, data at the IP header
 * @hop: how @skb leaves
 *
 * Takes packets from the head of @list that have the headers of @skb and are not larger,
 * up to the first one that is smaller. The IP and UDP lengths of @skb become those of all.
 *
 * Return: number of packets that @skb contains now.
 */
unsigned int mrc_batch_gather(struct sk_buff_head *list, struct sk_buff *skb,
			      const struct mrc_hop *hop);

/* Does @skb contain several packets, put together by mrc_batch_gather()? */
bool mrc_batch_is(const struct sk_buff *skb);

/*
 * Is @skb, for which mrc_batch_is() holds, laid out as mrc_batch_gather() does, and does
 * nobody else hold parts of it? @ip_len: length of the IP header, at which data begins.
 */
bool mrc_batch_ok(const struct sk_buff *skb, u32 ip_len);

/*
 * Does @ok hold for the second and each later packet in @skb, for which mrc_batch_ok() holds?
 * It sees them with data at the IP header, and may pull more into the linear part.
 */
bool mrc_batch_each(struct sk_buff *skb, u32 ip_len,
		    bool (*ok)(struct sk_buff *skb, const void *arg), const void *arg);

/*
 * Take @skb apart after mrc_batch_each(). It becomes the first packet. The others are appended
 * to @rest, data at the IP header.
 */
void mrc_batch_split(struct sk_buff *skb, u32 ip_len, struct sk_buff_head *rest);

#else

static inline u8 mrc_batch_most(const struct net *net, const struct mrc_hop *hop,
				const struct sk_buff *skb)
{
	return 1;
}

static inline unsigned int mrc_batch_gather(struct sk_buff_head *list,
					    struct sk_buff *skb,
					    const struct mrc_hop *hop)
{
	return 1;
}

#endif

#endif /* MRC_BATCH_H */
