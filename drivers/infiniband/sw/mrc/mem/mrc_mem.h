/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that keys give access to: regions and windows, pinned or paged on demand.
 *
 * Every key leads to a struct mrc_mr. It is looked up under RCU in the device's table,
 * by the upper 24 bits of the key. Its protection domain, range, pages and permissions
 * do not change while a reference is held:
 *
 * - Regions of programs and the DMA region have one life, from registration to
 *   deregistration. Re-registration replaces the struct by a new one: a packet sees
 *   either all of the old region or all of the new one.
 * - Windows and regions for fast registration have many lives. Each life lasts from
 *   bind or registration to invalidation and has its own reference, which invalidation
 *   drops. After that no new reference can be taken. The life ends when the last
 *   reference is dropped; only then can the next life begin.
 *
 * Revocation is complete when the life has ended. Until then the caller that
 * invalidates gets -EAGAIN and has to try again. It reports its own completion only
 * after the end, because the owner of the memory may then use the memory for something
 * else. References are held while one packet is copied, so this takes microseconds.
 * Nevertheless nobody spins: on PREEMPT_RT the holder may be preempted.
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

/* mrc_odp*.c: on-demand paging ----------------------------------------------*/

/*
 * Regions whose pages are fetched when a packet needs them (on-demand paging).
 *
 * The packet path cannot sleep, so it never fetches a page. It checks whether all pages
 * of an access are present. If not, a work item fetches them, and the waiter tries
 * again later. An arriving packet cannot wait; it is refused as if it had not arrived.
 *
 * A present page stays as long as a lock of its region is held for reading: the kernel
 * takes pages back under the same lock, held for writing. So the check and the access
 * are made under one hold of the lock, without sleeping in between. A program whose
 * pages come and go delays only the packets that access the same region.
 */

/**
 * struct mrc_odp_hold - regions whose present pages stay
 * @n: valid entries of @odp
 * @odp: each one is locked once
 *
 * From mrc_odp_hold_init() to mrc_odp_release() the caller does not sleep and keeps
 * bottom halves disabled. One hold covers one region or one list of SGEs.
 */
struct mrc_odp_hold {
	u32 n;
	struct mrc_odp *odp[MRC_MAX_SGE];
};

static inline void mrc_odp_hold_init(struct mrc_odp_hold *hold)
{
	hold->n = 0;
}

/**
 * struct mrc_odp_waiter - waits for pages to arrive
 * @node: in the device's list
 * @wake: called once for each wait, with no lock held; consumes the reference that was
 *	taken for the wait
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
 * mrc_odp_open - attach the memory at @start to a new region
 * @dev: the device
 * @mr: with length (not 0) and access set; gets @mr->odp, offset and n_pages
 * @start: address in the calling process
 *
 * Sleeps. Uses pages that are mapped already; fetches none.
 *
 * Return: 0 or a negative errno; -EOPNOTSUPP for the whole address space (implicit
 * ODP).
 */
int mrc_odp_open(struct mrc_dev *dev, struct mrc_mr *mr, u64 start);

/*
 * share: take references for a second region with the same memory. close: release the
 * memory of a region that nobody accesses any more. Cleanup may be deferred while a
 * page is being fetched, so that close does not wait for a program that serves its own
 * page faults. close sleeps; @odp may be NULL.
 */
struct mrc_odp *mrc_odp_share(struct mrc_odp *odp);
void mrc_odp_close(struct mrc_odp *odp);

/**
 * mrc_odp_check - are the pages of an access present?
 * @mr: paged, with a reference
 * @va: first byte, bounds were checked
 * @len: bytes, not 0
 * @write: the access writes
 * @who: QPN of the caller, which will be told if the fetch fails
 * @since: with -EAGAIN, lowered to the time (ns) of the last page that arrived for this
 *	memory, or of the first request if none has arrived since; may be NULL
 * @hold: with 0, the pages stay until mrc_odp_release()
 *
 * A failure that is older than a second, or was recorded for another QP, does not count:
 * the pages are fetched again.
 *
 * Return: 0; -EAGAIN: the pages are being fetched; -EFAULT: the program has no such
 * memory, or the memory does not permit this access.
 */
