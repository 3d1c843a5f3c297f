/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Unreliable connections: UC queue pairs, which use plain RoCE v2 packets. The protocol
 * is in core/mrc_uc.h. A UC QP is a struct mrc_ud (mrc_ud.h), which has its QPN, rings
 * and state, with the additional state that is declared here.
 */
#ifndef MRC_UC_QP_H
#define MRC_UC_QP_H

#include "mrc_ud.h"

#ifdef CONFIG_INFINIBAND_MRC_UC

/* Attributes that modify_qp sets and query_qp returns. Under ud->mutex. */
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
 * struct mrc_uc - additional state of a UC QP
 * @attr: under ud->mutex
 * @tx_mutex: held while sending, so that packets leave in the order of their PSNs.
 *	Taken inside ud->mutex and outside ud->rq_lock
 * @av: addresses, written under @tx_mutex and both locks. @av.port is the plane in use;
 *	it and the cached route are changed under @tx_mutex
 * @bound_port: port to which a link-local address binds the QP, 0 = any
 * @back_at: time at which to check whether the QP's own port is usable again, jiffies
 * @tx: requester, under ud->sq_lock
 * @wqe: the work request that @tx is sending, under ud->sq_lock
 * @rx: responder. This member and the following ones are under ud->rq_lock
 * @remote_write: the peer may write
 * @established: IB_EVENT_COMM_EST is not needed any more: it has been reported, or the
 *	program has moved the QP to RTS
 * @recv: the receive for the SEND in progress
 * @room: sum of the lengths of the SGEs of @recv, bytes
 */
struct mrc_uc {
	struct mrc_uc_attrs attr;

	struct mutex tx_mutex;	/* see above */
	struct mrc_av av;
	u8 bound_port;
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

/* Return: NULL if there is no memory. Sleeps. */
struct mrc_uc *mrc_uc_alloc(void);
void mrc_uc_free(struct mrc_uc *uc);

/* Exclude senders. Under ud->mutex. */
static inline void mrc_uc_tx_lock(struct mrc_uc *uc)
{
	mutex_lock(&uc->tx_mutex);
}

static inline void mrc_uc_tx_unlock(struct mrc_uc *uc)
{
	mutex_unlock(&uc->tx_mutex);
}

/* Check the attributes of a modify_qp. Under ud->mutex. 0 or a negative errno. */
int mrc_uc_check_attr(struct mrc_ud *ud, const struct ib_qp_attr *attr,
		      int mask);

/*
 * Apply the attributes of a modify_qp that leads to @state. Under ud->mutex, ud->rq_lock
 * and ud->sq_lock; with IB_QP_AV also under tx_mutex.
 */
void mrc_uc_set_attr(struct mrc_ud *ud, enum ib_qp_state state,
		     const struct ib_qp_attr *attr, int mask);

/* Forget the connection. Under ud->mutex, ud->rq_lock and ud->sq_lock. */
void mrc_uc_reset(struct mrc_ud *ud);

/* Fill in the attributes that only UC has. Under ud->mutex. */
void mrc_uc_query(struct mrc_ud *ud, struct ib_qp_attr *attr);

/* Driver details for netlink, see mrc_fill_fn. */
int mrc_uc_fill_res(struct sk_buff *msg, struct ib_qp *ibqp, bool all);

/* mrc_uc_send.c, mrc_uc_recv.c ----------------------------------------------*/

/*
 * Doorbell of the send ring. In SQD a message in progress is finished. Process context.
 * 0 or a negative errno.
 */
int mrc_uc_post_send(struct mrc_ud *ud);

/*
 * Receive a verified UC packet; see struct mrc_rcv_ops. Return: false if there is no
 * such queue pair. Softirq, under RCU.
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
