/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared receive queues. A QP takes entries from one into a ring of its own as
 * its messages need them; from there on they are receives like others.
 */
#ifndef MRC_SRQ_H
#define MRC_SRQ_H

#include "dev/mrc_dev.h"

/**
 * struct mrc_srq - shared receive queue
 * @ib: ib_core's part
 * @lock: (irq) protects everything below; inside resp_lock
 * @ring: program or kernel consumer produces; @ring.idx = cons
 * @max_sge: bound for what programs write into entries
 * @limit: IB_EVENT_SRQ_LIMIT_REACHED when fewer entries remain, 0 = not armed
 * @holders: QPs that have taken entries and not used all of them
 * @dead: the program wrote nonsense, IB_EVENT_SRQ_ERR was raised
 * @resize: changes of the size, one at a time; outside @lock, sleeps
 */
struct mrc_srq {
	struct ib_srq ib;
	spinlock_t lock;	/* see above */
	struct mrc_ring ring;
	u32 max_sge;
	u32 limit;
	bool dead;
	atomic_t holders;
	struct mutex resize;	/* see above */
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
 * @n: how many are to be in @to, more than there are
 *
 * Takes all that is missing or nothing. Entries belong to the QP from then on;
 * mrc_srq_used() tells when it has used them. Raises the events of the SRQ.
 *
 * Return: how many there are, fewer than @n where the queue has too few; -EBUSY:
 * they are kept for others, but there will be one for the oldest message;
 * -EINVAL: the program wrote nonsense into the ring.
 */
int mrc_srq_take(struct mrc_srq *srq, struct mrc_ring *to, u32 n);

/**
 * mrc_srq_used - a QP has used an entry that it took
 * @srq: the queue, or NULL: @ring is not from mrc_srq_attach()
 * @ring: its ring, @ring->idx has moved; under the lock of the QP's receives
 */
void mrc_srq_used(struct mrc_srq *srq, const struct mrc_ring *ring);

/* Likewise: a QP is reset. Its ring is rewound, what it has taken is lost. */
void mrc_srq_forget(struct mrc_srq *srq, struct mrc_ring *ring);

#endif /* MRC_SRQ_H */
