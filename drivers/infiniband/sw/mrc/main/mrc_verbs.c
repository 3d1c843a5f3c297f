// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Contexts, protection domains, and the capabilities of the device.
 */
#include <linux/module.h>

#include "mrc_main.h"
#include "queue/mrc_queue.h"

static int mrc_query_device(struct ib_device *ibdev,
			    struct ib_device_attr *attr, struct ib_udata *udata)
{
	struct mrc_dev *dev = to_mdev(ibdev);
	bool ext = READ_ONCE(dev->ext);
	int ret = mrc_udata_in(udata, NULL, 0);

	if (ret)
		return ret;
	memset(attr, 0, sizeof(*attr));
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = 0xffffff;	/* no OUI of a vendor */
	attr->max_qp = READ_ONCE(dev->attr.max[MRC_COUNT_QP]);
	attr->max_qp_wr = MRC_MAX_QP_WR;
	attr->atomic_cap = IB_ATOMIC_NONE;
	attr->device_cap_flags = IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_SRQ_RESIZE;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG;
	attr->max_send_sge = MRC_MAX_SGE;
	attr->max_recv_sge = MRC_MAX_SGE;
	/* Not 0 even without READ: consumers in the kernel (rdma_rw) divide by it. */
	attr->max_sge_rd = MRC_MAX_SGE;
	attr->max_cq = READ_ONCE(dev->attr.max[MRC_COUNT_CQ]);
	attr->max_cqe = MRC_MAX_CQE;
	attr->max_pd = READ_ONCE(dev->attr.max[MRC_COUNT_PD]);
	mrc_mr_query(dev, attr, ext);
	attr->max_ah = READ_ONCE(dev->attr.max[MRC_COUNT_AH]);
	attr->max_srq = READ_ONCE(dev->attr.max[MRC_COUNT_SRQ]);
	attr->max_srq_wr = MRC_MAX_SRQ_WR;
	attr->max_srq_sge = MRC_MAX_SGE;
#ifdef CONFIG_INFINIBAND_MRC_UD
	attr->max_mcast_grp = MRC_MAX_MCAST;
	attr->max_mcast_qp_attach = MRC_MAX_MCAST_QPS;
	attr->max_total_mcast_qp_attach = MRC_MAX_MCAST;
#endif
	attr->max_pkeys = MRC_PKEY_TBL_LEN;
	if (ext) {
		attr->max_qp_rd_atom = MRC_MAX_RD_ATOMIC;
		attr->max_qp_init_rd_atom = MRC_MAX_RD_ATOMIC;
		attr->max_res_rd_atom = MRC_MAX_RD_ATOMIC * attr->max_qp;
		/* CPU instructions do the atomics, if the CPU has them for 64 bits. */
		attr->atomic_cap = IS_ENABLED(CONFIG_64BIT) ? IB_ATOMIC_GLOB :
							      IB_ATOMIC_HCA;
		attr->device_cap_flags |= IB_DEVICE_RC_RNR_NAK_GEN |
					  IB_DEVICE_ATOMIC_WRITE;
	}
	attr->masked_atomic_cap = IB_ATOMIC_NONE;
	attr->local_ca_ack_delay = 15;
	/* ktime_get_raw_ns(): all bits are valid; 10^9 Hz, here in kHz. */
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = 1000000;
	return 0;
}

static void mrc_dealloc_ucontext(struct ib_ucontext *uctx)
{
	atomic_dec(&to_mdev(uctx->device)->n_ucontexts);
	module_put(THIS_MODULE);
}

static int mrc_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	struct mrc_dev *dev = to_mdev(uctx->device);
	struct mrc_alloc_ucontext_resp resp = {
		.max_inline = MRC_MAX_INLINE,
		.max_sge = MRC_MAX_SGE,
		.max_qp_wr = MRC_MAX_QP_WR,
		.features = MRC_FEATURE_WRITE | MRC_FEATURE_STRICT_QP |
			    MRC_FEATURE_SRQ,
	};
	struct mrc_alloc_ucontext_req req = {};
	int ret;

	ret = mrc_udata_in(udata, &req, sizeof(req));
	if (ret)
		return ret;
	if (req.comp_mask || req.reserved)
		return -EINVAL;

	if (READ_ONCE(dev->ext))
		resp.features |= MRC_FEATURE_EXT | MRC_FEATURE_MW;
#ifdef CONFIG_INFINIBAND_MRC_UD
	resp.features |= MRC_FEATURE_UD;
#endif
#ifdef CONFIG_INFINIBAND_MRC_UC
	if (READ_ONCE(dev->ext))
		resp.features |= MRC_FEATURE_UC;
#endif
	/*
	 * The RDMA core takes no reference to the module of a device whose contexts can
	 * be disassociated. A device may be removed while programs use it, but the
	 * module must stay loaded.
	 */
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	atomic_inc(&dev->n_ucontexts);
	smp_mb__after_atomic();	/* pairs with mrc_dev_close() */
	if (READ_ONCE(dev->closing))
		ret = -EBUSY;	/* it is about to be registered again */
	else
		ret = mrc_udata_out(udata, &resp, sizeof(resp));
	if (ret)
		mrc_dealloc_ucontext(uctx);
	return ret;
}

/*
 * Allow removal of the device while contexts are open. The core destroys their objects.
 * Mapped rings are ordinary memory that stays until it is unmapped.
 */
static void mrc_disassociate_ucontext(struct ib_ucontext *uctx)
{
}

/*
 * struct mrc_pd - PD; only its address matters. PDs of consumers in the kernel are not
 * counted
 */
struct mrc_pd {
	struct ib_pd ib;
	bool counted;
};

static struct mrc_pd *to_mpd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct mrc_pd, ib);
}

static int mrc_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	int ret = mrc_udata_in(udata, NULL, 0);

	if (ret)
		return ret;
	if (!udata)
		return 0;
	to_mpd(pd)->counted = true;
	return mrc_count(to_mdev(pd->device), MRC_COUNT_PD);
}

static int mrc_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	if (to_mpd(pd)->counted)
		mrc_uncount(to_mdev(pd->device), MRC_COUNT_PD);
	return 0;
}

/* struct mrc_ucontext - context; has only the RDMA core's part */
struct mrc_ucontext {
	struct ib_ucontext ib;
};

const struct ib_device_ops mrc_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)MRC_RDMA_DRIVER_ID,
	.uverbs_abi_ver = MRC_UVERBS_ABI_VERSION,

	.query_device = mrc_query_device,
	.alloc_ucontext = mrc_alloc_ucontext,
	.dealloc_ucontext = mrc_dealloc_ucontext,
	.disassociate_ucontext = mrc_disassociate_ucontext,
	.mmap = mrc_mmap,
	.mmap_free = mrc_mmap_free,
	.alloc_pd = mrc_alloc_pd,
	.dealloc_pd = mrc_dealloc_pd,
	.enable_driver = mrc_enable_driver,
	.dealloc_driver = mrc_dealloc_driver,

	INIT_RDMA_OBJ_SIZE(ib_pd, mrc_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, mrc_ucontext, ib),
};
