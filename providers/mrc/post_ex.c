// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting work through the ibv_wr_*() interface.
 */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "post.h"

/*
 * ibv_wr_*(): a batch is built in the ring after prod, which is advanced only when the
 * batch is complete. After an error nothing more is built, and completing the batch
 * posts nothing.
 */
static void mrc_wr_start(struct ibv_qp_ex *qpx)
{
	struct mrc_v_qp *qp = to_mqp_ex(qpx);

	pthread_spin_lock(&qp->sq.lock);
	qp->batch_idx = qp->sq.ring.idx;
	qp->batch_wqe = NULL;
	qp->batch_err = mrc_send_state(qp);
}

static int mrc_wr_complete(struct ibv_qp_ex *qpx)
{
	struct mrc_v_qp *qp = to_mqp_ex(qpx);
	int ret = qp->batch_err;

	qp->batch_wqe = NULL;
	if (!ret)
		return mrc_submit_sq(qp, qp->batch_idx);
	pthread_spin_unlock(&qp->sq.lock);
	return ret;
}

static void mrc_wr_abort(struct ibv_qp_ex *qpx)
{
	struct mrc_v_qp *qp = to_mqp_ex(qpx);

	qp->batch_wqe = NULL;
	pthread_spin_unlock(&qp->sq.lock);
}

static void mrc_batch_fail(struct mrc_v_qp *qp, int err)
{
	qp->batch_err = err;
	qp->batch_wqe = NULL;
}

static struct mrc_send_wqe *mrc_wr_build(struct ibv_qp_ex *qpx,
					 enum ibv_wr_opcode opcode,
					 uint32_t rkey, uint64_t remote_addr)
{
	struct mrc_v_qp *qp = to_mqp_ex(qpx);
	struct mrc_send_wqe *wqe;

	if (unlikely(qp->batch_err))
		return NULL;
	if (mrc_ring_full(&qp->sq.ring, qp->batch_idx)) {
		mrc_batch_fail(qp, ENOMEM);
		return NULL;
	}
	if (qpx->wr_flags & ~MRC_SEND_FLAGS) {
		mrc_batch_fail(qp, EINVAL);
		return NULL;
	}
	wqe = mrc_ring_entry(&qp->sq.ring, qp->batch_idx++);
	*wqe = (struct mrc_send_wqe){
		.wr_id = qpx->wr_id,
		.opcode = opcode,
		/* The setter of the data decides whether it is inline. */
		.send_flags = qpx->wr_flags & ~IBV_SEND_INLINE,
		.rkey = rkey,
		.remote_addr = remote_addr,
	};
	qp->batch_wqe = wqe;
	return wqe;
}

static void mrc_wr_rdma_write(struct ibv_qp_ex *qpx, uint32_t rkey,
			      uint64_t remote_addr)
{
	mrc_wr_build(qpx, IBV_WR_RDMA_WRITE, rkey, remote_addr);
}

static void mrc_wr_rdma_write_imm(struct ibv_qp_ex *qpx, uint32_t rkey,
				  uint64_t remote_addr, __be32 imm_data)
{
	struct mrc_send_wqe *wqe;

	wqe = mrc_wr_build(qpx, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr);
	if (wqe)
		wqe->imm_data = (__force uint32_t)imm_data;
}

static void mrc_wr_send(struct ibv_qp_ex *qpx)
{
	mrc_wr_build(qpx, IBV_WR_SEND, 0, 0);
}

static void mrc_wr_send_imm(struct ibv_qp_ex *qpx, __be32 imm_data)
{
	struct mrc_send_wqe *wqe;

	wqe = mrc_wr_build(qpx, IBV_WR_SEND_WITH_IMM, 0, 0);
	if (wqe)
		wqe->imm_data = (__force uint32_t)imm_data;
}

static void mrc_wr_send_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	struct mrc_send_wqe *wqe;

	wqe = mrc_wr_build(qpx, IBV_WR_SEND_WITH_INV, 0, 0);
	if (wqe)
		wqe->imm_data = invalidate_rkey;
}

