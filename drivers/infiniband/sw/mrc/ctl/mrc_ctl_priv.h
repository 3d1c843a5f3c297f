/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Declarations shared by the files of this folder. */
#ifndef MRC_CTL_PRIV_H
#define MRC_CTL_PRIV_H

#include <rdma/mrc-ctl-abi.h>

#include "mrc_ctl.h"

/* Capacities of a device; ids are 0 .. capacity - 1. */
enum {
	MRC_CTL_FMTS		= 64,
	MRC_CTL_EVPS		= 256,
	MRC_CTL_CCPS		= 64,
	MRC_CTL_EVS		= 65536,	/* EVs of all profiles together */
	MRC_CTL_DEFAULTS	= 64,
	MRC_CTL_BATCH		= 1024,		/* EV operations per call */
	MRC_CTL_QUEUES		= 64,		/* event queues */
	MRC_CTL_QUEUE_DEPTH	= 65536,
};

/**
 * struct mrc_ctl_evp - an EV profile that is not in INIT
 * @p: the engine's part
 * @seed: for all random choices of the profile, constant
 * @set: newest version of its EVs; NULL in AUTO mode, and unless ONLINE
 * @users: QPs that use it, linked by ev_node; @p.users counts them
 */
struct mrc_ctl_evp {
	struct mrc_ev_profile p;
	u64 seed;
	struct mrc_set *set;
	struct list_head users;
};

/* A CC profile that is not in INIT; QPs are linked by cc_node. */
struct mrc_ctl_ccp {
	struct mrc_cc_profile p;
	struct list_head users;
};

/**
 * struct mrc_ctl - what a controller has configured on a device
 * @ref: held by the device and by every event queue
 * @lock: protects all members from @fmt to @def
 * @fmt: EV formats, NULL = INIT
 * @evp: EV profiles, likewise
 * @ccp: CC profiles, likewise
 * @n_ev: EVs of all profiles together
 * @n_def: entries in @def
 * @def: default profiles, for QPs that name none, and UDP ports
 * @dports: the UDP ports of @def for the packet path; NULL: nobody has set defaults
 * @queue_lock: (bh) leaf; protects @queues and serializes producers
 * @queues: list of struct mrc_ev_queue
 * @n_queues: length of @queues
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
	struct mrc_dports *dports;

	spinlock_t queue_lock;	/* leaf */
	struct list_head queues;
	unsigned int n_queues;
};

/*
 * Query or modify a profile. @r is a request for the engine; the caller has checked
 * everything that the engine does not check. Sleep. -EINVAL for an ID beyond the
 * capacity, else the result of the engine, or -ENOMEM.
 */
int mrc_ctl_fmt(struct mrc_dev *dev, u64 id, struct mrc_fmt_req *r,
		bool modify);
int mrc_ctl_evp(struct mrc_dev *dev, u64 id, struct mrc_evp_req *r,
		bool modify);
int mrc_ctl_ccp(struct mrc_dev *dev, u64 id, struct mrc_ccp_req *r,
		bool modify);

/* Number of EVs that can still be added to profiles of @dev. */
u32 mrc_ctl_free_evs(struct mrc_dev *dev);

/* Does it name a profile? */
static inline bool mrc_ctl_default_profiles(const struct mrc_abi_default *def)
{
	return def->ev_profile != MRC_ABI_PROFILE_NONE ||
	       def->cc_profile != MRC_ABI_PROFILE_NONE;
}

/* 0, -EINVAL (bad prefix, IDs or port), -ENOMEM, -ENOSPC, -ENOENT (removal). */
int mrc_ctl_default_set(struct mrc_dev *dev, const struct mrc_abi_default *def);

/* Copy the table to @def, which has room for MRC_CTL_DEFAULTS; returns the number. */
u32 mrc_ctl_defaults_get(struct mrc_dev *dev, struct mrc_abi_default *def);

/* mrc_ctl_qp.c --------------------------------------------------------------*/

/*
 * Apply a new version of @evp's EVs, or new parameters of @ccp, to all QPs that use
 * them. Under ctl->lock.
 */
void mrc_ctl_publish_set(struct mrc_ctl_evp *evp);
void mrc_ctl_publish_cc(struct mrc_ctl_ccp *ccp);

/*
 * Set bit i of @bad if EV i is ASSUMED_BAD for any QP that uses @evp. Under ctl->lock.
 */
void mrc_ctl_bad_evs(struct mrc_ctl_evp *evp, unsigned long *bad);

/* mrc_ctl_uapi_qp.c ---------------------------------------------------------*/

extern const struct uapi_definition mrc_uapi_qp_defs[];

/*
 * Answer a query about @qp. Consumes the caller's reference to it, also on failure. @io
 * is returned to the program. Sleeps.
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
 * May this program configure @dev? Needs CAP_NET_ADMIN in the user namespace that owns
 * the device's network namespace.
 */
bool mrc_ctl_admin(const struct mrc_dev *dev);

enum mrc_ctl_perm {
	MRC_CTL_PERM_NONE,
	MRC_CTL_ADMIN,
};

/**
 * typedef mrc_ctl_fn - implementation of a method
 * @dev: device of the program's context
 * @io: the method's struct as the program passed it; members that it did not pass are
 *	zero. It is returned to the program with 0, and also with -E2BIG and -ETIMEDOUT,
 *	as it then holds the number of elements
 * @attrs: for arrays and handles
 *
 * Return: 0 or a negative errno.
 */
typedef int (*mrc_ctl_fn)(struct mrc_dev *dev, void *io,
			  struct uverbs_attr_bundle *attrs);

/* Common part of all methods: calls @fn. @size of the method's struct. */
int mrc_ctl_call(struct uverbs_attr_bundle *attrs, enum mrc_ctl_perm who,
		 size_t size, mrc_ctl_fn fn);

/**
 * mrc_ctl_array_in - get an array that a program passed
 * @attrs: of the call
 * @id: attribute, declared by MRC_CTL_ARRAY_IN()
 * @size: of an element
 * @max: maximum number of elements
 * @n: result: number of elements
 *
 * Return: a copy that lives as long as the call, NULL if the program passed no array;
 * ERR_PTR(-EINVAL) if the length is not a multiple of @size, ERR_PTR(-E2BIG) if there
 * are more than @max elements.
 */
void *mrc_ctl_array_in(const struct uverbs_attr_bundle *attrs, u16 id,
		       size_t size, u32 max, u32 *n);

/* Number of elements that fit into a program's output array; 0 if it passed none. */
u32 mrc_ctl_array_room(const struct uverbs_attr_bundle *attrs, u16 id,
		       size_t size);

/* Copy @n elements to a program's output array. 0 or -EFAULT. */
int mrc_ctl_array_out(const struct uverbs_attr_bundle *attrs, u16 id,
		      const void *from, u32 n, size_t size);

/*
 * Attributes of methods. @_last: last member of the first version of the struct.
 * Shorter structs are refused; of longer ones the end must be zero. @_size: bytes of an
 * element.
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

/* A method: who may call it, its struct, its function, its attributes. */
#define MRC_CTL_METHOD(_id, _who, _type, _fn, ...)			\
	static int UVERBS_HANDLER(_id)(struct uverbs_attr_bundle *attrs) \
	{								\
		return mrc_ctl_call(attrs, _who, sizeof(_type), _fn);	\
	}								\
	DECLARE_UVERBS_NAMED_METHOD(_id, __VA_ARGS__)

/* mrc_ctl_uapi_profile.c ----------------------------------------------------*/

extern const struct uapi_definition mrc_uapi_profile_defs[];

#endif /* MRC_CTL_PRIV_H */
