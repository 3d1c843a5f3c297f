/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queues: rings shared with programs, completion queues, shared receive queues,
 * consumers in the kernel, and the common part of all kinds of queue pairs.
 */
#ifndef MRC_QUEUE_H
#define MRC_QUEUE_H

#include <linux/rhashtable-types.h>

#include "dev/mrc_dev.h"
#include "mem/mrc_mem.h"

/* mrc_ring.c: rings shared with user space ----------------------------------*/

/**
 * struct mrc_ring - kernel side of a shared ring
 * @entry: mmap entry, owns the pages through mmap_free. NULL for a ring that is not
 *	mapped, such as the rings of consumers in the kernel
 * @hdr: header, mapped by the program; its content is never trusted
 * @size: size of the mapping, bytes
 * @depth: number of entries, power of two
 * @stride: size of an entry, bytes
 * @idx: private copy of the counter that the kernel advances
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
 * mrc_ring_alloc() rounds @depth up to a power of two and fills in @info for mmap by
 * user space. Without @uctx the ring is not mapped, and @info is not used. Sleeps.
 * Return: 0 or a negative errno; nothing is allocated on failure.
 *
 * mrc_ring_free() may be called while the ring is mapped, or without a ring.
 */
int mrc_ring_alloc(struct mrc_ring *ring, struct ib_ucontext *uctx, u32 depth,
		   u32 stride, struct mrc_mmap_info *info);
void mrc_ring_free(struct mrc_ring *ring);
/* Copy @n entries starting at @first to index @at of @to. Both have the same stride. */
void mrc_ring_copy(struct mrc_ring *to, u32 at, const struct mrc_ring *from,
		   u32 first, u32 n);
/* Restore the state after mrc_ring_alloc(), except for the counter of the program. */
void mrc_ring_rewind(struct mrc_ring *ring);
int mrc_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void mrc_mmap_free(struct rdma_user_mmap_entry *entry);

/* All entries before @ring->idx have been read and may be reused by the producer. */
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
 * In completion rings that are not mapped, struct mrc_cqe.reserved is the port of
 * arrival of a datagram, and reserved2 is the ib_qp, or 0 if the QP has been destroyed
 * or reset.
 */

/*
 * For rings that the kernel consumes: number of entries that have been produced and not
 * consumed yet, 0..depth. -EINVAL if the producer counter in the header is invalid.
 */
int mrc_ring_pending(const struct mrc_ring *ring);

/* mrc_cq.c ------------------------------------------------------------------*/

/**
 * struct mrc_cq - completion queue
 * @ib: ib_core's part
 * @lock: protects @ring, @notify and @dead, see the lock order
 * @ring: produced by the kernel; @ring.idx = prod
 * @notify: IB_CQ_SOLICITED / IB_CQ_NEXT_COMP when armed, 0 otherwise
 * @dead: the CQ has overflowed and IB_EVENT_CQ_ERR was raised; entries are discarded
 * @poll_lock: (irq) serialises polling by consumers in the kernel; not nested with @lock
 * @resize: serialises resizing; a mutex, taken before @lock
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
 * @ibqp: QP of the completion, for consumers in the kernel
 * @cqe: the completion; this function fills in the timestamp
 * @solicited: wake up consumers that armed the CQ for solicited completions
 * @port: port to which an overflow is counted
 *
 * Softirq or process context. Calls the completion handler if the CQ is armed.
 *
 * Return: 0, or -ENOSPC if the ring has overflowed (the CQ error event is raised once).
 */
int mrc_cq_post(struct mrc_cq *cq, struct ib_qp *ibqp, struct mrc_cqe *cqe,
		bool solicited, u8 port);

/*
 * Hide the completions of @ibqp, which has been reset or destroyed and produces no more
 * of them. They must not be polled any more, because the consumer may free the objects
 * that their wr_id refers to. Only for consumers in the kernel; for programs the
 * provider library does this. Any context.
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
 * When a message of a QP needs a receive, the QP moves entries from the shared receive
 * queue into its own receive ring. From then on they are ordinary receives.
 */

/**
 * struct mrc_srq - shared receive queue
 * @ib: ib_core's part
 * @lock: (irq) protects @ring, @limit and @dead; taken inside rx.lock
 * @ring: produced by the program or the consumer in the kernel; @ring.idx = cons
 * @max_sge: maximum num_sge of an entry
 * @limit: IB_EVENT_SRQ_LIMIT_REACHED is raised when fewer entries remain, 0 = not armed
 * @holders: number of QPs that have taken entries and not used all of them
 * @dead: the producer counter was invalid and IB_EVENT_SRQ_ERR was raised
 * @resize: serialises resizing; a mutex, taken before @lock
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
 * Allocate @ring, the receive ring of a QP with an SRQ. Sleeps. Return: 0 or a negative
 * errno.
 */
int mrc_srq_attach(struct mrc_srq *srq, struct mrc_ring *ring);

