/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory regions: adapt the operations of older kernels to those of the newest. */
#ifndef MRC_COMPAT_MR_H
#define MRC_COMPAT_MR_H

#ifndef HAVE_REG_USER_MR_DMAH
static inline struct ib_mr *
mrc_compat_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
		       int access, struct ib_udata *udata)
{
	return mrc_reg_user_mr(pd, start, length, virt_addr, access, NULL,
			       udata);
}
#endif

#endif /* MRC_COMPAT_MR_H */
