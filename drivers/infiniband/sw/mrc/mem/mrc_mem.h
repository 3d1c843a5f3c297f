/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that keys give access to: regions and windows, pinned or paged on demand.
 *
 * Every key leads to a struct mrc_mr, found under RCU in the device's table by
 * the upper 24 bits of the key. What it says (protection domain, range, pages,
 * permissions) does not change as long as anybody holds a reference:
 *
 * - Regions of programs and the DMA region live from registration to
 *   deregistration. Re-registration puts another struct in the place of the
 *   first one: a packet sees either all of the old or all of the new region.
 * - Windows and regions for fast registration live many times. Each life, from
 *   bind or registration to invalidation, has its own reference, which
 *   invalidation drops. From then on nobody gets another one, but the life
 *   ends with the last, and not before that can the next one begin.
 *
 * Revocation is complete when the life has ended. Whoever invalidates is told
 * to come back (-EAGAIN) until then, and reports its own completion only
 * afterwards, because the owner of the memory may take that for the permission
 * to use it for something else. References are held for the copying of one
 * packet, so this is a matter of microseconds, but nobody spins: on PREEMPT_RT
 * the holder may be preempted.
 */
#ifndef MRC_MEM_H
#define MRC_MEM_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "dev/mrc_dev.h"

struct mrc_mr;
struct mrc_odp;
struct mrc_send_wqe;
struct mrc_sge;
struct sk_buff;

/* mrc_odp.c: on-demand paging -----------------------------------------------*/

/*
 * Regions whose pages are fetched when they are needed (on-demand paging).
 *
 * The packet path cannot sleep, so it never fetches a page: it finds out whether
 * all pages of an access are there, and if not, a work item fetches them and
 * whoever waits comes back. Who cannot wait (a packet that arrives) is refused
 * as if it had not arrived.
 *
 * A page that is there stays there as long as dev->odp.lock is held for reading:
 * the kernel takes pages back under the same lock, held for writing. So the
 * question and the access go under one hold, and nobody sleeps in between.
 */

/**
 * struct mrc_odp_waiter - somebody who goes on when pages have come
 * @node: in the device's list
 * @wake: called once for each wait, with no lock held; owns the reference that
 *	the waiter took for it
 */
struct mrc_odp_waiter {
	struct list_head node;
	void (*wake)(struct mrc_odp_waiter *w);
};

/* struct mrc_odp_stat - totals of one region, pages */
struct mrc_odp_stat {
	u64 faults;
	u64 invalidations;
	u64 prefetched;
};

#ifdef CONFIG_INFINIBAND_MRC_ODP

/**
 * mrc_odp_open - give a new region the memory at @start
 * @dev: the device
 * @mr: with length (not 0) and access; gets @mr->odp, offset and n_pages
 * @start: address in the calling process
 *
 * Sleeps. What is mapped already is used at once, nothing is fetched.
 *
 * Return: 0 or a negative errno; -EOPNOTSUPP for all of the address space.
 */
int mrc_odp_open(struct mrc_dev *dev, struct mrc_mr *mr, u64 start);

/*
 * A second region with the same memory; the end of a region that nobody accesses
 * any more. A page that is just being fetched may make the rest of the end come
 * later, so that nobody waits for a program that serves its own page faults.
 * close: sleeps, @odp may be NULL.
 */
struct mrc_odp *mrc_odp_share(struct mrc_odp *odp);
void mrc_odp_close(struct mrc_odp *odp);

/**
 * mrc_odp_check - are the pages of an access there?
 * @mr: paged, with a reference
 * @va: first byte, bounds were checked
 * @len: bytes, not 0
 * @write: they are to be written
 * @who: number of the QP that asks, to be told when it was in vain
 * @since: lowered, with -EAGAIN, to when a page has last come for those who wait
 *	for this memory, ns; or NULL
 *
 * Under dev->odp.lock. What failed longer ago than a second, or for another QP, is
 * tried anew.
 *
 * Return: 0; -EAGAIN: they are fetched; -EFAULT: the program has no such memory, or
 * none that may be accessed so.
 */
int mrc_odp_check(const struct mrc_mr *mr, u64 va, u64 len, bool write,
		  u32 who, u64 *since);

/*
 * The same for one access: with 0 the pages stay until end. Waits for nothing.
 */
int mrc_odp_begin(const struct mrc_mr *mr, u64 va, u64 len, bool write,
		  u32 who);
void mrc_odp_end(const struct mrc_mr *mr);

/* The page with index @i, which mrc_odp_check() found. */
struct page *mrc_odp_page(const struct mrc_odp *odp, unsigned long i);

void mrc_odp_stat(const struct mrc_odp *odp, struct mrc_odp_stat *stat);

