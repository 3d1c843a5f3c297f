/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the two ways to post sends have in common. The layout of entries is that
 * of rdma/mrc-abi.h.
 */
#ifndef MRC_POST_H
#define MRC_POST_H

#include "mrc_provider.h"

/* Longest message of InfiniBand and of MRC, bytes. */
#define MRC_MAX_MSG (1ULL << 31)

/* What ATOMIC operations work on, bytes. */
#define MRC_ATOMIC_LEN 8

#define MRC_SEND_FLAGS                                                         \
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |             \
	 IBV_SEND_INLINE)

/* Scatter/gather entries and inline data follow the header of an entry. */
static inline void *mrc_wqe_data(struct mrc_send_wqe *wqe)
{
	return wqe + 1;
}

/* 0 or an errno: can work be posted in the state that @qp is in? */
int mrc_send_state(const struct mrc_v_qp *qp);

/* The list of an entry, or an errno. */
int mrc_wqe_set_sges(struct mrc_v_qp *qp, struct mrc_send_wqe *wqe,
		     const struct ibv_sge *sge, size_t n);

/* Append @len bytes of inline data. ENOMEM: more than the QP has room for. */
int mrc_wqe_add_inline(struct mrc_v_qp *qp, struct mrc_send_wqe *wqe,
		       const void *addr, size_t len);

/* @wqe has been cleared: what BIND_MW needs. 0 or an errno. */
int mrc_wqe_set_bind(struct mrc_send_wqe *wqe, const struct ibv_mw *mw,
		     uint32_t rkey, const struct ibv_mw_bind_info *info);

/* Where a datagram goes. 0 or an errno. */
int mrc_wqe_set_ud(struct mrc_send_wqe *wqe, struct ibv_ah *ah, uint32_t qpn,
		   uint32_t qkey);

/*
 * Hand the entries before @idx to the kernel, if any are new. Called with the
 * send queue's lock, which it drops. 0 or an errno: then none was posted.
 */
int mrc_submit_sq(struct mrc_v_qp *qp, uint32_t idx);

/*
 * Put receives into @rq, under its lock, until one does not fit. Returns 0 or
 * an errno and leaves in *@wr the first that was not put there.
 */
int mrc_fill_rq(struct mrc_wq *rq, struct ibv_recv_wr **wr);

#endif /* MRC_POST_H */
