/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Controller side of a device: profiles and their users, defaults, traffic
 * classes, endpoint operations, port administration.
 *
 * Locking: dev->ctl mutex, below qp->mutex and above RTNL (see mrc.h). It
 * protects profiles, their lists of users and the event queues' list.
 */
#ifndef MRC_CTL_H
#define MRC_CTL_H

#include "dev/mrc_dev.h"
#include "core/mrc_profile.h"

/**
 * struct mrc_set - a version of a profile's EVs, shared by its QPs
 * @ref: the profile and each QP that uses this version hold one
 * @rcu: freed after a grace period
 * @profile_id: whose
 * @event_mask: which changes of state are events, MRC_EVP_EVENTS
 * @val: what the controller calls the EVs (packed), by index
 * @srv6: routes of the outer packets, NULL unless the EVs are SRv6 addresses;
 *	mrc_srv6_attach()
 * @set: the EVs
 */
struct mrc_set {
	refcount_t ref;
	struct rcu_head rcu;
	u64 profile_id;
	u32 event_mask;
	struct mrc_evp_val *val;
	struct mrc_srv6 *srv6;
	struct mrc_evset set;
};

void mrc_set_put(struct mrc_set *set);

/* Per device; NULL is never seen by users of a live device. Sleeps. */
int mrc_ctl_create(struct mrc_dev *dev);
void mrc_ctl_destroy(struct mrc_dev *dev);

/*
 * Let @dev, which has nothing configured, use what @ctl holds: the device is
 * about to take the place of another one. get: for the time between.
 */
struct mrc_ctl *mrc_ctl_get(struct mrc_ctl *ctl);
void mrc_ctl_put(struct mrc_ctl *ctl);
void mrc_ctl_inherit(struct mrc_dev *dev, struct mrc_ctl *ctl);

/**
 * mrc_ctl_bind_qp - settle the profiles of a QP on its way to RTR
 * @qp: under qp->mutex; its attributes name profiles, or else the device's
 *	defaults for the peer's address apply
 *
 * Fills qp->set (NULL: AUTO), qp->cc_ops and qp->nscc. The QP counts as a user
 * of both profiles until mrc_ctl_unbind_qp(); qp->set changes with the profile,
 * under resp_lock and req_lock.
 *
 * Return: 0, -EINVAL (not ONLINE, does not fit the address family), -ENOMEM.
 */
int mrc_ctl_bind_qp(struct mrc_qp *qp);
void mrc_ctl_unbind_qp(struct mrc_qp *qp);

/* Newest version of the EVs of @qp with a reference, NULL = AUTO. Sleeps. */
struct mrc_set *mrc_ctl_qp_set(struct mrc_qp *qp);

/*
 * An EV of @qp changed its visible state: an event, if wanted. @paths: its paths, with
 * the set that @ev belongs to, which a newer one may be about to replace. Under
 * req_lock.
 */
void mrc_ctl_ev_event(struct mrc_qp *qp, const struct mrc_paths *paths, u16 ev,
		      u8 to);

/* uverbs methods, for ib_device.driver_def */
extern const struct uapi_definition mrc_uapi_defs[];

/* mrc_srv6.c ------------------------------------------------------------------*/

/**
 * mrc_srv6_check - can this host send what an SRv6 profile asks for?
 * @dev: the device
 * @set: an SRv6 set
 *
 * Every EV needs a port that exists; where that port is up, IPv6, a source
 * address, and a route to the EV's outer destination through the port's netdev
 * with room for the smallest path MTU. Nothing can be said about ports that
 * are down, but one must be up. Says in the kernel log what is missing, and where.
 *
 * Process context, takes no lock that sleeps.
 *
 * Return: 0, or what a controller gets, one for each reason: -EINVAL (no such port),
 * -EADDRNOTAVAIL (source), -ENETUNREACH (route), -EMSGSIZE, -EAFNOSUPPORT (IPv6),
 * -EOPNOTSUPP (netfilter), -ENETDOWN (no port is up).
 */
int mrc_srv6_check(struct mrc_dev *dev, const struct mrc_evset *set);

/**
 * mrc_srv6_attach - get a set of EVs ready for sending
 * @set: before any QP uses it; does nothing unless the EVs are SRv6 addresses
 *
 * Return: 0 or -ENOMEM.
 */
int mrc_srv6_attach(struct mrc_set *set);

/* The other way: from the RCU callback that frees @set, or never published. */
void mrc_srv6_detach(struct mrc_set *set);

/**
 * mrc_srv6_fits - does the path MTU of a QP leave room for the outer header?
 * @qp: under qp->mutex, with its path MTU and its set settled
 *
 * Return: 0 or -EINVAL.
 */
int mrc_srv6_fits(const struct mrc_qp *qp);

/* mrc_endpoint.c: endpoint operations, MRC 1.0 §12 ---------------------------- */

/* A request of a batch. Addresses are GIDs (v4-mapped for IPv4). */
struct mrc_ep_req {
	u16 id;
	u8 op;			/* enum mrc_epop */
	u8 port;
	u8 fmt_mode;		/* enum mrc_ev_fmt_mode */
	u8 ev[MRC_EV_BYTES];	/* expanded */
	struct in6_addr saddr;
	struct in6_addr daddr;
	u32 port_status;
};

struct mrc_ep_rsp {
	u16 id;
	u8 port;		/* where the response came in */
	bool adj_svc_time;
	u32 rtt;		/* ns */
};

/**
 * mrc_ep_batch - send requests and wait for the responses
 * @dev: the device
 * @req: @n requests with distinct ids
 * @n: 1..MRC_EP_BATCH_MAX
 * @tc: traffic class byte of the requests
 * @timeout: ns, for each request from its own sending on; the call may take as much
 *	longer as it takes to send them
 * @rsp: room for @n; filled in order of arrival, also with -ETIMEDOUT
 * @n_rsp: how many
 *
 * Interruptible. Return: 0, -ETIMEDOUT, -EINVAL, -ENOMEM, -EAGAIN, -EIO,
 * -EINTR.
 */
int mrc_ep_batch(struct mrc_dev *dev, const struct mrc_ep_req *req, u32 n,
		 u8 tc, u64 timeout, struct mrc_ep_rsp *rsp, u32 *n_rsp);

#define MRC_EP_BATCH_MAX	4096

/* mrc_port.c ---------------------------------------------------------------- */

/* Administrative state; a disabled port is DOWN whatever its netdev does. */
int mrc_port_set_admin(struct mrc_dev *dev, u8 num, bool enabled);
bool mrc_port_admin(struct mrc_dev *dev, u8 num);

#endif /* MRC_CTL_H */
