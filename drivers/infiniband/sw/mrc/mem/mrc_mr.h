/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that keys give access to: regions and windows.
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
#ifndef MRC_MR_H
#define MRC_MR_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "mrc_odp.h"

struct mrc_dev;
struct mrc_odp;
struct mrc_qp;
struct mrc_swqe;
struct mrc_send_wqe;
struct sk_buff;

enum {
	MRC_MAX_FAST_PAGES	= 512,	/* per fast registration */
	MRC_FAST_PAGE_SHIFT	= 12,	/* smallest page of one */
};

/* Kernels that do not know it let nobody register memory with it. */
#ifdef HAVE_IB_ACCESS_FLUSH
#define MRC_ACCESS_FLUSH	IB_ACCESS_FLUSH_GLOBAL
#else
#define MRC_ACCESS_FLUSH	BIT(8)
#endif

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

/* mrc_mr.c -----------------------------------------------------------------*/

/**
 * mrc_mr_get - find memory by key
 * @qp: on whose behalf; its PD and, for type 2 windows, the QP itself must be
 *	the memory's. The companion of a QP counts as the QP
 * @key: local or remote
 * @va: first byte
 * @len: bytes; at most a packet's with the DMA region and remote access
 * @access: IB_ACCESS_*, all needed. Windows are open to remote access only
 *
 * Any context, waits for nothing. Overflow-safe.
 *
 * Return: the memory with a reference, for the length of a packet;
 * ERR_PTR(-EINVAL) unknown key, or not that of @qp, -EACCES no permission,
 * -ERANGE out of bounds.
 */
struct mrc_mr *mrc_mr_get(struct mrc_qp *qp, u32 key, u64 va, u64 len,
			  int access);
void mrc_mr_put(struct mrc_mr *mr);

/* The same for what concerns all of the memory, whatever its range. */
struct mrc_mr *mrc_mr_get_all(struct mrc_qp *qp, u32 key, int access);

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
 * Any context. Return: 0: the memory is there until mrc_mr_close(), no sleep in
 * between; -EAGAIN: its pages are fetched; -EFAULT: the program has no such
 * memory. Only memory that is paged can say something else than 0.
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

/* A new struct: alive, or FREE where many lives are to come. Sleeps. */
struct mrc_mr *mrc_mr_alloc(enum mrc_mr_kind kind, const struct ib_pd *pd);

/* Give it an unpredictable key that nobody has. Sleeps. 0 or -errno. */
int mrc_mr_hash(struct mrc_dev *dev, struct mrc_mr *mr);

/*
 * The end of a struct that may be in the table: take it out, end its life, wait
 * for the last reference. Sleeps for as long as packets are copied. free: after
 * that, or for one that never was in the table.
 */
void mrc_mr_unhash(struct mrc_dev *dev, struct mrc_mr *mr);
void mrc_mr_free(struct mrc_mr *mr);

/* Whether it lives many times. */
static inline bool mrc_mr_mortal(const struct mrc_mr *mr)
{
	return mr->kind >= MRC_MR_FAST;
}

/*
 * Begin a life with what the caller has set, end it. Under @mr->lock; after
 * end the caller drops the reference with mrc_mr_put() when it has unlocked, if
 * it was told so.
 */
void mrc_mr_begin(struct mrc_mr *mr);
bool mrc_mr_end(struct mrc_mr *mr);

/* What query_device says of memory. */
void mrc_mr_query(struct ib_device_attr *attr, bool ext);

/* "rdma res show mr": "user", "paged", "dma", "fast". */
const char *mrc_mr_kind_name(const struct mrc_mr *mr);

extern const struct ib_device_ops mrc_mr_ops;

/* mrc_mr_copy.c ------------------------------------------------------------*/

/*
 * Copy @len bytes at @off of @skb to @va, computing nothing else. Bounds were
 * checked by mrc_mr_get(). 0, -EFAULT, or -EAGAIN as mrc_mr_open().
 */
int mrc_mr_copy_from_skb(struct mrc_mr *mr, u64 va, const struct sk_buff *skb,
			 int off, u32 len);

/* mrc_mr_region.c ----------------------------------------------------------*/

struct ib_mr *mrc_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			      u64 virt_addr, int access, struct ib_dmah *dmah,
			      struct ib_udata *udata);
struct ib_mr *mrc_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				u64 length, u64 virt_addr, int access,
				struct ib_pd *pd, struct ib_udata *udata);
struct ib_mr *mrc_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *mrc_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			   u32 max_num_sg);
int mrc_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* mrc_mr_fast.c ------------------------------------------------------------*/

int mrc_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int n,
		  unsigned int *off);

/* Register what was mapped, see mrc_local_op(). Under RCU. */
int mrc_fast_register(struct mrc_qp *qp, struct mrc_mr *mr,
		      const struct mrc_local *op);

/* mrc_mw.c -----------------------------------------------------------------*/

int mrc_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int mrc_dealloc_mw(struct ib_mw *ibmw);

/* Whether a type 2 window is that of @qp. */
bool mrc_mw_owned(const struct mrc_mr *mr, const struct mrc_qp *qp);

/* Bind or unbind @mr, a window, see mrc_local_op(). Under RCU. */
int mrc_mw_bind(struct mrc_qp *qp, struct mrc_mr *mr,
		const struct mrc_local *op);

/* mrc_local.c --------------------------------------------------------------*/

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
 * @qp: under req_lock
 * @w: the work request, with @w->local
 *
 * Return: 0; -EAGAIN: the key that is to end is revoked, but accesses that
 * began before are not through: call again from the work item, the work request
 * is not done; any other errno: the work request fails with IB_WC_MW_BIND_ERR,
 * which is the "memory management operation error" of the IB specification, and
 * changed nothing.
 */
int mrc_local_op(struct mrc_qp *qp, const struct mrc_swqe *w);

/**
 * mrc_mr_invalidate - end what a key gives access to
 * @qp: under req_lock (LOCAL_INV) or resp_lock (SEND with invalidate)
 * @key: of a fast registration, or of a type 2 window that belongs to @qp.
 *	Neither programs' regions nor type 1 windows can be invalidated
 *
 * When this returns, no access begins any more. Does nothing with a key that
 * is invalid already.
 *
 * Return: 0: nobody accesses it any more either; -EAGAIN: accesses that began
 * before are not through: call again, and tell nobody that it is invalid before
 * that returned 0; -EINVAL: no such key, or not for @qp to invalidate.
 */
int mrc_mr_invalidate(struct mrc_qp *qp, u32 key);

#endif /* MRC_MR_H */