int mrc_odp_check(const struct mrc_mr *mr, u64 va, u64 len, bool write,
		  u32 who, u64 *since, struct mrc_odp_hold *hold);

void mrc_odp_release(struct mrc_odp_hold *hold);

/*
 * The same for one access. If it returns 0, the pages stay until mrc_odp_end(). Does
 * not wait.
 */
int mrc_odp_begin(const struct mrc_mr *mr, u64 va, u64 len, bool write,
		  u32 who);
void mrc_odp_end(const struct mrc_mr *mr);

/* The page with index @i, which mrc_odp_check() found present. */
struct page *mrc_odp_page(const struct mrc_odp *odp, unsigned long i);

void mrc_odp_stat(const struct mrc_odp *odp, struct mrc_odp_stat *stat);

int mrc_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		  u32 flags, struct ib_sge *sg, u32 n,
		  struct uverbs_attr_bundle *attrs);

int mrc_odp_init(void);		/* at module load */
void mrc_odp_exit(void);	/* waits for the pages that are being fetched */

/* Report ODP capabilities in query_device. @ext: with the extension. */
void mrc_odp_query(struct ib_device_attr *attr, bool ext);

void mrc_odp_dev_init(struct mrc_odp_dev *odev);

/* When the device has no regions. Pages may still be fetched. Does not sleep. */
void mrc_odp_dev_exit(struct mrc_odp_dev *odev);

/**
 * mrc_odp_ready - can the memory of a scatter/gather list be accessed now?
 * @dev: the device
 * @pd: protection domain of the keys
 * @sge: list
 * @n: its length
 * @at: offset in the message where the access starts
 * @len: bytes; bytes beyond the end of the list are ignored
 * @write: the access writes
 * @who: QPN of the caller
 * @since: as in mrc_odp_check()
 * @hold: the pages that are present stay until mrc_odp_release()
 *
 * Return: 0: yes, or there is an error that the access itself will report; -EAGAIN:
 * pages are being fetched.
 */
int mrc_odp_ready(struct mrc_dev *dev, const struct ib_pd *pd,
		  const struct mrc_sge *sge, u32 n, u64 at, u32 len,
		  bool write, u32 who, u64 *since, struct mrc_odp_hold *hold);

/**
 * mrc_odp_wait - wake @w when pages have arrived
 * @odev: of the device
 * @w: the caller has taken a reference for the wait
 * @seq: mrc_odp_seq() before the check
 *
 * Any context.
 *
 * Return: 0; -EALREADY: @w is waiting already, the caller drops its reference; -EAGAIN:
 * a page has arrived meanwhile, the caller calls @w->wake.
 */
int mrc_odp_wait(struct mrc_odp_dev *odev, struct mrc_odp_waiter *w, u32 seq);

/* Stop waiting. Return: true if @w was waiting; the caller then owns its reference. */
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
				bool write, u32 who, u64 *since,
				struct mrc_odp_hold *hold)
{
	return -EFAULT;
}

static inline void mrc_odp_release(struct mrc_odp_hold *hold)
{
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
}

static inline void mrc_odp_dev_exit(struct mrc_odp_dev *odev)
{
}

static inline int mrc_odp_ready(struct mrc_dev *dev, const struct ib_pd *pd,
				const struct mrc_sge *sge, u32 n, u64 at,
				u32 len, bool write, u32 who, u64 *since,
				struct mrc_odp_hold *hold)
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

/* Read this before a check that may return -EAGAIN. */
static inline u32 mrc_odp_seq(const struct mrc_odp_dev *odev)
{
	return READ_ONCE(odev->seq);
}

/* Keys ----------------------------------------------------------------------*/

enum {
	MRC_MAX_FAST_PAGES	= 512,	/* per fast registration */
	MRC_FAST_PAGE_SHIFT	= 12,	/* smallest page size of a fast registration */
};

