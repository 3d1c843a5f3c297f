/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Queue pairs of consumers in the kernel: posting work requests. */
#ifndef MRC_KVERBS_H
#define MRC_KVERBS_H

#include "dev/mrc_dev.h"

/**
 * struct mrc_kern - what a QP has whose consumer is in the kernel
 * @ibqp: the QP
 * @work: rings the doorbells of @kick
 * @kick: MRC_KICK_* bits
 * @sq_lock: (irq) producers of the send ring
 * @rq_lock: (irq) producers of the receive ring
 * @sq: send ring
 * @rq: receive ring; depth 0 = none
 * @max_send_sge: granted
 * @max_recv_sge: granted
 * @max_inline: granted
 *
 * Work requests are written into the rings that programs would have mapped. The
 * doorbell is rung by a work item: consumers post with interrupts disabled or
 * with locks held that their completion handlers take.
 */
struct mrc_kern {
	struct ib_qp *ibqp;
	struct work_struct work;
	unsigned long kick;
	spinlock_t sq_lock;
	spinlock_t rq_lock;
	struct mrc_ring *sq;
	struct mrc_ring *rq;
	u32 max_send_sge;
	u32 max_recv_sge;
	u32 max_inline;
};

/* Sleeps. NULL: no memory. @kern gets its rings when the QP has them. */
struct mrc_kern *mrc_kern_alloc(struct ib_qp *ibqp);

/* No work request is posted any more. Sleeps; NULL is fine. */
void mrc_kern_stop(struct mrc_kern *kern);

/* Any context. 0 or a negative errno, with *@bad the first that was refused. */
int mrc_kern_post_send(struct mrc_kern *kern, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad);
int mrc_kern_post_recv(struct mrc_kern *kern, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);

int mrc_kern_init(void);
void mrc_kern_exit(void);

#endif /* MRC_KVERBS_H */
