// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC: creation, query and destruction of queue pairs. For modify see lib_modify.c.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib_qp.h"
#include "mrc_provider.h"

/*
 * A program that asks for inline data gets at least this many bytes, because some
 * programs post more than they asked for.
 */
#define INLINE_MIN	512

#define SEND_OPS                               \
	((uint64_t)IBV_QP_EX_WITH_RDMA_WRITE | \
	 (uint64_t)IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)

static bool init_attr_ok(const struct mrc_context *ctx,
			 const struct mrc_qp_init_attr *init)
{
	return ctx && init && init->send_cq && init->recv_cq && init->pd &&
	       init->send_cq->vcq && init->recv_cq->vcq &&
	       init->send_cq->ctx == ctx && init->recv_cq->ctx == ctx &&
	       init->pd->context == ctx->vctx &&
	       !(init->protocol_version & ~ctx->dev.protocol_version) &&
	       !(init->send_ops_flags & ~SEND_OPS);
}

/* Add @n (1 or -1) to the user counters of the context and the queues. */
static void count_users(const struct mrc_qp *qp, int n)
{
	struct mrc_context *ctx = qp->ctx;

	pthread_mutex_lock(&ctx->lock);
	ctx->children += n;
	qp->send_cq->qps += n;
	qp->recv_cq->qps += n;
	pthread_mutex_unlock(&ctx->lock);
}

struct mrc_qp *mrc_create_qp(struct mrc_context *mrc_ctx,
			     struct mrc_qp_init_attr *mrc_qp_attr)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct mrc_v_context events;
	struct mrc_qp *qp;

	if (!init_attr_ok(mrc_ctx, mrc_qp_attr)) {
		errno = EINVAL;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	attr.qp_context = mrc_qp_attr->qp_context;
	attr.send_cq = mrc_qp_attr->send_cq->vcq;
	attr.recv_cq = mrc_qp_attr->recv_cq->vcq;
	attr.cap = mrc_qp_attr->cap;
	attr.sq_sig_all = !!mrc_qp_attr->sq_sig_all;
	attr.pd = mrc_qp_attr->pd;
	if (mrc_qp_attr->send_ops_flags) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = mrc_qp_attr->send_ops_flags;
	}
	if (attr.cap.max_inline_data && attr.cap.max_inline_data < INLINE_MIN)
		attr.cap.max_inline_data = INLINE_MIN;

	mrc_lib_event_context(mrc_ctx, &events);
	qp->vqp = mrc_v_create_qp_strict(&events.vctx.context, &attr);
	if (!qp->vqp) {
		free(qp);
		return NULL;
	}
	qp->vqp->context = mrc_ctx->vctx;
	to_mqp(qp->vqp)->lib = qp;
	qp->ctx = mrc_ctx;
	qp->send_cq = mrc_qp_attr->send_cq;
	qp->recv_cq = mrc_qp_attr->recv_cq;
	qp->send_ops_flags = mrc_qp_attr->send_ops_flags;
	qp->port = 1;
	pthread_mutex_init(&qp->lock, NULL);
	count_users(qp, 1);
	mrc_qp_attr->cap = attr.cap;
	return qp;
}

void mrc_lib_qp_set_hint(struct mrc_qp *qp, struct mrc_qp_hint *hint)
{
	pthread_mutex_lock(&qp->ctx->lock);
	if (hint)
		hint->qps++;
	if (qp->hint)
		qp->hint->qps--;
	qp->hint = hint;
	pthread_mutex_unlock(&qp->ctx->lock);
}

int mrc_lib_qp_reset(struct mrc_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	int err;

	err = mrc_v_modify_qp(qp->vqp, &attr, IBV_QP_STATE);
	if (err)
		return err;
	qp->set = 0;
	qp->port = 1;
	memset(qp->vendor_cfg, 0, sizeof(qp->vendor_cfg));
	mrc_lib_qp_set_hint(qp, NULL);
	return 0;
}

int mrc_destroy_qp(struct mrc_qp *qp)
{
	int err;

	if (!qp)
		return mrc_lib_errno(EINVAL);
	/*
	 * Reset stops the queue pair while it still owns its QPN. So the completions
	 * that are dropped cannot be those of another queue pair. Reset fails only if
	 * the device is gone; mrc_v_destroy_qp() handles that.
	 */
	pthread_mutex_lock(&qp->lock);
	mrc_lib_qp_reset(qp);
	pthread_mutex_unlock(&qp->lock);
	/* This waits for events to be acknowledged. */
	err = mrc_v_destroy_qp(qp->vqp);
	if (err)
		return mrc_lib_errno(err);
	mrc_lib_qp_set_hint(qp, NULL);
	count_users(qp, -1);
	pthread_mutex_destroy(&qp->lock);
	free(qp);
	return 0;
}

int mrc_get_qpn(struct mrc_qp *qp, uint32_t *qpn)
{
	if (!qp || !qpn)
		return mrc_lib_err(EINVAL);
	*qpn = qp->vqp->qp_num;
	return 0;
}

