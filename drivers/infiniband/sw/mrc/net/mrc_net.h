/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets: sockets, routes and neighbours, outer headers (SRv6), building of headers,
 * sending in batches, and reception up to a packet that has been verified.
 */
#ifndef MRC_NET_H
#define MRC_NET_H

#include <linux/in6.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <net/dst.h>

#include "core/mrc_profile.h"
#include "dev/mrc_dev.h"

struct ib_ah;
struct mrc_mr;
struct mrc_qp;
struct net;
struct net_device;

#define MRC_HOP_LIMIT		64	/* MRC 1.0 §2.3 */
#define MRC_ROUTE_RETRY		HZ	/* between looks for a lost route */
#define MRC_TX_BATCH		32	/* packets built per lock hold */

/* mrc_sock.c: UDP sockets of a namespace ------------------------------------*/

/*
 * One pair of sockets (IPv4, IPv6) per namespace, shared by its devices.
 * get: opens them for the first device, -EADDRINUSE with a message naming the
 * port and the usual culprit. put: closes with the last. Both sleep.
 */
int mrc_sock_get(struct net *net);
void mrc_sock_put(struct net *net);
int mrc_sock_init(void);
void mrc_sock_exit(void);

/* mrc_set.c, mrc_srv6.c: EVs and their routes -------------------------------*/

/**
 * struct mrc_set - a version of a profile's EVs, shared by its connections
 * @ref: the profile and each connection that uses this version hold one
 * @rcu: freed after a grace period
 * @profile_id: whose
 * @event_mask: which changes of state are events, MRC_EVP_EVENTS
 * @val: what the controller calls the EVs (packed), by index
 * @srv6: routes of the outer packets, NULL unless the EVs are SRv6 addresses;
 *	mrc_srv6_attach()
 * @set: the EVs
 */
struct mrc_set {
	refcount_t ref;
	struct rcu_head rcu;
	u64 profile_id;
	u32 event_mask;
	struct mrc_evp_val *val;
	struct mrc_srv6 *srv6;
	struct mrc_evset set;
};

/* One reference less; NULL is fine. Any context. */
void mrc_set_put(struct mrc_set *set);

/* Connections ---------------------------------------------------------------*/

/**
 * struct mrc_route - cached route through one port
 * @dst: changed under a lock of its owner, read under RCU
 * @cookie: for dst_check(); a value that does not belong to @dst only makes
 *	the check fail
 */
struct mrc_route {
	struct dst_entry __rcu *dst;
	u32 cookie;
};

/**
 * struct mrc_flow - where the packets of a connection go
 * @dev: the device
 * @ipv6: address family
 * @saddr: own address, v4-mapped for IPv4; constant while there are packets
 * @daddr: peer's address
 * @pmtu: payload bytes of a full packet
 * @set: EVs of the profile, NULL = AUTO; written under the locks of all that make
 *	packets
 * @route_lock: publishing of routes
 * @route_gen: bumped when routes are dropped, so that a lookup for the old peer is
 *	not published
 * @route: of port N at N - 1; as many as the device has ports
 */
struct mrc_flow {
	struct mrc_dev *dev;
	bool ipv6;
	struct in6_addr saddr;
	struct in6_addr daddr;
	u32 pmtu;
	struct mrc_set *set;
	spinlock_t route_lock;	/* leaf */
	u32 route_gen;
	struct mrc_route route[];
};

/* mrc_build.c: packets, whatever they carry ---------------------------------*/

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

/**
 * struct mrc_head - what the front of a packet is made from
 * @hdr: headers; their pad is written behind the payload
 * @saddr: own address, v4-mapped for IPv4
 * @daddr: peer
 * @sport: UDP source port
 * @flow_label: 20 bits, IPv6
 * @ipv6: family
 * @tos: DSCP and ECN
 * @ttl: hop limit
 * @srv6: leave room for an outer header
 */
struct mrc_head {
	const struct mrc_hdr *hdr;
	const struct in6_addr *saddr;
	const struct in6_addr *daddr;
	u16 sport;
	u32 flow_label;
	bool ipv6;
	u8 tos;
	u8 ttl;
	bool srv6;
};

