/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations shared by the two interfaces for posting. rdma/mrc-abi.h defines the
 * layout of entries.
 */
#ifndef MRC_POST_H
#define MRC_POST_H

#include "mrc_provider.h"

/* Longest message of InfiniBand and of MRC, bytes. */
#define MRC_MAX_MSG (1ULL << 31)

/* Operand size of ATOMIC operations, bytes. */
#define MRC_ATOMIC_LEN 8

#define MRC_SEND_FLAGS                                                         \
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |             \
	 IBV_SEND_INLINE)

/* Scatter/gather entries and inline data follow the header of an entry. */
static inline void *mrc_wqe_data(struct mrc_send_wqe *wqe)
{
	return wqe + 1;
}

/* Can work be posted in the current state of @qp? 0 or an errno. */
int mrc_send_state(const struct mrc_v_qp *qp);

/* Set the scatter/gather list of an entry. 0 or an errno. */
int mrc_wqe_set_sges(struct mrc_v_qp *qp, struct mrc_send_wqe *wqe,
		     const struct ibv_sge *sge, size_t n);

/* Append @len bytes of inline data. ENOMEM: more than the QP's limit. */
int mrc_wqe_add_inline(struct mrc_v_qp *qp, struct mrc_send_wqe *wqe,
		       const void *addr, size_t len);

/* Set the fields of BIND_MW in @wqe, which has been cleared. 0 or an errno. */
int mrc_wqe_set_bind(struct mrc_send_wqe *wqe, const struct ibv_mw *mw,
		     uint32_t rkey, const struct ibv_mw_bind_info *info);

/* Set the destination of a datagram. 0 or an errno. */
int mrc_wqe_set_ud(struct mrc_send_wqe *wqe, struct ibv_ah *ah, uint32_t qpn,
		   uint32_t qkey);

/*
 * Hand all new entries before @idx to the kernel. Called with the lock of the send
 * queue held; releases it. 0, or an errno; then none was posted.
 */
int mrc_submit_sq(struct mrc_v_qp *qp, uint32_t idx);

/*
 * Put receives into @rq, until one fails. Under the lock of @rq. Returns 0 or an errno;
 * *@wr is then the first receive that was not posted.
 */
int mrc_fill_rq(struct mrc_wq *rq, struct ibv_recv_wr **wr);

#endif /* MRC_POST_H */
