// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting work: ibv_post_send, ibv_post_recv, ibv_bind_mw.
 */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "post.h"

/* All operations of libibverbs. */
#define MRC_WR(op) (1U << IBV_WR_##op)
#define MRC_KNOWN_OPS                                                          \
	(MRC_WR(RDMA_WRITE) | MRC_WR(RDMA_WRITE_WITH_IMM) | MRC_WR(SEND) |     \
	 MRC_WR(SEND_WITH_IMM) | MRC_WR(RDMA_READ) |                           \
	 MRC_WR(ATOMIC_CMP_AND_SWP) | MRC_WR(ATOMIC_FETCH_AND_ADD) |           \
	 MRC_WR(LOCAL_INV) | MRC_WR(BIND_MW) | MRC_WR(SEND_WITH_INV) |         \
	 MRC_WR(TSO) | MRC_WR(DRIVER1) | MRC_WR(FLUSH) | MRC_WR(ATOMIC_WRITE))

/* Operations that can have inline data. */
#define MRC_INLINE_OPS                                                         \
	(MRC_WR(RDMA_WRITE) | MRC_WR(RDMA_WRITE_WITH_IMM) | MRC_WR(SEND) |     \
	 MRC_WR(SEND_WITH_IMM) | MRC_WR(SEND_WITH_INV))

int mrc_send_state(const struct mrc_v_qp *qp)
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
 * Ring the doorbell: an empty post command. The entries are in the ring already, and
 * the QP's state was valid when they were written. So a failure means that the device
 * is gone or, at the first doorbell of a send queue, lack of memory.
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

int mrc_wqe_set_sges(struct mrc_v_qp *qp, struct mrc_send_wqe *wqe,
		     const struct ibv_sge *sge, size_t n)
{
	if (n > qp->sq.max_sge || mrc_sge_total(sge, n) > MRC_MAX_MSG)
		return EINVAL;
	mrc_copy_sges(mrc_wqe_data(wqe), sge, n);
	wqe->num_sge = n;
	return 0;
}

/*
 * Compares with the remaining room, so there is no overflow. Too much data is ENOMEM,
 * as with hardware: the queue has no room for it.
 */
int mrc_wqe_add_inline(struct mrc_v_qp *qp, struct mrc_send_wqe *wqe,
		       const void *addr, size_t len)
{
	if (!(MRC_INLINE_OPS & 1U << wqe->opcode))
		return EINVAL;
	if (len > qp->sq.max_inline - wqe->inline_len)
		return ENOMEM;
	if (len)
		memcpy((char *)mrc_wqe_data(wqe) + wqe->inline_len, addr, len);
	wqe->inline_len += len;
	return 0;
}

/*
 * The kernel checks whether the bind is valid. Only errors that the entry cannot
 * express are checked here. A type 2 window gets the key that the program chose.
 */
int mrc_wqe_set_bind(struct mrc_send_wqe *wqe, const struct ibv_mw *mw,
		     uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	if (!mw || (!info->mr && info->length))
		return EINVAL;
	wqe->imm_data = mw->rkey;
	wqe->rkey = rkey;
	wqe->remote_addr = info->addr;
	wqe->compare_add = info->length;
	wqe->swap = (uint64_t)info->mw_access_flags << 32;
	if (info->mr)
		wqe->swap |= info->mr->lkey;
	return 0;
}

int mrc_wqe_set_ud(struct mrc_send_wqe *wqe, struct ibv_ah *ah, uint32_t qpn,
		   uint32_t qkey)
{
	if (!ah)
		return EINVAL;
	wqe->remote_addr = to_mah(ah)->num | (uint64_t)qpn << 32;
	wqe->rkey = qkey;
	return 0;
}

