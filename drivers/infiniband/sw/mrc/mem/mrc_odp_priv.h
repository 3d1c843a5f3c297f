/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Regions that are paged on demand: what the files of it share. For others: mrc_mem.h.
 *
 * mrc_odp.c opens and closes regions. mrc_odp_access.c asks whether the pages of an
 * access are present. mrc_odp_fetch.c fetches those that are not. mrc_odp_pages.c keeps
 * the table of the pages. mrc_odp_prog.c decides how many regions of a program are
 * fetched at a time. mrc_odp_pool.c has the workers of a device. mrc_odp_wait.c wakes
 * those that wait for pages. Each file calls only those named after it.
 */
#ifndef MRC_ODP_PRIV_H
#define MRC_ODP_PRIV_H

#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/workqueue.h>
#include <rdma/ib_umem_odp.h>

#include "mrc_mr.h"

enum {
	MRC_ODP_RANGES	= 16,	/* requested ranges that wait to be fetched */
	MRC_ODP_CHUNK	= 64,	/* pages fetched in one go */
	MRC_ODP_TURN	= 1024,	/* pages fetched before other regions have their turn */
	MRC_ODP_SWEEP	= 1024,	/* entries cleared per lock hold */
	MRC_ODP_FAILS	= 16,	/* latest failures that are remembered */
	MRC_ODP_WORKERS	= 16,	/* regions of one program that are fetched at a time */
	MRC_ODP_POOL	= 512,	/* those of all programs of a device */
};

/*
 * Lower bits of an entry; the bits above hold the page frame number. A page that was
 * written is marked dirty when it is released, because no page table records the write.
 * The RDMA core does that only for devices with DMA.
 */
#define MRC_ODP_VALID	1ul	/* the page is present */
#define MRC_ODP_WRITE	2ul	/* and may be written */
#define MRC_ODP_DIRTY	4ul	/* and was written, or is about to be */
#define MRC_ODP_SHIFT	3
#define MRC_ODP_DIRTY_BIT	2

/**
 * struct mrc_odp_range - a range of pages that was requested, or that failed
 * @first: first page
 * @last: last page, included
 * @who: QPN of the requesting QP, 0 = no QP
 * @write: for writing
 * @at: time of the failure, jiffies
 *
 * A failure is reported once, to the QP that made the request, and to no other: the
 * memory may exist when another QP needs it.
 */
struct mrc_odp_range {
	unsigned long first;
	unsigned long last;
	u32 who;
	bool write;
	unsigned long at;
};

struct mrc_odp_pool;
struct mrc_odp_prog;

/**
 * struct mrc_odp - memory of a paged region
 * @ref: one for each region, one while @fetching, and one for each advice
 * @regions: regions only; when it is 0 no more pages are fetched
 * @dev: the device, with a reference to its memory
 * @umem: the RDMA core's part
 * @pages: (bh) read: pages stay in place; write: pages are added or removed. Readers may
 *	take it recursively, because they always run with bottom halves disabled
 * @entry: pages, @n of them. Written under @pages, and under umem_mutex except for DIRTY
 * @n: pages
 * @lock: (bh, leaf) protects the members down to @since
 * @want: requested pages, @n_want ranges
 * @n_want: entries of @want
 * @fail: pages that could not be fetched, a ring of @n_fail entries
 * @fail_next: index of the next entry to write, the oldest one when the ring is full
 * @n_fail: valid entries of @fail
 * @since: time (ns) of the last page arrival while requests are pending, or of the
 *	first request; 0 = no request is pending
 * @work: fetches the pages
 * @pool: the workers of the device
 * @prog: the program whose memory it is
 * @node: in @prog's list while @work waits for others of the program
 * @fetching: @work runs, is queued, or waits; under @prog's lock
 * @rcu: delayed free, for readers of the totals
 * @faults: pages fetched for an access
 * @invalidations: pages taken back
 * @prefetched: pages fetched because a program called advise_mr
 */
