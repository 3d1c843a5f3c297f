// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting work: ibv_post_send, ibv_post_recv and the ibv_wr_*() interface.
 */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "mrc_provider.h"

/* Longest message of InfiniBand and of MRC, bytes. */
#define MRC_MAX_MSG (1ULL << 31)

#define MRC_SEND_FLAGS                                                         \
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |             \
	 IBV_SEND_INLINE)

/* Scatter/gather entries and inline data follow the header of an entry. */
static void *mrc_wqe_data(struct mrc_send_wqe *wqe)
{
	return wqe + 1;
}

static int mrc_send_state(const struct mrc_v_qp *qp)
{
	switch (qp->vqp.qp.state) {
	case IBV_QPS_RESET:
	case IBV_QPS_INIT:
	case IBV_QPS_RTR:
		return EINVAL;
	default:
		return qp->sq.ring.hdr ? 0 : EINVAL;
	}
}

/*
 * The doorbell: an empty post command. The entries are in the ring and the
 * QP's state was good when they were put there, so that a failure means a
 * device that is gone or, at the first one of a send queue, no memory.
 */
static int mrc_ring_sq(struct mrc_v_qp *qp)
{
	struct ibv_send_wr *bad;

	return ibv_cmd_post_send(&qp->vqp.qp, NULL, &bad);
}

static int mrc_ring_rq(struct mrc_v_qp *qp)
{
	struct ibv_recv_wr *bad;

	return ibv_cmd_post_recv(&qp->vqp.qp, NULL, &bad);
}

static void mrc_copy_sges(struct mrc_sge *dst, const struct ibv_sge *src,
			  size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		dst[i].addr = src[i].addr;
		dst[i].length = src[i].length;
		dst[i].lkey = src[i].lkey;
	}
}

/* No overflow: at most 2^32 entries of less than 2^32 bytes each. */
static uint64_t mrc_sge_total(const struct ibv_sge *sge, size_t n)
{
	uint64_t total = 0;
	size_t i;

	for (i = 0; i < n; i++)
		total += sge[i].length;
	return total;
}

static int mrc_wqe_set_sges(struct mrc_v_qp *qp, struct mrc_send_wqe *wqe,
			    const struct ibv_sge *sge, size_t n)
{
	if (n > qp->sq.max_sge || mrc_sge_total(sge, n) > MRC_MAX_MSG)
		return EINVAL;
	mrc_copy_sges(mrc_wqe_data(wqe), sge, n);
	wqe->num_sge = n;
	return 0;
}

/*
 * Append @len bytes of inline data; compares what is left, never a sum. Too much
 * is ENOMEM, as with hardware: there is no room for it in the queue.
 */
static int mrc_wqe_add_inline(struct mrc_v_qp *qp, struct mrc_send_wqe *wqe,
			      const void *addr, size_t len)
{
	if (len > qp->sq.max_inline - wqe->inline_len)
		return ENOMEM;
	if (len)
		memcpy((char *)mrc_wqe_data(wqe) + wqe->inline_len, addr, len);
	wqe->inline_len += len;
	return 0;
}