/*
 * IBV_ACCESS_FLUSH_PERSISTENT. Programs set it on QPs regardless of the device's
 * capabilities. No memory can be registered with it, and no persistent flush succeeds.
 */
#define MRC_ACCESS_PERSIST	BIT(9)

enum mrc_mr_kind {
	MRC_MR_USER,		/* memory of a program */
	MRC_MR_DMA,		/* all kernel memory, by kernel address */
	MRC_MR_FAST,		/* IB_MR_TYPE_MEM_REG */
	MRC_MR_WINDOW_1,
	MRC_MR_WINDOW_2,	/* 2B: belongs to a PD and a QP */
};

/* State of the kinds with many lives. */
enum mrc_mr_state {
	MRC_MR_FREE,
	MRC_MR_VALID,
	MRC_MR_REVOKED,		/* references are still held */
};

/**
 * struct mrc_mr - memory that a key gives access to
 * @kind: enum mrc_mr_kind
 * @state: enum mrc_mr_state, for kinds with many lives; written under @lock. Readers
 *	that hold a reference take it as a hint: a later revocation is as good
 * @gone: deregistered, no new life begins; under @lock
 * @lock: (bh, leaf) protects changes of @state and related members
 * @ref: one for the life itself and one for each lookup; 0 while FREE
 * @released: completed when the last reference is dropped; pending while any is held
 * @rcu: readers may still look at the struct after the last put
 * @pd: protection domain
 * @index: of @key, that is @key >> 8; constant once the struct is in the table
 * @key: local and remote. While FREE, the key of the last life
 * @access: IB_ACCESS_*
 * @iova: address of the first byte as users of the key give it
 * @length: bytes
 * @offset: of @iova from the start of the first page
 * @page_shift: page size of @kva
 * @n_pages: entries of @pages or @kva
 * @pages: memory of a program; a window points to the pages of its region. The region
 *	owns them
 * @kva: kernel addresses of the pages of a fast registration
 * @odp: used instead of @pages if the memory is paged; a window points to that of its
 *	region
 * @n_windows: windows bound to this region; negative: no more windows can be bound
 * @parent: region that the window is bound to
 * @qp_id: QP that the type 2 window belongs to, see mrc_mw.c
 * @fast: the fast registration region that this struct belongs to
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
	u32 index;
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
 * @mr: the state; replaced by re-registration, so readers that do not hold the region
 *	read it under RCU
 * @umem: pinned memory of a program, NULL for a zero-length or paged MR
 * @max_pages: maximum of @n_staged
 * @n_staged: pages in @staged
 * @staged: pages from map_mr_sg, for the next registration
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
 * struct mrc_local - a work request that changes a key or its memory
 * @op: IB_WR_LOCAL_INV, IB_WR_REG_MR or IB_WR_BIND_MW
 * @key: the key to invalidate, or the new key
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
 * @ibqp: QP that accesses the memory. Its PD must be the memory's PD; a type 2 window
 *	must belong to the QP itself
 * @key: local or remote
 * @va: first byte
 * @len: bytes; at most one packet with the DMA region and remote access
 * @access: IB_ACCESS_*, all needed. Windows permit remote access only
 *
 * Any context, does not wait. Overflow-safe.
 *
 * Return: the memory with a reference, to be held for one packet at most;
 * ERR_PTR(-EINVAL) unknown key, or not a key for @ibqp, -EACCES no permission, -ERANGE
 * out of bounds.
 */
struct mrc_mr *mrc_mr_get(struct ib_qp *ibqp, u32 key, u64 va, u64 len,
			  int access);
void mrc_mr_put(struct mrc_mr *mr);

/* The same for an operation on all of the memory; no range is checked. */
struct mrc_mr *mrc_mr_get_all(struct ib_qp *ibqp, u32 key, int access);

