/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Datagrams: UD queue pairs and QP1, in plain RoCE v2 packets. Nothing of MRC
 * is in them; the management datagrams of other RoCE devices are the same.
 * Unreliable connections have the rest of theirs in mrc_uc_qp.h.
 */
#ifndef MRC_UD_H
#define MRC_UD_H

#include "mrc_roce.h"

struct mrc_uc;

#define MRC_GRH_LEN		40	/* in front of a received datagram */
#define MRC_QPN_GSI		1
#define MRC_GSI_QKEY		0x80010000	/* IB_QP1_QKEY, host order */
#define MRC_QKEY_OWN		BIT(31)	/* the sender's own Q_Key instead */

/**
 * struct mrc_ud_tx - a send work request, copied from the ring
 * @h: header
 * @sge: its list; without the empty ones
 * @num_sge: entries of @sge
 * @len: payload bytes
 */
struct mrc_ud_tx {
	struct mrc_send_wqe h;
	struct mrc_sge sge[MRC_MAX_SGE];
	u32 num_sge;
	u32 len;
};

/**
 * struct mrc_ud_rx - a receive work request, copied from the ring
 * @wr_id: the program's
 * @num_sge: entries of @sge
 * @sge: its list
 */
struct mrc_ud_rx {
	u64 wr_id;
	u32 num_sge;
	struct mrc_sge sge[MRC_MAX_SGE];
};

/**
 * struct mrc_ud - QP that speaks plain RoCE v2: for datagrams, or UC
 * @base: what QPs of all kinds have; its number is 1 for the QP1 of each port. The step
 *	of its state to SQE is made under @sq_lock alone
 * @gsi_node: in the list of QP1s
 * @uc: the rest of an unreliable connection, NULL for datagrams; constant
 * @user: a program's, counted
 * @mutex: modify, query
 * @pkey_index: as given, under @mutex
 * @port: 1-based, 0 = not set yet; written under @mutex
 * @qkey: host order; written under @mutex
 * @sq_lock: send ring; rq_lock may be held
 * @sq: send ring
 * @max_send_sge: granted
 * @max_inline: granted
 * @psn: of the next datagram
 * @rq_lock: receive ring
 * @rq: receive ring; depth 0 = none. With @srq: entries taken from there
 * @max_recv_sge: granted
 * @late: datagrams that wait for memory, struct mrc_ud_late; under @rq_lock
 * @n_late: how many
 * @tx_late: the send ring waits for memory; under @sq_lock
 * @page_wait: in the device's list, with a reference
 * @work: goes on when memory has come, holds a reference while queued
 */
struct mrc_ud {
	struct mrc_qp_base base;
	struct list_head gsi_node;
	struct mrc_uc *uc;
	bool user;

	struct mutex mutex;	/* modify, query */
	u16 pkey_index;
	u8 port;
	u32 qkey;

	spinlock_t sq_lock;
	struct mrc_ring sq;
	u32 max_send_sge;
	u32 max_inline;
	u32 psn;

	spinlock_t rq_lock;
	struct mrc_ring rq;
	u32 max_recv_sge;
	struct list_head late;
	u32 n_late;
	bool tx_late;
	struct mrc_odp_waiter page_wait;
	struct work_struct work;
};

/**
 * struct mrc_ud_late - a datagram that waits for memory
 * @node: in ud->late
 * @pkt: the datagram; its skb is a clone
 */
struct mrc_ud_late {
	struct list_head node;
	struct mrc_pkt pkt;
};

/* mrc_ud_base.c -------------------------------------------------------------*/

/* With a reference; NULL if there is none. Any context. */
struct mrc_ud *mrc_ud_get(struct net *net, u32 qpn);

static inline bool mrc_ud_tryget(struct mrc_ud *ud)
{
	return mrc_qp_base_tryget(&ud->base);
}

