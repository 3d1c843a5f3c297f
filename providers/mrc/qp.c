// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: create, query, modify, destroy.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include <ccan/array_size.h>
#include <ccan/minmax.h>

#include "mrc_provider.h"

enum {
	MRC_SUP_QP_COMP_MASK = IBV_QP_INIT_ATTR_PD |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
};

/* Opcodes of libibverbs and the corresponding flags for QP creation. */
#define MRC_OP(op) { 1U << IBV_WR_##op, IBV_QP_EX_WITH_##op }

static const struct {
	uint32_t ops;
	uint64_t send_ops;
} mrc_ops[] = {
	MRC_OP(RDMA_WRITE),
	MRC_OP(RDMA_WRITE_WITH_IMM),
	MRC_OP(SEND),
	MRC_OP(SEND_WITH_IMM),
	MRC_OP(SEND_WITH_INV),
	MRC_OP(RDMA_READ),
	MRC_OP(ATOMIC_CMP_AND_SWP),
	MRC_OP(ATOMIC_FETCH_AND_ADD),
	MRC_OP(ATOMIC_WRITE),
	MRC_OP(FLUSH),
	MRC_OP(LOCAL_INV),
	MRC_OP(BIND_MW),
};

/* Operations that can be posted to a queue pair: bit N = enum ibv_wr_opcode N. */
static uint32_t mrc_qp_ops(uint64_t features, enum ibv_qp_type type,
			   bool strict)
{
	uint32_t ops = 0;

	if (type == IBV_QPT_UD && features & MRC_FEATURE_UD)
		return 1U << IBV_WR_SEND | 1U << IBV_WR_SEND_WITH_IMM;
	if (type == IBV_QPT_UC && features & MRC_FEATURE_UC)
		return 1U << IBV_WR_SEND | 1U << IBV_WR_SEND_WITH_IMM |
		       1U << IBV_WR_RDMA_WRITE |
		       1U << IBV_WR_RDMA_WRITE_WITH_IMM;
	if (type != IBV_QPT_RC)
		return 0;
	if (features & MRC_FEATURE_WRITE)
		ops |= 1U << IBV_WR_RDMA_WRITE |
		       1U << IBV_WR_RDMA_WRITE_WITH_IMM;
	if (strict)
		return ops;
	if (features & MRC_FEATURE_EXT)
		ops |= 1U << IBV_WR_SEND | 1U << IBV_WR_SEND_WITH_IMM |
		       1U << IBV_WR_SEND_WITH_INV | 1U << IBV_WR_RDMA_READ |
		       1U << IBV_WR_ATOMIC_CMP_AND_SWP |
		       1U << IBV_WR_ATOMIC_FETCH_AND_ADD |
		       1U << IBV_WR_ATOMIC_WRITE | 1U << IBV_WR_FLUSH |
		       1U << IBV_WR_LOCAL_INV;
	if (features & MRC_FEATURE_MW)
		ops |= 1U << IBV_WR_BIND_MW;
	return ops;
}

/* The same as enum ibv_qp_create_send_ops_flags. */
static uint64_t mrc_send_ops(uint32_t ops)
{
	uint64_t send_ops = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mrc_ops); i++)
		if (ops & mrc_ops[i].ops)
			send_ops |= mrc_ops[i].send_ops;
	return send_ops;
}

static int mrc_check_qp_attr(struct mrc_v_context *ctx,
			     const struct ibv_qp_init_attr_ex *attr,
			     uint32_t ops)
{
	if (!check_comp_mask(attr->comp_mask, MRC_SUP_QP_COMP_MASK))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	    attr->create_flags)
		return EOPNOTSUPP;
	if (attr->qp_type == IBV_QPT_UD && !(ctx->features & MRC_FEATURE_UD))
		return EOPNOTSUPP;
	if (attr->qp_type == IBV_QPT_UC && !(ctx->features & MRC_FEATURE_UC))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
	    !check_comp_mask(attr->send_ops_flags, mrc_send_ops(ops)))
		return EOPNOTSUPP;
	/*
	 * The kernel reads receives from rings, so the SRQ must be one of this
	 * provider.
	 */
	if (attr->srq && !(ctx->features & MRC_FEATURE_SRQ))
		return EOPNOTSUPP;
	return 0;
}