/* The same without a QP, for local access only. */
struct mrc_mr *mrc_mr_get_local(struct mrc_dev *dev, const struct ib_pd *pd,
				u32 key, u64 va, u64 len, int access);

/* The same for a peer of a QP that cannot own type 2 windows. */
struct mrc_mr *mrc_mr_get_remote(struct mrc_dev *dev, const struct ib_pd *pd,
				 u32 key, u64 va, u64 len, int access);

/**
 * mrc_mr_open - begin to access memory
 * @mr: with a reference
 * @va: first byte, bounds were checked
 * @len: bytes
 * @write: the access writes
 * @who: QPN of the caller, 0 if the pages were checked before
 *
 * Any context. Only paged memory can return a value other than 0.
 *
 * Return: 0: the memory is present until mrc_mr_close(), the caller must not sleep in
 * between; -EAGAIN: its pages are being fetched; -EFAULT: the program has no such
 * memory.
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
 * For accesses that cannot wait for pages (UC): refuse paged memory and drop its
 * reference. @mr: result of a lookup. Returns @mr or an ERR_PTR.
 */
static inline struct mrc_mr *mrc_mr_pinned(struct mrc_mr *mr)
{
	if (IS_ERR(mr) || !mr->odp)
		return mr;
	mrc_mr_put(mr);
	return ERR_PTR(-EOPNOTSUPP);
}

/*
 * Page and offset of @va, and the number of bytes that follow in that page. Call it
 * between open and close.
 */
struct page *mrc_mr_page(const struct mrc_mr *mr, u64 va, u32 *off, u32 *room);

/* Report memory limits and capabilities in query_device. */
void mrc_mr_query(const struct mrc_dev *dev, struct ib_device_attr *attr, bool ext);

extern const struct ib_device_ops mrc_mr_ops;

/* mrc_mr_copy.c -------------------------------------------------------------*/

/*
 * Copy @len bytes at @off of @skb to @va, without computing a checksum. mrc_mr_get()
 * has checked the bounds. 0, -EFAULT, or -EAGAIN as mrc_mr_open().
 */
int mrc_mr_copy_from_skb(struct mrc_mr *mr, u64 va, const struct sk_buff *skb,
			 int off, u32 len);

/* mrc_local.c ---------------------------------------------------------------*/

/**
 * mrc_local_wqe - parse a local operation from a send ring entry
 * @h: copy of the entry, whose opcode is LOCAL_INV, BIND_MW or, from a consumer in the
 *	kernel, REG_MR (rkey = key, swap = access)
 * @op: result
 *
 * Return: 0, -EINVAL for an invalid entry (LOC_QP_OP_ERR).
 */
int mrc_local_wqe(const struct mrc_send_wqe *h, struct mrc_local *op);

/**
 * mrc_local_op - execute a local operation
 * @ibqp: QP that posted it; under the lock of its send queue
 * @op: the operation
 *
 * Return: 0; -EAGAIN: the old key is revoked, but earlier accesses have not ended: the
 * work request is not done, call again from the work item; any other errno: the work
 * request fails with IB_WC_MW_BIND_ERR, the "memory management operation error" of the
 * IB specification, and has changed nothing.
 */
int mrc_local_op(struct ib_qp *ibqp, const struct mrc_local *op);

/**
 * mrc_mr_invalidate - invalidate a key
 * @ibqp: QP that invalidates; under the lock of its send queue (LOCAL_INV) or of its
 *	receive queue (SEND with invalidate)
 * @key: of a fast registration, or of a type 2 window that belongs to @ibqp. Regions of
 *	programs and type 1 windows cannot be invalidated
 *
 * When this returns, no new access can begin. Does nothing with a key that is invalid
 * already.
 *
 * Return: 0: no access is left; -EAGAIN: earlier accesses have not ended: call again,
 * and report the invalidation only when this has returned 0; -EINVAL: no such key, or
 * @ibqp may not invalidate it.
 */
int mrc_mr_invalidate(struct ib_qp *ibqp, u32 key);

#endif /* MRC_MEM_H */
