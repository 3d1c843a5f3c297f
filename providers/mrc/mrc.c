// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Devices, contexts, queries, protection domains, address handles, and mapping of
 * rings.
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "compat.h"
#include "mrc_provider.h"

/* Completion timestamps count nanoseconds. */
#define MRC_CLOCK_KHZ 1000000

static const struct verbs_match_ent mrc_match[] = {
	VERBS_DRIVER_ID(MRC_RDMA_DRIVER_ID),
	VERBS_NAME_MATCH("mrc", NULL),
	{},
};

int mrc_ring_map(struct mrc_ring *ring, int cmd_fd,
		 const struct mrc_mmap_info *info, size_t stride)
{
	uint64_t need = MRC_RING_HDR_SIZE + (uint64_t)info->depth * info->stride;
	void *hdr;

	if (!info->depth || (info->depth & (info->depth - 1)) ||
	    info->stride < stride || info->stride % 8 || info->size < need)
		return EPROTO;
	hdr = mmap(NULL, info->size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   cmd_fd, info->offset);
	if (hdr == MAP_FAILED)
		return errno;
	*ring = (struct mrc_ring){
		.hdr = hdr,
		.size = info->size,
		.depth = info->depth,
		.stride = info->stride,
	};
	return 0;
}

void mrc_ring_unmap(struct mrc_ring *ring)
{
	if (ring->hdr)
		munmap(ring->hdr, ring->size);
	ring->hdr = NULL;
}

static int mrc_v_query_device_ex(struct ibv_context *context,
				 const struct ibv_query_device_ex_input *input,
				 struct ibv_device_attr_ex *attr,
				 size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t fw_ver;
	int ret;

	ret = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;

	fw_ver = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%" PRIu64 ".%" PRIu64 ".%" PRIu64, (fw_ver >> 32) & 0xffff,
		 (fw_ver >> 16) & 0xffff, fw_ver & 0xffff);

	/*
	 * The interface defines the clock, even if the RDMA core of this kernel does
	 * not return the two attributes.
	 */
	if (attr_size >= offsetofend(struct ibv_device_attr_ex,
				     completion_timestamp_mask))
		attr->completion_timestamp_mask = UINT64_MAX;
	if (attr_size >= offsetofend(struct ibv_device_attr_ex, hca_core_clock))
		attr->hca_core_clock = MRC_CLOCK_KHZ;
	return 0;
}

static int mrc_v_query_port(struct ibv_context *context, uint8_t port,
			    struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(context, port, attr, &cmd, sizeof(cmd));
}

/*
 * The clock of completion timestamps. Other providers return clock ticks in tv_nsec
 * only, and programs read them from there. A tick is a nanosecond here.
 */
static int mrc_v_query_rt_values(struct ibv_context *context,
				 struct ibv_values_ex *values)
{
	uint32_t comp_mask = 0;
	struct timespec now;

	if (!check_comp_mask(values->comp_mask, IBV_VALUES_MASK_RAW_CLOCK))
		return EINVAL;
	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) {
		if (clock_gettime(CLOCK_MONOTONIC_RAW, &now))
			return errno;
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec =
			now.tv_sec * 1000000000LL + now.tv_nsec;
		comp_mask |= IBV_VALUES_MASK_RAW_CLOCK;
	}
	values->comp_mask = comp_mask;
	return 0;
}

static struct ibv_pd *mrc_v_alloc_pd(struct ibv_context *context)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ibv_alloc_pd cmd;
	struct ibv_pd *pd;
	int ret;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	ret = ibv_cmd_alloc_pd(context, pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(pd);
		errno = ret;
		return NULL;
	}
	return pd;
}

static int mrc_v_dealloc_pd(struct ibv_pd *pd)
{
	int ret = ibv_cmd_dealloc_pd(pd);

	if (!ret)
		free(pd);
	return ret;
}

void mrc_v_explain_av(struct ibv_context *context, int err,
		      const struct ibv_ah_attr *av)
{
	if (err == ENODATA)
		verbs_err(verbs_get_ctx(context),
			  "entry %u of the GID table of port %u is empty; ibv_devinfo -v lists those in use\n",
			  av->grh.sgid_index, av->port_num);
}

static struct ibv_ah *mrc_v_create_ah(struct ibv_pd *pd,
				      struct ibv_ah_attr *attr)
{
	struct umrc_create_ah_resp resp = {};
	struct mrc_v_ah *ah;
	int ret;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	ret = ibv_cmd_create_ah(pd, &ah->ah, attr, &resp.ibv_resp,
				sizeof(resp));
	if (ret) {
		mrc_v_explain_av(pd->context, ret, attr);
		free(ah);
		errno = ret;
		return NULL;
	}
	ah->num = resp.ah_num;
	return &ah->ah;
}

static int mrc_v_destroy_ah(struct ibv_ah *ah)
{
	int ret = ibv_cmd_destroy_ah(ah);

	if (!ret)
		free(to_mah(ah));
	return ret;
}