static inline void mrc_ud_put(struct mrc_ud *ud)
{
	mrc_qp_base_put(&ud->base);
}

static inline struct mrc_ud *mrc_ud_from(struct ib_qp *ibqp)
{
	return container_of(to_mibqp(ibqp)->base, struct mrc_ud, base);
}

/* With a reference; NULL if it is being destroyed. */
struct mrc_ud *mrc_ud_of(struct ib_qp *ibqp);

/*
 * The QP1 that a management datagram is for, with a reference. Without a port
 * of arrival the one of a port that has the address.
 */
struct mrc_ud *mrc_gsi_get(struct net *net, struct mrc_dev *dev,
			   const struct mrc_pkt *pkt);

/*
 * Give @ud a number that nobody has, and let packets find it; the reverse. Sleep. 0 or
 * a negative errno.
 */
int mrc_ud_publish(struct mrc_ud *ud);
void mrc_ud_unpublish(struct mrc_ud *ud);

/* Go to ERROR and report @event, unless MRC_NO_EVENT. Any context, no lock. */
void mrc_ud_error(struct mrc_ud *ud, int event);

/*
 * Go on when memory has come that was missing after @seq = mrc_odp_seq(). Under
 * sq_lock or rq_lock. wake: in the list of waiters, queues the QP's work.
 */
void mrc_ud_wait_page(struct mrc_ud *ud, u32 seq);
void mrc_ud_wake(struct mrc_odp_waiter *w);

/* Flush a ring: under sq_lock, rq_lock. */
void mrc_ud_flush_sq(struct mrc_ud *ud);
void mrc_ud_flush_rq(struct mrc_ud *ud);

/* mrc_ud_send.c, mrc_ud_recv.c: doorbells -----------------------------------*/

int mrc_ud_post_send(struct mrc_ud *ud);
int mrc_ud_post_recv(struct mrc_ud *ud);

/* What the front of a packet with @hdr for @dqpn is made from, in @head. */
void mrc_ud_head(const struct mrc_ud *ud, const struct mrc_av *av,
		 const struct mrc_hdr *hdr, u32 dqpn, struct mrc_head *head);

/* Hand packets that have their route, and in struct mrc_tx_cb their port, to IP. */
void mrc_ud_xmit(struct mrc_ud *ud, struct sk_buff_head *list);

/*
 * Copy what @e names to send, inline data or a list, of up to @max bytes: sets
 * @tx->sge, @tx->num_sge and @tx->len, which are to be zero before; @tx->h was
 * copied. The status that it ends with. Under sq_lock.
 */
enum ib_wc_status mrc_ud_copy_data(struct mrc_ud *ud,
				   const struct mrc_send_wqe *e,
				   struct mrc_ud_tx *tx, u32 max);

/*
 * Copy the next receive without taking it, @room: bytes in it. The status that
 * it ends with. Under rq_lock, there must be one.
 */
enum ib_wc_status mrc_ud_copy_rwqe(struct mrc_ud *ud, struct mrc_ud_rx *rx,
				   u64 *room);

/*
 * A datagram for @ud, which accepts it, keeps a copy until its memory has come, or
 * counts why not.
 */
void mrc_ud_deliver(struct mrc_ud *ud, const struct mrc_pkt *pkt);

/* Those that were kept: try again; forget them (under rq_lock). */
void mrc_ud_deliver_late(struct mrc_ud *ud);
void mrc_ud_drop_late(struct mrc_ud *ud);

/* mrc_mcast.c ---------------------------------------------------------------*/

/*
 * @ud goes away. The core has detached what programs attached, of consumers in
 * the kernel it expects that. Sleeps, takes RTNL.
 */
void mrc_mcast_detach_all(struct mrc_ud *ud);

/* Deliver to all QPs of the group. Under RCU. */
void mrc_mcast_rcv(struct mrc_dev *dev, const struct mrc_pkt *pkt);

#endif /* MRC_UD_H */
