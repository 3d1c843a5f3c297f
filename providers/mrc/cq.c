// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues. An entry contains everything that a completion reports, so polling
 * needs neither the QP nor the kernel. mrc_v_clean_cq() drops the entries of a QP that
 * is reset or destroyed.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compat.h"
#include "mrc_provider.h"

enum {
	MRC_SUP_WC_FLAGS = IBV_WC_STANDARD_FLAGS |
			   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	MRC_SUP_CQ_COMP_MASK = IBV_CQ_INIT_ATTR_MASK_FLAGS,
	MRC_SUP_CQ_FLAGS = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
};

static inline void mrc_cq_lock(struct mrc_v_cq *cq)
{
	if (!cq->single_threaded)
		pthread_spin_lock(&cq->lock);
}

static inline void mrc_cq_unlock(struct mrc_v_cq *cq)
{
	if (!cq->single_threaded)
		pthread_spin_unlock(&cq->lock);
}

static void mrc_cqe_to_wc(const struct mrc_cqe *cqe, struct ibv_wc *wc)
{
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = (__force __be32)cqe->imm_data;
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = 0;
}

int mrc_v_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct mrc_v_cq *cq = to_mcq(ibcq);
	struct mrc_ring *ring = &cq->ring;
	int polled = 0;

	mrc_cq_lock(cq);
	if (unlikely(!ring->hdr)) {
		mrc_cq_unlock(cq);
		return -EIO;
	}
	while (polled < n && !mrc_ring_empty(ring, ring->idx)) {
		mrc_cqe_to_wc(mrc_ring_entry(ring, ring->idx), &wc[polled++]);
		ring->idx++;
	}
	if (polled)
		mrc_ring_consume(ring);
	mrc_cq_unlock(cq);
	return polled;
}

/*
 * The provider owns the entries from cons to prod until it advances cons. The entries
 * that stay are moved towards prod, which frees room at the cons end.
 */
void mrc_v_clean_cq(struct ibv_cq *ibcq, uint32_t qpn)
{
	struct mrc_v_cq *cq = to_mcq(ibcq);
	struct mrc_ring *ring = &cq->ring;
	uint32_t dropped = 0;
	uint32_t idx;

	mrc_cq_lock(cq);
	if (!ring->hdr)
		goto out;
	idx = mrc_load_acquire(&ring->hdr->prod);
	/* Impossible, unless the program has overwritten the mapping. */
	if (idx - ring->idx > ring->depth)
		goto out;
	while (idx != ring->idx) {
		const struct mrc_cqe *cqe = mrc_ring_entry(ring, --idx);

		if (cqe->qp_num == qpn)
			dropped++;
		else if (dropped)
			memcpy(mrc_ring_entry(ring, idx + dropped), cqe,
			       sizeof(*cqe));
	}
	if (dropped) {
		ring->idx += dropped;
		mrc_ring_consume(ring);
	}
out:
	mrc_cq_unlock(cq);
}

static void mrc_cq_take(struct mrc_v_cq *cq)
{
	cq->cur = mrc_ring_entry(&cq->ring, cq->ring.idx);
	cq->ring.idx++;
	cq->vcq.cq_ex.wr_id = cq->cur->wr_id;
	cq->vcq.cq_ex.status = cq->cur->status;
}

static int mrc_start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct mrc_v_cq *cq = to_mcq_ex(ibcq);
	int ret = 0;

	if (unlikely(attr->comp_mask))
		return EINVAL;
	mrc_cq_lock(cq);
	if (unlikely(!cq->ring.hdr))
		ret = EIO;
	else if (mrc_ring_empty(&cq->ring, cq->ring.idx))
		ret = ENOENT;
	if (ret) {
		mrc_cq_unlock(cq);
		return ret;
	}
	mrc_cq_take(cq);
	return 0;
}

static int mrc_next_poll(struct ibv_cq_ex *ibcq)
{
	struct mrc_v_cq *cq = to_mcq_ex(ibcq);

	/*
	 * The previous entry may be overwritten from here on: a program that polls a
	 * full queue in one long batch makes room meanwhile.
	 */
	mrc_ring_consume(&cq->ring);
	if (mrc_ring_empty(&cq->ring, cq->ring.idx))
		return ENOENT;
	mrc_cq_take(cq);
	return 0;
}

static void mrc_end_poll(struct ibv_cq_ex *ibcq)
{
	struct mrc_v_cq *cq = to_mcq_ex(ibcq);

	mrc_ring_consume(&cq->ring);
	cq->cur = NULL;
	mrc_cq_unlock(cq);
}

/* libibverbs calls a function for every field of the current entry. */
#define MRC_READ_FIELD(type, field)                          \
	static type mrc_read_##field(struct ibv_cq_ex *ibcq) \
	{                                                    \
		return to_mcq_ex(ibcq)->cur->field;          \
	}

MRC_READ_FIELD(enum ibv_wc_opcode, opcode)
MRC_READ_FIELD(uint32_t, vendor_err)
MRC_READ_FIELD(uint32_t, byte_len)
MRC_READ_FIELD(uint32_t, qp_num)
MRC_READ_FIELD(uint32_t, src_qp)
MRC_READ_FIELD(unsigned int, wc_flags)
MRC_READ_FIELD(uint64_t, timestamp)

static __be32 mrc_read_imm_data(struct ibv_cq_ex *ibcq)
{
	return (__force __be32)to_mcq_ex(ibcq)->cur->imm_data;
}

