/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Unreliable connections: UC queue pairs, in plain RoCE v2 packets. What makes a
 * message is in core/mrc_uc.h; numbers, rings and states are those of datagram
 * QPs (mrc_ud.h), of which this is the rest.
 */
#ifndef MRC_UC_QP_H
#define MRC_UC_QP_H

#include "mrc_ud.h"

#ifdef CONFIG_INFINIBAND_MRC_UC

/* What programs set and query_qp gives back; under ud->mutex. */
struct mrc_uc_attrs {
	int access;
	enum ib_mtu path_mtu;
	u32 dest_qpn;
	union ib_gid dgid;
	u32 flow_label;
	u8 sgid_index;
	u8 hop_limit;
	u8 traffic_class;
	u8 sl;
};

/**
 * struct mrc_uc - what a connected QP has besides struct mrc_ud
 * @attr: under ud->mutex
 * @tx_mutex: whoever sends; packets leave in the order of their PSNs. Inside
 *	ud->mutex, outside ud->rq_lock
 * @av: addresses, written under @tx_mutex and both locks; its port, the plane
 *	that packets take, and its route under @tx_mutex
 * @only_port: link-local addresses bind the QP to this port, 0 = any
 * @back_at: jiffies, when to look whether the QP's own port can be used again
 * @tx: engine, under ud->sq_lock
 * @wqe: the work request that @tx sends, under ud->sq_lock
 * @rx: engine, under ud->rq_lock like all of the following
 * @remote_write: the peer may write
 * @established: the event has been reported, or the program knows already
 * @recv: the receive that the SEND under way goes to
 * @room: bytes there
 */
struct mrc_uc {
	struct mrc_uc_attrs attr;

	struct mutex tx_mutex;	/* see above */
	struct mrc_av av;
	u8 only_port;
	unsigned long back_at;
	struct mrc_uc_tx tx;
	struct mrc_ud_tx wqe;

	struct mrc_uc_rx rx;
	bool remote_write;
	bool established;
	struct mrc_ud_rx recv;
	u64 room;
};

/* mrc_uc_qp.c ---------------------------------------------------------------*/

/* NULL: no memory. Sleeps. */
struct mrc_uc *mrc_uc_alloc(void);
void mrc_uc_free(struct mrc_uc *uc);

/* Nobody sends in between. Under ud->mutex. */
static inline void mrc_uc_tx_lock(struct mrc_uc *uc)
{
	mutex_lock(&uc->tx_mutex);
}

static inline void mrc_uc_tx_unlock(struct mrc_uc *uc)
{
	mutex_unlock(&uc->tx_mutex);
}

/* Are the attributes good? Under ud->mutex. 0 or a negative errno. */
int mrc_uc_check_attr(struct mrc_ud *ud, const struct ib_qp_attr *attr,
		      int mask);

/*
 * They take effect, on the way to @state. Under ud->mutex, ud->rq_lock and
 * ud->sq_lock, and with IB_QP_AV under tx_mutex.
 */
void mrc_uc_set_attr(struct mrc_ud *ud, enum ib_qp_state state,
		     const struct ib_qp_attr *attr, int mask);

/* Forget the connection. The same locks but for tx_mutex. */
void mrc_uc_reset(struct mrc_ud *ud);

/* Under ud->mutex. */
void mrc_uc_query(struct mrc_ud *ud, struct ib_qp_attr *attr);

/* Driver details for netlink, see mrc_fill_fn. */
int mrc_uc_fill_res(struct sk_buff *msg, struct ib_qp *ibqp, bool all);

/* mrc_uc_send.c, mrc_uc_recv.c ----------------------------------------------*/

/*
 * The doorbell; in SQD what has been begun is finished. Process context. 0 or a
 * negative errno.
 */
int mrc_uc_post_send(struct mrc_ud *ud);

/*
 * A verified packet of UC; see struct mrc_rcv_ops. False: there is no such queue pair.
 * Softirq, under RCU.
 */
bool mrc_uc_rcv(const struct mrc_pkt *pkt);

#else /* CONFIG_INFINIBAND_MRC_UC */

static inline struct mrc_uc *mrc_uc_alloc(void)
{
	return NULL;
}

static inline void mrc_uc_free(struct mrc_uc *uc)
{
}

static inline void mrc_uc_tx_lock(struct mrc_uc *uc)
{
}

static inline void mrc_uc_tx_unlock(struct mrc_uc *uc)
{
}

static inline int mrc_uc_check_attr(struct mrc_ud *ud,
				    const struct ib_qp_attr *attr, int mask)
{
	return 0;
}

static inline void mrc_uc_set_attr(struct mrc_ud *ud, enum ib_qp_state state,
				   const struct ib_qp_attr *attr, int mask)
{
}

static inline void mrc_uc_reset(struct mrc_ud *ud)
{
}

static inline void mrc_uc_query(struct mrc_ud *ud, struct ib_qp_attr *attr)
{
}

static inline int mrc_uc_fill_res(struct sk_buff *msg, struct ib_qp *ibqp,
				  bool all)
{
	return 0;
}

static inline int mrc_uc_post_send(struct mrc_ud *ud)
{
	return -EINVAL;
}

static inline bool mrc_uc_rcv(const struct mrc_pkt *pkt)
{
	return false;
}

#endif /* CONFIG_INFINIBAND_MRC_UC */

#endif /* MRC_UC_QP_H */
