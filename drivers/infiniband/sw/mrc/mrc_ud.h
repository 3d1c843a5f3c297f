/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Datagrams: UD queue pairs and QP1, in plain RoCE v2 packets. Nothing of MRC
 * is in them; the management datagrams of other RoCE devices are the same.
 */
#ifndef MRC_UD_H
#define MRC_UD_H

#include <linux/rhashtable-types.h>

#include "mrc.h"
#include "mrc_qp.h"
#include "mrc_srq.h"

#define MRC_UD_HDR_LEN		20	/* BTH and DETH */
#define MRC_UD_IMM_LEN		4
#define MRC_GRH_LEN		40	/* in front of a received datagram */
#define MRC_QPN_GSI		1
#define MRC_QPN_MCAST		0xffffff
#define MRC_GSI_QKEY		0x80010000	/* IB_QP1_QKEY, host order */
#define MRC_QKEY_OWN		BIT(31)	/* the sender's own Q_Key instead */

enum mrc_ud_opcode {
	MRC_UD_SEND	= 0x64,
	MRC_UD_SEND_IMM	= 0x65,
};

/* Upper three bits: the transport that an opcode belongs to. */
static inline bool mrc_ud_opcode(u8 opcode)
{
	return opcode >> 5 == 3;
}

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

/**
 * struct mrc_ud - datagram QP
 * @ref: lookups hold one
 * @released: completed with the last reference
 * @rcu: delayed free, for lookups that lost the race
 * @node: in the table of QPNs
 * @gsi_node: in the list of QP1s
 * @dev: the device
 * @ibqp: ib_core's part, alive until destroy returns
 * @scq: send completions
 * @rcq: receive completions
 * @srq: where receives come from, NULL: @rq is the program's
 * @qpn: 24 bits, 1 for the QP1 of each port
 * @sig_all: every send WR is signalled
 * @user: a program's, counted
 * @mutex: modify, query
 * @pkey_index: as given, under @mutex
 * @port: 1-based, 0 = not set yet; written under @mutex
 * @qkey: host order; written under @mutex
 * @state: enum ib_qp_state; written under both locks, but for the step to SQE,
 *	which is made under @sq_lock alone
 * @sq_lock: send ring; rq_lock may be held
 * @sq: send ring
 * @max_send_sge: granted
 * @max_inline: granted
 * @psn: of the next datagram
 * @rq_lock: receive ring
 * @rq: receive ring; depth 0 = none. With @srq: entries taken from there
 * @max_recv_sge: granted
 */
struct mrc_ud {
	refcount_t ref;
	struct completion released;
	struct rcu_head rcu;
	struct rhash_head node;
	struct list_head gsi_node;
	struct mrc_dev *dev;
	struct ib_qp *ibqp;
	struct mrc_cq *scq;
	struct mrc_cq *rcq;
	struct mrc_srq *srq;
	u32 qpn;
	bool sig_all;
	bool user;

	struct mutex mutex;	/* modify, query */
	u16 pkey_index;
	u8 port;
	u32 qkey;
	u8 state;

	spinlock_t sq_lock;
	struct mrc_ring sq;
	u32 max_send_sge;
	u32 max_inline;
	u32 psn;

	spinlock_t rq_lock;
	struct mrc_ring rq;
	u32 max_recv_sge;
};

/**
 * struct mrc_dgram - a received datagram whose lengths and ICRC are right
 * @skb: data points to the UDP header
 * @daddr: destination, v4-mapped for IPv4
 * @ipv6: family
 * @loop: did not come from a netdev of its device
 * @solicited: BTH
 * @with_imm: @imm is there
 * @imm: network order
 * @port: of arrival, 0 if @loop
 * @dqpn: destination QP
 * @sqpn: source QP
 * @qkey: DETH
 * @off: of the payload in @skb
 * @len: payload bytes
 */
struct mrc_dgram {
	struct sk_buff *skb;
	struct in6_addr daddr;
	bool ipv6;
	bool loop;
	bool solicited;
	bool with_imm;
	u32 imm;
	u8 port;
	u32 dqpn;
	u32 sqpn;
	u32 qkey;
	u32 off;
	u32 len;
};

/* mrc_ah.c ------------------------------------------------------------------*/

/* The AH with number @num, NULL if there is none for @pd. Under RCU. */
struct mrc_av *mrc_av_find(struct mrc_dev *dev, const struct ib_pd *pd,
			   u32 num);

/* A referenced route, NULL if there is none. Under RCU with BH disabled. */
struct dst_entry *mrc_av_route(struct mrc_dev *dev, struct mrc_av *av);

/* mrc_ud.c ------------------------------------------------------------------*/

/* With a reference; NULL if there is none. Any context. */
struct mrc_ud *mrc_ud_get(struct net *net, u32 qpn);
bool mrc_ud_tryget(struct mrc_ud *ud);
void mrc_ud_put(struct mrc_ud *ud);

/*
 * The QP1 that a management datagram is for, with a reference. Without a port
 * of arrival the one of a port that has the address.
 */
struct mrc_ud *mrc_gsi_get(struct net *net, struct mrc_dev *dev,
			   const struct mrc_dgram *dg);

/* Go to ERROR and report @event, unless MRC_NO_EVENT. Any context, no lock. */
void mrc_ud_error(struct mrc_ud *ud, int event);

/* Flush a ring: under sq_lock, rq_lock. */
void mrc_ud_flush_sq(struct mrc_ud *ud);
void mrc_ud_flush_rq(struct mrc_ud *ud);

/* mrc_ud_send.c, mrc_ud_recv.c: doorbells -----------------------------------*/

int mrc_ud_post_send(struct mrc_ud *ud);
int mrc_ud_post_recv(struct mrc_ud *ud);

/*
 * A packet of the UD class, data at the UDP header, nothing checked. Softirq,
 * under RCU; the caller frees @skb.
 */
void mrc_ud_rcv(struct sk_buff *skb);

/* A datagram for @ud, which accepts it or counts why not. */
void mrc_ud_deliver(struct mrc_ud *ud, const struct mrc_dgram *dg);

/* mrc_mcast.c ---------------------------------------------------------------*/

int mrc_mcast_create(struct mrc_dev *dev);
void mrc_mcast_destroy(struct mrc_dev *dev);

/*
 * @ud goes away. The core has detached what programs attached, of consumers in
 * the kernel it expects that. Sleeps, takes RTNL.
 */
void mrc_mcast_detach_all(struct mrc_ud *ud);

int mrc_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int mrc_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* Deliver to all QPs of the group. Under RCU. */
void mrc_mcast_rcv(struct mrc_dev *dev, const struct mrc_dgram *dg);

/* A port got or is about to lose its netdev. Under RTNL. */
void mrc_mcast_port(struct mrc_port *port, struct net_device *ndev, bool join);

#endif /* MRC_UD_H */
