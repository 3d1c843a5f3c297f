/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Lives of memory: for files that make, bind and invalidate it. */
#ifndef MRC_MR_H
#define MRC_MR_H

#include "mrc_mem.h"

struct ib_dmah;

/* mrc_mr.c ------------------------------------------------------------------*/

/* A new struct: alive, or FREE for kinds with many lives. Sleeps. */
struct mrc_mr *mrc_mr_alloc(enum mrc_mr_kind kind, const struct ib_pd *pd);

/* Assign an unpredictable unused key and add it to the table. Sleeps. 0 or -errno. */
int mrc_mr_hash(struct mrc_dev *dev, struct mrc_mr *mr);

/*
 * From now on the first step of a look-up finds @mr, without the table. @mr must be in
 * the table.
 */
void mrc_mr_set_recent(struct mrc_dev *dev, struct mrc_mr *mr);

/*
 * unhash: remove a struct that may be in the table, end its life, wait for the last
 * reference. Sleeps while packets are copied. free: after unhash, or for a struct that
 * never was in the table.
 */
void mrc_mr_unhash(struct mrc_dev *dev, struct mrc_mr *mr);
void mrc_mr_free(struct mrc_mr *mr);

/* Does the kind have many lives? */
static inline bool mrc_mr_mortal(const struct mrc_mr *mr)
{
	return mr->kind >= MRC_MR_FAST;
}

/*
 * begin: start a life with the values that the caller has set. end: revoke it. Both
 * under @mr->lock. If end returns true, the caller unlocks and then drops the life's
 * reference with mrc_mr_put().
 */
void mrc_mr_begin(struct mrc_mr *mr);
bool mrc_mr_end(struct mrc_mr *mr);

/* mrc_mr_region.c -----------------------------------------------------------*/

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

/* mrc_mr_fast.c -------------------------------------------------------------*/

int mrc_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int n,
		  unsigned int *off);

/* Register the pages from map_mr_sg, see mrc_local_op(). Under RCU. */
int mrc_fast_register(struct ib_qp *ibqp, struct mrc_mr *mr,
		      const struct mrc_local *op);

/* mrc_mw.c ------------------------------------------------------------------*/

int mrc_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int mrc_dealloc_mw(struct ib_mw *ibmw);

/* Does a type 2 window belong to @ibqp? */
bool mrc_mw_owned(const struct mrc_mr *mr, struct ib_qp *ibqp);

/* Bind or unbind @mr, a window, see mrc_local_op(). Under RCU. */
int mrc_mw_bind(struct ib_qp *ibqp, struct mrc_mr *mr,
		const struct mrc_local *op);

/* mrc_mr_res.c --------------------------------------------------------------*/

int mrc_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int mrc_fill_stat_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);

#endif /* MRC_MR_H */