static size_t mrc_sge_size(uint32_t n)
{
	return (size_t)n * sizeof(struct mrc_sge);
}

/*
 * Map the rings. @cap has the limits from the kernel's response. An entry must have
 * room for them.
 */
static int mrc_map_queues(struct mrc_v_qp *qp, int cmd_fd,
			  const struct ibv_qp_cap *cap,
			  const struct mrc_create_qp_resp *resp)
{
	size_t data;
	int ret;

	qp->sq.max_sge = cap->max_send_sge;
	qp->sq.max_inline = cap->max_inline_data;
	qp->rq.max_sge = cap->max_recv_sge;

	if (resp->sq.size || cap->max_send_wr) {
		data = max_t(size_t, mrc_sge_size(qp->sq.max_sge),
			     qp->sq.max_inline);
		ret = mrc_ring_map(&qp->sq.ring, cmd_fd, &resp->sq,
				   sizeof(struct mrc_send_wqe) + data);
		if (ret)
			return ret;
	}
	if (resp->rq.size) {
		ret = mrc_ring_map(&qp->rq.ring, cmd_fd, &resp->rq,
				   sizeof(struct mrc_recv_wqe) +
					   mrc_sge_size(qp->rq.max_sge));
		if (ret) {
			mrc_ring_unmap(&qp->sq.ring);
			return ret;
		}
	}
	return 0;
}

static struct mrc_v_qp *mrc_do_create_qp(struct ibv_context *context,
					 struct ibv_qp_init_attr_ex *attr,
					 bool strict)
{
	uint64_t features = to_mctx(context)->features;
	uint32_t ops = mrc_qp_ops(features, attr->qp_type, strict);
	struct ibv_qp_init_attr_ex kattr = *attr;
	struct umrc_create_qp_resp resp = {};
	struct umrc_create_qp cmd = {};
	struct mrc_v_qp *qp;
	int ret;

	ret = mrc_check_qp_attr(to_mctx(context), attr, ops);
	if (ret)
		goto err;
	/*
	 * No flags are supported; the command refuses the bit even if the flags are 0.
	 */
	kattr.comp_mask &= ~IBV_QP_INIT_ATTR_CREATE_FLAGS;
	/* Without the feature the kernel has only strict queue pairs. */
	if (strict && features & MRC_FEATURE_STRICT_QP)
		cmd.flags = MRC_QP_F_STRICT;
	qp = calloc(1, sizeof(*qp));
	if (!qp) {
		ret = ENOMEM;
		goto err;
	}
	ret = ibv_cmd_create_qp_ex(context, &qp->vqp, &kattr, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free;
	ret = mrc_map_queues(qp, context->cmd_fd, &kattr.cap,
			     &resp.drv_payload);
	if (ret)
		goto err_destroy;
	attr->cap = kattr.cap;
	qp->ops = ops;

	pthread_spin_init(&qp->sq.lock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&qp->rq.lock, PTHREAD_PROCESS_PRIVATE);
	return qp;

err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free:
	free(qp);
err:
	errno = ret;
	return NULL;
}

struct ibv_qp *mrc_v_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct mrc_v_qp *qp;

	qp = mrc_do_create_qp(pd->context, &attr_ex, false);
	if (!qp)
		return NULL;
	attr->cap = attr_ex.cap;
	return &qp->vqp.qp;
}