/* A packet of MRC: the entropy of its EV (§11.2, OP-27), and its hop limit. */
static inline void mrc_head_entropy(struct mrc_head *head, u32 entropy)
{
	head->sport = entropy & 0xFFFF;
	head->flow_label = entropy >> 16;
	head->ttl = MRC_HOP_LIMIT;
}

/**
 * struct mrc_build - a packet in the making
 * @skb: what there is of it
 * @crc: the ICRC so far
 * @pad: bytes between the payload and the ICRC
 * @copy: all of the packet is in the linear part; else payload and what follows it are
 *	fragments
 */
struct mrc_build {
	struct sk_buff *skb;
	u32 crc;
	u8 pad;
	bool copy;
};

/**
 * mrc_build_begin - make all headers of a packet
 * @b: result
 * @head: what they are made from
 * @payload: bytes that will be put behind them
 * @copy: they will be copied
 *
 * Any context; the same holds for the calls that follow. Each packet ends with
 * mrc_build_end() or mrc_build_drop().
 *
 * Return: false if there is no memory; there is nothing to end then.
 */
bool mrc_build_begin(struct mrc_build *b, const struct mrc_head *head, u32 payload,
		     bool copy);

/* Copy @len bytes behind what there is of the payload; @b->copy is set. */
void mrc_build_bytes(struct mrc_build *b, const void *data, u32 len);

/**
 * mrc_build_page - put a part of a page behind what there is of the payload
 * @b: packet
 * @page: page
 * @off: of the part
 * @len: bytes
 * @paged: the page may be taken away before the packet is gone: not @page is attached,
 *	but a copy
 *
 * Return: 0 or -ENOMEM; always 0 where @b->copy is set.
 */
int mrc_build_page(struct mrc_build *b, struct page *page, u32 off, u32 len,
		   bool paged);

/* Pad and ICRC. The packet, or NULL if there is no memory: it is gone then. */
struct sk_buff *mrc_build_end(struct mrc_build *b);

/* There will be no packet. */
void mrc_build_drop(struct mrc_build *b);

/* A packet without payload; NULL if there is no memory. Any context. */
struct sk_buff *mrc_build_bare(const struct mrc_head *head);

/* mrc_xmit.c ----------------------------------------------------------------*/

/*
 * Hand packets of @flow to the network. No lock held; consumes the packets. Return:
 * bit N = port N has no route, its packets are lost.
 */
u32 mrc_xmit_list(struct mrc_flow *flow, struct sk_buff_head *list);

/* mrc_route.c ---------------------------------------------------------------*/

/*
 * Route of @flow through @port, NULL if there is none. Under RCU with bottom
 * halves disabled; the result is valid as long as the RCU section.
 */
struct dst_entry *mrc_route_get(struct mrc_flow *flow, u8 port);

/* Forget all routes. */
void mrc_route_drop(struct mrc_flow *flow);

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

/* mrc_srv6.c ----------------------------------------------------------------*/

#ifdef CONFIG_INFINIBAND_MRC_SRV6

/**
 * mrc_srv6_xmit - send a packet that belongs to no QP
 * @dev: the device
 * @port: to leave through
 * @skb: from mrc_build_bare(), with @srv6 of its head set; consumed
 * @ev: EV, MRC_EV_BYTES bytes; with an SRH if the segment is not zero
 *
 * Under RCU with bottom halves disabled, no lock held. A packet that cannot be
 * sent is counted (tx_errors).
 *
 * Return: 0 or a negative errno.
 */
int mrc_srv6_xmit(struct mrc_dev *dev, u8 port, struct sk_buff *skb,
		  const u8 *ev);

/*
 * Encapsulate a packet of a flow with such a set for EV @ev and give it its route; it
 * stays without one if there is none. -1 for @ev: any EV of @port. Under a lock that
 * keeps @flow->set.
 */
void mrc_srv6_encap(struct mrc_flow *flow, struct sk_buff *skb, int ev, u8 port);

/* Does any EV of the flow's set have a route through @port? BH off, RCU. */
bool mrc_srv6_port_ok(struct mrc_flow *flow, u8 port);

