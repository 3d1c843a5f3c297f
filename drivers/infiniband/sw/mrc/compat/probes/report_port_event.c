// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/ib_verbs.h>

static void probe_event(struct ib_device *ib, struct net_device *ndev,
			unsigned long event)
{
}

const struct ib_device_ops probe = {
	.report_port_event = probe_event,
};