/* --- query ---------------------------------------------------------------- */

static int query_kernel(const struct mrc_qp *qp, struct mrc_abi_qp_info *info)
{
	DECLARE_COMMAND_BUFFER(cmd, MRC_ABI_OBJECT_QP, MRC_ABI_QP_QUERY, 2);

	memset(info, 0, sizeof(*info));
	fill_attr_in_obj(cmd, MRC_ABI_ATTR_HANDLE, qp->vqp->handle);
	fill_attr_out_ptr(cmd, MRC_ABI_ATTR_OUT, info);
	return execute_ioctl(qp->ctx->vctx, cmd);
}

/* If the program set no profile, return the one that the device chose, if any. */
static uint64_t profile_in_force(uint64_t set, uint64_t used)
{
	return set != MRC_ABI_PROFILE_NONE ? set : used;
}

static int query_mrc(const struct mrc_qp *qp, struct mrc_qp_attr *attr,
		     uint32_t mask)
{
	struct mrc_abi_qp_info info;
	struct mrc_abi_qp_attr *k = &info.attr;
	int err;

	if (mask & MRC_LIB_QP_KERNEL) {
		err = query_kernel(qp, &info);
		if (err)
			return err;
		/* In RESET the kernel has not been given the defaults yet. */
		mrc_lib_qp_defaults(qp, k, k->mask);
	}
	if (mask & MRC_QP_MAX_WIMM)
		attr->wimm.max_wimm = k->max_wimm;
	if (mask & MRC_QP_MAX_WIMM_DEST)
		attr->wimm.max_wimm_dest = k->max_wimm_dest;
	if (mask & MRC_QP_MPR)
		attr->mpr.mpr = k->mpr;
	if (mask & MRC_QP_MPR_DEST)
		attr->mpr.mpr_dest = k->mpr_dest;
	if (mask & MRC_QP_TIMEOUT)
		attr->timeout = k->timeout;
	if (mask & MRC_QP_EV_PROFILE_ID)
		attr->profile.ev_profile_id =
			profile_in_force(k->ev_profile, info.ev_profile);
	if (mask & MRC_QP_CC_PROFILE_ID)
		attr->profile.cc_profile_id =
			profile_in_force(k->cc_profile, info.cc_profile);
	if (mask & MRC_QP_RETRY_CNT) {
		attr->retry.linear_cnt = k->retry_linear;
		attr->retry.exp_cnt = k->retry_exp;
	}
	if (mask & MRC_QP_CAP)
		attr->cap = k->cap;
	if (mask & MRC_QP_HINT)
		attr->qp_hint = qp->hint;
	if (mask & (uint32_t)MRC_QP_VENDOR_CFG)
		memcpy(attr->vendor_cfg, qp->vendor_cfg,
		       sizeof(attr->vendor_cfg));
	return 0;
}

static void fill_init_attr(const struct mrc_qp *qp,
			   const struct ibv_qp_init_attr *vinit,
			   struct mrc_qp_init_attr *init)
{
	*init = (struct mrc_qp_init_attr){
		.qp_context = qp->vqp->qp_context,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.cap = vinit->cap,
		.sq_sig_all = vinit->sq_sig_all,
		.pd = qp->vqp->pd,
		.send_ops_flags = qp->send_ops_flags,
		.protocol_version = MRC_PROTOCOL_VERSION_1,
	};
}

static int query(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		 struct mrc_qp_attr *mrc_attr, uint32_t mrc_attr_mask,
		 struct mrc_qp_init_attr *init_attr)
{
	struct ibv_qp_init_attr vinit = {};
	struct ibv_qp_attr attr = {};
	int err;

	err = mrc_v_query_qp(qp->vqp, &attr, vattr_mask | IBV_QP_STATE, &vinit);
	if (err)
		return err;
	err = query_mrc(qp, mrc_attr, mrc_attr_mask);
	if (err)
		return err;
	/* Received packets may have changed the state. */
	mrc_v_set_state(qp->vqp, attr.qp_state);
	if (vattr)
		*vattr = attr;
	if (init_attr)
		fill_init_attr(qp, &vinit, init_attr);
	return 0;
}

int mrc_query_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		 struct mrc_qp_attr *mrc_attr, int mrc_attr_mask,
		 struct mrc_qp_init_attr *init_attr)
{
	int err;

	if (!qp || (vattr_mask && !vattr) || (mrc_attr_mask && !mrc_attr) ||
	    vattr_mask & ~(IBV_QP_RATE_LIMIT - 1) ||
	    (uint32_t)mrc_attr_mask & ~MRC_LIB_QP_ALL)
		return mrc_lib_errno(EINVAL);
	pthread_mutex_lock(&qp->lock);
	err = query(qp, vattr, vattr_mask, mrc_attr, mrc_attr_mask, init_attr);
	pthread_mutex_unlock(&qp->lock);
	return mrc_lib_errno(err);
}
