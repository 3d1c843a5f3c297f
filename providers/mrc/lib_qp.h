/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libMRC: what the files about queue pairs share.
 */
#ifndef LIB_QP_H
#define LIB_QP_H

#include "lib_mrc.h"

/* Attributes that the kernel keeps; bits and values are the same there. */
#define MRC_LIB_QP_KERNEL                                              \
	((uint32_t)MRC_QP_MAX_WIMM | (uint32_t)MRC_QP_MAX_WIMM_DEST |  \
	 (uint32_t)MRC_QP_MPR | (uint32_t)MRC_QP_MPR_DEST |            \
	 (uint32_t)MRC_QP_TIMEOUT | (uint32_t)MRC_QP_EV_PROFILE_ID |   \
	 (uint32_t)MRC_QP_CC_PROFILE_ID | (uint32_t)MRC_QP_RETRY_CNT | \
	 (uint32_t)MRC_QP_CAP)
#define MRC_LIB_QP_ALL                                  \
	(MRC_LIB_QP_KERNEL | (uint32_t)MRC_QP_HINT |    \
	 (uint32_t)MRC_QP_VENDOR_CFG)

/*
 * Give attributes that are not in @set the values of a queue pair whose program
 * does not care, as far as they differ from those of a verbs queue pair, and
 * add them to @attr->mask.
 */
void mrc_lib_qp_defaults(const struct mrc_qp *qp, struct mrc_abi_qp_attr *attr,
			 uint32_t set);

/* Refer to @hint, NULL: to none. Under @qp->lock, or when nobody has @qp. */
void mrc_lib_qp_set_hint(struct mrc_qp *qp, struct mrc_qp_hint *hint);

/*
 * To RESET, which forgets all attributes and the completions that were not
 * polled. Under @qp->lock. 0 or an errno.
 */
int mrc_lib_qp_reset(struct mrc_qp *qp);

#endif /* LIB_QP_H */
