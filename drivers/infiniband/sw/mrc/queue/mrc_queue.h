/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queues: rings shared with programs, completion queues, shared receive queues,
 * consumers in the kernel, and what queue pairs of all kinds have in common.
 */
#ifndef MRC_QUEUE_H
#define MRC_QUEUE_H

#include <linux/rhashtable-types.h>

#include "dev/mrc_dev.h"
#include "mem/mrc_mem.h"

/* mrc_ring.c: rings shared with user space ----------------------------------*/

/**
 * struct mrc_ring - kernel side of a shared ring
 * @entry: for rdma_user_mmap; owns the pages through mmap_free. NULL for a
 *	consumer in the kernel
 * @hdr: mapped memory, never trusted
 * @size: bytes mapped
 * @depth: entries, power of two
 * @stride: bytes per entry
 * @idx: the counter that the kernel owns
 */
struct mrc_ring {
	struct mrc_user_mmap *entry;
	struct mrc_ring_hdr *hdr;
	u32 size;
	u32 depth;
	u32 stride;
	u32 idx;
};

/*
 * @depth is rounded up to a power of two. @info receives what user space needs
 * for mmap; without @uctx the ring is the kernel's own, @info is not used.
 * Sleeps. Returns 0 or a negative errno; on failure nothing is left
 * behind. free: safe while still mapped, or when there is no ring.
 */
int mrc_ring_alloc(struct mrc_ring *ring, struct ib_ucontext *uctx, u32 depth,
		   u32 stride, struct mrc_mmap_info *info);
void mrc_ring_free(struct mrc_ring *ring);
/* Copy @n entries from @first on to @at of @to; both have the same stride. */
void mrc_ring_copy(struct mrc_ring *to, u32 at, const struct mrc_ring *from,
		   u32 first, u32 n);
/* Back to the state after mrc_ring_alloc(), but for what a program owns. */
void mrc_ring_rewind(struct mrc_ring *ring);
int mrc_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void mrc_mmap_free(struct rdma_user_mmap_entry *entry);

/* All of the entries before @ring->idx has been read: they may be reused. */
static inline void mrc_ring_consumed(struct mrc_ring *ring)
{
	/* Pairs with the producer's load of cons. */
	smp_store_release(&ring->hdr->cons, ring->idx);
}

static inline void *mrc_ring_entry(const struct mrc_ring *ring, u32 idx)
{
	return (void *)ring->hdr + MRC_RING_HDR_SIZE +
	       (size_t)(idx & (ring->depth - 1)) * ring->stride;
}

/*
 * In completion rings that are not mapped struct mrc_cqe.reserved is the port
 * where a datagram arrived, and reserved2 the ib_qp, or 0 where that is gone.
 */

/*
 * Entries that user space has produced and the kernel has not taken yet
 * (kernel-consumed rings), clamped to 0..depth whatever the header says:
 * an impossible counter gives -EINVAL.
 */
int mrc_ring_pending(const struct mrc_ring *ring);

/* mrc_cq.c ------------------------------------------------------------------*/

/**
 * struct mrc_cq - completion queue
 * @ib: ib_core's part
 * @lock: protects everything below, see the lock order
 * @ring: kernel produces; @ring.idx = prod
 * @notify: IB_CQ_SOLICITED / IB_CQ_NEXT_COMP when armed, 0 otherwise
 * @dead: overflowed, IB_EVENT_CQ_ERR was raised, entries are discarded
 * @poll_lock: (irq) consumers in the kernel that poll; not nested with @lock
 * @resize: changes of the size, one at a time; outside @lock, sleeps
 *
 * @ib.cqe equals @ring.depth.
 */
struct mrc_cq {
	struct ib_cq ib;
	spinlock_t lock;
	struct mrc_ring ring;
	u8 notify;
	bool dead;
	spinlock_t poll_lock;
	struct mutex resize;	/* see above */
};

static inline struct mrc_cq *to_mcq(struct ib_cq *ib)
{
	return container_of(ib, struct mrc_cq, ib);
}

/**
 * mrc_cq_post - append a completion
 * @cq: the queue
 * @ibqp: whose completion it is, for consumers in the kernel
 * @cqe: the timestamp is filled in here
 * @solicited: for those that armed the CQ for such only
 * @port: counts an overflow
 *
 * Softirq or process context. Raises the completion event if armed for it.
 *
 * Return: 0, -ENOSPC: the ring overflowed (CQ error event raised once).
 */
int mrc_cq_post(struct mrc_cq *cq, struct ib_qp *ibqp, struct mrc_cqe *cqe,
		bool solicited, u8 port);

/*
 * @ibqp is reset or destroyed, and posts nothing any more: what is there of it is
 * not to be polled, because the consumer may free what its entries name. For
 * consumers in the kernel; programs' libraries do it themselves. Any context.
 */
void mrc_cq_clean(struct mrc_cq *cq, const struct ib_qp *ibqp);

int mrc_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
int mrc_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		       struct uverbs_attr_bundle *attrs);
int mrc_resize_user_cq(struct ib_cq *ibcq, unsigned int cqe,
		       struct ib_udata *udata);

extern const struct ib_device_ops mrc_cq_ops;

