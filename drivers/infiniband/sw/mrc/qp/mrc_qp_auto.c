// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Profile operations for devices without a controller: no profile exists, and all queue
 * pairs are AUTO.
 */
#include "mrc_qp_priv.h"

static int mrc_auto_check(struct mrc_dev *dev, const struct mrc_abi_qp_attr *in)
{
	if ((in->mask & MRC_ABI_QP_EV_PROFILE &&
	     in->ev_profile != MRC_ABI_PROFILE_NONE) ||
	    (in->mask & MRC_ABI_QP_CC_PROFILE &&
	     in->cc_profile != MRC_ABI_PROFILE_NONE))
		return -EINVAL;
	return 0;
}

static int mrc_auto_bind(struct mrc_qp *qp)
{
	qp->ev_id = MRC_ABI_PROFILE_NONE;
	qp->cc_id = MRC_ABI_PROFILE_NONE;
	/* The answer channel uses the same algorithm as its QP. */
	qp->cc_ops = qp->ans_of ? qp->ans_of->cc_ops :
				  READ_ONCE(qp->base.dev->attr.cc);
	return 0;
}

static void mrc_auto_unbind(struct mrc_qp *qp)
{
}

/* EV events are reported only to controllers. */
static void mrc_auto_event(struct mrc_qp *qp, const struct mrc_paths *paths,
			   u16 ev, u8 to)
{
}

const struct mrc_profile_ops mrc_auto_profile_ops = {
	.check = mrc_auto_check,
	.bind = mrc_auto_bind,
	.unbind = mrc_auto_unbind,
	.event = mrc_auto_event,
};
