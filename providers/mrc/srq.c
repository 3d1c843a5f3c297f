// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues: create, modify, query, destroy, post.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "post.h"

static size_t mrc_srq_stride(uint32_t max_sge)
{
	return sizeof(struct mrc_recv_wqe) +
	       (size_t)max_sge * sizeof(struct mrc_sge);
}

/* Finish creation after the kernel's response: map the ring, or undo everything. */
static struct ibv_srq *mrc_srq_finish(struct mrc_v_srq *srq,
				      struct ibv_context *context, int ret,
				      uint32_t max_sge,
				      const struct mrc_create_srq_resp *resp)
{
	if (ret)
		goto err;
	srq->rq.max_sge = max_sge;
	ret = mrc_ring_map(&srq->rq.ring, context->cmd_fd, &resp->srq,
			   mrc_srq_stride(max_sge));
	if (ret)
		goto err_destroy;
	srq->vsrq.srq_num = resp->srq_num;
	pthread_spin_init(&srq->rq.lock, PTHREAD_PROCESS_PRIVATE);
	return &srq->vsrq.srq;

err_destroy:
	ibv_cmd_destroy_srq(&srq->vsrq.srq);
err:
	free(srq);
	errno = ret;
	return NULL;
}

/*
 * ibv_cmd_destroy_srq() uses these to wait for events. libibverbs initializes them only
 * after the provider has returned the queue.
 */
static struct mrc_v_srq *mrc_srq_calloc(void)
{
	struct mrc_v_srq *srq = calloc(1, sizeof(*srq));

	if (!srq)
		return NULL;
	pthread_mutex_init(&srq->vsrq.srq.mutex, NULL);
	pthread_cond_init(&srq->vsrq.srq.cond, NULL);
	return srq;
}

struct ibv_srq *mrc_v_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr)
{
	struct umrc_create_srq_resp resp = {};
	struct umrc_create_srq cmd = {};
	struct mrc_v_srq *srq;
	int ret;

	srq = mrc_srq_calloc();
	if (!srq)
		return NULL;
	ret = ibv_cmd_create_srq(pd, &srq->vsrq.srq, attr, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	return mrc_srq_finish(srq, pd->context, ret, attr->attr.max_sge,
			      &resp.drv_payload);
}

struct ibv_srq *mrc_v_create_srq_ex(struct ibv_context *context,
				    struct ibv_srq_init_attr_ex *attr)
{
	struct umrc_create_srq_ex_resp resp = {};
	struct umrc_create_srq_ex cmd = {};
	struct mrc_v_srq *srq;
	int ret;

	if (!check_comp_mask(attr->comp_mask, IBV_SRQ_INIT_ATTR_TYPE |
						      IBV_SRQ_INIT_ATTR_PD) ||
	    (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE &&
	     attr->srq_type != IBV_SRQT_BASIC)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	srq = mrc_srq_calloc();
	if (!srq)
		return NULL;
	ret = ibv_cmd_create_srq_ex(context, &srq->vsrq, attr, &cmd.ibv_cmd,
				    sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	return mrc_srq_finish(srq, context, ret, attr->attr.max_sge,
			      &resp.drv_payload);
}

/*
 * Posting waits meanwhile: an entry written to the old ring after the kernel has copied
 * it would be lost.
 */
static int mrc_resize_srq(struct mrc_v_srq *srq, struct ibv_srq_attr *attr,
			  int attr_mask)
{
	struct mrc_modify_srq_resp resp = {};
	struct umrc_modify_srq cmd = {
		.resp_size = sizeof(resp),
		.resp_addr = (uintptr_t)&resp,
	};
	struct ibv_srq *ibsrq = &srq->vsrq.srq;
	struct mrc_ring old;
	int ret;

	pthread_spin_lock(&srq->rq.lock);
	ret = ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd.ibv_cmd,
				 sizeof(cmd));
	if (!ret) {
		/*
		 * The kernel no longer uses the old ring. If the new ring cannot be
		 * mapped, the queue has none and posting returns EINVAL.
		 */
		old = srq->rq.ring;
		memset(&srq->rq.ring, 0, sizeof(srq->rq.ring));
		ret = mrc_ring_map(&srq->rq.ring, ibsrq->context->cmd_fd,
				   &resp.srq, mrc_srq_stride(srq->rq.max_sge));
		if (!ret)
			srq->rq.ring.idx =
				mrc_load_acquire(&srq->rq.ring.hdr->prod);
		mrc_ring_unmap(&old);
	}
	pthread_spin_unlock(&srq->rq.lock);
	return ret;
}

int mrc_v_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int attr_mask)
{
	struct ibv_modify_srq cmd = {};

	if (attr_mask & IBV_SRQ_MAX_WR)
		return mrc_resize_srq(to_msrq(ibsrq), attr, attr_mask);
	return ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd, sizeof(cmd));
}

int mrc_v_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd = {};

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

int mrc_v_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num)
{
	*srq_num = to_msrq(ibsrq)->vsrq.srq_num;
	return 0;
}

int mrc_v_destroy_srq(struct ibv_srq *ibsrq)
{
	struct mrc_v_srq *srq = to_msrq(ibsrq);
	int ret;

	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;
	mrc_ring_unmap(&srq->rq.ring);
	pthread_spin_destroy(&srq->rq.lock);
	free(srq);
	return 0;
}

int mrc_v_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	struct mrc_v_srq *srq = to_msrq(ibsrq);
	int ret = EINVAL;

	pthread_spin_lock(&srq->rq.lock);
	if (srq->rq.ring.hdr)
		ret = mrc_fill_rq(&srq->rq, &wr);
	pthread_spin_unlock(&srq->rq.lock);
	if (ret)
		*bad_wr = wr;
	return ret;
}
