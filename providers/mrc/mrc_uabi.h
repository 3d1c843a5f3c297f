/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Commands of the kernel interface that carry driver data.
 */
#ifndef MRC_UABI_H
#define MRC_UABI_H

#include <infiniband/kern-abi.h>
#include <rdma/mrc-abi.h>
#include <rdma/mrc-ctl-abi.h>
#include <kernel-abi/mrc-abi.h>
#include <kernel-abi/mrc-ctl-abi.h>

DECLARE_DRV_CMD(umrc_alloc_ucontext, IB_USER_VERBS_CMD_GET_CONTEXT,
		mrc_alloc_ucontext_req, mrc_alloc_ucontext_resp);
DECLARE_DRV_CMD(umrc_create_cq, IB_USER_VERBS_CMD_CREATE_CQ,
		mrc_create_cq_req, mrc_create_cq_resp);
DECLARE_DRV_CMD(umrc_create_cq_ex, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		mrc_create_cq_req, mrc_create_cq_resp);
DECLARE_DRV_CMD(umrc_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		empty, mrc_resize_cq_resp);
DECLARE_DRV_CMD(umrc_create_qp, IB_USER_VERBS_CMD_CREATE_QP,
		mrc_create_qp_req, mrc_create_qp_resp);
DECLARE_DRV_CMD(umrc_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		mrc_create_srq_req, mrc_create_srq_resp);
DECLARE_DRV_CMD(umrc_create_srq_ex, IB_USER_VERBS_CMD_CREATE_XSRQ,
		mrc_create_srq_req, mrc_create_srq_resp);
DECLARE_DRV_CMD(umrc_modify_srq, IB_USER_VERBS_CMD_MODIFY_SRQ,
		mrc_modify_srq_req, empty);
DECLARE_DRV_CMD(umrc_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, mrc_create_ah_resp);
DECLARE_DRV_CMD(umrc_modify_qp, IB_USER_VERBS_CMD_MODIFY_QP,
		mrc_abi_modify_qp, empty);

#endif /* MRC_UABI_H */
