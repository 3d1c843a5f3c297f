/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets: sockets, routes and neighbours, outer headers (SRv6), building of packets,
 * sending in batches, and reception up to a verified packet.
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
struct ib_global_route;
struct mrc_mr;
struct mrc_qp;
struct net;
struct net_device;

#define MRC_HOP_LIMIT		64	/* MRC 1.0 §2.3 */
#define MRC_ROUTE_RETRY		HZ	/* between attempts to find a lost route */
#define MRC_TX_BATCH		32	/* packets built per lock hold */

/* mrc_sock.c: UDP sockets of a namespace ------------------------------------*/

/*
 * The sockets of a namespace (IPv4, IPv6, and both again for the other port), shared by
 * its devices. get: opens them for the first device; on -EADDRINUSE a message names the
 * port and the usual cause. A namespace whose other port is in use does without it. put:
 * closes them with the last device. Both sleep.
 */
int mrc_sock_get(struct net *net);
void mrc_sock_put(struct net *net);

/*
 * Receive packets in outer headers for @dev, or stop. Off at first, and off again before
 * mrc_sock_put(). Sleeps.
 */
void mrc_sock_srv6(struct mrc_dev *dev, bool on);

int mrc_sock_init(void);
void mrc_sock_exit(void);

/* mrc_set.c, mrc_srv6.c: EVs and their routes -------------------------------*/

/**
 * struct mrc_set - a version of a profile's EVs, shared by its connections
 * @ref: the profile and each connection that uses this version hold one
 * @rcu: freed after a grace period
 * @profile_id: ID of the profile
 * @event_mask: state changes that are reported as EV events, MRC_EVP_EVENTS
 * @val: packed EVs as the controller names them, by index
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

/* Drop a reference; @set may be NULL. Any context. */
void mrc_set_put(struct mrc_set *set);

/* Connections ---------------------------------------------------------------*/

/**
 * struct mrc_route - cached route through one port
 * @dst: changed under a lock of its owner, read under RCU
 * @cookie: for dst_check(); a cookie that does not belong to @dst only makes the check
 *	fail
 */
struct mrc_route {
	struct dst_entry __rcu *dst;
	u32 cookie;
};

/**
 * struct mrc_flow - addresses and routes of a connection
 * @dev: the device
 * @ipv6: address family
 * @runs: bit N - 1 = packets in a row through port N leave as one (mrc_batch.c); a hint
 * @pmtu: payload bytes of a full packet
 * @dport: UDP port of the peer
 * @saddr: own address, v4-mapped for IPv4; constant while packets may be sent
 * @daddr: peer's address
 * @set: EVs of the profile, NULL = AUTO; written under the locks of all users that
 *	build packets
 * @route_lock: protects publishing of routes
 * @route_gen: incremented when routes are dropped, so that a lookup for the old peer is
 *	not published
 * @route: route of port N at index N - 1; one for each port of the device
 */
struct mrc_flow {
	struct mrc_dev *dev;
	bool ipv6;
	u16 runs;
	u16 pmtu;
	__be16 dport;
	struct in6_addr saddr;
	struct in6_addr daddr;
	struct mrc_set *set;
	spinlock_t route_lock;	/* leaf */
	u32 route_gen;
	struct mrc_route route[];
};

/* mrc_build.c: building packets of all services ----------------------------- */

/**
 * struct mrc_tx_cb - in skb->cb until the packet is handed to the network
 * @port: port to leave through
 * @srv6: the flow is SRv6: the packet has its outer header and route already, or there
 *	is no route
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
 * struct mrc_head - parameters of a packet's headers
 * @hdr: transport headers; the pad that they announce follows the payload
 * @saddr: own address, v4-mapped for IPv4
 * @daddr: peer's address
 * @sport: UDP source port
 * @dport: UDP port of the peer
 * @flow_label: 20 bits, IPv6
 * @ipv6: IP version
 * @tos: DSCP and ECN
 * @ttl: hop limit
 * @srv6: leave room for an outer header
 */
struct mrc_head {
	const struct mrc_hdr *hdr;
	const struct in6_addr *saddr;
	const struct in6_addr *daddr;
	u16 sport;
	__be16 dport;
	u32 flow_label;
	bool ipv6;
	u8 tos;
	u8 ttl;
	bool srv6;
};

