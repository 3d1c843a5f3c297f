/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Controller side of a device: profiles and their users, defaults, traffic
 * classes, endpoint operations, port administration.
 *
 * Locking: dev->ctl->lock, inside qp->mutex and outside RTNL (see mrc_dev.h). It
 * protects profiles and their lists of users.
 */
#ifndef MRC_CTL_H
#define MRC_CTL_H

#include "core/mrc_profile.h"
#include "qp/mrc_qp.h"

/*
 * Create and destroy the controller state of a device. dev->ctl is never NULL while the
 * device is in use. Sleep. 0 or -ENOMEM.
 */
int mrc_ctl_create(struct mrc_dev *dev);
void mrc_ctl_destroy(struct mrc_dev *dev);

/*
 * share: @dev, which has no configuration yet, takes over @ctl from the device that
 * it replaces. Sleeps. get and put: hold @ctl while the devices are exchanged.
 */
struct mrc_ctl *mrc_ctl_get(struct mrc_ctl *ctl);
void mrc_ctl_put(struct mrc_ctl *ctl);
void mrc_ctl_share(struct mrc_dev *dev, struct mrc_ctl *ctl);

/* Profile operations for QPs of devices with a controller interface: mrc_ctl_qp.c. */
extern const struct mrc_profile_ops mrc_ctl_profile_ops;

/* uverbs methods, for ib_device.driver_def */
extern const struct uapi_definition mrc_uapi_defs[];

/* mrc_ep.c: endpoint operations, MRC 1.0 §12 --------------------------------*/

/* Module init and exit: register for the removal of devices. 0 or a negative errno. */
int mrc_ep_init(void);
void mrc_ep_exit(void);

/* Create and destroy the endpoint state of a device; sleep. 0 or -ENOMEM. */
int mrc_ep_create(struct mrc_dev *dev);
void mrc_ep_destroy(struct mrc_dev *dev);

/* Receive a packet with an endpoint opcode, for struct mrc_rcv_ops. */
void mrc_ep_rcv(struct mrc_pkt *pkt);

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
	u8 port;		/* port where the response arrived */
	bool adj_svc_time;
	u32 rtt;		/* ns */
};

/**
 * mrc_ep_batch - send requests and wait for the responses
 * @dev: the device
 * @req: @n requests with distinct ids
 * @n: 1..MRC_EP_BATCH_MAX
 * @tc: traffic class byte of the requests
 * @timeout: ns, for each request from the time it is sent; the call takes longer by the
 *	time needed to send the requests
 * @rsp: room for @n responses; filled in order of arrival, also with -ETIMEDOUT
 * @n_rsp: number of responses
 *
 * Interruptible.
 *
 * Return: 0, -ETIMEDOUT, -EINVAL, -ENOMEM, -EAGAIN, -EIO,
 * -EINTR.
 */
int mrc_ep_batch(struct mrc_dev *dev, const struct mrc_ep_req *req, u32 n,
		 u8 tc, u64 timeout, struct mrc_ep_rsp *rsp, u32 *n_rsp);

#define MRC_EP_BATCH_MAX	1024

#endif /* MRC_CTL_H */
