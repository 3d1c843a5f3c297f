/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libMRC: declarations shared by the files about queue pairs.
 */
#ifndef LIB_QP_H
#define LIB_QP_H

#include "lib_mrc.h"

/* Attributes that the kernel stores; the kernel's bits and values are the same. */
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
 * Fill in the defaults of the MRC API for attributes that are not in @set, if they
 * differ from those of a verbs queue pair, and add them to @attr->mask.
 */
void mrc_lib_qp_defaults(const struct mrc_qp *qp, struct mrc_abi_qp_attr *attr,
			 uint32_t set);

/* Set the hint of @qp, NULL: none. Under @qp->lock, or if no other thread uses @qp. */
void mrc_lib_qp_set_hint(struct mrc_qp *qp, struct mrc_qp_hint *hint);

/*
 * Move to RESET. This resets all attributes and drops unpolled completions. Under
 * @qp->lock. 0 or an errno.
 */
int mrc_lib_qp_reset(struct mrc_qp *qp);

#endif /* LIB_QP_H */
