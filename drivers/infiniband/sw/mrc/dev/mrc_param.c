// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Module parameters: what must be known before a device exists, and what belongs to the
 * administrator of the machine and not to that of a network namespace. Everything else is
 * an attribute of a device (struct mrc_dev_attr).
 */
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "mrc_dev.h"

unsigned int mrc_udp_port = MRC_UDP_DPORT;
module_param_named(udp_port, mrc_udp_port, uint, 0444);
MODULE_PARM_DESC(udp_port, "UDP port, to which devices send and on which they receive; with 4791 also on 4971 (4791)");

__be16 mrc_udp_ports[2] __ro_after_init;

int __init mrc_param_init(void)
{
	if (!mrc_udp_port || mrc_udp_port > U16_MAX) {
		pr_err("udp_port must be 1..65535\n");
		return -EINVAL;
	}
	mrc_udp_ports[0] = htons(mrc_udp_port);
	mrc_udp_ports[1] = mrc_udp_port == MRC_UDP_DPORT ? htons(MRC_UDP_DPORT_ALT) :
							   mrc_udp_ports[0];
	return 0;
}

#ifdef CONFIG_INFINIBAND_MRC_GUARD
bool mrc_guard_on = true;
module_param_named(guard, mrc_guard_on, bool, 0644);
MODULE_PARM_DESC(guard, "drop what programs send to that port (Y)");
#endif