/* Set the fields of an MRC packet: the entropy of its EV (§11.2, OP-27), hop limit. */
static inline void mrc_head_entropy(struct mrc_head *head, u32 entropy)
{
	head->sport = entropy & 0xFFFF;
	head->flow_label = entropy >> 16;
	head->ttl = MRC_HOP_LIMIT;
}

/**
 * struct mrc_build - a packet under construction
 * @skb: the packet so far
 * @crc: the ICRC so far. Of a copied packet it covers only IP, UDP and BTH until
 *	mrc_build_end()
 * @pad: bytes between the payload and the ICRC
 * @copy: the whole packet is in the linear part; else the payload, pad and ICRC are
 *	fragments
 */
struct mrc_build {
	struct sk_buff *skb;
	u32 crc;
	u8 pad;
	bool copy;
};

/**
 * mrc_build_begin - create a packet with all its headers
 * @b: result
 * @head: parameters of the headers
 * @payload: bytes of payload that will be added
 * @copy: the payload will be copied
 *
 * Any context; the same holds for the calls that follow. Each packet ends with
 * mrc_build_end() or mrc_build_drop().
 *
 * Return: false if there is no memory; then neither may be called.
 */
bool mrc_build_begin(struct mrc_build *b, const struct mrc_head *head, u32 payload,
		     bool copy);

/* Append a copy of @len bytes to the payload; @b->copy must be set. */
void mrc_build_bytes(struct mrc_build *b, const void *data, u32 len);

/**
 * mrc_build_page - append part of a page to the payload
 * @b: packet
 * @page: page
 * @off: offset of the part
 * @len: bytes
 * @paged: the page may be taken away before the packet is freed: attach a copy instead
 *	of @page
 *
 * Return: 0 or -ENOMEM; always 0 if @b->copy is set.
 */
int mrc_build_page(struct mrc_build *b, struct page *page, u32 off, u32 len,
		   bool paged);

/*
 * Append pad and ICRC. Returns the packet, or NULL if there is no memory; the packet is
 * freed then.
 */
struct sk_buff *mrc_build_end(struct mrc_build *b);

/* Free an unfinished packet. */
void mrc_build_drop(struct mrc_build *b);

/* Build a packet without payload; NULL if there is no memory. Any context. */
struct sk_buff *mrc_build_bare(const struct mrc_head *head);

/* mrc_xmit.c ----------------------------------------------------------------*/

/*
 * Hand packets of @flow to the network. No lock held; consumes the packets. Returns bit
 * N if port N has no route; its packets are lost.
 */
u32 mrc_xmit_list(struct mrc_flow *flow, struct sk_buff_head *list);

/* The ports with a bit in @flow->runs: bit N = port N. */
static inline u32 mrc_flow_runs(const struct mrc_flow *flow)
{
	return (u32)READ_ONCE(flow->runs) << 1;
}

/* mrc_route.c ---------------------------------------------------------------*/

/*
 * Route of @flow through @port, NULL if there is none. Under RCU with bottom halves
 * disabled. The result is valid until the end of the RCU section.
 */
struct dst_entry *mrc_route_get(struct mrc_flow *flow, u8 port);

/* Drop all cached routes of a flow. */
void mrc_route_drop(struct mrc_flow *flow);

/**
 * struct mrc_ends - between whom packets travel
 * @saddr: own address, v4-mapped for IPv4
 * @daddr: peer's address
 * @dport: UDP port of the peer
 * @ipv6: IP version
 */
struct mrc_ends {
	const struct in6_addr *saddr;
	const struct in6_addr *daddr;
	__be16 dport;
	bool ipv6;
};

/**
 * mrc_route_lookup - find a route
 * @net: namespace
 * @ndev: netdev of a port, which the route must use; or a VLAN above it, if that has
 *	@ends->saddr and @ndev has not
 * @ends: addresses
 * @mtu: bytes of L3 that must fit
 * @cookie: for dst_check()
 *
 * A route to the host itself (loopback) is accepted too. Any context, under RCU.
 *
 * Return: a referenced dst or NULL.
 */
struct dst_entry *mrc_route_lookup(struct net *net, struct net_device *ndev,
				   const struct mrc_ends *ends, u32 mtu, u32 *cookie);

/* mrc_dport.c: UDP ports to which packets are sent --------------------------*/

/* A table with room for @room entries and a reference, or NULL. Sleeps. */
struct mrc_dports *mrc_dports_alloc(u32 room);

/* Drop a reference; @d may be NULL. Any context. */
void mrc_dports_put(struct mrc_dports *d);

