// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Module parameters: only what must be known before a device exists. Everything else is
 * an attribute of a device (struct mrc_dev_attr).
 */
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "mrc_dev.h"

unsigned int mrc_udp_port = MRC_UDP_DPORT;
module_param_named(udp_port, mrc_udp_port, uint, 0444);
MODULE_PARM_DESC(udp_port, "UDP destination port, the same on all hosts (4791)");
