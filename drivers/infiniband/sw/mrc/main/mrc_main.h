/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by the files of main. */
#ifndef MRC_MAIN_H
#define MRC_MAIN_H

#include <rdma/ib_verbs.h>

#ifdef CONFIG_INFINIBAND_MRC_CTL
#include "ctl/mrc_ctl.h"
#endif
#include "qp/mrc_qp.h"
#ifdef CONFIG_INFINIBAND_MRC_UD
#include "roce/mrc_roce.h"
#endif

struct net;
struct rdma_link_ops;

#ifndef CONFIG_INFINIBAND_MRC_CTL
/* Without a controller interface there is no configuration to keep. */
static inline struct mrc_ctl *mrc_ctl_get(struct mrc_ctl *ctl)
{
	return NULL;
}

static inline void mrc_ctl_put(struct mrc_ctl *ctl)
{
}

static inline void mrc_ctl_share(struct mrc_dev *dev, struct mrc_ctl *ctl)
{
}
#endif

/* mrc_device.c --------------------------------------------------------------*/

/*
 * Allocate a device whose ports have no netdevs; it is not registered yet.
 * ib_dealloc_device() undoes it. Sleeps. ERR_PTR(-ENOMEM), or the error of opening the
 * sockets of @net.
 */
struct mrc_dev *mrc_dev_alloc(struct net *net, u8 n_ports);

/* ib_device_ops.dealloc_driver */
void mrc_dealloc_driver(struct ib_device *ibdev);

/* mrc_link.c ----------------------------------------------------------------*/

extern struct rdma_link_ops mrc_link_ops;

/* mrc_verbs.c ---------------------------------------------------------------*/

extern const struct ib_device_ops mrc_dev_ops;

#endif /* MRC_MAIN_H */