/* The flow's packets are encapsulated. Under a lock that keeps its set, or RCU. */
bool mrc_flow_srv6(const struct mrc_flow *flow);

/**
 * mrc_srv6_check - can this host send what an SRv6 profile asks for?
 * @dev: the device
 * @set: an SRv6 set
 *
 * Every EV needs a port that exists; where that port is up, IPv6, a source
 * address, and a route to the EV's outer destination through the port's netdev
 * with room for the smallest path MTU. Nothing can be said about ports that
 * are down, but one must be up. Says in the kernel log what is missing, and where.
 *
 * Process context, takes no lock that sleeps.
 *
 * Return: 0, or what a controller gets, one for each reason: -EINVAL (no such port),
 * -EADDRNOTAVAIL (source), -ENETUNREACH (route), -EMSGSIZE, -EAFNOSUPPORT (IPv6),
 * -EOPNOTSUPP (built without SRv6), -ENETDOWN (no port is up).
 */
int mrc_srv6_check(struct mrc_dev *dev, const struct mrc_evset *set);

/**
 * mrc_srv6_attach - get a set of EVs ready for sending
 * @set: before any QP uses it; does nothing unless the EVs are SRv6 addresses
 *
 * Return: 0 or -ENOMEM.
 */
int mrc_srv6_attach(struct mrc_set *set);

/* The other way: from the RCU callback that frees @set, or never published. */
void mrc_srv6_detach(struct mrc_set *set);

/**
 * mrc_srv6_fits - does the path MTU of a flow leave room for the outer header?
 * @flow: with its path MTU and its set settled
 * @port: whose netdev counts
 *
 * Return: 0 or -EINVAL.
 */
int mrc_srv6_fits(const struct mrc_flow *flow, u8 port);

#else /* CONFIG_INFINIBAND_MRC_SRV6 */

static inline int mrc_srv6_xmit(struct mrc_dev *dev, u8 port,
				struct sk_buff *skb, const u8 *ev)
{
	kfree_skb(skb);
	return -EOPNOTSUPP;
}

static inline void mrc_srv6_encap(struct mrc_flow *flow, struct sk_buff *skb,
				  int ev, u8 port)
{
}

static inline bool mrc_srv6_port_ok(struct mrc_flow *flow, u8 port)
{
	return false;
}

static inline bool mrc_flow_srv6(const struct mrc_flow *flow)
{
	return false;
}

static inline int mrc_srv6_check(struct mrc_dev *dev,
				 const struct mrc_evset *set)
{
	if (set->mode != MRC_EV_FMT_SRV6)
		return 0;
	pr_notice_ratelimited("%s: mrc was built without SRv6\n",
			      dev_name(&dev->ib.dev));
	return -EOPNOTSUPP;
}

static inline int mrc_srv6_attach(struct mrc_set *set)
{
	return 0;
}

static inline void mrc_srv6_detach(struct mrc_set *set)
{
}

static inline int mrc_srv6_fits(const struct mrc_flow *flow, u8 port)
{
	return 0;
}

#endif /* CONFIG_INFINIBAND_MRC_SRV6 */

/* mrc_trim.c ----------------------------------------------------------------*/

/*
 * Watches the netdevs of ports for trimmed packets whose lengths are wrong. Without
 * CONFIG_INFINIBAND_MRC_TRIM the kernel drops these.
 */
extern const struct mrc_port_client mrc_trim_client;

/* mrc_ah.c: address handles -------------------------------------------------*/

/**
 * struct mrc_av - address vector: an AH for the packet path
 * @rcu: delayed free
 * @num: in dev->avs
 * @pd: of the AH; a work request of another PD cannot use it
 * @port: 1-based, to leave through
 * @ipv6: family
 * @mcast: @daddr is a group
 * @tos: traffic class byte
 * @ttl: hop limit
 * @flow_label: 20 bits, and where the source port comes from
 * @saddr: own address, v4-mapped for IPv4
 * @daddr: destination
 * @lock: (irq) leaf; changes of @route and @dead
 * @dead: the AH has been destroyed, no route is cached any more
 * @route: cached
 */
