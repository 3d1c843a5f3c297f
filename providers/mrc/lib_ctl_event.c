// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC for controllers: EV events. The kernel's queue has its own file descriptor,
 * which a completion channel watches in addition to that of its verbs CQs.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>

#include "lib_ctl.h"

/* Events fetched per read. */
#define BATCH	32

/* For programs that do not know the member "state", an event ends where it begins. */
static_assert(offsetof(struct mrc_ctl_ev_event, state) == 48 &&
		      sizeof(struct mrc_ctl_ev_event) == 56,
	      "elements of event arrays");

/* The size of an event for programs of this context. */
static size_t event_size(const struct mrc_context *ctx)
{
	return ctx->api_version < (uint32_t)MRC_API_VER(1, 0, 1) ?
		       offsetof(struct mrc_ctl_ev_event, state) :
		       sizeof(struct mrc_ctl_ev_event);
}

static void event_out(uint8_t *to, size_t size,
		      const struct mrc_abi_ev_event *from)
{
	struct mrc_ctl_ev_event event;

	memset(&event, 0, sizeof(event));
	event.profile_id = from->profile_id;
	memcpy(event.ev.val, from->ev.val, sizeof(event.ev.val));
	event.ev.port = from->ev.port;
	event.drop_count = from->drop_count;
	event.state = from->state;
	memcpy(to, &event, size);
}

/*
 * Fetch up to BATCH pending events: their number, or -errno. The file does not block,
 * so EINTR is the only reason to try again.
 */
static int fetch(int fd, struct mrc_abi_ev_event *event, int room)
{
	ssize_t ret;

	if (room > BATCH)
		room = BATCH;
	do {
		ret = read(fd, event, room * sizeof(*event));
	} while (ret < 0 && errno == EINTR);
	if (ret < 0)
		return errno == EAGAIN ? 0 : -errno;
	return ret / sizeof(*event);
}

int mrc_ctl_poll_ev_event(struct mrc_cq *ev_cq, int num_entries,
			  struct mrc_ctl_ev_event *ev_event)
{
	struct mrc_abi_ev_event event[BATCH];
	uint8_t *to = (uint8_t *)ev_event;
	int i, n, done = 0;
	size_t size;

	if (!ev_cq || ev_cq->ev_fd < 0 || num_entries < 0 ||
	    (num_entries && !ev_event))
		return -EINVAL;
	size = event_size(ev_cq->ctx);
	while (done < num_entries) {
		n = fetch(ev_cq->ev_fd, event, num_entries - done);
		if (n <= 0)
			return done ? done : n;
		for (i = 0; i < n; i++, to += size)
			event_out(to, size, &event[i]);
		done += n;
		if (n < BATCH)
			break;
	}
	return done;
}

/* --- the channel ---------------------------------------------------------- */

int mrc_lib_ev_cq_arm(struct mrc_cq *cq)
{
	struct epoll_event want = {
		.events = EPOLLIN | EPOLLONESHOT,
		.data.ptr = cq,
	};
	int fd;

	/* As with verbs, arming a queue without a channel is no error. */
	if (!cq->channel)
		return 0;
	/*
	 * The queue is added to the channel when it is armed for the first time. Two
	 * threads may do that at the same time.
	 */
	fd = cq->channel->epfd;
	for (;;) {
		if (!epoll_ctl(fd, EPOLL_CTL_MOD, cq->ev_fd, &want))
			return 0;
		if (errno != ENOENT)
			return errno;
		if (!epoll_ctl(fd, EPOLL_CTL_ADD, cq->ev_fd, &want))
			return 0;
		if (errno != EEXIST)
			return errno;
	}
}

void mrc_lib_ev_cq_stop(struct mrc_cq *cq)
{
	struct mrc_comp_channel *channel = cq->channel;

	if (channel) {
		/* Fails if the queue was never armed, which is no error. */
		epoll_ctl(channel->epfd, EPOLL_CTL_DEL, cq->ev_fd, NULL);
		pthread_mutex_lock(&channel->lock);
		list_del(&cq->ev_node);
		pthread_mutex_unlock(&channel->lock);
	}
}

/* --- creation ------------------------------------------------------------- */

/* Create the kernel's queue: a file descriptor, or -errno. */
static int open_queue(struct mrc_context *ctx, uint32_t depth)
{
	DECLARE_COMMAND_BUFFER(cmd, MRC_ABI_OBJECT_EV_EVENTS,
			       MRC_ABI_EV_EVENTS_CREATE, 2);
	struct mrc_abi_ev_events in = { .depth = depth };
	struct ib_uverbs_attr *handle;
	int err, fd, flags;

	handle = fill_attr_out_fd(cmd, MRC_ABI_ATTR_HANDLE, 0);
	fill_attr_in_ptr(cmd, MRC_ABI_ATTR_IN, &in);
	err = lib_ctl_errno(execute_ioctl(ctx->vctx, cmd));
	/*
	 * ENOSPC: the device has no more queues. Creation of CQs reports that as
	 * ENOMEM.
	 */
	if (err)
		return err == ENOSPC ? -ENOMEM : -err;
	fd = read_attr_fd(MRC_ABI_ATTR_HANDLE, handle);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK)) {
		err = errno;
		close(fd);
		return -err;
	}
	return fd;
}

struct mrc_cq *mrc_ctl_create_ev_event_cq(struct mrc_context *mrc_ctx, int cqe,
					  void *cq_context,
					  struct mrc_comp_channel *channel,
					  int comp_vector)
{
	struct mrc_cq *cq;
	int fd;

	if (!mrc_ctx || cqe < 1 || comp_vector < 0 ||
	    comp_vector >= mrc_ctx->vctx->num_comp_vectors) {
		errno = EINVAL;
		return NULL;
	}
	if (!(mrc_ctx->dev.opt & MRC_ABI_OPT_EV_EVENT)) {
		errno = ENOTSUP;
		return NULL;
	}
	cq = mrc_lib_cq_alloc(mrc_ctx, channel, cq_context);
	if (!cq)
		return NULL;
	fd = open_queue(mrc_ctx, cqe);
	if (fd < 0) {
		mrc_lib_cq_free(cq);
		errno = -fd;
		return NULL;
	}
	cq->ev_fd = fd;
	if (channel) {
		pthread_mutex_lock(&channel->lock);
		list_add_tail(&channel->ev_cqs, &cq->ev_node);
		pthread_mutex_unlock(&channel->lock);
	}
	return cq;
}
