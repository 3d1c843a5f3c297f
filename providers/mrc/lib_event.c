// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC: completion channels, asynchronous events.
 *
 * A channel collects events from two sources: the kernel's completion channel and
 * queues of EV events, which have their own file descriptors. Programs poll an epoll
 * descriptor over all of them.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib_mrc.h"
#include "mrc_provider.h"

/* --- channels ------------------------------------------------------------- */

static int open_verbs_channel(struct mrc_context *ctx,
			      struct ibv_comp_channel *vch)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE,
			       UVERBS_METHOD_INVOKE_WRITE, 3);
	struct ib_uverbs_create_comp_channel_resp resp = {};
	struct ib_uverbs_create_comp_channel req = {};
	int err;

	fill_attr_const_in(cmd, UVERBS_ATTR_WRITE_CMD,
			   IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL);
	fill_attr_in_ptr(cmd, UVERBS_ATTR_CORE_IN, &req);
	fill_attr_out_ptr(cmd, UVERBS_ATTR_CORE_OUT, &resp);
	err = execute_ioctl(ctx->vctx, cmd);
	if (err)
		return err;
	vch->context = ctx->vctx;
	vch->fd = resp.fd;
	/*
	 * Blocking is decided at the epoll descriptor. Reading must not block if
	 * another thread has taken the event first.
	 */
	if (fcntl(vch->fd, F_SETFL, fcntl(vch->fd, F_GETFL) | O_NONBLOCK)) {
		err = errno;
		close(vch->fd);
	}
	return err;
}

static int open_epoll(struct mrc_comp_channel *channel)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int err;

	channel->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (channel->epfd < 0)
		return errno;
	if (epoll_ctl(channel->epfd, EPOLL_CTL_ADD, channel->vch.fd, &ev)) {
		err = errno;
		close(channel->epfd);
		return err;
	}
	return 0;
}

int mrc_create_comp_channel(struct mrc_context *mrc_ctx,
			    struct mrc_comp_channel **channel)
{
	struct mrc_comp_channel *ch;
	int err;

	if (!channel)
		return mrc_lib_errno(EINVAL);
	*channel = NULL;
	if (!mrc_ctx)
		return mrc_lib_errno(EINVAL);
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return mrc_lib_errno(ENOMEM);
	err = open_verbs_channel(mrc_ctx, &ch->vch);
	if (err)
		goto err_free;
	err = open_epoll(ch);
	if (err)
		goto err_close;
	ch->ctx = mrc_ctx;
	pthread_mutex_init(&ch->lock, NULL);
	list_head_init(&ch->ev_cqs);
	mrc_lib_child_add(mrc_ctx);
	*channel = ch;
	return 0;

err_close:
	close(ch->vch.fd);
err_free:
	free(ch);
	return mrc_lib_errno(err);
}

int mrc_get_comp_channel_fd(struct mrc_comp_channel *channel, int *fd)
{
	if (!channel || !fd)
		return mrc_lib_err(EINVAL);
	*fd = channel->epfd;
	return 0;
}

int mrc_destroy_comp_channel(struct mrc_comp_channel *channel)
{
	unsigned int cqs;

	if (!channel)
		return mrc_lib_errno(EINVAL);
	pthread_mutex_lock(&channel->ctx->lock);
	cqs = channel->cqs;
	pthread_mutex_unlock(&channel->ctx->lock);
	if (cqs)
		return mrc_lib_errno(EBUSY);
	close(channel->epfd);
	close(channel->vch.fd);
	mrc_lib_child_del(channel->ctx);
	pthread_mutex_destroy(&channel->lock);
	free(channel);
	return 0;
}

/* --- completion events ---------------------------------------------------- */

int mrc_req_notify_cq(struct mrc_cq *cq, int solicited_only)
{
	if (!cq)
		return mrc_lib_errno(EINVAL);
	if (!cq->vcq)
		return mrc_lib_errno(mrc_lib_ev_cq_arm(cq));
	return mrc_lib_errno(ibv_cmd_req_notify_cq(cq->vcq, solicited_only));
}

/* Read an event of a completion queue; NULL with errno if there is none. */
static struct mrc_cq *read_verbs_channel(struct mrc_comp_channel *channel)
{
	struct ib_uverbs_comp_event_desc desc;
	struct ibv_cq *vcq;
	ssize_t n;

	n = read(channel->vch.fd, &desc, sizeof(desc));
	if (n != sizeof(desc)) {
		if (n >= 0)
			errno = EIO;
		return NULL;
	}
	/* The queue cannot be destroyed: the kernel has counted this event. */
	vcq = (struct ibv_cq *)(uintptr_t)desc.cq_handle;
	return to_mcq(vcq)->lib;
}

/* The event queue that epoll reported, or NULL if it has left the channel since. */
static struct mrc_cq *take_ev_cq(struct mrc_comp_channel *channel,
				 const struct mrc_cq *which)
{
	struct mrc_cq *cq, *found = NULL;

	pthread_mutex_lock(&channel->lock);
	list_for_each(&channel->ev_cqs, cq, ev_node) {
		if (cq == which) {
			pthread_mutex_lock(&cq->ev_lock);
			cq->ev_reported++;
			pthread_mutex_unlock(&cq->ev_lock);
			found = cq;
			break;
		}
	}
	pthread_mutex_unlock(&channel->lock);
	return found;
}