static struct ibv_qp *mrc_create_qp_attr_ex(struct ibv_context *context,
					    struct ibv_qp_init_attr_ex *attr,
					    bool strict)
{
	struct mrc_v_qp *qp;

	qp = mrc_do_create_qp(context, attr, strict);
	if (!qp)
		return NULL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		mrc_set_wr_ops(&qp->vqp.qp_ex, attr->send_ops_flags);
		qp->vqp.comp_mask |= VERBS_QP_EX;
	}
	return &qp->vqp.qp;
}

struct ibv_qp *mrc_v_create_qp_ex(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *attr)
{
	return mrc_create_qp_attr_ex(context, attr, false);
}

struct ibv_qp *mrc_v_create_qp_strict(struct ibv_context *context,
				      struct ibv_qp_init_attr_ex *attr)
{
	return mrc_create_qp_attr_ex(context, attr, true);
}

int mrc_v_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		   struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd = {};

	return ibv_cmd_query_qp(ibqp, attr, attr_mask, init_attr, &cmd,
				sizeof(cmd));
}

/* Posting reads the state under one of these locks. */
void mrc_v_set_state(struct ibv_qp *ibqp, enum ibv_qp_state state)
{
	struct mrc_v_qp *qp = to_mqp(ibqp);

	pthread_spin_lock(&qp->sq.lock);
	pthread_spin_lock(&qp->rq.lock);
	ibqp->state = state;
	pthread_spin_unlock(&qp->rq.lock);
	pthread_spin_unlock(&qp->sq.lock);
}

/*
 * Drop completions from before a reset or destroy. The program could mistake them for
 * new ones, or access memory that it freed with the queue pair. Programs rely on this.
 */
static void mrc_forget_completions(struct ibv_qp *ibqp)
{
	mrc_v_clean_cq(ibqp->send_cq, ibqp->qp_num);
	if (ibqp->recv_cq != ibqp->send_cq)
		mrc_v_clean_cq(ibqp->recv_cq, ibqp->qp_num);
}

/*
 * In RESET both sides reset the counters that they own: the kernel and the provider.
 * Posting waits meanwhile, so that no entry is posted between the two.
 */
static int mrc_reset_qp(struct mrc_v_qp *qp, struct ibv_qp_attr *attr,
			int attr_mask)
{
	struct ibv_modify_qp cmd = {};
	int ret;

	pthread_spin_lock(&qp->sq.lock);
	pthread_spin_lock(&qp->rq.lock);
	ret = ibv_cmd_modify_qp(&qp->vqp.qp, attr, attr_mask, &cmd,
				sizeof(cmd));
	if (!ret) {
		/* libibverbs sets it too, but only after the locks are released. */
		qp->vqp.qp.state = IBV_QPS_RESET;
		if (qp->sq.ring.hdr)
			mrc_ring_produce(&qp->sq.ring, 0);
		if (qp->rq.ring.hdr)
			mrc_ring_produce(&qp->rq.ring, 0);
		qp->sq_started = false;
	}
	pthread_spin_unlock(&qp->rq.lock);
	pthread_spin_unlock(&qp->sq.lock);
	if (ret)
		return ret;

	mrc_forget_completions(&qp->vqp.qp);
	return 0;
}

int mrc_v_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		    int attr_mask)
{
	struct ibv_modify_qp cmd = {};
	int ret;

	if ((attr_mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET)
		return mrc_reset_qp(to_mqp(ibqp), attr, attr_mask);
	ret = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
	if (ret && attr_mask & IBV_QP_AV)
		mrc_v_explain_av(ibqp->context, ret, &attr->ah_attr);
	return ret;
}

int mrc_v_destroy_qp(struct ibv_qp *ibqp)
{
	struct mrc_v_qp *qp = to_mqp(ibqp);
	int ret;

	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret && !mrc_v_gone(ret, qp->lib))
		return ret;
	mrc_forget_completions(ibqp);
	mrc_ring_unmap(&qp->sq.ring);
	mrc_ring_unmap(&qp->rq.ring);
	pthread_spin_destroy(&qp->sq.lock);
	pthread_spin_destroy(&qp->rq.lock);
	free(qp);
	return 0;
}
