/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of libMRC share: its objects, which wrap verbs objects of the
 * provider, and what each of them may assume.
 *
 * Verbs objects are made by the provider's own functions and by the commands
 * that libibverbs offers to providers, never by its functions for programs: a
 * program may have replaced those by functions that end up here.
 *
 * Locks: mrc_qp.lock before mrc_context.lock; mrc_comp_channel.lock before
 * mrc_cq.ev_lock; mrc_qp_hint.lock alone. None is held while posting, polling
 * or waiting for events.
 */
#ifndef LIB_MRC_H
#define LIB_MRC_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <ccan/list.h>
#include <infiniband/driver.h>
#include <rdma/mrc-ctl-abi.h>

#include "mrc.h"

struct mrc_ctl_store;
struct mrc_v_context;

/**
 * struct mrc_context - a program's use of a device
 * @vctx: the verbs context that it was made for
 * @api_version: what the program was written for; where it did not say,
 *	MRC_API_CURRENT_VERSION
 * @async_fd: asynchronous events of the objects made here. A descriptor of its
 *	own, so that programs may read the events of their verbs objects too,
 *	and never meet objects there that they did not make.
 * @dev: limits and capabilities, as they do not change
 * @ctl: what the controller functions keep, NULL if nothing
 * @lock: protects everything below, and the counters of users in all objects
 * @children: channels, queues, queue pairs and hints that there are
 * @hints: how many of them are hints
 */
struct mrc_context {
	struct ibv_context *vctx;
	uint32_t api_version;
	int async_fd;
	struct mrc_abi_device dev;
	struct mrc_ctl_store *ctl;
	pthread_mutex_t lock;
	unsigned int children;
	unsigned int hints;
};

/**
 * struct mrc_comp_channel - where completion queues report
 * @ctx: its context
 * @vch: what the commands of libibverbs take for the kernel's channel, of which
 *	only the descriptor counts; it does not block
 * @epfd: what programs poll: an epoll descriptor over the kernel's channel
 *	(data.ptr NULL) and the armed event queues (data.ptr: struct mrc_cq)
 * @cqs: completion and event queues that report here, under ctx->lock
 * @lock: protects @ev_cqs
 * @ev_cqs: event queues (struct mrc_cq.ev_node)
 */
struct mrc_comp_channel {
	struct mrc_context *ctx;
	struct ibv_comp_channel vch;
	int epfd;
	unsigned int cqs;
	pthread_mutex_t lock;
	struct list_head ev_cqs;
};

/**
 * struct mrc_cq - completion queue, or queue of EV events
 * @ctx: its context
 * @channel: may be NULL
 * @cq_context: the program's
 * @vcq: the completion queue; NULL for an event queue
 * @ev_fd: descriptor of an event queue, which becomes readable with an event;
 *	-1 for a completion queue
 * @qps: queue pairs that complete here, one that uses it twice counts twice;
 *	under ctx->lock
 * @ev_node: in channel->ev_cqs
 * @ev_lock: protects the two counters
 * @ev_reported: events that mrc_get_cq_event() gave out
 * @ev_acked: how many of these came back
 * @ev_cond: signals that some did
 *
 * Members ev_* are unused in a completion queue: its verbs object has them.
 */
struct mrc_cq {
	struct mrc_context *ctx;
	struct mrc_comp_channel *channel;
	void *cq_context;
	struct ibv_cq *vcq;
	int ev_fd;
	unsigned int qps;
	struct list_node ev_node;
	pthread_mutex_t ev_lock;
	uint32_t ev_reported;
	uint32_t ev_acked;
	pthread_cond_t ev_cond;
};

/**
 * struct mrc_qp_hint - what a program expects to do with queue pairs
 * @ctx: its context
 * @qps: queue pairs that refer to it, under ctx->lock
 * @lock: protects @attr
 * @attr: what was said
 */
struct mrc_qp_hint {
	struct mrc_context *ctx;
	unsigned int qps;
	pthread_mutex_t lock;
	struct mrc_qp_hint_attr attr;
};

/**
 * struct mrc_qp - queue pair
 * @vqp: the verbs queue pair. Programs for some devices take it from here, so
 *	it is the first member for ever.
 * @ctx: its context
 * @send_cq: completions of sends
 * @recv_cq: completions of receives, maybe the same
 * @send_ops_flags: as at creation
 * @lock: one modify or query at a time; protects everything below
 * @set: MRC attributes that the kernel was told, since RESET
 * @port: of the program's choice, where it made one; 1-based
 * @hint: NULL if none
 * @vendor_cfg: what was set last; it means nothing to this device
 */
struct mrc_qp {
	struct ibv_qp *vqp;
	struct mrc_context *ctx;
	struct mrc_cq *send_cq;
	struct mrc_cq *recv_cq;
	uint64_t send_ops_flags;
	pthread_mutex_t lock;
	uint32_t set;
	uint8_t port;
	struct mrc_qp_hint *hint;
	uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

/* Functions that return -1 end with this, those that return an errno with */
static inline int mrc_lib_err(int err)
{
	errno = err;
	return -1;
}

/* this. 0 leaves errno alone. */
static inline int mrc_lib_errno(int err)
{
	if (err)
		errno = err;
	return err;
}

/* For results that the caller need not want. */
static inline void mrc_lib_tell(uint32_t *out, uint32_t value)
{
	if (out)
		*out = value;
}

/* lib_context.c */

/* Is @vctx a context of a device of this library? It may be NULL. */
bool mrc_lib_is_mrc(struct ibv_context *vctx);

/* Count one more object of @ctx, or one less. */
void mrc_lib_child_add(struct mrc_context *ctx);
void mrc_lib_child_del(struct mrc_context *ctx);

/*
 * Make @copy a verbs context that commands which create objects can take for
 * @ctx->vctx, so that the objects' asynchronous events go to @ctx.
 */
void mrc_lib_event_context(struct mrc_context *ctx, struct mrc_v_context *copy);

/* lib_cq.c */

/*
 * What completion queues and event queues have in common: the queue is a child
 * of @ctx and a user of @channel. NULL with errno: EINVAL for a channel of
 * another context, ENOMEM.
 */
struct mrc_cq *mrc_lib_cq_alloc(struct mrc_context *ctx,
				struct mrc_comp_channel *channel,
				void *cq_context);
/* The way back, without waiting for anything. */
void mrc_lib_cq_free(struct mrc_cq *cq);

/* lib_ctl_event.c: event queues */

/* Report to the channel once, as soon as there is an event; 0 or an errno. */
int mrc_lib_ev_cq_arm(struct mrc_cq *cq);
/*
 * The channel no longer watches the queue, which leaves channel->ev_cqs, where
 * mrc_ctl_create_ev_event_cq() had put it. Its descriptor stays open.
 */
void mrc_lib_ev_cq_stop(struct mrc_cq *cq);

/* lib_ctl_*.c: frees what the controller functions keep; @ctl may be NULL */
void mrc_lib_ctl_free(struct mrc_ctl_store *ctl);

#endif /* LIB_MRC_H */