int mrc_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		  u32 flags, struct ib_sge *sg, u32 n,
		  struct uverbs_attr_bundle *attrs);

/* Have @work run among those that fetch pages; false: it is queued already. */
bool mrc_odp_queue(struct work_struct *work);

int mrc_odp_init(void);		/* module: work queue */
void mrc_odp_exit(void);	/* waits for the pages that are being fetched */

/* What query_device says of it. @ext: with the extension. */
void mrc_odp_query(struct ib_device_attr *attr, bool ext);

void mrc_odp_dev_init(struct mrc_odp_dev *odev);

/**
 * mrc_odp_ready - may memory that a list names be accessed now?
 * @dev: the device, under dev->odp.lock
 * @pd: of the keys
 * @sge: list
 * @n: its length
 * @at: where in the message the access starts
 * @len: bytes; what is beyond the list's end does not count
 * @write: to be written
 * @who: number of the QP that asks
 * @since: as mrc_odp_check()
 *
 * Return: 0: yes, or it is an error that shows when it is tried; -EAGAIN: pages
 * are fetched.
 */
int mrc_odp_ready(struct mrc_dev *dev, const struct ib_pd *pd,
		  const struct mrc_sge *sge, u32 n, u64 at, u32 len,
		  bool write, u32 who, u64 *since);

/**
 * mrc_odp_wait - have @w woken up when pages have come
 * @odev: of the device
 * @w: the caller took a reference for it
 * @seq: mrc_odp_seq() of before the question
 *
 * Any context.
 *
 * Return: 0; -EALREADY: it waits already, the reference is too much;
 * -EAGAIN: something has come meanwhile, the caller calls @w->wake.
 */
int mrc_odp_wait(struct mrc_odp_dev *odev, struct mrc_odp_waiter *w, u32 seq);

/* Wait no more. Return: whether it did; then the reference is the caller's. */
bool mrc_odp_unwait(struct mrc_odp_dev *odev, struct mrc_odp_waiter *w);

#else /* CONFIG_INFINIBAND_MRC_ODP */

static inline int mrc_odp_open(struct mrc_dev *dev, struct mrc_mr *mr,
			       u64 start)
{
	return -EOPNOTSUPP;
}

static inline struct mrc_odp *mrc_odp_share(struct mrc_odp *odp)
{
	return odp;
}

static inline void mrc_odp_close(struct mrc_odp *odp)
{
}

static inline int mrc_odp_check(const struct mrc_mr *mr, u64 va, u64 len,
				bool write, u32 who, u64 *since)
{
	return -EFAULT;
}

static inline int mrc_odp_begin(const struct mrc_mr *mr, u64 va, u64 len,
				bool write, u32 who)
{
	return -EFAULT;
}

static inline void mrc_odp_end(const struct mrc_mr *mr)
{
}

static inline struct page *mrc_odp_page(const struct mrc_odp *odp,
					unsigned long i)
{
	return NULL;
}

static inline void mrc_odp_stat(const struct mrc_odp *odp,
				struct mrc_odp_stat *stat)
{
}

static inline bool mrc_odp_queue(struct work_struct *work)
{
	return false;
}

static inline int mrc_odp_init(void)
{
	return 0;
}

static inline void mrc_odp_exit(void)
{
}

static inline void mrc_odp_query(struct ib_device_attr *attr, bool ext)
{
}

static inline void mrc_odp_dev_init(struct mrc_odp_dev *odev)
{
	rwlock_init(&odev->lock);
}

static inline int mrc_odp_ready(struct mrc_dev *dev, const struct ib_pd *pd,
				const struct mrc_sge *sge, u32 n, u64 at,
				u32 len, bool write, u32 who, u64 *since)
{
	return 0;
}

static inline int mrc_odp_wait(struct mrc_odp_dev *odev,
			       struct mrc_odp_waiter *w, u32 seq)
{
	return -EAGAIN;
}

static inline bool mrc_odp_unwait(struct mrc_odp_dev *odev,
				  struct mrc_odp_waiter *w)
{
	return false;
}

#endif /* CONFIG_INFINIBAND_MRC_ODP */

/* Is there any paged region? A change is seen by packets that arrive later. */
static inline bool mrc_odp_any(const struct mrc_odp_dev *odev)
{
	return atomic_read(&odev->n);
}

/* To be read before the question whose answer may be -EAGAIN. */
static inline u32 mrc_odp_seq(const struct mrc_odp_dev *odev)
{
	return READ_ONCE(odev->seq);
}

/* Keys ----------------------------------------------------------------------*/

enum {
	MRC_MAX_FAST_PAGES	= 512,	/* per fast registration */
	MRC_FAST_PAGE_SHIFT	= 12,	/* smallest page of one */
};

/*
 * Programs give it to queue pairs, whatever the device has. No memory can be
 * registered with it, and no flush of that kind succeeds.
 */