static int mrc_build_send(struct mrc_v_qp *qp, struct mrc_send_wqe *wqe,
			  const struct ibv_send_wr *wr)
{
	int ret;
	int i;

	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		break;
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_TSO:
	case IBV_WR_DRIVER1:
	case IBV_WR_FLUSH:
	case IBV_WR_ATOMIC_WRITE:
		return EOPNOTSUPP;
	default:
		return EINVAL;
	}
	if (!(to_mctx(qp->vqp.qp.context)->features & MRC_FEATURE_WRITE))
		return EOPNOTSUPP;
	if ((wr->send_flags & ~MRC_SEND_FLAGS) || wr->num_sge < 0 ||
	    (uint32_t)wr->num_sge > qp->sq.max_sge)
		return EINVAL;

	*wqe = (struct mrc_send_wqe){
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.send_flags = wr->send_flags,
		.rkey = wr->wr.rdma.rkey,
		.remote_addr = wr->wr.rdma.remote_addr,
	};
	if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wqe->imm_data = (__force uint32_t)wr->imm_data;

	if (!(wr->send_flags & IBV_SEND_INLINE))
		return mrc_wqe_set_sges(qp, wqe, wr->sg_list, wr->num_sge);
	for (i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		ret = mrc_wqe_add_inline(qp, wqe,
					 (void *)(uintptr_t)sge->addr,
					 sge->length);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Hand the entries before @idx to the kernel, if any are new. Called with the
 * lock, which it drops. The first doorbell may find no memory for what sending
 * takes. Nobody has seen the entries then: they are taken back, and the lock is
 * kept until that is known, so that no other thread's come behind them.
 */
static int mrc_submit_sq(struct mrc_v_qp *qp, uint32_t idx)
{
	struct mrc_ring *ring = &qp->sq.ring;
	uint32_t start = ring->idx;
	int ret = 0;

	if (idx == start)
		goto unlock;
	mrc_ring_produce(ring, idx);
	if (likely(qp->sq_started)) {
		pthread_spin_unlock(&qp->sq.lock);
		return mrc_ring_sq(qp);
	}
	ret = mrc_ring_sq(qp);
	if (ret)
		mrc_ring_produce(ring, start);
	else
		qp->sq_started = true;
unlock:
	pthread_spin_unlock(&qp->sq.lock);
	return ret;
}

int mrc_v_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr)
{
	struct mrc_v_qp *qp = to_mqp(ibqp);
	struct mrc_ring *ring = &qp->sq.ring;
	struct ibv_send_wr *first = wr;
	uint32_t idx;
	int ret;
	int err;

	pthread_spin_lock(&qp->sq.lock);
	idx = ring->idx;
	ret = mrc_send_state(qp);
	while (wr && !ret) {
		if (mrc_ring_full(ring, idx))
			ret = ENOMEM;
		else
			ret = mrc_build_send(qp, mrc_ring_entry(ring, idx), wr);
		if (!ret) {
			idx++;
			wr = wr->next;
		}
	}
	if (ret)
		*bad_wr = wr;
	err = mrc_submit_sq(qp, idx);
	if (err) {
		*bad_wr = first;
		return err;
	}
	return ret;
}

static int mrc_build_recv(struct mrc_v_qp *qp, struct mrc_recv_wqe *wqe,
			  const struct ibv_recv_wr *wr)
{
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->rq.max_sge)
		return EINVAL;
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	wqe->reserved = 0;
	mrc_copy_sges((struct mrc_sge *)(wqe + 1), wr->sg_list, wr->num_sge);
	return 0;
}

int mrc_v_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	struct mrc_v_qp *qp = to_mqp(ibqp);
	struct mrc_ring *ring = &qp->rq.ring;
	struct ibv_recv_wr *first = wr;
	bool kick = false;
	uint32_t idx;
	int ret = 0;
	int err;

	pthread_spin_lock(&qp->rq.lock);
	idx = ring->idx;
	/* InfiniBand C10-97.2.1: no receive is posted in RESET. */
	if (!ring->hdr || ibqp->state == IBV_QPS_RESET)
		ret = EINVAL;
	while (wr && !ret) {
		if (mrc_ring_full(ring, idx))
			ret = ENOMEM;
		else
			ret = mrc_build_recv(qp, mrc_ring_entry(ring, idx), wr);
		if (!ret) {
			idx++;
			wr = wr->next;
		}
	}
	if (idx != ring->idx) {
		mrc_ring_produce(ring, idx);
		/*
		 * Pairs with the kernel, which sets the flag before it looks
		 * at prod for the last time: one of the two sees the other.
		 */
		atomic_thread_fence(memory_order_seq_cst);
		kick = mrc_load_acquire(&ring->hdr->flags) & MRC_RING_F_KICK;
	}
	pthread_spin_unlock(&qp->rq.lock);

	if (ret)
		*bad_wr = wr;
	if (kick) {
		err = mrc_ring_rq(qp);
		if (err) {
			*bad_wr = first;
			return err;
		}
	}
	return ret;
}

/*
 * ibv_wr_*(): the batch is built in the ring behind prod, which moves only
 * when it is complete. After an error nothing more is built and completing it
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
		/* What carries the data is decided by the setter. */
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

static void mrc_wr_set_sge_list(struct ibv_qp_ex *qpx, size_t num_sge,
				const struct ibv_sge *sg_list)
{
	struct mrc_v_qp *qp = to_mqp_ex(qpx);
	struct mrc_send_wqe *wqe = qp->batch_wqe;
	int ret;

	if (!wqe)
		return;
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
	qpx->wr_set_sge = mrc_wr_set_sge;
	qpx->wr_set_sge_list = mrc_wr_set_sge_list;
	qpx->wr_set_inline_data = mrc_wr_set_inline_data;
	qpx->wr_set_inline_data_list = mrc_wr_set_inline_data_list;
}
