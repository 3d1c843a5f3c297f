/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Completion queues: adapt the operations of older kernels to those of the newest. */
#ifndef MRC_COMPAT_CQ_H
#define MRC_COMPAT_CQ_H

#ifndef HAVE_CREATE_USER_CQ
#ifdef HAVE_CREATE_CQ_ATTRS
static inline int mrc_compat_create_cq(struct ib_cq *ibcq,
				       const struct ib_cq_init_attr *attr,
				       struct uverbs_attr_bundle *attrs)
{
	if (!attrs)	/* kernel consumer */
		return mrc_create_cq(ibcq, attr, attrs);
	return mrc_create_user_cq(ibcq, attr, attrs);
}
#else
static inline int mrc_compat_create_cq(struct ib_cq *ibcq,
				       const struct ib_cq_init_attr *attr,
				       struct ib_udata *udata)
{
	if (!udata)	/* kernel consumer */
		return mrc_create_cq(ibcq, attr, NULL);
	return mrc_create_user_cq(ibcq, attr,
				  rdma_udata_to_uverbs_attr_bundle(udata));
}
#endif

static inline int mrc_compat_resize_cq(struct ib_cq *ibcq, int cqe,
				       struct ib_udata *udata)
{
	if (cqe < 0 || !udata)
		return -EINVAL;
	return mrc_resize_user_cq(ibcq, cqe, udata);
}
#endif

#endif /* MRC_COMPAT_CQ_H */