#define MRC_ACCESS_PERSIST	BIT(9)

enum mrc_mr_kind {
	MRC_MR_USER,		/* of a program */
	MRC_MR_DMA,		/* all kernel memory, by kernel address */
	MRC_MR_FAST,		/* IB_MR_TYPE_MEM_REG */
	MRC_MR_WINDOW_1,
	MRC_MR_WINDOW_2,	/* 2B: belongs to a PD and a QP */
};

/* Of kinds that live many times. */
enum mrc_mr_state {
	MRC_MR_FREE,
	MRC_MR_VALID,
	MRC_MR_REVOKED,		/* somebody still copies */
};

/**
 * struct mrc_mr - what a key gives access to
 * @kind: enum mrc_mr_kind
 * @state: enum mrc_mr_state, of kinds with many lives; written under @lock, read
 *	with a reference as a hint (a revocation that comes later is as good)
 * @gone: deregistered, no life begins any more; under @lock
 * @lock: (bh, leaf) change of @state, and what goes with it
 * @ref: the life itself and lookups hold one each; 0 while FREE
 * @released: completed with the last reference, pending while there is none
 * @rcu: readers may still look at it after the last put
 * @pd: protection domain
 * @key: local and remote; its index is constant. Of the last life where there
 *	is none now
 * @access: IB_ACCESS_*
 * @iova: address of the first byte as those who use the key say it
 * @length: bytes
 * @offset: of @iova behind the start of the first page
 * @page_shift: size of a page of @kva
 * @n_pages: entries of @pages or @kva
 * @pages: programs' memory, also that below a window; owned by the region
 * @kva: kernel addresses of the pages of a fast registration
 * @odp: instead of @pages where they come on demand; of a window that of its
 *	region
 * @n_windows: bound to this region; negative: it takes none any more
 * @parent: region that the window is bound to
 * @qp_id: QP that the type 2 window belongs to, see mrc_mw.c
 * @fast: region for fast registration that this is the state of
 */
struct mrc_mr {
	u8 kind;
	u8 state;
	bool gone;
	spinlock_t lock;	/* leaf */
	refcount_t ref;
	struct completion released;
	struct rcu_head rcu;

	const struct ib_pd *pd;
	u32 key;
	int access;
	u64 iova;
	u64 length;
	u64 offset;
	u8 page_shift;
	unsigned long n_pages;
	union {
		struct page **pages;
		u64 *kva;
	};
	struct mrc_odp *odp;
	atomic_t n_windows;

	struct mrc_mr *parent;
	u64 qp_id;
	struct mrc_ibmr *fast;
};

/**
 * struct mrc_ibmr - ib_core's part of a region
 * @ib: lkey == rkey, unpredictable
 * @mr: the rest; changed by re-registration, so read under RCU by those who
 *	do not hold the region
 * @umem: pinned memory of a program, NULL for the zero-length MR
 * @max_pages: bound of @n_staged
 * @n_staged: pages of @staged
 * @staged: what map_mr_sg mapped, for the registration to come
 */
struct mrc_ibmr {
	struct ib_mr ib;
	struct mrc_mr *mr;
	struct ib_umem *umem;
	u32 max_pages;
	u32 n_staged;
	u64 *staged;
};

static inline struct mrc_ibmr *to_mibmr(struct ib_mr *ib)
{
	return container_of(ib, struct mrc_ibmr, ib);
}

/* struct mrc_ibmw - ib_core's part of a window */
struct mrc_ibmw {
	struct ib_mw ib;
	struct mrc_mr *mr;
};

/**
 * struct mrc_local - a work request that changes what keys mean
 * @op: IB_WR_LOCAL_INV, IB_WR_REG_MR or IB_WR_BIND_MW
 * @key: to invalidate, or that there will be
 * @lkey: region that the window is bound to
 * @access: IB_ACCESS_*
 * @addr: first byte of the window
 * @len: bytes of the window, 0 = unbind
 */
struct mrc_local {
	u32 op;
	u32 key;
	u32 lkey;
	int access;
	u64 addr;
	u64 len;
};

/* mrc_mr.c ------------------------------------------------------------------*/

/**
 * mrc_mr_get - find memory by key
 * @ibqp: on whose behalf; its PD and, for type 2 windows, the QP itself must be
 *	the memory's
 * @key: local or remote
 * @va: first byte
 * @len: bytes; at most a packet's with the DMA region and remote access
 * @access: IB_ACCESS_*, all needed. Windows are open to remote access only
 *
 * Any context, waits for nothing. Overflow-safe.
 *
 * Return: the memory with a reference, for the length of a packet;
 * ERR_PTR(-EINVAL) unknown key, or not that of @ibqp, -EACCES no permission,
 * -ERANGE out of bounds.
 */