struct mrc_odp {
	refcount_t ref;
	atomic_t regions;
	struct mrc_dev *dev;
	struct ib_umem_odp *umem;
	rwlock_t pages;
	unsigned long *entry;
	unsigned long n;
	spinlock_t lock;	/* leaf */
	u32 n_want;
	struct mrc_odp_range want[MRC_ODP_RANGES];
	struct mrc_odp_range fail[MRC_ODP_FAILS];
	u32 fail_next;
	u32 n_fail;
	u64 since;
	struct work_struct work;
	struct mrc_odp_pool *pool;
	struct mrc_odp_prog *prog;
	struct list_head node;
	bool fetching;
	struct rcu_head rcu;
	atomic64_t faults;
	atomic64_t invalidations;
	atomic64_t prefetched;
};

/* mrc_odp_wait.c: waiters of a device ---------------------------------------*/

/* Pages may have come: call all waiters. */
void mrc_odp_wake(struct mrc_odp_dev *odev);

/* mrc_odp_pool.c: the workers of a device -----------------------------------*/

/* Those of @odev, with a reference, or ERR_PTR(-ENOMEM). Sleeps. */
struct mrc_odp_pool *mrc_odp_pool_get(struct mrc_odp_dev *odev);

/* @pool may be NULL. Does not sleep, and may be called by a work item of @pool. */
void mrc_odp_pool_put(struct mrc_odp_pool *pool);

void mrc_odp_pool_queue(struct mrc_odp_pool *pool, struct work_struct *work);

/* mrc_odp_prog.c: how many regions of a program are fetched at a time ---------*/

/*
 * get: the calling program, or ERR_PTR(-ENOMEM). put: @prog may be NULL; before the
 * memory's struct ib_umem_odp is released. Both sleep.
 */
struct mrc_odp_prog *mrc_odp_prog_get(void);
void mrc_odp_prog_put(struct mrc_odp_prog *prog);

/*
 * There are requests: have @odp->work run, now or when it is its turn. Does not sleep. Not
 * in hard interrupts.
 */
void mrc_odp_start(struct mrc_odp *odp);

/*
 * The turn of @odp->work is over; that of another region begins. True: nobody needs more
 * pages, and the caller drops the reference of @odp->fetching. False: there are requests,
 * the work runs again; the caller does not touch @odp any more.
 */
bool mrc_odp_finish(struct mrc_odp *odp);

/*
 * Take @odp off the list of those that wait. True: it was on it, and the caller drops the
 * reference of @odp->fetching.
 */
bool mrc_odp_forget(struct mrc_odp *odp);

/* mrc_odp_pages.c: the table of pages ------------------------------------------*/

extern const struct mmu_interval_notifier_ops mrc_odp_mn_ops;

/*
 * Find @n pages from @first on, and with @fetch get those that are not present. Returns
 * the number of pages that are now in the table, or a negative errno. Sleeps.
 */
long mrc_odp_map(struct mrc_odp *odp, unsigned long first, unsigned long n, bool write,
		 bool fetch);

/* Drop a reference; the last one frees. Sleeps. */
void mrc_odp_put(struct mrc_odp *odp);

/* mrc_odp_fetch.c: requests for pages --------------------------------------------*/

void mrc_odp_work(struct work_struct *work);

/*
 * Request pages. If there is no room, the caller asks again later. Returns the time
 * (ns) since which no page has arrived for the waiters. The caller has a reference.
 */
u64 mrc_odp_request(struct mrc_odp *odp, unsigned long first, unsigned long last,
		    bool write, u32 who);

/* Did a request by @who for one of these pages fail? Each failure is reported once. */
bool mrc_odp_failed(struct mrc_odp *odp, unsigned long first, unsigned long last,
		    bool write, u32 who);

/*
 * Fetch a range, and add the pages to @count. A page that cannot be fetched does not
 * prevent others from arriving. Returns 0 or the errno of the last failure. Sleeps.
 */
int mrc_odp_fetch(struct mrc_odp *odp, const struct mrc_odp_range *w, atomic64_t *count);

#endif
