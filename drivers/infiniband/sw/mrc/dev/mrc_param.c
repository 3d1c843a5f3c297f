// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Parameters of the module.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "mrc_dev.h"

unsigned int mrc_udp_port = MRC_UDP_DPORT;
module_param_named(udp_port, mrc_udp_port, uint, 0444);
MODULE_PARM_DESC(udp_port, "UDP destination port, the same on all hosts (4791)");

unsigned int mrc_num_evs = MRC_EV_DEFAULT;
module_param_named(num_evs, mrc_num_evs, uint, 0644);
MODULE_PARM_DESC(num_evs, "entropy values (paths) per QP, for QPs to come (64)");

unsigned int mrc_cwnd;
module_param_named(cwnd, mrc_cwnd, uint, 0644);
MODULE_PARM_DESC(cwnd, "window of a QP in bytes, for QPs to come (0: default)");

static const struct mrc_cc_ops *mrc_cc_ops = &mrc_cc_none;

static int mrc_cc_param_set(const char *val, const struct kernel_param *kp)
{
	char name[32];
	const struct mrc_cc_ops *ops;

	if (strscpy(name, val, sizeof(name)) < 0)
		return -EINVAL;
	ops = mrc_cc_find(strim(name));
	if (!ops)
		return -EINVAL;
	WRITE_ONCE(mrc_cc_ops, ops);
	return 0;
}

static int mrc_cc_param_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", READ_ONCE(mrc_cc_ops)->name);
}

static const struct kernel_param_ops mrc_cc_param_ops = {
	.set = mrc_cc_param_set,
	.get = mrc_cc_param_get,
};
module_param_cb(cc, &mrc_cc_param_ops, NULL, 0644);
MODULE_PARM_DESC(cc, "congestion control of QPs to come without a CC profile: none, uet-1.0-nscc (none)");

const struct mrc_cc_ops *mrc_cc_default(void)
{
	return READ_ONCE(mrc_cc_ops);
}