struct mrc_mr *mrc_mr_get(struct ib_qp *ibqp, u32 key, u64 va, u64 len,
			  int access);
void mrc_mr_put(struct mrc_mr *mr);

/* The same for what concerns all of the memory, whatever its range. */
struct mrc_mr *mrc_mr_get_all(struct ib_qp *ibqp, u32 key, int access);

/* The same without a QP, for local access only. */
struct mrc_mr *mrc_mr_get_local(struct mrc_dev *dev, const struct ib_pd *pd,
				u32 key, u64 va, u64 len, int access);

/* For a peer of a QP that cannot have windows of type 2. */
struct mrc_mr *mrc_mr_get_remote(struct mrc_dev *dev, const struct ib_pd *pd,
				 u32 key, u64 va, u64 len, int access);

/**
 * mrc_mr_open - begin to access memory
 * @mr: with a reference
 * @va: first byte, bounds were checked
 * @len: bytes
 * @write: they are to be written
 * @who: number of the QP that asks, 0 where the question was asked before
 *
 * Any context. Only memory that is paged can say something else than 0.
 *
 * Return: 0: the memory is there until mrc_mr_close(), no sleep in between;
 * -EAGAIN: its pages are fetched; -EFAULT: the program has no such memory.
 */
static inline int mrc_mr_open(const struct mrc_mr *mr, u64 va, u64 len,
			      bool write, u32 who)
{
	return mr->odp && len ? mrc_odp_begin(mr, va, len, write, who) : 0;
}

static inline void mrc_mr_close(const struct mrc_mr *mr, u64 len)
{
	if (mr->odp && len)
		mrc_odp_end(mr);
}

/*
 * For what cannot wait until memory is fetched, UC: paged memory is refused, and
 * the reference dropped. @mr: what a lookup returned, as is the result.
 */
static inline struct mrc_mr *mrc_mr_pinned(struct mrc_mr *mr)
{
	if (IS_ERR(mr) || !mr->odp)
		return mr;
	mrc_mr_put(mr);
	return ERR_PTR(-EOPNOTSUPP);
}

/*
 * Page and offset of @va, and how many bytes follow in that page; between open
 * and close.
 */
struct page *mrc_mr_page(const struct mrc_mr *mr, u64 va, u32 *off, u32 *room);

/* What query_device says of memory. */
void mrc_mr_query(struct ib_device_attr *attr, bool ext);

extern const struct ib_device_ops mrc_mr_ops;

/* mrc_mr_copy.c -------------------------------------------------------------*/

/*
 * Copy @len bytes at @off of @skb to @va, computing nothing else. Bounds were
 * checked by mrc_mr_get(). 0, -EFAULT, or -EAGAIN as mrc_mr_open().
 */
int mrc_mr_copy_from_skb(struct mrc_mr *mr, u64 va, const struct sk_buff *skb,
			 int off, u32 len);

/* mrc_local.c ---------------------------------------------------------------*/

/**
 * mrc_local_wqe - what an entry of a send ring asks for
 * @h: copy of the entry, whose opcode is LOCAL_INV, BIND_MW or, of a consumer in
 *	the kernel, REG_MR (rkey = key, swap = access)
 * @op: result
 *
 * Return: 0, -EINVAL for an entry that makes no sense (LOC_QP_OP_ERR).
 */
int mrc_local_wqe(const struct mrc_send_wqe *h, struct mrc_local *op);

/**
 * mrc_local_op - execute a local operation
 * @ibqp: whose; under the lock of its send queue
 * @op: what it asks for
 *
 * Return: 0; -EAGAIN: the key that is to end is revoked, but accesses that
 * began before are not through: call again from the work item, the work request
 * is not done; any other errno: the work request fails with IB_WC_MW_BIND_ERR,
 * which is the "memory management operation error" of the IB specification, and
 * changed nothing.
 */
int mrc_local_op(struct ib_qp *ibqp, const struct mrc_local *op);

/**
 * mrc_mr_invalidate - end what a key gives access to
 * @ibqp: whose; under the lock of its send queue (LOCAL_INV) or of its receives
 *	(SEND with invalidate)
 * @key: of a fast registration, or of a type 2 window that belongs to @ibqp.
 *	Neither programs' regions nor type 1 windows can be invalidated
 *
 * When this returns, no access begins any more. Does nothing with a key that
 * is invalid already.
 *
 * Return: 0: nobody accesses it any more either; -EAGAIN: accesses that began
 * before are not through: call again, and tell nobody that it is invalid before
 * that returned 0; -EINVAL: no such key, or not for @ibqp to invalidate.
 */
int mrc_mr_invalidate(struct ib_qp *ibqp, u32 key);

#endif /* MRC_MEM_H */