/* Datagrams: IP version of the header in the GRH, see enum mrc_cqe_sl. */
static uint8_t mrc_read_sl(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cur->sl;
}

/* Ethernet has no LIDs. */
static uint32_t mrc_read_slid(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t mrc_read_zero(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static void mrc_set_poll_ops(struct ibv_cq_ex *cqx, uint64_t wc_flags)
{
	cqx->start_poll = mrc_start_poll;
	cqx->next_poll = mrc_next_poll;
	cqx->end_poll = mrc_end_poll;
	cqx->read_opcode = mrc_read_opcode;
	cqx->read_vendor_err = mrc_read_vendor_err;
	cqx->read_wc_flags = mrc_read_wc_flags;

	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		cqx->read_byte_len = mrc_read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		cqx->read_imm_data = mrc_read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		cqx->read_qp_num = mrc_read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		cqx->read_src_qp = mrc_read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		cqx->read_slid = mrc_read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		cqx->read_sl = mrc_read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		cqx->read_dlid_path_bits = mrc_read_zero;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cqx->read_completion_ts = mrc_read_timestamp;
}

/*
 * ibv_cmd_destroy_cq() uses these to wait for events. libibverbs initializes them only
 * after the provider has returned the queue, which is too late if creation fails half
 * way.
 */
static struct mrc_v_cq *mrc_cq_calloc(void)
{
	struct mrc_v_cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		return NULL;
	pthread_mutex_init(&cq->vcq.cq.mutex, NULL);
	pthread_cond_init(&cq->vcq.cq.cond, NULL);
	return cq;
}

/*
 * Finish creation after the kernel's response, with result @ret: map the ring, or undo
 * everything. Returns the queue, or NULL with errno.
 */
static struct mrc_v_cq *mrc_cq_finish(struct mrc_v_cq *cq,
				      struct ibv_context *context, int ret,
				      const struct mrc_mmap_info *info)
{
	if (ret)
		goto err;
	ret = mrc_ring_map(&cq->ring, context->cmd_fd, info,
			   sizeof(struct mrc_cqe));
	if (ret)
		goto err_destroy;
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	return cq;

err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err:
	free(cq);
	errno = ret;
	return NULL;
}

struct ibv_cq *mrc_v_create_cq(struct ibv_context *context, int cqe,
			       struct ibv_comp_channel *channel, int vector)
{
	struct umrc_create_cq_resp resp = {};
	struct umrc_create_cq cmd = {};
	struct mrc_v_cq *cq;
	int ret;

	cq = mrc_cq_calloc();
	if (!cq)
		return NULL;
	ret = ibv_cmd_create_cq(context, cqe, channel, vector, &cq->vcq.cq,
				&cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	cq = mrc_cq_finish(cq, context, ret, &resp.drv_payload.cq);
	return cq ? &cq->vcq.cq : NULL;
}

struct ibv_cq_ex *mrc_v_create_cq_ex(struct ibv_context *context,
				     struct ibv_cq_init_attr_ex *attr)
{
	struct umrc_create_cq_ex_resp resp = {};
	struct umrc_create_cq_ex cmd = {};
	struct ibv_cq_init_attr_ex kattr = *attr;
	struct mrc_v_cq *cq;
	int ret;

	if (!check_comp_mask(attr->comp_mask, MRC_SUP_CQ_COMP_MASK) ||
	    !check_comp_mask(attr->wc_flags, MRC_SUP_WC_FLAGS) ||
	    ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	     !check_comp_mask(attr->flags, MRC_SUP_CQ_FLAGS))) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	cq = mrc_cq_calloc();
	if (!cq)
		return NULL;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS)
		cq->single_threaded = attr->flags &
				      IBV_CREATE_CQ_ATTR_SINGLE_THREADED;

	/* Every entry has a timestamp: do not request it from the kernel. */
	kattr.wc_flags &= ~(uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	ret = mrc_cmd_create_cq_ex(context, &kattr, &cq->vcq, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp),
				   0);
	cq = mrc_cq_finish(cq, context, ret, &resp.drv_payload.cq);
	if (!cq)
		return NULL;
	mrc_set_poll_ops(&cq->vcq.cq_ex, attr->wc_flags);
	return &cq->vcq.cq_ex;
}

/*
 * The lock is held during the command. Otherwise a concurrent poll could take entries
 * from the old ring that the kernel has already copied to the new one.
 */
int mrc_v_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct umrc_resize_cq_resp resp = {};
	struct mrc_v_cq *cq = to_mcq(ibcq);
	struct ibv_resize_cq cmd = {};
	struct mrc_ring old;
	int ret;

	mrc_cq_lock(cq);
	ret = ibv_cmd_resize_cq(ibcq, cqe, &cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (!ret) {
		/*
		 * The kernel no longer uses the old ring. If the new ring cannot be
		 * mapped, the queue has none and polling returns EIO.
		 */
		old = cq->ring;
		memset(&cq->ring, 0, sizeof(cq->ring));
		ret = mrc_ring_map(&cq->ring, ibcq->context->cmd_fd,
				   &resp.drv_payload.cq,
				   sizeof(struct mrc_cqe));
		mrc_ring_unmap(&old);
	}
	mrc_cq_unlock(cq);
	return ret;
}

int mrc_v_destroy_cq(struct ibv_cq *ibcq)
{
	struct mrc_v_cq *cq = to_mcq(ibcq);
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret && !mrc_v_gone(ret, cq->lib))
		return ret;
	mrc_ring_unmap(&cq->ring);
	pthread_spin_destroy(&cq->lock);
	free(cq);
	return 0;
}
