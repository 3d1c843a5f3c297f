/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A net device that is only the owner of NAPI instances. Before Linux 6.10 the caller
 * provides its memory.
 */
#ifndef MRC_COMPAT_DUMMY_H
#define MRC_COMPAT_DUMMY_H

#include <linux/netdevice.h>

#include "mrc_config.h"

#ifdef HAVE_ALLOC_NETDEV_DUMMY
static inline struct net_device *mrc_dummy_alloc(void)
{
	return alloc_netdev_dummy(0);
}

static inline void mrc_dummy_free(struct net_device *dev)
{
	free_netdev(dev);
}
#else
#include <linux/slab.h>

static inline struct net_device *mrc_dummy_alloc(void)
{
	struct net_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (dev)
		init_dummy_netdev(dev);
	return dev;
}

static inline void mrc_dummy_free(struct net_device *dev)
{
	kfree(dev);
}
#endif

#endif /* MRC_COMPAT_DUMMY_H */
