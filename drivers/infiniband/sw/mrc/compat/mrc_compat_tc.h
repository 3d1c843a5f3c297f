/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Filters of tc at a netdev, whose members have other names in older kernels. */
#ifndef MRC_COMPAT_TC_H
#define MRC_COMPAT_TC_H

#include <linux/netdevice.h>

#include "mrc_config.h"

/* Has @ndev filters for what it sends, or receives? Any context. */
#ifdef HAVE_TCX
static inline bool mrc_tc_egress(const struct net_device *ndev)
{
#ifdef CONFIG_NET_XGRESS
	return rcu_access_pointer(ndev->tcx_egress);
#else
	return false;
#endif
}

static inline bool mrc_tc_ingress(const struct net_device *ndev)
{
#ifdef CONFIG_NET_XGRESS
	return rcu_access_pointer(ndev->tcx_ingress);
#else
	return false;
#endif
}
#else
static inline bool mrc_tc_egress(const struct net_device *ndev)
{
#ifdef CONFIG_NET_CLS_ACT
	return rcu_access_pointer(ndev->miniq_egress);
#else
	return false;
#endif
}

static inline bool mrc_tc_ingress(const struct net_device *ndev)
{
#ifdef CONFIG_NET_CLS_ACT
	return rcu_access_pointer(ndev->miniq_ingress);
#else
	return false;
#endif
}
#endif

#endif /* MRC_COMPAT_TC_H */