static void mrc_wr_rdma_read(struct ibv_qp_ex *qpx, uint32_t rkey,
			     uint64_t remote_addr)
{
	mrc_wr_build(qpx, IBV_WR_RDMA_READ, rkey, remote_addr);
}

static void mrc_wr_atomic_cmp_swp(struct ibv_qp_ex *qpx, uint32_t rkey,
				  uint64_t remote_addr, uint64_t compare,
				  uint64_t swap)
{
	struct mrc_send_wqe *wqe;

	wqe = mrc_wr_build(qpx, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr);
	if (!wqe)
		return;
	wqe->compare_add = compare;
	wqe->swap = swap;
}

static void mrc_wr_atomic_fetch_add(struct ibv_qp_ex *qpx, uint32_t rkey,
				    uint64_t remote_addr, uint64_t add)
{
	struct mrc_send_wqe *wqe;

	wqe = mrc_wr_build(qpx, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey,
			   remote_addr);
	if (wqe)
		wqe->compare_add = add;
}

static void mrc_wr_atomic_write(struct ibv_qp_ex *qpx, uint32_t rkey,
				uint64_t remote_addr, const void *atomic_wr)
{
	struct mrc_send_wqe *wqe;

	wqe = mrc_wr_build(qpx, IBV_WR_ATOMIC_WRITE, rkey, remote_addr);
	if (!wqe)
		return;
	wqe->send_flags |= IBV_SEND_INLINE;
	memcpy(&wqe->swap, atomic_wr, MRC_ATOMIC_LEN);
}

static void mrc_wr_flush(struct ibv_qp_ex *qpx, uint32_t rkey,
			 uint64_t remote_addr, size_t len, uint8_t type,
			 uint8_t level)
{
	struct mrc_v_qp *qp = to_mqp_ex(qpx);
	struct mrc_send_wqe *wqe;

	wqe = mrc_wr_build(qpx, IBV_WR_FLUSH, rkey, remote_addr);
	if (!wqe)
		return;
	if (!type || type & ~(IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT) ||
	    level > IBV_FLUSH_MR) {
		mrc_batch_fail(qp, EINVAL);
		return;
	}
	wqe->compare_add = len;
	wqe->swap = type;
	if (level == IBV_FLUSH_MR)
		wqe->swap |= MRC_FLUSH_MR;
}

static void mrc_wr_local_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	struct mrc_send_wqe *wqe;

	wqe = mrc_wr_build(qpx, IBV_WR_LOCAL_INV, 0, 0);
	if (wqe)
		wqe->imm_data = invalidate_rkey;
}

static void mrc_wr_bind_mw(struct ibv_qp_ex *qpx, struct ibv_mw *mw,
			   uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct mrc_v_qp *qp = to_mqp_ex(qpx);
	struct mrc_send_wqe *wqe;
	int ret;

	wqe = mrc_wr_build(qpx, IBV_WR_BIND_MW, 0, 0);
	if (!wqe)
		return;
	/* Type 1 windows are bound with ibv_bind_mw(). */
	if (mw && mw->type != IBV_MW_TYPE_2)
		ret = EINVAL;
	else
		ret = mrc_wqe_set_bind(wqe, mw, rkey, info);
	if (ret)
		mrc_batch_fail(qp, ret);
}

static void mrc_wr_set_ud_addr(struct ibv_qp_ex *qpx, struct ibv_ah *ah,
			       uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct mrc_v_qp *qp = to_mqp_ex(qpx);
	int ret;

	if (!qp->batch_wqe)
		return;
	ret = mrc_wqe_set_ud(qp->batch_wqe, ah, remote_qpn, remote_qkey);
	if (ret)
		mrc_batch_fail(qp, ret);
}

/* Operations without a scatter/gather list. */
static bool mrc_no_list(const struct mrc_send_wqe *wqe)
{
	switch (wqe->opcode) {
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW:
	case IBV_WR_FLUSH:
	case IBV_WR_ATOMIC_WRITE:
		return true;
	default:
		return false;
	}
}