/* mrc_srq.c -----------------------------------------------------------------*/

/*
 * A QP takes entries of a shared receive queue into a ring of its own as its
 * messages need them; from there on they are receives like others.
 */

/**
 * struct mrc_srq - shared receive queue
 * @ib: ib_core's part
 * @lock: (irq) protects everything below; inside rx.lock
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

extern const struct ib_device_ops mrc_srq_ops;

/* mrc_kverbs.c: consumers in the kernel -------------------------------------*/

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

/* mrc_qp_base.c: queue pairs of all kinds ------------------------------------*/

#define MRC_QPN_MIN		16
#define MRC_QPN_MCAST		0xffffff
#define MRC_NO_EVENT		(-1)

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
 * struct mrc_qp_base - what queue pairs of all kinds have
 * @ref: lookups hold one; what else does is each kind's own
 * @qpn: 24 bits
 * @state: enum ib_qp_state; written under the locks of both rings, read under either,
 *	or without lock as a hint
 * @sig_all: every send WR is signalled
 * @node: in the table of numbers
 * @dev: the device
 * @ibqp: ib_core's part, alive until destroy returns
 * @scq: send completions
 * @rcq: receive completions
 * @srq: where receives come from, NULL: a ring that the consumer fills
 * @released: completed with the last reference
 * @rcu: delayed free, for lookups that lost the race
 *
 * All but @ref and @state are constant once the QP has its number.
 */
struct mrc_qp_base {
	refcount_t ref;
	u32 qpn;
	u8 state;
	bool sig_all;
	struct rhash_head node;
	struct mrc_dev *dev;
	struct ib_qp *ibqp;
	struct mrc_cq *scq;
	struct mrc_cq *rcq;
	struct mrc_srq *srq;
	struct completion released;
	struct rcu_head rcu;
};

/* @base, which is zero, gets its first reference; then what creation has. */
void mrc_qp_base_init(struct mrc_qp_base *base, struct mrc_dev *dev);
void mrc_qp_base_set(struct mrc_qp_base *base, struct ib_qp *ibqp,
		     const struct mrc_qp_parts *parts);

/* QP by number with a reference, NULL if there is none. Any context. */
struct mrc_qp_base *mrc_qp_base_get(u32 qpn);

/*
 * Likewise of @ibqp, NULL if it is being destroyed: netlink looks at QPs until after
 * destroy_qp.
 */
struct mrc_qp_base *mrc_qp_base_of(struct ib_qp *ibqp);

static inline bool mrc_qp_base_tryget(struct mrc_qp_base *base)
{
	return refcount_inc_not_zero(&base->ref);
}

/* Another reference for whoever has one. */
static inline void mrc_qp_base_hold(struct mrc_qp_base *base)
{
	refcount_inc(&base->ref);
}

static inline void mrc_qp_base_put(struct mrc_qp_base *base)
{
	if (refcount_dec_and_test(&base->ref))
		complete(&base->released);
}

/*
 * Give @base an unpredictable number that nobody has, @ud: one for datagrams, and let
 * packets find it; the reverse. Sleep. 0, -ENOSPC or another negative errno.
 */
int mrc_qp_base_publish(struct mrc_qp_base *base, bool ud);
void mrc_qp_base_unpublish(struct mrc_qp_base *base);

/* Call @fn, which does not sleep, for those of @dev that have such a number. */
void mrc_qp_base_for_each(struct mrc_dev *dev, bool ud,
			  void (*fn)(struct mrc_qp_base *base));

/* The table of numbers. 0 or -ENOMEM. */
int mrc_qp_base_table_init(void);
void mrc_qp_base_table_exit(void);

/* mrc_qp_verbs.c ------------------------------------------------------------*/

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
 * @rings: where the two of a live QP are
 * @post_send: the doorbell of the send ring; process context
 * @post_recv: that of the receive ring
 * @fill_res: fill in driver details for netlink, see mrc_fill_fn; may be NULL, and may
 *	be called until after @destroy
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
	void (*rings)(struct ib_qp *ibqp, struct mrc_ring **sq,
		      struct mrc_ring **rq);
	int (*post_send)(struct ib_qp *ibqp);
	int (*post_recv)(struct ib_qp *ibqp);
	int (*fill_res)(struct sk_buff *msg, struct ib_qp *ibqp, bool all);
};

/*
 * @kinds: by enum ib_qp_type, IB_QPT_MAX entries. Before there is any device. 0 or
 * -ENOMEM.
 */
int mrc_qp_verbs_init(const struct mrc_qp_kind *const *kinds);
void mrc_qp_verbs_exit(void);

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
			 IB_ACCESS_FLUSH_GLOBAL | MRC_ACCESS_PERSIST | \
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

extern const struct ib_device_ops mrc_qp_ops;

/* State of the packet path, as a hint. */
enum ib_qp_state mrc_qp_state(struct ib_qp *ibqp);

/*
 * There is something in the rings, or, of receives, something to flush. Process
 * context. 0 or a negative errno.
 */
int mrc_doorbell_send(struct ib_qp *ibqp);
int mrc_doorbell_recv(struct ib_qp *ibqp);

#endif /* MRC_QUEUE_H */
