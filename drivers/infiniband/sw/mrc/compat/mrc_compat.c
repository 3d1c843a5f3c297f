// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Adapters from the operations of older kernels to those of the newest. */
#include "dev/mrc_dev.h"

#ifndef HAVE_CREATE_USER_CQ
#ifdef HAVE_CREATE_CQ_ATTRS
int mrc_compat_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			 struct uverbs_attr_bundle *attrs)
{
	if (!attrs)	/* kernel consumer */
		return mrc_create_cq(ibcq, attr, attrs);
	return mrc_create_user_cq(ibcq, attr, attrs);
}
#else
int mrc_compat_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			 struct ib_udata *udata)
{
	if (!udata)	/* kernel consumer */
		return mrc_create_cq(ibcq, attr, NULL);
	return mrc_create_user_cq(ibcq, attr,
				  rdma_udata_to_uverbs_attr_bundle(udata));
}
#endif

int mrc_compat_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	if (cqe < 0 || !udata)
		return -EINVAL;
	return mrc_resize_user_cq(ibcq, cqe, udata);
}
#endif

#ifndef HAVE_REG_USER_MR_DMAH
struct ib_mr *mrc_compat_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				     u64 virt_addr, int access,
				     struct ib_udata *udata)
{
	return mrc_reg_user_mr(pd, start, length, virt_addr, access, NULL,
			       udata);
}
#endif