static int mrc_wqe_gather(struct mrc_v_qp *qp, struct mrc_send_wqe *wqe,
			  const struct ibv_send_wr *wr)
{
	int ret;
	int i;

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

/* One entry of 8 bytes. An inline ATOMIC_WRITE has the data in the header instead. */
static int mrc_build_atomic(struct mrc_v_qp *qp, struct mrc_send_wqe *wqe,
			    const struct ibv_send_wr *wr)
{
	if (wr->num_sge != 1 || wr->sg_list->length != MRC_ATOMIC_LEN)
		return EINVAL;
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return mrc_wqe_set_sges(qp, wqe, wr->sg_list, 1);
	if (wr->opcode != IBV_WR_ATOMIC_WRITE)
		return EINVAL;
	memcpy(&wqe->swap, (void *)(uintptr_t)wr->sg_list->addr,
	       MRC_ATOMIC_LEN);
	return 0;
}

static int mrc_check_op(const struct mrc_v_qp *qp, unsigned int opcode)
{
	if (opcode >= 32 || !(MRC_KNOWN_OPS & 1U << opcode))
		return EINVAL;
	return qp->ops & 1U << opcode ? 0 : EOPNOTSUPP;
}

static int mrc_build_send(struct mrc_v_qp *qp, struct mrc_send_wqe *wqe,
			  const struct ibv_send_wr *wr)
{
	int ret = mrc_check_op(qp, wr->opcode);

	if (ret)
		return ret;
	if ((wr->send_flags & ~MRC_SEND_FLAGS) || wr->num_sge < 0 ||
	    (uint32_t)wr->num_sge > qp->sq.max_sge)
		return EINVAL;

	*wqe = (struct mrc_send_wqe){
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.send_flags = wr->send_flags,
	};
	if (qp->vqp.qp.qp_type == IBV_QPT_UD) {
		ret = mrc_wqe_set_ud(wqe, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
				     wr->wr.ud.remote_qkey);
		if (ret)
			return ret;
	}

	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		wqe->imm_data = (__force uint32_t)wr->imm_data;
		SWITCH_FALLTHROUGH;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
		wqe->rkey = wr->wr.rdma.rkey;
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		break;
	case IBV_WR_SEND:
		break;
	case IBV_WR_SEND_WITH_IMM:
		wqe->imm_data = (__force uint32_t)wr->imm_data;
		break;
	case IBV_WR_SEND_WITH_INV:
		wqe->imm_data = wr->invalidate_rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		wqe->swap = wr->wr.atomic.swap;
		SWITCH_FALLTHROUGH;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wqe->compare_add = wr->wr.atomic.compare_add;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		return mrc_build_atomic(qp, wqe, wr);
	case IBV_WR_ATOMIC_WRITE:
		wqe->rkey = wr->wr.rdma.rkey;
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		return mrc_build_atomic(qp, wqe, wr);
	case IBV_WR_LOCAL_INV:
		wqe->imm_data = wr->invalidate_rkey;
		wqe->send_flags &= ~IBV_SEND_INLINE;
		return 0;
	case IBV_WR_BIND_MW:
		/* Type 1 windows are bound with ibv_bind_mw(). */
		if (wr->bind_mw.mw && wr->bind_mw.mw->type != IBV_MW_TYPE_2)
			return EINVAL;
		wqe->send_flags &= ~IBV_SEND_INLINE;
		return mrc_wqe_set_bind(wqe, wr->bind_mw.mw, wr->bind_mw.rkey,
					&wr->bind_mw.bind_info);
	default:
		/* FLUSH: struct ibv_send_wr has no fields for its parameters. */
		return EOPNOTSUPP;
	}
	if (wr->send_flags & IBV_SEND_INLINE)
		return mrc_wqe_gather(qp, wqe, wr);
	return mrc_wqe_set_sges(qp, wqe, wr->sg_list, wr->num_sge);
}

/*
 * The first doorbell may fail for lack of memory for the requester. The kernel has not
 * read the entries then, so they are taken back. The lock is held until the result is
 * known, so that no other thread can post entries behind them.
 */
int mrc_submit_sq(struct mrc_v_qp *qp, uint32_t idx)
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

/*
 * Choose the next key of a type 1 window. The program sees the new key when the bind is
 * posted. The old key is valid until the bind is executed.
 */
int mrc_v_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind)
{
	struct mrc_v_qp *qp = to_mqp(ibqp);
	struct mrc_ring *ring = &qp->sq.ring;
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct mrc_send_wqe *wqe;
	uint32_t idx;
	int ret;

	if (bind->send_flags & ~(IBV_SEND_FENCE | IBV_SEND_SIGNALED |
				 IBV_SEND_SOLICITED))
		return EINVAL;
	pthread_spin_lock(&qp->sq.lock);
	idx = ring->idx;
	ret = mrc_send_state(qp);
	if (!ret)
		ret = mrc_check_op(qp, IBV_WR_BIND_MW);
	if (!ret && mrc_ring_full(ring, idx))
		ret = ENOMEM;
	if (ret)
		goto unlock;
	wqe = mrc_ring_entry(ring, idx);
	*wqe = (struct mrc_send_wqe){
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
	};
	ret = mrc_wqe_set_bind(wqe, mw, rkey, &bind->bind_info);
	if (ret)
		goto unlock;
	ret = mrc_submit_sq(qp, idx + 1);
	if (!ret)
		mw->rkey = rkey;
	return ret;

unlock:
	pthread_spin_unlock(&qp->sq.lock);
	return ret;
}

static int mrc_build_recv(const struct mrc_wq *rq, struct mrc_recv_wqe *wqe,
			  const struct ibv_recv_wr *wr)
{
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > rq->max_sge)
		return EINVAL;
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	wqe->reserved = 0;
	mrc_copy_sges((struct mrc_sge *)(wqe + 1), wr->sg_list, wr->num_sge);
	return 0;
}

int mrc_fill_rq(struct mrc_wq *rq, struct ibv_recv_wr **wr)
{
	struct mrc_ring *ring = &rq->ring;
	uint32_t idx = ring->idx;
	int ret = 0;

	for (; *wr; *wr = (*wr)->next) {
		if (mrc_ring_full(ring, idx))
			ret = ENOMEM;
		else
			ret = mrc_build_recv(rq, mrc_ring_entry(ring, idx),
					     *wr);
		if (ret)
			break;
		idx++;
	}
	if (idx != ring->idx)
		mrc_ring_produce(ring, idx);
	return ret;
}

int mrc_v_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	struct mrc_v_qp *qp = to_mqp(ibqp);
	struct mrc_ring *ring = &qp->rq.ring;
	struct ibv_recv_wr *first = wr;
	bool kick = false;
	uint32_t idx;
	int ret;
	int err;

	pthread_spin_lock(&qp->rq.lock);
	idx = ring->idx;
	/*
	 * InfiniBand C10-97.2.1: no receive can be posted in RESET. With an SRQ there
	 * is no ring.
	 */
	if (!ring->hdr || ibqp->state == IBV_QPS_RESET)
		ret = EINVAL;
	else
		ret = mrc_fill_rq(&qp->rq, &wr);
	if (idx != ring->idx) {
		/*
		 * Pairs with the kernel, which sets the flag before it reads prod for
		 * the last time: either the kernel sees the new prod or this thread
		 * sees the flag.
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
