/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Datagrams: UD queue pairs and QP1. They use plain RoCE v2 packets without any part of
 * MRC, so the management datagrams are those of other RoCE devices. Unreliable
 * connections use these structures too; their additional state is in mrc_uc_qp.h.
 */
#ifndef MRC_UD_H
#define MRC_UD_H

#include "mrc_roce.h"

struct mrc_uc;

#define MRC_GRH_LEN		40	/* bytes of GRH before the payload in a receive */
#define MRC_QPN_GSI		1
#define MRC_GSI_QKEY		0x80010000	/* IB_QP1_QKEY, host order */
#define MRC_QKEY_OWN		BIT(31)	/* in a WR: send the Q_Key of the QP instead */

/**
 * struct mrc_ud_tx - a send work request, copied from the ring
 * @h: header of the WQE
 * @sge: the SGEs that are not empty
 * @num_sge: number of entries in @sge
 * @len: length of the payload, bytes
 */
struct mrc_ud_tx {
	struct mrc_send_wqe h;
	struct mrc_sge sge[MRC_MAX_SGE];
	u32 num_sge;
	u32 len;
};

/**
 * struct mrc_ud_rx - a receive work request, copied from the ring
 * @wr_id: wr_id of the consumer
 * @num_sge: number of entries in @sge
 * @sge: the SGEs
 */
struct mrc_ud_rx {
	u64 wr_id;
	u32 num_sge;
	struct mrc_sge sge[MRC_MAX_SGE];
};

/**
 * struct mrc_ud - QP that uses plain RoCE v2: UD, QP1 or UC
 * @base: common part of all kinds of QPs. The QPN is 1 for the QP1 of each port. The
 *	change of the state to SQE is made under @sq_lock alone
 * @gsi_node: in the list of QP1s
 * @uc: additional state of a UC QP, NULL for datagrams; constant
 * @user: the consumer is a program
 * @mutex: serialises modify, query and destroy
 * @pkey_index: as set by modify_qp, under @mutex
 * @port: 1-based, 0 = not set yet; written under @mutex
 * @qkey: host order; written under @mutex
 * @sq_lock: protects the send ring; may be taken inside @rq_lock
 * @sq: send ring
 * @max_send_sge: limit granted at creation
 * @max_inline: limit granted at creation, bytes
 * @psn: PSN of the next datagram
 * @rq_lock: protects the receive ring
 * @rq: receive ring; depth 0 = none. With an SRQ: the entries taken from the SRQ
 * @max_recv_sge: limit granted at creation
 * @late: datagrams that wait for memory, struct mrc_ud_late; under @rq_lock
 * @n_late: length of @late
 * @memcg: memory cgroup that @late is charged to; NULL if nothing ever
 *	waits; constant
 * @tx_late: the send ring waits for memory; under @sq_lock
 * @page_wait: node in the device's list of ODP waiters; holds a reference while listed
 * @work: retries @late and the send ring when pages have been fetched; holds a
 *	reference while queued
 * @flush_work: flushes the rings in ERROR, and the send ring in SQE, a part at a time;
 *	holds a reference while queued
 * @flush_left: entries that @flush_work may still flush
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
	struct mem_cgroup *memcg;
	bool tx_late;
	struct mrc_odp_waiter page_wait;
	struct work_struct work;
	struct work_struct flush_work;
	atomic_t flush_left;
};

/**
 * struct mrc_ud_late - a datagram that waits for memory
 * @node: in ud->late
 * @pkt: the datagram; its skb is a copy
 */
struct mrc_ud_late {
	struct list_head node;
	struct mrc_pkt pkt;
};

/* mrc_ud_base.c -------------------------------------------------------------*/

/*
 * Find a UD or UC QP of @net by number. Takes a reference; NULL if not found. Any
 * context.
 */
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

/* The struct mrc_ud of @ibqp, with a reference. NULL if it is being destroyed. */
struct mrc_ud *mrc_ud_of(struct ib_qp *ibqp);

/*
 * Find the QP1 for a management datagram. Takes a reference; NULL if not found. @dev:
 * device of arrival; the QP1 of the port of arrival is used. With @dev NULL (loopback),
 * the QP1 of a port that has the destination address is used.
 */
struct mrc_ud *mrc_gsi_get(struct net *net, struct mrc_dev *dev,
			   const struct mrc_pkt *pkt);

