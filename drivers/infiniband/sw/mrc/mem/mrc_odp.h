/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Regions whose pages are fetched when they are needed (on-demand paging).
 *
 * The packet path cannot sleep, so it never fetches a page: it finds out whether
 * all pages of an access are there, and if not, a work item fetches them and
 * whoever waits comes back. Who cannot wait (a packet that arrives) is refused
 * as if it had not arrived.
 *
 * A page that is there stays there as long as dev->odp_lock is held for reading:
 * the kernel takes pages back under the same lock, held for writing. So the
 * question and the access go under one hold, and nobody sleeps in between.
 */
#ifndef MRC_ODP_H
#define MRC_ODP_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

struct mrc_dev;
struct mrc_mr;
struct mrc_odp;
struct mrc_sge;

/**
 * struct mrc_odp_dev - what a device has for paging
 * @lock: (bh) read: pages stay; write: pages come and go. Readers may hold it
 *	twice, because they always have bottom halves disabled
 * @n: regions that are paged; while it is 0 no packet looks further
 * @wait_lock: (bh, leaf) of the following
 * @seq: bumped when pages may have come
 * @waiters: struct mrc_odp_waiter
 */
struct mrc_odp_dev {
	rwlock_t lock;
	atomic_t n;
	spinlock_t wait_lock;	/* leaf */
	u32 seq;
	struct list_head waiters;
};

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

/* What the kernel offers: headers that fit, and the option. */
#if defined(HAVE_UMEM_ODP_MAP) && \
	IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)
#define MRC_ODP
#endif

/* struct mrc_odp_stat - totals of one region, pages */
struct mrc_odp_stat {
	u64 faults;
	u64 invalidations;
	u64 prefetched;
};

#ifdef MRC_ODP

/**
 * mrc_odp_open - give a new region the memory at @start
 * @dev: the device
 * @mr: with length (not 0) and access; gets @mr->odp, offset and n_pages
 * @start: address in the calling process
 *
 * Sleeps. What is mapped already is used at once, nothing is fetched. Return: 0
 * or a negative errno; -EOPNOTSUPP for all of the address space.
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
 * Under odp_lock. Return: 0; -EAGAIN: they are fetched; -EFAULT: the program has
 * no such memory, or none that may be accessed so. What failed longer ago than a
 * second, or for another QP, is tried anew.
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

#else

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

#endif

/* What query_device says of it. @ext: with the extension. */
void mrc_odp_query(struct ib_device_attr *attr, bool ext);

void mrc_odp_dev_init(struct mrc_odp_dev *odev);

/* Is there any paged region? A change is seen by packets that arrive later. */
static inline bool mrc_odp_any(const struct mrc_odp_dev *odev)
{
	return atomic_read(&odev->n);
}

/**
 * mrc_odp_ready - may memory that a list names be accessed now?
 * @dev: the device, under odp_lock
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

/* To be read before the question whose answer may be -EAGAIN. */
static inline u32 mrc_odp_seq(const struct mrc_odp_dev *odev)
{
	return READ_ONCE(odev->seq);
}

/**
 * mrc_odp_wait - have @w woken up when pages have come
 * @odev: of the device
 * @w: the caller took a reference for it
 * @seq: mrc_odp_seq() of before the question
 *
 * Any context. Return: 0; -EALREADY: it waits already, the reference is too much;
 * -EAGAIN: something has come meanwhile, the caller calls @w->wake.
 */
int mrc_odp_wait(struct mrc_odp_dev *odev, struct mrc_odp_waiter *w, u32 seq);

/* Wait no more. Return: whether it did; then the reference is the caller's. */
bool mrc_odp_unwait(struct mrc_odp_dev *odev, struct mrc_odp_waiter *w);

#endif /* MRC_ODP_H */
