/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations shared by the files of libMRC: its objects, which wrap verbs objects of
 * the provider, and the rules for their use.
 *
 * Verbs objects are created with the provider's own functions and with the commands
 * that libibverbs offers to providers. The public functions of libibverbs are never
 * used: a program may have replaced them by functions that call this library.
 *
 * Locks: mrc_qp.lock before mrc_context.lock; mrc_comp_channel.lock before
 * mrc_cq.ev_lock; no other lock with mrc_qp_hint.lock. No lock is held while posting,
 * polling or waiting for events.
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
 * @api_version: API version that the program was written for; MRC_API_CURRENT_VERSION
 *	if it did not specify one
 * @async_fd: asynchronous events of the objects created here. It is a separate
 *	descriptor: programs may also read the events of their verbs objects, and must
 *	not get events of objects that they did not create.
 * @dev: limits and capabilities, which do not change
 * @ctl: data of the controller functions, may be NULL
 * @lock: protects everything below, and the user counters of all objects
 * @children: number of channels, queues, queue pairs and hints
 * @hints: number of hints among them
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
 * struct mrc_comp_channel - channel for events of completion queues
 * @ctx: its context
 * @vch: represents the kernel's channel in commands of libibverbs; only the descriptor
 *	is used; non-blocking
 * @epfd: descriptor that programs poll: an epoll descriptor over the kernel's channel
 *	(data.ptr NULL) and the armed event queues (data.ptr: struct mrc_cq)
 * @cqs: number of completion and event queues that use it, under ctx->lock
 * @lock: protects @ev_cqs
 * @ev_cqs: list of event queues (struct mrc_cq.ev_node)
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
 * @cq_context: of the program
 * @vcq: the verbs completion queue; NULL for an event queue
 * @ev_fd: descriptor of an event queue, readable while there are events; -1 for a
 *	completion queue
 * @qps: queue pairs that use it; a queue pair that uses it for sends and receives
 *	counts twice; under ctx->lock
 * @ev_node: in channel->ev_cqs
 * @ev_lock: protects the two counters
 * @ev_reported: events returned by mrc_get_cq_event()
 * @ev_acked: events acknowledged since then
 * @ev_cond: signalled when events are acknowledged
 *
 * A completion queue does not use the members ev_*: its verbs object has its own.
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
 * struct mrc_qp_hint - the expected use of queue pairs
 * @ctx: its context
 * @qps: queue pairs that refer to it, under ctx->lock
 * @lock: protects @attr
 * @attr: the hints that the program gave
 */
struct mrc_qp_hint {
	struct mrc_context *ctx;
	unsigned int qps;
	pthread_mutex_t lock;
	struct mrc_qp_hint_attr attr;
};

/**
 * struct mrc_qp - queue pair
 * @vqp: the verbs queue pair. Must stay the first member: programs written for other
 *	devices read it from here.
 * @ctx: its context
 * @send_cq: completions of sends
 * @recv_cq: completions of receives, may be the same
 * @send_ops_flags: as at creation
 * @lock: serializes modify and query; protects everything below
 * @set: MRC attributes that were passed to the kernel since RESET
 * @port: port that the program chose, 1-based; default 1
 * @hint: NULL if none
 * @vendor_cfg: last value set; this device ignores it
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

/* Set errno and return -1. */
static inline int mrc_lib_err(int err)
{
	errno = err;
	return -1;
}

/*
 * Set errno and return @err, for functions that return an errno value. 0 does not
 * change errno.
 */
static inline int mrc_lib_errno(int err)
{
	if (err)
		errno = err;
	return err;
}

/* Store a result; @out may be NULL. */
static inline void mrc_lib_tell(uint32_t *out, uint32_t value)
{
	if (out)
		*out = value;
}

/* lib_context.c */

/* Is @vctx a context of a device of this library? It may be NULL. */
bool mrc_lib_is_mrc(struct ibv_context *vctx);

/* Increment or decrement the number of objects of @ctx. */
void mrc_lib_child_add(struct mrc_context *ctx);
void mrc_lib_child_del(struct mrc_context *ctx);

/*
 * Make @copy a copy of the verbs context of @ctx, for commands that create objects. The
 * asynchronous events of these objects go to @ctx.
 */
void mrc_lib_event_context(struct mrc_context *ctx, struct mrc_v_context *copy);

/* lib_cq.c */

/*
 * Create the common part of completion queues and event queues: the queue is an object
 * of @ctx and a user of @channel. NULL with errno: EINVAL for a channel of another
 * context, ENOMEM.
 */
struct mrc_cq *mrc_lib_cq_alloc(struct mrc_context *ctx,
				struct mrc_comp_channel *channel,
				void *cq_context);
/* Undo mrc_lib_cq_alloc(), without waiting for anything. */
void mrc_lib_cq_free(struct mrc_cq *cq);

/* lib_ctl_event.c: event queues */

/* Report the next event to the channel, once; 0 or an errno. */
int mrc_lib_ev_cq_arm(struct mrc_cq *cq);
/*
 * Stop the channel from watching the queue. The queue is removed from channel->ev_cqs,
 * to which mrc_ctl_create_ev_event_cq() added it. Its descriptor stays open.
 */
void mrc_lib_ev_cq_stop(struct mrc_cq *cq);

/* lib_ctl_*.c: frees the data of the controller functions; @ctl may be NULL */
void mrc_lib_ctl_free(struct mrc_ctl_store *ctl);

#endif /* LIB_MRC_H */
