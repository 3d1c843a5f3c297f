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
MODULE_PARM_DESC(udp_port, "UDP destination port, the same on all hosts (4791)");

#ifdef CONFIG_INFINIBAND_MRC_GUARD
bool mrc_guard_on = true;
module_param_named(guard, mrc_guard_on, bool, 0644);
MODULE_PARM_DESC(guard, "drop what programs send to that port (Y)");
#endif
