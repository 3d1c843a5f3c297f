// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC: completion queues, and the part that they share with event queues of EVs.
 * Programs see both as the same type.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib_mrc.h"
#include "mrc_provider.h"

struct mrc_cq *mrc_lib_cq_alloc(struct mrc_context *ctx,
				struct mrc_comp_channel *channel,
				void *cq_context)
{
	struct mrc_cq *cq;

	if (!ctx || (channel && channel->ctx != ctx)) {
		errno = EINVAL;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	cq->ctx = ctx;
	cq->channel = channel;
	cq->cq_context = cq_context;
	cq->ev_fd = -1;
	list_node_init(&cq->ev_node);
	pthread_mutex_init(&cq->ev_lock, NULL);
	pthread_cond_init(&cq->ev_cond, NULL);

	pthread_mutex_lock(&ctx->lock);
	ctx->children++;
	if (channel)
		channel->cqs++;
	pthread_mutex_unlock(&ctx->lock);
	return cq;
}

void mrc_lib_cq_free(struct mrc_cq *cq)
{
	struct mrc_context *ctx = cq->ctx;

	pthread_mutex_lock(&ctx->lock);
	ctx->children--;
	if (cq->channel)
		cq->channel->cqs--;
	pthread_mutex_unlock(&ctx->lock);
	pthread_cond_destroy(&cq->ev_cond);
	pthread_mutex_destroy(&cq->ev_lock);
	free(cq);
}

struct mrc_cq *mrc_create_cq(struct mrc_context *mrc_ctx, int cqe,
			     void *cq_context, struct mrc_comp_channel *channel,
			     int comp_vector)
{
	struct mrc_v_context events;
	struct mrc_cq *cq;
	int err;

	if (!mrc_ctx || cqe < 1 || comp_vector < 0 ||
	    comp_vector >= mrc_ctx->vctx->num_comp_vectors) {
		errno = EINVAL;
		return NULL;
	}
	cq = mrc_lib_cq_alloc(mrc_ctx, channel, cq_context);
	if (!cq)
		return NULL;
	mrc_lib_event_context(mrc_ctx, &events);
	cq->vcq = mrc_v_create_cq(&events.vctx.context, cqe,
				  channel ? &channel->vch : NULL, comp_vector);
	if (!cq->vcq) {
		err = errno;
		mrc_lib_cq_free(cq);
		errno = err;
		return NULL;
	}
	/* verbs_init_cq() gets no channel: the channel counts its users itself. */
	verbs_init_cq(cq->vcq, mrc_ctx->vctx, NULL, cq_context);
	to_mcq(cq->vcq)->lib = cq;
	return cq;
}

/*
 * If the peer refuses an immediate, for example for lack of a receive, the MRC API
 * reports a remote operation error. Verbs and the protocol report an invalid request.
 */
static void fix_status(struct ibv_wc *wc, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (unlikely(wc[i].status == IBV_WC_REM_INV_REQ_ERR &&
			     wc[i].vendor_err == MRC_VENDOR_ERR_IMM))
			wc[i].status = IBV_WC_REM_OP_ERR;
}

int mrc_poll_cq(struct mrc_cq *cq, int num_entries, struct ibv_wc *wc)
{
	int n;

	if (unlikely(!cq || !cq->vcq || num_entries < 0 ||
		     (num_entries && !wc)))
		return mrc_lib_err(EINVAL);
	n = mrc_v_poll_cq(cq->vcq, num_entries, wc);
	if (unlikely(n < 0))
		return mrc_lib_err(-n);
	fix_status(wc, n);
	return n;
}

/*
 * Remove the queue from the channel first. Events returned before that have been
 * counted, and none is returned afterwards. Then wait until all are acknowledged. A
 * thread that has not acknowledged its event may still poll and arm the queue, so close
 * its descriptor last.
 */
static void destroy_ev_cq(struct mrc_cq *cq)
{
	mrc_lib_ev_cq_stop(cq);
	pthread_mutex_lock(&cq->ev_lock);
	while (cq->ev_acked != cq->ev_reported)
		pthread_cond_wait(&cq->ev_cond, &cq->ev_lock);
	pthread_mutex_unlock(&cq->ev_lock);
	close(cq->ev_fd);
}

int mrc_destroy_cq(struct mrc_cq *cq)
{
	unsigned int qps;
	int err;

	if (!cq)
		return mrc_lib_errno(EINVAL);
	pthread_mutex_lock(&cq->ctx->lock);
	qps = cq->qps;
	pthread_mutex_unlock(&cq->ctx->lock);
	if (qps)
		return mrc_lib_errno(EBUSY);
	if (cq->vcq) {
		/* This waits for events to be acknowledged. */
		err = mrc_v_destroy_cq(cq->vcq);
		if (err)
			return mrc_lib_errno(err);
	} else {
		destroy_ev_cq(cq);
	}
	mrc_lib_cq_free(cq);
	return 0;
}