static void mrc_v_free_context(struct ibv_context *ibctx)
{
	struct mrc_v_context *ctx = to_mctx(ibctx);

	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static const struct verbs_context_ops mrc_ctx_ops = {
	.advise_mr = mrc_v_advise_mr,
	.alloc_pd = mrc_v_alloc_pd,
	.create_ah = mrc_v_create_ah,
	.create_cq = mrc_v_create_cq,
	.create_cq_ex = mrc_v_create_cq_ex,
	.create_qp = mrc_v_create_qp,
	.create_qp_ex = mrc_v_create_qp_ex,
	.dealloc_pd = mrc_v_dealloc_pd,
	.dereg_mr = mrc_v_dereg_mr,
	.destroy_ah = mrc_v_destroy_ah,
	.destroy_cq = mrc_v_destroy_cq,
	.destroy_qp = mrc_v_destroy_qp,
	.free_context = mrc_v_free_context,
	.modify_qp = mrc_v_modify_qp,
	.poll_cq = mrc_v_poll_cq,
	.post_recv = mrc_v_post_recv,
	.post_send = mrc_v_post_send,
	.query_device_ex = mrc_v_query_device_ex,
	.query_port = mrc_v_query_port,
	.query_qp = mrc_v_query_qp,
	.query_rt_values = mrc_v_query_rt_values,
	.reg_mr = mrc_v_reg_mr,
	.req_notify_cq = ibv_cmd_req_notify_cq,
	.rereg_mr = mrc_v_rereg_mr,
	.resize_cq = mrc_v_resize_cq,
};

/*
 * Operations that depend on features of the kernel; without them libibverbs refuses the
 * calls.
 */
static const struct verbs_context_ops mrc_mw_ops = {
	.alloc_mw = mrc_v_alloc_mw,
	.bind_mw = mrc_v_bind_mw,
	.dealloc_mw = mrc_v_dealloc_mw,
};

static const struct verbs_context_ops mrc_srq_ops = {
	.create_srq = mrc_v_create_srq,
	.create_srq_ex = mrc_v_create_srq_ex,
	.destroy_srq = mrc_v_destroy_srq,
	.get_srq_num = mrc_v_get_srq_num,
	.modify_srq = mrc_v_modify_srq,
	.post_srq_recv = mrc_v_post_srq_recv,
	.query_srq = mrc_v_query_srq,
};

static const struct verbs_context_ops mrc_ud_ops = {
	.attach_mcast = ibv_cmd_attach_mcast,
	.detach_mcast = ibv_cmd_detach_mcast,
};

static struct verbs_context *mrc_v_alloc_context(struct ibv_device *ibdev,
						 int cmd_fd, void *private_data)
{
	struct umrc_alloc_ucontext_resp resp = {};
	struct umrc_alloc_ucontext cmd = {};
	struct mrc_v_context *ctx;
	int ret;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, vctx,
					   MRC_RDMA_DRIVER_ID);
	if (!ctx)
		return NULL;

	ret = mrc_cmd_get_context(&ctx->vctx, &cmd.ibv_cmd, sizeof(cmd),
				  &resp.ibv_resp, sizeof(resp));
	if (ret) {
		verbs_uninit_context(&ctx->vctx);
		free(ctx);
		errno = ret;
		return NULL;
	}
	/*
	 * The buffer was cleared: features that an older kernel did not report are off.
	 */
	ctx->features = resp.features;
	verbs_set_ops(&ctx->vctx, &mrc_ctx_ops);
	if (ctx->features & MRC_FEATURE_MW)
		verbs_set_ops(&ctx->vctx, &mrc_mw_ops);
	if (ctx->features & MRC_FEATURE_SRQ)
		verbs_set_ops(&ctx->vctx, &mrc_srq_ops);
	if (ctx->features & MRC_FEATURE_UD)
		verbs_set_ops(&ctx->vctx, &mrc_ud_ops);
	return &ctx->vctx;
}

static struct verbs_device *mrc_device_alloc(struct verbs_sysfs_dev *sysfs_dev)
{
	struct mrc_v_device *dev;

	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return NULL;
	return &dev->vdev;
}

static void mrc_uninit_device(struct verbs_device *vdev)
{
	free(container_of(vdev, struct mrc_v_device, vdev));
}

static const struct verbs_device_ops mrc_dev_ops = {
	.name = "mrc",
	.match_min_abi_version = MRC_UVERBS_ABI_VERSION,
	.match_max_abi_version = MRC_UVERBS_ABI_VERSION,
	.match_table = mrc_match,
	.alloc_device = mrc_device_alloc,
	.uninit_device = mrc_uninit_device,
	.alloc_context = mrc_v_alloc_context,
};

bool mrc_v_is_mrc(struct ibv_context *context)
{
	return context && verbs_get_device(context->device)->ops == &mrc_dev_ops;
}

PROVIDER_DRIVER(mrc, mrc_dev_ops);
