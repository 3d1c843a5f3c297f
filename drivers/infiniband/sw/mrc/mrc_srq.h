/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared receive queues. A QP takes entries from one into a ring of its own as
 * its messages need them; from there on they are receives like others.
 */
#ifndef MRC_SRQ_H
#define MRC_SRQ_H

#include "mrc.h"

/**
 * struct mrc_srq - shared receive queue
 * @ib: ib_core's part
 * @lock: (irq) protects everything below; inside resp_lock
 * @ring: program or kernel consumer produces; @ring.idx = cons
 * @max_sge: bound for what programs write into entries
 * @limit: IB_EVENT_SRQ_LIMIT_REACHED when fewer entries remain, 0 = not armed
 * @dead: the program wrote nonsense, IB_EVENT_SRQ_ERR was raised
 */
struct mrc_srq {
	struct ib_srq ib;
	spinlock_t lock;	/* see above */
	struct mrc_ring ring;
	u32 max_sge;
	u32 limit;
	bool dead;
};

static inline struct mrc_srq *to_msrq(struct ib_srq *ib)
{
	return container_of(ib, struct mrc_srq, ib);
}

/*
 * Make @ring, which a QP takes entries of its SRQ into. Sleeps. 0 or a negative
 * errno.
 */
int mrc_srq_attach(struct mrc_srq *srq, struct mrc_ring *ring);

/**
 * mrc_srq_take - take entries for a QP
 * @srq: the queue
 * @to: from mrc_srq_attach(); under the lock of the QP's receives
 * @n: how many are to be in @to
 *
 * Entries belong to the QP from then on. Raises the events of the SRQ.
 *
 * Return: how many there are, which may be fewer, or -EINVAL: the program wrote
 * nonsense into the ring.
 */
int mrc_srq_take(struct mrc_srq *srq, struct mrc_ring *to, u32 n);

#endif /* MRC_SRQ_H */