/* Does the program want to block? It may change O_NONBLOCK at any time. */
static bool blocking(const struct mrc_comp_channel *channel)
{
	int flags = fcntl(channel->epfd, F_GETFL);

	return flags < 0 || !(flags & O_NONBLOCK);
}

/*
 * Get the next event of the channel. Returns 1, 0 if there is none and the program does
 * not block, or -1. Waits with poll(), because poll() is restarted after the process
 * was stopped and continued, like reading a verbs channel; epoll_wait() is not.
 */
static int wait_channel(const struct mrc_comp_channel *channel,
			struct epoll_event *ev)
{
	struct pollfd fd = { .fd = channel->epfd, .events = POLLIN };
	int n;

	for (;;) {
		n = epoll_wait(channel->epfd, ev, 1, 0);
		if (n || !blocking(channel))
			return n;
		if (poll(&fd, 1, -1) < 0)
			return -1;
	}
}

int mrc_get_cq_event(struct mrc_comp_channel *channel, struct mrc_cq **cq,
		     void **cq_context)
{
	struct epoll_event ev;
	struct mrc_cq *found;
	int n;

	if (!channel || !cq || !cq_context)
		return mrc_lib_err(EINVAL);
	do {
		n = wait_channel(channel, &ev);
		if (n < 0)
			return -1;
		if (!n)
			return mrc_lib_err(EAGAIN);
		if (ev.data.ptr) {
			found = take_ev_cq(channel, ev.data.ptr);
		} else {
			found = read_verbs_channel(channel);
			/* EAGAIN: another thread has taken the event; try again. */
			if (!found && errno != EAGAIN)
				return -1;
		}
	} while (!found);
	*cq = found;
	*cq_context = found->cq_context;
	return 0;
}

void mrc_ack_cq_events(struct mrc_cq *cq, unsigned int nevents)
{
	struct ibv_cq *vcq;

	if (!cq || !nevents)
		return;
	vcq = cq->vcq;
	if (vcq) {
		pthread_mutex_lock(&vcq->mutex);
		vcq->comp_events_completed += nevents;
		pthread_cond_signal(&vcq->cond);
		pthread_mutex_unlock(&vcq->mutex);
	} else {
		pthread_mutex_lock(&cq->ev_lock);
		cq->ev_acked += nevents;
		pthread_cond_signal(&cq->ev_cond);
		pthread_mutex_unlock(&cq->ev_lock);
	}
}

/* --- asynchronous events -------------------------------------------------- */

enum element { ELEMENT_CQ, ELEMENT_QP, ELEMENT_PORT };

/* No other objects are created with this descriptor. */
static enum element element_of(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return ELEMENT_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return ELEMENT_QP;
	default:
		return ELEMENT_PORT;
	}
}

int mrc_get_async_event(struct mrc_context *mrc_ctx,
			struct mrc_async_event *event)
{
	struct ib_uverbs_async_event_desc desc;
	struct ibv_cq *vcq;
	struct ibv_qp *vqp;
	ssize_t n;

	if (!mrc_ctx || !event)
		return mrc_lib_err(EINVAL);
	n = read(mrc_ctx->async_fd, &desc, sizeof(desc));
	if (n != sizeof(desc))
		return n < 0 ? -1 : mrc_lib_err(EIO);

	/* The object cannot be destroyed: the kernel has counted this event. */
	event->event_type = desc.event_type;
	switch (element_of(event->event_type)) {
	case ELEMENT_CQ:
		vcq = (struct ibv_cq *)(uintptr_t)desc.element;
		event->element.cq = to_mcq(vcq)->lib;
		break;
	case ELEMENT_QP:
		vqp = (struct ibv_qp *)(uintptr_t)desc.element;
		event->element.qp = to_mqp(vqp)->lib;
		break;
	case ELEMENT_PORT:
		event->element.port_num = desc.element;
		break;
	}
	return 0;
}

void mrc_ack_async_event(struct mrc_async_event *event)
{
	struct ibv_cq *vcq;
	struct ibv_qp *vqp;

	if (!event)
		return;
	switch (element_of(event->event_type)) {
	case ELEMENT_CQ:
		/* NULL in an event that was never filled in. */
		if (!event->element.cq)
			return;
		vcq = event->element.cq->vcq;
		pthread_mutex_lock(&vcq->mutex);
		vcq->async_events_completed++;
		pthread_cond_signal(&vcq->cond);
		pthread_mutex_unlock(&vcq->mutex);
		break;
	case ELEMENT_QP:
		if (!event->element.qp)
			return;
		vqp = event->element.qp->vqp;
		pthread_mutex_lock(&vqp->mutex);
		vqp->events_completed++;
		pthread_cond_signal(&vqp->cond);
		pthread_mutex_unlock(&vqp->mutex);
		break;
	case ELEMENT_PORT:
		break;
	}
}