static void mrc_wr_set_sge_list(struct ibv_qp_ex *qpx, size_t num_sge,
				const struct ibv_sge *sg_list)
{
	struct mrc_v_qp *qp = to_mqp_ex(qpx);
	struct mrc_send_wqe *wqe = qp->batch_wqe;
	int ret;

	if (!wqe)
		return;
	if (mrc_no_list(wqe)) {
		mrc_batch_fail(qp, EINVAL);
		return;
	}
	wqe->send_flags &= ~IBV_SEND_INLINE;
	wqe->inline_len = 0;
	ret = mrc_wqe_set_sges(qp, wqe, sg_list, num_sge);
	if (ret)
		mrc_batch_fail(qp, ret);
}

static void mrc_wr_set_sge(struct ibv_qp_ex *qpx, uint32_t lkey, uint64_t addr,
			   uint32_t length)
{
	struct ibv_sge sge = {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};

	mrc_wr_set_sge_list(qpx, 1, &sge);
}

static void mrc_wr_set_inline_data_list(struct ibv_qp_ex *qpx, size_t num_buf,
					const struct ibv_data_buf *buf_list)
{
	struct mrc_v_qp *qp = to_mqp_ex(qpx);
	struct mrc_send_wqe *wqe = qp->batch_wqe;
	size_t i;
	int ret;

	if (!wqe)
		return;
	wqe->send_flags |= IBV_SEND_INLINE;
	wqe->num_sge = 0;
	wqe->inline_len = 0;
	for (i = 0; i < num_buf; i++) {
		ret = mrc_wqe_add_inline(qp, wqe, buf_list[i].addr,
					 buf_list[i].length);
		if (ret) {
			mrc_batch_fail(qp, ret);
			return;
		}
	}
}

static void mrc_wr_set_inline_data(struct ibv_qp_ex *qpx, void *addr,
				   size_t length)
{
	struct ibv_data_buf buf = {
		.addr = addr,
		.length = length,
	};

	mrc_wr_set_inline_data_list(qpx, 1, &buf);
}

void mrc_set_wr_ops(struct ibv_qp_ex *qpx, uint64_t send_ops)
{
	qpx->wr_start = mrc_wr_start;
	qpx->wr_complete = mrc_wr_complete;
	qpx->wr_abort = mrc_wr_abort;
	if (send_ops & IBV_QP_EX_WITH_RDMA_WRITE)
		qpx->wr_rdma_write = mrc_wr_rdma_write;
	if (send_ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		qpx->wr_rdma_write_imm = mrc_wr_rdma_write_imm;
	if (send_ops & IBV_QP_EX_WITH_SEND)
		qpx->wr_send = mrc_wr_send;
	if (send_ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		qpx->wr_send_imm = mrc_wr_send_imm;
	if (send_ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		qpx->wr_send_inv = mrc_wr_send_inv;
	if (send_ops & IBV_QP_EX_WITH_RDMA_READ)
		qpx->wr_rdma_read = mrc_wr_rdma_read;
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		qpx->wr_atomic_cmp_swp = mrc_wr_atomic_cmp_swp;
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		qpx->wr_atomic_fetch_add = mrc_wr_atomic_fetch_add;
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_WRITE)
		qpx->wr_atomic_write = mrc_wr_atomic_write;
	if (send_ops & IBV_QP_EX_WITH_FLUSH)
		qpx->wr_flush = mrc_wr_flush;
	if (send_ops & IBV_QP_EX_WITH_LOCAL_INV)
		qpx->wr_local_inv = mrc_wr_local_inv;
	if (send_ops & IBV_QP_EX_WITH_BIND_MW)
		qpx->wr_bind_mw = mrc_wr_bind_mw;
	if (qpx->qp_base.qp_type == IBV_QPT_UD)
		qpx->wr_set_ud_addr = mrc_wr_set_ud_addr;
	qpx->wr_set_sge = mrc_wr_set_sge;
	qpx->wr_set_sge_list = mrc_wr_set_sge_list;
	qpx->wr_set_inline_data = mrc_wr_set_inline_data;
	qpx->wr_set_inline_data_list = mrc_wr_set_inline_data_list;
}
