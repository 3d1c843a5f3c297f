/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How packets leave: made from the engine's descriptors (mrc_send.c), in batches
 * (mrc_xmit.c), with a route through a port (mrc_route.c), inside an outer header
 * where the set of EVs is of SRv6 addresses (mrc_srv6.c).
 */
#ifndef MRC_XMIT_H
#define MRC_XMIT_H

#include <linux/in6.h>
#include <linux/skbuff.h>
#include <linux/types.h>

struct dst_entry;
struct mrc_dev;
struct mrc_hdr;
struct mrc_qp;
struct mrc_tx_desc;
struct net;
struct net_device;

/**
 * struct mrc_tx_cb - in skb->cb until the packet is handed to the network
 * @port: to leave through
 * @srv6: has its route already, or else there is none
 */
struct mrc_tx_cb {
	u8 port;
	bool srv6;
};

static inline struct mrc_tx_cb *mrc_tx_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct mrc_tx_cb) > sizeof(skb->cb));
	return (struct mrc_tx_cb *)skb->cb;
}

/* mrc_send.c ----------------------------------------------------------------*/

/**
 * mrc_build_skb - make the packet that @desc describes
 * @qp: under req_lock (data, probes) or resp_lock (feedback)
 * @desc: from the engine
 *
 * Return: an skb for mrc_xmit_list(), ERR_PTR(-ENOMEM), or ERR_PTR(-EFAULT)
 * when the memory of the work request is not accessible any more.
 */
struct sk_buff *mrc_build_skb(struct mrc_qp *qp,
			      const struct mrc_tx_desc *desc);

/**
 * struct mrc_head - what the front of a packet is made from
 * @hdr: headers
 * @saddr: own address, v4-mapped for IPv4
 * @daddr: peer
 * @entropy: source port and flow label
 * @ipv6: family
 * @tos: DSCP and ECN
 * @srv6: leave room for mrc_srv6_push()
 */
struct mrc_head {
	const struct mrc_hdr *hdr;
	const struct in6_addr *saddr;
	const struct in6_addr *daddr;
	u32 entropy;
	bool ipv6;
	u8 tos;
	bool srv6;
};

/* A packet without payload, for ip_local_out(); NULL if no memory. */
struct sk_buff *mrc_build_bare(const struct mrc_head *head);

/* mrc_xmit.c ----------------------------------------------------------------*/

/* Hand packets to the network. No lock held; consumes the packets. */
void mrc_xmit_list(struct mrc_qp *qp, struct sk_buff_head *list);

/* mrc_route.c ---------------------------------------------------------------*/

/*
 * Route of @qp through @port, NULL if there is none. Under RCU with bottom
 * halves disabled; the result is valid as long as the RCU section.
 */
struct dst_entry *mrc_route_get(struct mrc_qp *qp, u8 port);

/* Forget all routes. */
void mrc_route_drop(struct mrc_qp *qp);

/**
 * mrc_route_lookup - find a route
 * @net: namespace
 * @ndev: netdev to go through
 * @ipv6: family
 * @saddr: own address, v4-mapped for IPv4
 * @daddr: peer
 * @mtu: bytes of L3 that must fit
 * @cookie: for dst_check()
 *
 * A route that leads to the host itself (loopback) is fine as well. Any
 * context, under RCU.
 *
 * Return: a referenced dst or NULL.
 */
struct dst_entry *mrc_route_lookup(struct net *net, struct net_device *ndev,
				   bool ipv6, const struct in6_addr *saddr,
				   const struct in6_addr *daddr, u32 mtu,
				   u32 *cookie);

/* Bytes of L3 of a full packet at its longest. */
u32 mrc_route_mtu(const struct mrc_qp *qp);

/* mrc_srv6.c ----------------------------------------------------------------*/

#define MRC_SRV6_ROOM	64	/* outer header and SRH with one segment */

/**
 * struct mrc_srv6_out - how packets to an SRv6 address leave
 * @dst: route, a reference
 * @saddr: outer source
 */
struct mrc_srv6_out {
	struct dst_entry *dst;
	struct in6_addr saddr;
};

/**
 * mrc_srv6_route - find the route of an outer packet
 * @dev: the device
 * @port: 1..n_ports, to leave through
 * @ev: EV, MRC_EV_BYTES bytes
 * @mtu: bytes of L3 that must fit, outer header included
 * @out: result; the caller passes @out->dst on or releases it
 *
 * Any context, under RCU. Always a lookup: QPs have their routes cached with
 * the set. The outer source is the one that the kernel chooses for that route:
 * its "src" attribute, or else an address of the port's netdev.
 *
 * Return: 0, -EOPNOTSUPP, -ENETUNREACH, -EADDRNOTAVAIL, -EMSGSIZE.
 */
int mrc_srv6_route(struct mrc_dev *dev, u8 port, const u8 *ev, u32 mtu,
		   struct mrc_srv6_out *out);

/**
 * mrc_srv6_push - put the outer header in front of a complete packet
 * @skb: made with room for it, network header at the inner IP header
 * @saddr: outer source
 * @ev: outer destination and, with @srh, the segment
 * @srh: with an SRH of one segment (24 bytes) behind the outer header
 *
 * DSCP, ECN and flow label are those of the packet inside. The result is an
 * IPv6 packet for ip6_local_out().
 */
void mrc_srv6_push(struct sk_buff *skb, const struct in6_addr *saddr,
		   const u8 *ev, bool srh);

/**
 * mrc_srv6_xmit - send a packet that belongs to no QP
 * @dev: the device
 * @port: to leave through
 * @skb: from mrc_build_bare(), with @srv6 of its head set; consumed
 * @ev: EV, MRC_EV_BYTES bytes; with an SRH if the segment is not zero
 *
 * Under RCU with bottom halves disabled, no lock held. A packet that cannot be
 * sent is counted (tx_errors). Return: 0 or a negative errno.
 */
int mrc_srv6_xmit(struct mrc_dev *dev, u8 port, struct sk_buff *skb,
		  const u8 *ev);

/*
 * Encapsulate a packet of a QP with such a set for EV @ev and give it its route; it
 * stays without one if there is none. -1 for @ev: any EV of @port. Under
 * resp_lock or req_lock.
 */
void mrc_srv6_encap(struct mrc_qp *qp, struct sk_buff *skb, int ev, u8 port);

/* Does any EV of the QP's set have a route through @port? BH off, RCU. */
bool mrc_srv6_port_ok(struct mrc_qp *qp, u8 port);

/* The QP's packets are encapsulated. Under one of its locks or RCU. */
bool mrc_qp_srv6(const struct mrc_qp *qp);

#endif /* MRC_XMIT_H */
