/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by mrc_ctl.c, mrc_ctl_qp.c, mrc_ctl_events.c and mrc_ctl_uapi.c. */
#ifndef MRC_CTL_PRIV_H
#define MRC_CTL_PRIV_H

#include <rdma/mrc-ctl-abi.h>

#include "mrc_ctl.h"

/* Capacities of a device; ids are 0 .. capacity - 1. */
enum {
	MRC_CTL_FMTS		= 64,
	MRC_CTL_EVPS		= 256,
	MRC_CTL_CCPS		= 64,
	MRC_CTL_EVS		= 65536,	/* over all profiles */
	MRC_CTL_DEFAULTS	= 64,
	MRC_CTL_BATCH		= 4096,		/* EV operations per call */
	MRC_CTL_QUEUES		= 64,		/* event queues */
	MRC_CTL_QUEUE_DEPTH	= 65536,
};

/**
 * struct mrc_ctl_evp - an EV profile that is not in INIT
 * @p: the engine's part
 * @seed: of everything random about it, constant
 * @set: newest version of its EVs; NULL unless ONLINE, and in AUTO mode
 * @users: QPs, by ev_node; @p.users of them
 */
struct mrc_ctl_evp {
	struct mrc_ev_profile p;
	u64 seed;
	struct mrc_set *set;
	struct list_head users;
};

/* The same for congestion control; QPs by cc_node. */
struct mrc_ctl_ccp {
	struct mrc_cc_profile p;
	struct list_head users;
};

/**
 * struct mrc_ctl - what a controller has configured on a device
 * @ref: the device, and every event queue
 * @lock: protects everything up to @def
 * @fmt: EV formats, NULL = INIT
 * @evp: EV profiles, likewise
 * @ccp: CC profiles, likewise
 * @n_ev: EVs of all profiles
 * @n_def: entries in @def
 * @def: profiles of QPs that name none
 * @queue_lock: (bh) leaf; list of queues, and their producers
 * @queues: struct mrc_ev_queue
 * @n_queues: how many there are
 */
struct mrc_ctl {
	refcount_t ref;
	struct mutex lock;	/* see above */
	struct mrc_fmt_profile *fmt[MRC_CTL_FMTS];
	struct mrc_ctl_evp *evp[MRC_CTL_EVPS];
	struct mrc_ctl_ccp *ccp[MRC_CTL_CCPS];
	u32 n_ev;
	u32 n_def;
	struct mrc_abi_default def[MRC_CTL_DEFAULTS];

	spinlock_t queue_lock;	/* leaf */
	struct list_head queues;
	unsigned int n_queues;
};

/*
 * Calls of a controller; @r as the engine takes it, checked for what the engine
 * does not check. They sleep. -EINVAL for an id beyond the capacity, else what
 * the engine returns, or -ENOMEM.
 */
int mrc_ctl_fmt(struct mrc_dev *dev, u64 id, struct mrc_fmt_req *r,
		bool modify);
int mrc_ctl_evp(struct mrc_dev *dev, u64 id, struct mrc_evp_req *r,
		bool modify);
int mrc_ctl_ccp(struct mrc_dev *dev, u64 id, struct mrc_ccp_req *r,
		bool modify);

/* EVs that profiles of @dev may still take. */
u32 mrc_ctl_free_evs(struct mrc_dev *dev);

/* 0, -EINVAL (prefix, unknown ids), -ENOSPC, -ENOENT (removal). */
int mrc_ctl_default_set(struct mrc_dev *dev, const struct mrc_abi_default *def);

/* Copies the table to @def, room for MRC_CTL_DEFAULTS; returns the number. */
u32 mrc_ctl_defaults_get(struct mrc_dev *dev, struct mrc_abi_default *def);

/* mrc_ctl_qp.c --------------------------------------------------------------*/

/*
 * Hand a new version of @evp's EVs to its users, or new parameters of @ccp.
 * Under ctl->lock.
 */
void mrc_ctl_publish_set(struct mrc_ctl_evp *evp);
void mrc_ctl_publish_cc(struct mrc_ctl_ccp *ccp);

/* Bit i of @bad: some user takes EV i for ASSUMED_BAD. Under ctl->lock. */
void mrc_ctl_bad_evs(struct mrc_ctl_evp *evp, unsigned long *bad);

/* mrc_ctl_uapi_qp.c ---------------------------------------------------------*/

extern const struct uapi_definition mrc_uapi_qp_defs[];

/*
 * Answer a query about @qp; consumes the caller's reference to it, also on
 * failure. @io as the program passed it. Sleeps.
 */
int mrc_ctl_query_qp(struct uverbs_attr_bundle *attrs, struct mrc_qp *qp,
		     struct mrc_abi_qp_info *io);

/* mrc_ctl_events.c ----------------------------------------------------------*/

/* See struct mrc_profile_ops. */
void mrc_ctl_ev_event(struct mrc_qp *qp, const struct mrc_paths *paths, u16 ev,
		      u8 to);

extern const struct uapi_definition mrc_uapi_events_defs[];

/* mrc_ctl_uapi.c ------------------------------------------------------------*/

/*
 * The device of a method's context; with @admin, the caller must be allowed to
 * configure it: CAP_NET_ADMIN where the device's network namespace is owned.
 * ERR_PTR(-EPERM), or that of a context that is gone.
 */
struct mrc_dev *mrc_ctl_dev(struct uverbs_attr_bundle *attrs, bool admin);

/*
 * Copy a struct back to a program, unless it left the attribute out. done: also
 * after a call that failed with @ret, where it says how much there is; returns
 * @ret or what came of copying.
 */
int mrc_ctl_out(struct uverbs_attr_bundle *attrs, const void *out, size_t size);
int mrc_ctl_done(struct uverbs_attr_bundle *attrs, const void *out, size_t size,
		 int ret);

/* Arrays of programs, @n entries of @size bytes; 0 or -EFAULT. */
int mrc_ctl_take(void *to, u64 from, size_t n, size_t size);
int mrc_ctl_give(u64 to, const void *from, size_t n, size_t size);

/*
 * Methods without a handle. @last: last member of the first version of the
 * struct; shorter ones are refused, longer ones must end in zeros.
 */
#define MRC_CTL_ATTR_IN(_type, _last)					\
	UVERBS_ATTR_PTR_IN(MRC_ABI_ATTR_IN,				\
			   UVERBS_ATTR_STRUCT(_type, _last), UA_MANDATORY)
#define MRC_CTL_METHOD_IN(_id, _type, _last)				\
	DECLARE_UVERBS_NAMED_METHOD(_id, MRC_CTL_ATTR_IN(_type, _last))
#define MRC_CTL_METHOD_OUT(_id, _type, _last)				\
	DECLARE_UVERBS_NAMED_METHOD(_id,				\
		UVERBS_ATTR_PTR_OUT(MRC_ABI_ATTR_OUT,			\
				    UVERBS_ATTR_STRUCT(_type, _last),	\
				    UA_MANDATORY))
#define MRC_CTL_METHOD_IO(_id, _type, _last_in, _last_out)		\
	DECLARE_UVERBS_NAMED_METHOD(_id,				\
		MRC_CTL_ATTR_IN(_type, _last_in),			\
		UVERBS_ATTR_PTR_OUT(MRC_ABI_ATTR_OUT,			\
				    UVERBS_ATTR_STRUCT(_type, _last_out), \
				    UA_OPTIONAL))

/* mrc_ctl_uapi_profile.c ----------------------------------------------------*/

extern const struct uapi_definition mrc_uapi_profile_defs[];

#endif /* MRC_CTL_PRIV_H */
