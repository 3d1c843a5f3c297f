/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What queue pairs of all kinds have in common, and what a kind provides for
 * it. A new kind is a table of these, and a case in mrc_qp_kind_of().
 */
#ifndef MRC_QP_VERBS_H
#define MRC_QP_VERBS_H

#include "dev/mrc_dev.h"

struct mrc_srq;

/**
 * struct mrc_qp_parts - what a queue pair is made with
 * @req: what the program asks of the driver; zero without one
 * @user: a program's, not of a consumer in the kernel
 * @dev: the device
 * @scq: send completions
 * @rcq: receive completions
 * @srq: where receives come from, NULL: @rq
 * @sig_all: every send WR is signalled
 * @cap: what there is; max_recv_sge is that of @srq where there is one
 * @sq: send ring
 * @rq: receive ring; depth 0 = none. With @srq: for entries taken from there
 */
struct mrc_qp_parts {
	struct mrc_create_qp_req req;
	bool user;
	struct mrc_dev *dev;
	struct mrc_cq *scq;
	struct mrc_cq *rcq;
	struct mrc_srq *srq;
	bool sig_all;
	struct ib_qp_cap cap;
	struct mrc_ring sq;
	struct mrc_ring rq;
};

/**
 * struct mrc_qp_kind - a kind of queue pairs
 * @check: whether there can be one with these attributes and @req, @user, @dev
 *	of @parts, which are all that is set yet. What holds for every kind has
 *	been checked
 * @create: make it of @parts, publish it, and set the QP's number. The rings are
 *	its own if it returns 0. The last thing that can fail
 * @destroy: the reverse, rings included
 * @modify: as the verb
 * @query: fill in what the kind knows of @attr, which is zero; not the caps.
 *	False if it is being destroyed: netlink looks at QPs until after that
 * @state: enum ib_qp_state of the packet path, as a hint
 * @rings: where the two of a live QP are
 * @post_send: the doorbell of the send ring; process context
 * @post_recv: that of the receive ring
 *
 * All but @check and @query are called between @create and the end of @destroy;
 * all may sleep, and return 0 or a negative errno where they return an int.
 */
struct mrc_qp_kind {
	int (*check)(const struct ib_qp_init_attr *init,
		     const struct mrc_qp_parts *parts);
	int (*create)(struct ib_qp *ibqp, const struct ib_qp_init_attr *init,
		      const struct mrc_qp_parts *parts);
	void (*destroy)(struct ib_qp *ibqp);
	int (*modify)(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata);
	bool (*query)(struct ib_qp *ibqp, struct ib_qp_attr *attr);
	enum ib_qp_state (*state)(struct ib_qp *ibqp);
	void (*rings)(struct ib_qp *ibqp, struct mrc_ring **sq,
		      struct mrc_ring **rq);
	int (*post_send)(struct ib_qp *ibqp);
	int (*post_recv)(struct ib_qp *ibqp);
};

extern const struct mrc_qp_kind mrc_qp_kind_rc;	/* mrc_qp.c */
extern const struct mrc_qp_kind mrc_qp_kind_ud;	/* mrc_ud.c */

/* Asynchronous event of a QP that is not destroyed yet. No lock but a mutex. */
void mrc_qp_report(struct ib_qp *ibqp, int event);

/*
 * The enum ib_qp_state that a modify in state @cur leads to, or -EINVAL. Then:
 * are port and partition there, in what a modify sets? 0 or -EINVAL.
 */
int mrc_qp_modify_to(const struct ib_qp *ibqp, enum ib_qp_state cur,
		     const struct ib_qp_attr *attr, int mask);
int mrc_qp_check_place(const struct mrc_dev *dev,
		       const struct ib_qp_attr *attr, int mask);

/*
 * What the peers of connected QPs may be allowed. On-demand paging means nothing
 * here, but programs give what their regions have; UC has but writes, and the
 * connection manager asks for all.
 */
#define MRC_QP_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 MRC_ACCESS_FLUSH | MRC_ACCESS_PERSIST | \
			 IB_ACCESS_ON_DEMAND)

/* What a modify says of the peer of a QP at @port: 0 or -EINVAL. */
int mrc_qp_check_peer(const struct mrc_port *port,
		      const struct ib_qp_attr *attr, int mask);

/*
 * Complete all entries of a send or receive ring as flushed, where nothing else
 * is known of them. @srq: that they were taken from, or NULL. Under the lock of
 * the ring.
 */
void mrc_qp_flush_ring(struct ib_qp *ibqp, struct mrc_ring *ring,
		       struct mrc_srq *srq, struct mrc_cq *cq,
		       enum ib_wc_opcode opcode, u8 port);

/* Have the program ring the doorbell of @rq from now on. Likewise. */
void mrc_qp_ask_kick(struct mrc_ring *rq);

#endif /* MRC_QP_VERBS_H */
