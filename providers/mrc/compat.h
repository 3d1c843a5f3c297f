/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libibverbs' interface for providers changes between versions of rdma-core. These are its
 * functions as this provider calls them. CMakeLists.txt says what the header has.
 */
#ifndef MRC_COMPAT_H
#define MRC_COMPAT_H

#include <infiniband/driver.h>

/* Without descriptors that another program has opened. */
static inline int mrc_cmd_get_context(struct verbs_context *context,
				      struct ibv_get_context *cmd,
				      size_t cmd_size,
				      struct ib_uverbs_get_context_resp *resp,
				      size_t resp_size)
{
	return ibv_cmd_get_context(context, cmd, cmd_size,
#ifdef HAVE_GET_CONTEXT_FDS
				   NULL,
#endif
				   resp, resp_size);
}

/* Without attributes of the provider. */
static inline int
mrc_cmd_create_cq_ex(struct ibv_context *context,
		     const struct ibv_cq_init_attr_ex *attr, struct verbs_cq *cq,
		     struct ibv_create_cq_ex *cmd, size_t cmd_size,
		     struct ib_uverbs_ex_create_cq_resp *resp, size_t resp_size,
		     uint32_t cmd_flags)
{
	return ibv_cmd_create_cq_ex(context, attr,
#ifdef HAVE_CREATE_CQ_PROV_ATTR
				    NULL,
#endif
				    cq, cmd, cmd_size, resp, resp_size, cmd_flags);
}

#endif
