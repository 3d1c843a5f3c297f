// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC: hints about the use of queue pairs. This device does not use them. They are
 * checked, stored and returned, so that programs get the values that they set.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib_mrc.h"

#define HINT_ALL                                       \
	((uint32_t)MRC_QP_HINT_NUM_QPS_PER_PEER |      \
	 (uint32_t)MRC_QP_HINT_NUM_SEND_PEERS |        \
	 (uint32_t)MRC_QP_HINT_NUM_REMOTE_RECV_PEERS | \
	 (uint32_t)MRC_QP_HINT_VENDOR_CFG)

/* vendor_cfg has no format: any bytes are valid. */
static bool hint_ok(const struct mrc_qp_hint_attr *attr, uint32_t mask)
{
	return !(mask & ~HINT_ALL) &&
	       !(mask & MRC_QP_HINT_NUM_QPS_PER_PEER &&
		 attr->num_qps_per_peer < 0) &&
	       !(mask & MRC_QP_HINT_NUM_SEND_PEERS &&
		 attr->num_send_peers < 0) &&
	       !(mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS &&
		 attr->num_remote_recv_peers < 0);
}

static void copy_hint(struct mrc_qp_hint_attr *to,
		      const struct mrc_qp_hint_attr *from, uint32_t mask)
{
	if (mask & MRC_QP_HINT_NUM_QPS_PER_PEER)
		to->num_qps_per_peer = from->num_qps_per_peer;
	if (mask & MRC_QP_HINT_NUM_SEND_PEERS)
		to->num_send_peers = from->num_send_peers;
	if (mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS)
		to->num_remote_recv_peers = from->num_remote_recv_peers;
	if (mask & (uint32_t)MRC_QP_HINT_VENDOR_CFG)
		memcpy(to->vendor_cfg, from->vendor_cfg,
		       sizeof(to->vendor_cfg));
}

struct mrc_qp_hint *mrc_create_qp_hint(struct mrc_context *mrc_ctx,
				       struct mrc_qp_hint_init_attr *init_attr)
{
	struct mrc_qp_hint *hint;
	bool room;

	if (!mrc_ctx || !init_attr || !hint_ok(&init_attr->attr, HINT_ALL)) {
		errno = EINVAL;
		return NULL;
	}
	hint = calloc(1, sizeof(*hint));
	if (!hint)
		return NULL;
	pthread_mutex_lock(&mrc_ctx->lock);
	room = mrc_ctx->hints < mrc_ctx->dev.max_qp_hint;
	if (room) {
		mrc_ctx->hints++;
		mrc_ctx->children++;
	}
	pthread_mutex_unlock(&mrc_ctx->lock);
	if (!room) {
		free(hint);
		errno = ENOSPC;
		return NULL;
	}
	hint->ctx = mrc_ctx;
	hint->attr = init_attr->attr;
	pthread_mutex_init(&hint->lock, NULL);
	return hint;
}

int mrc_destroy_qp_hint(struct mrc_qp_hint *qp_hint)
{
	struct mrc_context *ctx;
	unsigned int qps;

	if (!qp_hint)
		return mrc_lib_err(EINVAL);
	ctx = qp_hint->ctx;
	pthread_mutex_lock(&ctx->lock);
	qps = qp_hint->qps;
	if (!qps) {
		ctx->hints--;
		ctx->children--;
	}
	pthread_mutex_unlock(&ctx->lock);
	if (qps)
		return mrc_lib_err(EBUSY);
	pthread_mutex_destroy(&qp_hint->lock);
	free(qp_hint);
	return 0;
}

int mrc_query_qp_hint(struct mrc_qp_hint *qp_hint,
		      struct mrc_qp_hint_attr *qp_hint_attr,
		      int qp_hint_attr_mask)
{
	uint32_t mask = qp_hint_attr_mask;

	if (!qp_hint || !qp_hint_attr || mask & ~HINT_ALL)
		return mrc_lib_err(EINVAL);
	pthread_mutex_lock(&qp_hint->lock);
	copy_hint(qp_hint_attr, &qp_hint->attr, mask);
	pthread_mutex_unlock(&qp_hint->lock);
	return 0;
}

int mrc_modify_qp_hint(struct mrc_qp_hint *qp_hint,
		       struct mrc_qp_hint_attr *qp_hint_attr,
		       int qp_hint_attr_mask)
{
	uint32_t mask = qp_hint_attr_mask;

	if (!qp_hint || !qp_hint_attr || !hint_ok(qp_hint_attr, mask))
		return mrc_lib_err(EINVAL);
	pthread_mutex_lock(&qp_hint->lock);
	copy_hint(&qp_hint->attr, qp_hint_attr, mask);
	pthread_mutex_unlock(&qp_hint->lock);
	return 0;
}