/* To addresses with this prefix of @len bits send to @port. Before @d is published. */
void mrc_dports_add(struct mrc_dports *d, const struct in6_addr *prefix, u8 len,
		    u16 port);

/*
 * Let @d, which may be NULL, replace the table of @dev, which takes a reference. Only one
 * caller at a time. It counts for connections and address handles that are made from now on.
 */
void mrc_dports_publish(struct mrc_dev *dev, struct mrc_dports *d);

/* The UDP port for packets to @daddr. Any context. */
__be16 mrc_dport(const struct mrc_dev *dev, const struct in6_addr *daddr);

/* mrc_srv6.c ----------------------------------------------------------------*/

#ifdef CONFIG_INFINIBAND_MRC_SRV6

/**
 * mrc_srv6_xmit - send a packet that belongs to no QP
 * @dev: the device
 * @port: port to leave through
 * @skb: from mrc_build_bare(), with @srv6 of its head set; consumed
 * @ev: EV, MRC_EV_BYTES bytes; an SRH is added if the segment is not zero
 *
 * Under RCU with bottom halves disabled, no lock held. A packet that cannot be
 * sent is counted (tx_errors).
 *
 * Return: 0 or a negative errno.
 */
int mrc_srv6_xmit(struct mrc_dev *dev, u8 port, struct sk_buff *skb,
		  const u8 *ev);

/*
 * Encapsulate a packet of a flow whose set is SRv6, for EV @ev, and set its route.
 * Without a route the packet stays as it is. @ev -1: any EV of @port. Under a lock that
 * keeps @flow->set.
 */
void mrc_srv6_encap(struct mrc_flow *flow, struct sk_buff *skb, int ev, u8 port);

/* Has any EV of the flow's set a route through @port? BH off, RCU. */
bool mrc_srv6_port_ok(struct mrc_flow *flow, u8 port);

/* Are the flow's packets encapsulated? Under a lock that keeps its set, or RCU. */
bool mrc_flow_srv6(const struct mrc_flow *flow);

/**
 * mrc_srv6_check - can this host send with the EVs of an SRv6 profile?
 * @dev: the device
 * @set: an SRv6 set
 *
 * Every EV needs an existing port. If the port is up, the EV also needs IPv6, a source
 * address, and a route to its outer destination through the port's netdev, with room
 * for the smallest path MTU. EVs of ports that are down are not checked, but at least
 * one port must be up. Logs what is missing and for which EV.
 *
 * Process context; takes no sleeping lock.
 *
 * Return: 0, or the error for the controller, one for each reason: -EINVAL (no such
 * port), -EADDRNOTAVAIL (source), -ENETUNREACH (route), -EMSGSIZE, -EAFNOSUPPORT
 * (IPv6), -EOPNOTSUPP (built without SRv6), -ENETDOWN (no port is up).
 */
int mrc_srv6_check(struct mrc_dev *dev, const struct mrc_evset *set);

/**
 * mrc_srv6_attach - prepare a set of EVs for sending
 * @set: not used by any QP yet; does nothing unless the EVs are SRv6 addresses
 *
 * Return: 0 or -ENOMEM.
 */
int mrc_srv6_attach(struct mrc_set *set);

/*
 * Undo mrc_srv6_attach(), in the RCU callback that frees @set or before @set is
 * published.
 */
void mrc_srv6_detach(struct mrc_set *set);

/**
 * mrc_srv6_fits - does the path MTU of a flow leave room for the outer header?
 * @flow: with final path MTU and set
 * @port: port whose netdev is checked
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
 * Hooks the netdevs of ports for trimmed packets with wrong lengths. Without
 * CONFIG_INFINIBAND_MRC_TRIM the kernel drops these packets.
 */
extern const struct mrc_port_client mrc_trim_client;

/* mrc_guard.c ---------------------------------------------------------------*/

/*
 * Hooks the netdevs of ports, so that programs cannot send in the name of devices; the
 * loopback is hooked with the sockets. Without CONFIG_INFINIBAND_MRC_GUARD they can.
 */
extern const struct mrc_port_client mrc_guard_client;

/* mrc_input.c ---------------------------------------------------------------*/

/*
 * Hooks the netdevs of ports for packets that need not take the IP input path. Without
 * CONFIG_INFINIBAND_MRC_INPUT all packets take it.
 */
extern const struct mrc_port_client mrc_input_client;

/* mrc_ah.c: address handles -------------------------------------------------*/