struct mrc_av {
	struct rcu_head rcu;
	u32 num;
	const struct ib_pd *pd;
	u8 port;
	bool ipv6;
	bool mcast;
	u8 tos;
	u8 ttl;
	u32 flow_label;
	struct in6_addr saddr;
	struct in6_addr daddr;
	spinlock_t lock;
	bool dead;
	struct mrc_route route;
};

extern const struct ib_device_ops mrc_ah_ops;

/* The number by which work requests name an AH. */
u32 mrc_ah_num(struct ib_ah *ibah);

/* The AH with number @num, NULL if there is none for @pd. Under RCU. */
struct mrc_av *mrc_av_find(struct mrc_dev *dev, const struct ib_pd *pd,
			   u32 num);

/* A referenced route, NULL if there is none. Under RCU with BH disabled. */
struct dst_entry *mrc_av_route(struct mrc_dev *dev, struct mrc_av *av);

/* Drop the cached route. Any context. */
void mrc_av_forget(struct mrc_av *av);

/* mrc_rcv.c: verified packets -----------------------------------------------*/

#define MRC_QPN_UD_FIRST	0xf00000
#define MRC_QPN_UD_MASK		0x0fffff

/* A sixteenth of the numbers is for datagrams and UC: the core wants them unique. */
static inline bool mrc_qpn_ud(u32 qpn)
{
	return qpn >= MRC_QPN_UD_FIRST;
}

/**
 * struct mrc_pkt - what is known about a packet that was received
 * @skb: data points to the UDP header
 * @hdr: parsed headers
 * @rx: what the engine is told
 * @saddr: source, v4-mapped for IPv4
 * @daddr: destination
 * @dev: device that it is for, NULL: none, or not known
 * @qp: the QP that it names, a reference; NULL if there is none here
 * @timed: @qp has to know how long packets stay
 * @octets: bytes of IP as it arrived, outer header included
 * @len: UDP payload bytes; of a trimmed packet, what is left of them
 * @tos: DSCP and ECN as the packet arrived, of the outermost header
 * @ipv6: family
 * @srv6: came in an outer header
 * @roce: of plain RoCE v2 (UD, UC), else of MRC
 * @mr: of whoever takes the packet; NULL before
 */
struct mrc_pkt {
	struct sk_buff *skb;
	struct mrc_hdr hdr;
	struct mrc_rx rx;
	struct in6_addr saddr;
	struct in6_addr daddr;
	struct mrc_dev *dev;
	struct mrc_qp *qp;
	bool timed;
	u32 octets;
	u32 len;
	u8 tos;
	bool ipv6;
	bool srv6;
	bool roce;
	struct mrc_mr *mr;
};

/**
 * struct mrc_rcv_ops - who takes packets
 * @find: set @pkt->qp, @pkt->dev and @pkt->timed by @qpn, if there is such a
 *	connected QP in the namespace of the packet. Any context
 * @put: the reference of @find
 * @rcv: a verified packet for @pkt->qp, counted, from its partition. Softirq, RCU
 * @roce: a verified packet of plain RoCE v2, counted, from its partition; @pkt->dev is
 *	the device of arrival, NULL over loopback. False: there is nobody who takes it.
 *	Softirq, RCU. NULL: nobody takes any
 * @endpoint: a verified packet with an endpoint opcode for the device @pkt->dev.
 *	Softirq, RCU. NULL: they are dropped
 */
struct mrc_rcv_ops {
	void (*find)(struct mrc_pkt *pkt, u32 qpn);
	void (*put)(struct mrc_qp *qp);
	void (*rcv)(struct mrc_pkt *pkt);
	bool (*roce)(struct mrc_pkt *pkt);
	void (*endpoint)(struct mrc_pkt *pkt);
};

/* Where the payload of a verified packet begins in pkt->skb. */
static inline u32 mrc_pkt_payload(const struct mrc_pkt *pkt)
{
	return MRC_UDP_HLEN + pkt->hdr.hdr_len;
}

/* Before there is any socket. */
void mrc_rcv_init(const struct mrc_rcv_ops *ops);

#endif /* MRC_NET_H */
