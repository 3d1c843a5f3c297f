// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connected queue pairs: the attributes that MRC adds to those of verbs (MRC 1.0 §14),
 * and the states in which each can be set.
 */
#include "mrc_qp_priv.h"

#define MRC_QP_UNTIL_INIT \
	(MRC_ABI_QP_EV_PROFILE | MRC_ABI_QP_CC_PROFILE | \
	 MRC_ABI_QP_MAX_WIMM_DEST | MRC_ABI_QP_MPR_DEST | MRC_ABI_QP_CAP)
#define MRC_QP_UNTIL_RTR	(MRC_ABI_QP_MAX_WIMM | MRC_ABI_QP_MPR)
#define MRC_QP_IN_SQD		(MRC_ABI_QP_TIMEOUT | MRC_ABI_QP_RETRY)
#define MRC_QP_ALL	(MRC_QP_UNTIL_INIT | MRC_QP_UNTIL_RTR | MRC_QP_IN_SQD)

#define MRC_QP_CAPS \
	(MRC_ABI_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED | \
	 MRC_ABI_QP_CAP_DYNAMIC_MPR | \
	 MRC_ABI_QP_CAP_SVC_TIME_DEST_UNSUPPORTED | MRC_ABI_QP_CAP_NO_RESP_FC)

static int mrc_qp_check_mrc(const struct mrc_abi_qp_attr *in)
{
	static const u8 zero[sizeof(in->reserved)];
	u32 mask = in->mask;

	if (mask & ~MRC_QP_ALL || memcmp(in->reserved, zero, sizeof(zero)))
		return -EINVAL;
	if ((mask & MRC_ABI_QP_CAP && in->cap & ~MRC_QP_CAPS) ||
	    (mask & MRC_ABI_QP_TIMEOUT && in->timeout > 24) ||
	    (mask & MRC_ABI_QP_RETRY &&
	     (in->retry_linear > MRC_RETRY_LINEAR_MAX ||
	      in->retry_exp > MRC_RETRY_EXP_INFINITE)) ||
	    (mask & MRC_ABI_QP_MAX_WIMM && in->max_wimm > MRC_QP_MAX_WIMM) ||
	    (mask & MRC_ABI_QP_MAX_WIMM_DEST &&
	     in->max_wimm_dest > MRC_QP_MAX_WIMM))
		return -EINVAL;
	return 0;
}

/* The attributes that can be set in the current state, bits MRC_ABI_QP_*. */
static u32 mrc_qp_settable(const struct mrc_qp *qp)
{
	const struct mrc_abi_qp_attr *a = &qp->attr.mrc;
	u32 dyn = 0;

	/* With Dynamic MPR the responder may change its MPR at any time (§5.2). */
	if (a->mask & MRC_ABI_QP_CAP && a->cap & MRC_ABI_QP_CAP_DYNAMIC_MPR)
		dyn = MRC_ABI_QP_MPR_DEST;
	switch (READ_ONCE(qp->base.state)) {
	case IB_QPS_RESET:
	case IB_QPS_INIT:
		return MRC_QP_ALL;
	case IB_QPS_RTR:
		return MRC_QP_UNTIL_RTR | MRC_QP_IN_SQD | dyn;
	case IB_QPS_RTS:
		return (READ_ONCE(qp->tx.sqd) == MRC_SQD_DRAINED ? MRC_QP_IN_SQD :
								 0) | dyn;
	default:
		return 0;
	}
}

static void mrc_qp_store_mrc(struct mrc_abi_qp_attr *a,
			     const struct mrc_abi_qp_attr *in)
{
	if (in->mask & MRC_ABI_QP_MAX_WIMM)
		a->max_wimm = in->max_wimm;
	if (in->mask & MRC_ABI_QP_MAX_WIMM_DEST)
		a->max_wimm_dest = in->max_wimm_dest;
	if (in->mask & MRC_ABI_QP_MPR)
		a->mpr = in->mpr;
	if (in->mask & MRC_ABI_QP_MPR_DEST)
		a->mpr_dest = in->mpr_dest;
	if (in->mask & MRC_ABI_QP_TIMEOUT)
		a->timeout = in->timeout;
	if (in->mask & MRC_ABI_QP_EV_PROFILE)
		a->ev_profile = in->ev_profile;
	if (in->mask & MRC_ABI_QP_CC_PROFILE)
		a->cc_profile = in->cc_profile;
	if (in->mask & MRC_ABI_QP_RETRY) {
		a->retry_linear = in->retry_linear;
		a->retry_exp = in->retry_exp;
	}
	if (in->mask & MRC_ABI_QP_CAP)
		a->cap = in->cap;
	a->mask |= in->mask;
}

int mrc_qp_set_mrc(struct mrc_qp *qp, const struct mrc_abi_qp_attr *in)
{
	int ret;

	lockdep_assert_held(&qp->mutex);
	ret = mrc_qp_check_mrc(in);
	if (ret)
		return ret;
	if (in->mask & ~mrc_qp_settable(qp))
		return -EINVAL;
	ret = mrc_profiles->check(qp->base.dev, in);
	if (ret)
		return ret;
	if (in->mask & MRC_ABI_QP_MPR_DEST) {
		ret = mrc_qp_apply_mpr(qp, in->mpr_dest);
		if (ret)
			return ret;
	}
	mrc_qp_store_mrc(&qp->attr.mrc, in);
	if (in->mask & MRC_QP_IN_SQD)
		mrc_qp_apply_retry(qp);
	return 0;
}