/**
 * struct mrc_av - address vector: an AH for the packet path
 * @rcu: delayed free
 * @num: index in dev->avs
 * @pd: PD of the AH; a work request of another PD cannot use it
 * @port: port to leave through, 1-based
 * @ipv6: IP version
 * @mcast: @daddr is a multicast address
 * @tos: traffic class byte
 * @ttl: hop limit
 * @flow_label: 20 bits; the UDP source port is derived from it
 * @saddr: own address, v4-mapped for IPv4
 * @daddr: destination
 * @dport: its UDP port
 * @lock: (irq) leaf; protects changes of @route and @dead
 * @dead: the AH has been destroyed; routes are no longer cached
 * @route: cached route
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
	__be16 dport;
	spinlock_t lock;
	bool dead;
	struct mrc_route route;
};

extern const struct ib_device_ops mrc_ah_ops;

/*
 * Addresses, UDP port and header fields of @av from @grh. Nobody else uses @av, or the caller's
 * locks keep users away. Any context.
 */
void mrc_av_set_grh(struct mrc_dev *dev, struct mrc_av *av,
		    const struct ib_global_route *grh);

/* The number by which work requests name an AH. */
u32 mrc_ah_num(struct ib_ah *ibah);

/* The AH with number @num, NULL if there is none for @pd. Under RCU. */
struct mrc_av *mrc_av_find(struct mrc_dev *dev, const struct ib_pd *pd,
			   u32 num);

/* A referenced route, NULL if there is none. Under RCU with BH disabled. */
struct dst_entry *mrc_av_route(struct mrc_dev *dev, struct mrc_av *av);

/* Drop the cached route. Any context. */
void mrc_av_drop_route(struct mrc_av *av);

/* mrc_rcv.c: verified packets -----------------------------------------------*/

#define MRC_QPN_UD_FIRST	0xf00000
#define MRC_QPN_UD_MASK		0x0fffff

/*
 * A sixteenth of the QPNs is reserved for UD and UC, because the RDMA core requires
 * unique QPNs.
 */
static inline bool mrc_qpn_ud(u32 qpn)
{
	return qpn >= MRC_QPN_UD_FIRST;
}

/**
 * struct mrc_pkt - state of a received packet
 * @skb: data points to the UDP header
 * @hdr: parsed headers
 * @rx: input for the engine
 * @saddr: source, v4-mapped for IPv4
 * @daddr: destination
 * @dev: device that the packet is for; NULL: none, or not known
 * @qp: QP that the packet names, with a reference; NULL if there is none here
 * @timed: @qp needs the time of arrival
 * @octets: bytes of IP as received, including an outer header
 * @len: UDP payload bytes; of a trimmed packet, those that remain
 * @tos: DSCP and ECN of the outermost header, as received
 * @ipv6: IP version
 * @srv6: received with an outer header
 * @roce: plain RoCE v2 (UD, UC), else MRC
 * @mr: for the consumer of the packet; NULL at first
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
 * struct mrc_rcv_ops - handlers of received packets
 * @find: set @pkt->qp, @pkt->dev and @pkt->timed for @qpn, if the packet's namespace
 *	has such a connected QP. Any context
 * @put: drop the reference that @find took
 * @rcv: a verified packet for @pkt->qp, counted, P_Key checked. Softirq, RCU
 * @roce: a verified packet of plain RoCE v2, counted, P_Key checked. @pkt->dev is the
 *	device of arrival, NULL over loopback. Returns false if no QP takes the packet.
 *	Softirq, RCU. May be NULL: such packets are dropped
 * @endpoint: a verified packet with an endpoint opcode for the device @pkt->dev.
 *	Softirq, RCU. May be NULL: such packets are dropped
 */
struct mrc_rcv_ops {
	void (*find)(struct mrc_pkt *pkt, u32 qpn);
	void (*put)(struct mrc_qp *qp);
	void (*rcv)(struct mrc_pkt *pkt);
	bool (*roce)(struct mrc_pkt *pkt);
	void (*endpoint)(struct mrc_pkt *pkt);
};

/* Offset of the payload of a verified packet in pkt->skb. */
static inline u32 mrc_pkt_payload(const struct mrc_pkt *pkt)
{
	return MRC_UDP_HLEN + pkt->hdr.hdr_len;
}

/* Set the handlers. Called before any socket exists. */
void mrc_rcv_init(const struct mrc_rcv_ops *ops);

#endif /* MRC_NET_H */
