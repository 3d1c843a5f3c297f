// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/netdevice.h>

bool probe(const struct net_device *ndev);
bool probe(const struct net_device *ndev)
{
	return rcu_access_pointer(ndev->tcx_egress);
}