/**
 * mrc_srq_take - take entries for a QP
 * @srq: the queue
 * @to: ring from mrc_srq_attach(); under the lock of the QP's receives
 * @n: number of entries that @to must contain, more than it contains now
 *
 * Takes either all missing entries or none. The entries then belong to the QP. The QP
 * calls mrc_srq_used() for each entry that it uses. Raises the events of the SRQ.
 *
 * Return: number of entries in @to, less than @n if the SRQ has too few; -EBUSY: the
 * entries are kept for other QPs (never for @n = 1); -EINVAL: the producer counter of the
 * SRQ is invalid.
 */
int mrc_srq_take(struct mrc_srq *srq, struct mrc_ring *to, u32 n);

/**
 * mrc_srq_used - a QP has used an entry that it took
 * @srq: the queue; NULL if the QP has no SRQ
 * @ring: receive ring of the QP, after @ring->idx was advanced; under the lock of the
 *	QP's receives
 */
void mrc_srq_used(struct mrc_srq *srq, const struct mrc_ring *ring);

/* A QP is reset: rewind its ring. The entries that it has taken are lost. */
void mrc_srq_reset_qp(struct mrc_srq *srq, struct mrc_ring *ring);

extern const struct ib_device_ops mrc_srq_ops;

/* mrc_kverbs.c: consumers in the kernel -------------------------------------*/

/**
 * struct mrc_kern - additional state of a QP whose consumer is in the kernel
 * @ibqp: the QP
 * @work: rings the doorbells that are pending in @kick
 * @kick: MRC_KICK_* bits
 * @sq_lock: (irq) serialises producers of the send ring
 * @rq_lock: (irq) serialises producers of the receive ring
 * @sq: send ring
 * @rq: receive ring; depth 0 = none
 * @max_send_sge: limit granted at creation
 * @max_recv_sge: limit granted at creation
 * @max_inline: limit granted at creation, bytes
 *
 * Work requests are written into the same kind of rings that programs map. A work item
 * rings the doorbell, because consumers may post with interrupts disabled, or while they
 * hold locks that their completion handlers take.
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

/* Sleeps. NULL: no memory. The caller sets the rings after it has created the QP. */
struct mrc_kern *mrc_kern_alloc(struct ib_qp *ibqp);

/* Cancel the work item; no work request is posted any more. Sleeps. @kern may be NULL. */
void mrc_kern_stop(struct mrc_kern *kern);

/* Any context. 0 or a negative errno; *@bad is the first work request refused. */
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
 * struct mrc_qp_params - parameters for the creation of a queue pair
 * @req: driver-specific request of the program; zero for a consumer in the kernel
 * @user: the consumer is a program
 * @dev: the device
 * @scq: CQ for send completions
 * @rcq: CQ for receive completions
 * @srq: SRQ, or NULL
 * @sig_all: every send WR is signalled
 * @cap: granted capabilities; with @srq, max_recv_sge is that of @srq
 * @sq: send ring
 * @rq: receive ring; depth 0 = none. With @srq: ring for entries taken from it
 */
