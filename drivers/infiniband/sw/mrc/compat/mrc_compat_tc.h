/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Filters of tc at a netdev, whose members have other names in older kernels. */
#ifndef MRC_COMPAT_TC_H
#define MRC_COMPAT_TC_H

#include <linux/netdevice.h>

#include "mrc_config.h"

/* Has @ndev filters of @way, which is egress or ingress? Any context. */
#ifdef HAVE_TCX
#define mrc_tc_filters(ndev, way)	rcu_access_pointer((ndev)->tcx_##way)
#elif defined(CONFIG_NET_CLS_ACT)
#define mrc_tc_filters(ndev, way)	rcu_access_pointer((ndev)->miniq_##way)
#else
#define mrc_tc_filters(ndev, way)	false
#endif

#endif /* MRC_COMPAT_TC_H */