/*
 * mrc_ud_publish() gives @ud an unused number and makes it visible to packets.
 * mrc_ud_unpublish() undoes this. Both may sleep. Return: 0 or a negative errno.
 */
int mrc_ud_publish(struct mrc_ud *ud);
void mrc_ud_unpublish(struct mrc_ud *ud);

/*
 * Move the QP to ERROR and report @event unless it is MRC_NO_EVENT. Any context, no lock
 * held.
 */
void mrc_ud_error(struct mrc_ud *ud, int event);

/*
 * mrc_ud_wait_page() queues the work item when missing pages have been fetched. @seq:
 * mrc_odp_seq() as read before the pages were found missing. Under sq_lock or rq_lock.
 * mrc_ud_wake() is the callback of struct mrc_odp_waiter.
 */
void mrc_ud_wait_page(struct mrc_ud *ud, u32 seq);
void mrc_ud_wake(struct mrc_odp_waiter *w);

/*
 * Flush up to MRC_FLUSH_MAX entries of the send ring (under sq_lock) or the receive ring
 * (under rq_lock). Return: true if there are more.
 */
bool mrc_ud_flush_sq(struct mrc_ud *ud);
bool mrc_ud_flush_rq(struct mrc_ud *ud);

/*
 * Let the work item flush the rest. What both rings hold bounds what it flushes, however the
 * program changes the producer counters. Any context.
 */
void mrc_ud_flush_later(struct mrc_ud *ud);
void mrc_ud_flush_work(struct work_struct *work);

/* Flush the send ring of a QP in SQE, before it leaves this state. */
void mrc_ud_flush_sqe(struct mrc_ud *ud);

/* mrc_ud_send.c, mrc_ud_recv.c: doorbells -----------------------------------*/

int mrc_ud_post_send(struct mrc_ud *ud);

/*
 * Send what has waited for pages. Return: true if there is more to send than a work item may
 * send at a time; the caller queues it again. Sleeps.
 */
bool mrc_ud_send_late(struct mrc_ud *ud);
int mrc_ud_post_recv(struct mrc_ud *ud);

/* Fill in @head for a packet with the headers @hdr to @dqpn. */
void mrc_ud_head(const struct mrc_ud *ud, const struct mrc_av *av,
		 const struct mrc_hdr *hdr, u32 dqpn, struct mrc_head *head);

/* Pass packets to IP. Each packet has its route and, in struct mrc_tx_cb, its port. */
void mrc_ud_xmit(struct mrc_ud *ud, struct sk_buff_head *list);

/*
 * Copy the SGEs of send WQE @e, or check its inline data. The message may have up to
 * @max bytes. @tx->h has been copied, @tx->num_sge and @tx->len must be 0. Sets @tx->sge,
 * @tx->num_sge and @tx->len. Return: IB_WC_SUCCESS or the status of the failed work
 * request. Under sq_lock.
 */
enum ib_wc_status mrc_ud_copy_data(struct mrc_ud *ud,
				   const struct mrc_send_wqe *e,
				   struct mrc_ud_tx *tx, u32 max);

/*
 * Copy the next receive without consuming it. *@room: sum of the lengths of its SGEs.
 * Return: IB_WC_SUCCESS or the status of the failed receive. Under rq_lock; the ring must
 * not be empty.
 */
enum ib_wc_status mrc_ud_copy_rwqe(struct mrc_ud *ud, struct mrc_ud_rx *rx,
				   u64 *room);

/*
 * Deliver a datagram to @ud. The datagram is received, or kept as a clone until the
 * memory of the receive has been fetched, or dropped and counted.
 */
void mrc_ud_deliver(struct mrc_ud *ud, const struct mrc_pkt *pkt);

/* Retry the datagrams that were kept, or drop them (under rq_lock). */
void mrc_ud_deliver_late(struct mrc_ud *ud);
void mrc_ud_drop_late(struct mrc_ud *ud);

/* mrc_mcast.c ---------------------------------------------------------------*/

/*
 * Detach @ud from all groups before it is destroyed. ib_core has already detached the
 * QPs of programs, and expects consumers in the kernel to detach theirs. Sleeps, takes
 * RTNL.
 */
void mrc_mcast_detach_all(struct mrc_ud *ud);

/* Deliver a packet to all QPs of its group. Takes the RCU read lock. */
void mrc_mcast_rcv(struct mrc_dev *dev, const struct mrc_pkt *pkt);

#endif /* MRC_UD_H */