struct mrc_qp_params {
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
 * struct mrc_qp_base - common part of all kinds of queue pairs
 * @ref: lookups hold a reference; other holders depend on the kind
 * @qpn: QPN, 24 bits
 * @state: enum ib_qp_state; written under the locks of both rings, read under either,
 *	or without lock as a hint
 * @sig_all: every send WR is signalled
 * @node: in the table of QPNs
 * @dev: the device
 * @ibqp: ib_core's part, valid until destroy returns
 * @scq: CQ for send completions
 * @rcq: CQ for receive completions
 * @srq: SRQ, or NULL
 * @released: completed when the last reference is dropped
 * @rcu: delayed free, because concurrent lookups may still read this struct
 *
 * All members but @ref and @state are constant once the QP has its number.
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

/*
 * mrc_qp_base_init() initialises @base, which must be zeroed, with one reference.
 * mrc_qp_base_set() sets the members that come from the creation parameters.
 */
void mrc_qp_base_init(struct mrc_qp_base *base, struct mrc_dev *dev);
void mrc_qp_base_set(struct mrc_qp_base *base, struct ib_qp *ibqp,
		     const struct mrc_qp_params *parts);

/* Find a QP by number. Takes a reference; NULL if not found. Any context. */
struct mrc_qp_base *mrc_qp_base_get(u32 qpn);

/*
 * The struct mrc_qp_base of @ibqp, with a reference. NULL if it is being destroyed:
 * netlink may access a QP until after destroy_qp has returned.
 */
struct mrc_qp_base *mrc_qp_base_of(struct ib_qp *ibqp);

static inline bool mrc_qp_base_tryget(struct mrc_qp_base *base)
{
	return refcount_inc_not_zero(&base->ref);
}

/* Take another reference. The caller must already have one. */
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
 * mrc_qp_base_publish() gives @base an unpredictable unused number and adds it to the
 * table, so that packets find it. @ud: choose from the numbers of UD and UC.
 * mrc_qp_base_unpublish() removes it. Both may sleep. Return: 0, -ENOSPC or another
 * negative errno.
 */
int mrc_qp_base_publish(struct mrc_qp_base *base, bool ud);
void mrc_qp_base_unpublish(struct mrc_qp_base *base);

/* Runs the work items of queue pairs. */
extern struct workqueue_struct *mrc_qp_wq;

/* The table of QPNs and the work queue. 0 or -ENOMEM. */
int mrc_qp_base_table_init(void);
void mrc_qp_base_table_exit(void);

/* mrc_qp_verbs.c ------------------------------------------------------------*/

/**
 * struct mrc_qp_kind - operations of a kind of queue pairs
 * @check: check the creation attributes. Of @parts only @req, @user and @dev are set.
 *	The checks common to all kinds have been done
 * @create: create the QP from @parts, publish it, and set its number. If it returns 0,
 *	the QP owns the rings. No later step of the creation can fail
 * @destroy: undo @create and free the rings
 * @modify: as the verb
 * @query: fill in @attr, which is zeroed, except for the caps. Returns false if the QP
 *	is being destroyed: netlink may query a QP until after that
 * @rings: get the rings of a live QP
 * @post_send: doorbell of the send ring; process context
 * @post_recv: doorbell of the receive ring; process context
 * @fill_res: fill in driver details for netlink, see mrc_fill_fn; may be NULL. May be
 *	called until after @destroy
 *
 * All callbacks except @check, @query and @fill_res are called between @create and the
 * end of @destroy. All may sleep. Those that return an int return 0 or a negative errno.
 */
struct mrc_qp_kind {
	int (*check)(const struct ib_qp_init_attr *init,
		     const struct mrc_qp_params *parts);
	int (*create)(struct ib_qp *ibqp, const struct ib_qp_init_attr *init,
		      const struct mrc_qp_params *parts);
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
 * @kinds: indexed by enum ib_qp_type, IB_QPT_MAX entries. Called before any device is
 * created. 0 or -ENOMEM.
 */
int mrc_qp_verbs_init(const struct mrc_qp_kind *const *kinds);
void mrc_qp_verbs_exit(void);

/*
 * Report an asynchronous event of a QP that has not been destroyed. No lock may be held
 * except a mutex.
 */
void mrc_qp_report(struct ib_qp *ibqp, int event);

/*
 * mrc_qp_modify_to() returns the enum ib_qp_state to which a modify_qp in state @cur
 * leads, or -EINVAL. mrc_qp_check_port_pkey() checks the port number and the P_Key index of
 * a modify_qp: 0 or -EINVAL.
 */
int mrc_qp_modify_to(const struct ib_qp *ibqp, enum ib_qp_state cur,
		     const struct ib_qp_attr *attr, int mask);
int mrc_qp_check_port_pkey(const struct mrc_dev *dev,
			   const struct ib_qp_attr *attr, int mask);

/*
 * Access flags that connected QPs accept. IB_ACCESS_ON_DEMAND has no effect here, but
 * programs pass the flags of their regions. UC supports only writes, but the connection
 * manager sets all flags.
 */
#define MRC_QP_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_FLUSH_GLOBAL | MRC_ACCESS_PERSIST | \
			 IB_ACCESS_ON_DEMAND)

/*
 * Check the attributes of a modify_qp that describe the peer: QPN, path MTU, address.
 * @port: port of the QP. 0 or -EINVAL.
 */
int mrc_qp_check_peer(const struct mrc_port *port,
		      const struct ib_qp_attr *attr, int mask);

/* Entries that are flushed at a time, because soft interrupts are off meanwhile. */
#define MRC_FLUSH_MAX	1024

/*
 * Complete up to MRC_FLUSH_MAX entries of a send or receive ring as flushed. @srq: SRQ from
 * which the entries were taken, or NULL. @opcode: opcode of all completions. Under the lock
 * of the ring. Return: true if there are more.
 */
bool mrc_qp_flush_ring(struct ib_qp *ibqp, struct mrc_ring *ring,
		       struct mrc_srq *srq, struct mrc_cq *cq,
		       enum ib_wc_opcode opcode, u8 port);

/*
 * Request that the consumer rings the doorbell of @rq when it posts. Under the lock of
 * the ring.
 */
void mrc_qp_request_kick(struct mrc_ring *rq);

extern const struct ib_device_ops mrc_qp_ops;

/* Current state of the QP, read without a lock as a hint. */
enum ib_qp_state mrc_qp_state(struct ib_qp *ibqp);

/*
 * Doorbells: the send ring has new entries; the receive ring has entries to flush.
 * Process context. 0 or a negative errno.
 */
int mrc_doorbell_send(struct ib_qp *ibqp);
int mrc_doorbell_recv(struct ib_qp *ibqp);

#endif /* MRC_QUEUE_H */
