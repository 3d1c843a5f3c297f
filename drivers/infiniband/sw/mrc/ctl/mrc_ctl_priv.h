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
	MRC_CTL_BATCH		= 1024,		/* EV operations per call */
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
 * failure. @io is what the program is given. Sleeps.
 */
int mrc_ctl_query_qp(struct uverbs_attr_bundle *attrs, struct mrc_qp *qp,
		     struct mrc_abi_qp_info *io);

/* mrc_ctl_events.c ----------------------------------------------------------*/

/* See struct mrc_profile_ops. */
void mrc_ctl_ev_event(struct mrc_qp *qp, const struct mrc_paths *paths, u16 ev,
		      u8 to);

extern const struct uapi_definition mrc_uapi_events_defs[];

/* mrc_ctl_uapi.c ------------------------------------------------------------*/

/* May this program configure @dev: CAP_NET_ADMIN where its namespace is owned. */
bool mrc_ctl_admin(const struct mrc_dev *dev);

enum mrc_ctl_who {
	MRC_CTL_ANYBODY,
	MRC_CTL_ADMIN,
};

/**
 * typedef mrc_ctl_fn - what a method does
 * @dev: device of the program's context
 * @io: the method's struct as the program passed it, zeros where it passed less or
 *	nothing; goes back to the program with 0, and with -E2BIG and -ETIMEDOUT,
 *	where it says how much there is
 * @attrs: for arrays and handles
 *
 * Return: 0 or a negative errno.
 */
typedef int (*mrc_ctl_fn)(struct mrc_dev *dev, void *io,
			  struct uverbs_attr_bundle *attrs);

/* What all methods do around @fn; @size of the struct. */
int mrc_ctl_call(struct uverbs_attr_bundle *attrs, enum mrc_ctl_who who,
		 size_t size, mrc_ctl_fn fn);

/**
 * mrc_ctl_array_in - an array of a program
 * @attrs: of the call
 * @id: attribute, declared by MRC_CTL_ARRAY_IN()
 * @size: of an element
 * @max: elements
 * @n: how many there are
 *
 * Return: a copy that lives as long as the call, NULL if the program left it out;
 * ERR_PTR of -EINVAL for parts of an element, or -E2BIG.
 */
void *mrc_ctl_array_in(const struct uverbs_attr_bundle *attrs, u16 id,
		       size_t size, u32 max, u32 *n);

/* Elements that fit into an array of a program, 0 if it left it out. */
u32 mrc_ctl_array_room(const struct uverbs_attr_bundle *attrs, u16 id,
		       size_t size);

/* Give it @n elements of them. 0 or -EFAULT. */
int mrc_ctl_array_out(const struct uverbs_attr_bundle *attrs, u16 id,
		      const void *from, u32 n, size_t size);

/*
 * Attributes of methods. @_last: last member of the first version of the
 * struct; shorter ones are refused, longer ones must end in zeros. @_size: bytes of
 * an element.
 */
#define MRC_CTL_IN(_type, _last)					\
	UVERBS_ATTR_PTR_IN(MRC_ABI_ATTR_IN,				\
			   UVERBS_ATTR_STRUCT(_type, _last), UA_MANDATORY)
#define MRC_CTL_OUT(_type, _last, _flag)				\
	UVERBS_ATTR_PTR_OUT(MRC_ABI_ATTR_OUT,				\
			    UVERBS_ATTR_STRUCT(_type, _last), _flag)
#define MRC_CTL_ARRAY_IN(_id, _size)					\
	UVERBS_ATTR_PTR_IN(_id, UVERBS_ATTR_MIN_SIZE(_size),		\
			   UA_OPTIONAL, UA_ALLOC_AND_COPY)
#define MRC_CTL_ARRAY_OUT(_id, _size)					\
	UVERBS_ATTR_PTR_OUT(_id, UVERBS_ATTR_MIN_SIZE(_size), UA_OPTIONAL)

/* A method: who may call it, its struct, what it does, its attributes. */
#define MRC_CTL_METHOD(_id, _who, _type, _fn, ...)			\
	static int UVERBS_HANDLER(_id)(struct uverbs_attr_bundle *attrs) \
	{								\
		return mrc_ctl_call(attrs, _who, sizeof(_type), _fn);	\
	}								\
	DECLARE_UVERBS_NAMED_METHOD(_id, __VA_ARGS__)

/* mrc_ctl_uapi_profile.c ----------------------------------------------------*/

extern const struct uapi_definition mrc_uapi_profile_defs[];

#endif /* MRC_CTL_PRIV_H */
