// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * uverbs methods on the device: limits, ports, traffic classes, defaults,
 * endpoint operations. No QP lock is held here.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#define UVERBS_MODULE_NAME mrc
#include <rdma/uverbs_named_ioctl.h>

#include "mrc_ctl_priv.h"

static_assert(sizeof(struct mrc_abi_device) % 8 == 0);
static_assert(sizeof(struct mrc_abi_port) % 8 == 0);
static_assert(sizeof(struct mrc_abi_dev_attr) == 8);
static_assert(sizeof(struct mrc_abi_tc) == 8);
static_assert(sizeof(struct mrc_abi_default) == 40);
static_assert(sizeof(struct mrc_abi_ep_req) == 88);
static_assert(sizeof(struct mrc_abi_ep_batch) == 40);
static_assert(sizeof(struct mrc_abi_ev_event) == 56);
static_assert((int)MRC_ABI_DSCP_NAMES == (int)MRC_DSCP_NAMES);

struct mrc_dev *mrc_ctl_dev(struct uverbs_attr_bundle *attrs, bool admin)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct mrc_dev *dev;

	if (IS_ERR(uctx))
		return ERR_CAST(uctx);
	dev = to_mdev(uctx->device);
	if (admin && !ns_capable(dev->net->user_ns, CAP_NET_ADMIN))
		return ERR_PTR(-EPERM);
	return dev;
}

int mrc_ctl_out(struct uverbs_attr_bundle *attrs, const void *out, size_t size)
{
	if (!uverbs_attr_is_valid(attrs, MRC_ABI_ATTR_OUT))
		return 0;
	return uverbs_copy_to_struct_or_zero(attrs, MRC_ABI_ATTR_OUT, out,
					     size);
}

int mrc_ctl_done(struct uverbs_attr_bundle *attrs, const void *out, size_t size,
		 int ret)
{
	int err = mrc_ctl_out(attrs, out, size);

	return ret ?: err;
}

int mrc_ctl_take(void *to, u64 from, size_t n, size_t size)
{
	return copy_from_user(to, u64_to_user_ptr(from), n * size) ? -EFAULT :
								      0;
}

int mrc_ctl_give(u64 to, const void *from, size_t n, size_t size)
{
	return copy_to_user(u64_to_user_ptr(to), from, n * size) ? -EFAULT : 0;
}

/* --- device ------------------------------------------------------------------ */

static void mrc_ctl_fill_algorithms(struct mrc_abi_device *out)
{
	static const struct mrc_cc_ops *const ops[] = {
		&mrc_cc_nscc,
		&mrc_cc_none,
	};
	u32 i;

	static_assert(ARRAY_SIZE(ops) <= MRC_ABI_CC_NAMES);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		strscpy(out->algorithm[i], ops[i]->name,
			sizeof(out->algorithm[i]));
	out->n_algorithms = ARRAY_SIZE(ops);
}

static int UVERBS_HANDLER(MRC_ABI_DEV_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct mrc_dev *dev = mrc_ctl_dev(attrs, false);
	struct mrc_abi_device *out;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	out = uverbs_zalloc(attrs, sizeof(*out));
	if (IS_ERR(out))
		return PTR_ERR(out);
	out->protocol_version = 1;
	out->max_wimm = MRC_QP_MAX_WIMM;
	out->max_wimm_dest = MRC_QP_MAX_WIMM;
	out->max_mpr = U8_MAX;
	out->mpr_resolution = 1;
	out->max_qp_hint = MRC_MAX_QP;
	out->cap = MRC_ABI_CAP_TRIM_NACK | MRC_ABI_CAP_DYNAMIC_MPR |
		   MRC_ABI_CAP_SVC_TIME;
	out->ctl_protocol_version = 1;
	out->ev_max_fmt_profiles = MRC_CTL_FMTS;
	out->ev_max_profiles = MRC_CTL_EVPS;
	out->ev_max_count = MRC_CTL_EVS;
	out->ev_free_count = mrc_ctl_free_evs(dev);
	out->ev_max_count_profile = MRC_EV_MAX;
	out->ev_count_align = 1;
	out->ev_max_width = MRC_EV_BYTES * 8;
	out->ev_fmt_mode_mask = MRC_EV_FMT_ALL;
	out->ev_mode_mask = MRC_EVP_AUTO | MRC_EVP_EXPLICIT |
			    MRC_EVP_GENERATED;
	out->ev_op_max_entries = MRC_CTL_BATCH;
	out->cc_max_profiles = MRC_CTL_CCPS;
	out->phy_port_mask = GENMASK(dev->n_ports, 1);
	out->opt = MRC_ABI_OPT_EV_MODIFY_ONLINE | MRC_ABI_OPT_CC_MODIFY_ONLINE |
		   MRC_ABI_OPT_EV_EVENT | MRC_ABI_OPT_EV_EVENT_PRECISE |
		   MRC_ABI_OPT_EP_EV_PROBE;
	out->ep_batch_max = MRC_EP_BATCH_MAX;
	out->max_defaults = MRC_CTL_DEFAULTS;
	out->max_event_depth = MRC_CTL_QUEUE_DEPTH;
	mrc_ctl_fill_algorithms(out);
	return mrc_ctl_out(attrs, out, sizeof(*out));
}

static int UVERBS_HANDLER(MRC_ABI_DEV_ATTR)(struct uverbs_attr_bundle *attrs)
{
	struct mrc_abi_dev_attr io;
	struct mrc_dev *dev;
	int ret;

	ret = uverbs_copy_from_or_zero(&io, attrs, MRC_ABI_ATTR_IN);
	if (ret)
		return ret;
	dev = mrc_ctl_dev(attrs, io.mask);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	if (io.mask & ~MRC_ABI_DEV_ATTR_EXTENSION)
		return -EINVAL;
	if (io.mask & MRC_ABI_DEV_ATTR_EXTENSION) {
		if (io.extension > 1)
			return -EINVAL;
		mrc_ext_switch(dev, io.extension);
	}
	io.extension = READ_ONCE(dev->ext);
	return mrc_ctl_out(attrs, &io, sizeof(io));
}

static int UVERBS_HANDLER(MRC_ABI_DEV_PORT)(struct uverbs_attr_bundle *attrs)
{
	struct mrc_dev *dev = mrc_ctl_dev(attrs, true);
	struct mrc_abi_port io;
	int ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = uverbs_copy_from_or_zero(&io, attrs, MRC_ABI_ATTR_IN);
	if (ret)
		return ret;
	if (!io.port || io.port > dev->n_ports || io.reserved ||
	    io.mask & ~MRC_ABI_PORT_ADMIN_STATE)
		return -EINVAL;
	if (io.mask & MRC_ABI_PORT_ADMIN_STATE) {
		if (io.admin_state > 1)
			return -EINVAL;
		ret = mrc_port_set_admin(dev, io.port, io.admin_state);
		if (ret)
			return ret;
	}
	io.admin_state = mrc_port_admin(dev, io.port);
	return mrc_ctl_out(attrs, &io, sizeof(io));
}

static int UVERBS_HANDLER(MRC_ABI_DEV_TC_GET)(struct uverbs_attr_bundle *attrs)
{
	struct mrc_dev *dev = mrc_ctl_dev(attrs, true);
	struct mrc_abi_tc out = {};
	struct mrc_tc_map map;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	mrc_tc_get(dev, &map);
	memcpy(out.dscp, map.dscp, sizeof(out.dscp));
	out.trimming = map.trimming;
	return mrc_ctl_out(attrs, &out, sizeof(out));
}

static int UVERBS_HANDLER(MRC_ABI_DEV_TC_SET)(struct uverbs_attr_bundle *attrs)
{
	struct mrc_dev *dev = mrc_ctl_dev(attrs, true);
	struct mrc_tc_map map = {};
	struct mrc_abi_tc in;
	int ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = uverbs_copy_from_or_zero(&in, attrs, MRC_ABI_ATTR_IN);
	if (ret)
		return ret;
	if (in.reserved || in.trimming > 1)
		return -EINVAL;
	memcpy(map.dscp, in.dscp, sizeof(map.dscp));
	map.trimming = in.trimming;
	return mrc_tc_set(dev, &map);
}

static int
UVERBS_HANDLER(MRC_ABI_DEV_DEFAULTS_GET)(struct uverbs_attr_bundle *attrs)
{
	struct mrc_dev *dev = mrc_ctl_dev(attrs, true);
	struct mrc_abi_defaults io;
	struct mrc_abi_default *def;
	u32 room;
	int ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = uverbs_copy_from_or_zero(&io, attrs, MRC_ABI_ATTR_IN);
	if (ret)
		return ret;
	if (io.reserved)
		return -EINVAL;
	def = uverbs_kcalloc(attrs, MRC_CTL_DEFAULTS, sizeof(*def));
	if (IS_ERR(def))
		return PTR_ERR(def);
	room = io.n;
	io.n = mrc_ctl_defaults_get(dev, def);
	if (io.n > room)
		ret = -E2BIG;
	else
		ret = mrc_ctl_give(io.entries, def, io.n, sizeof(*def));
	return mrc_ctl_done(attrs, &io, sizeof(io), ret);
}

static int
UVERBS_HANDLER(MRC_ABI_DEV_DEFAULT_SET)(struct uverbs_attr_bundle *attrs)
{
	struct mrc_dev *dev = mrc_ctl_dev(attrs, true);
	struct mrc_abi_default in;
	int ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = uverbs_copy_from_or_zero(&in, attrs, MRC_ABI_ATTR_IN);
	if (ret)
		return ret;
	return in.reserved ? -EINVAL : mrc_ctl_default_set(dev, &in);
}

static int
UVERBS_HANDLER(MRC_ABI_DEV_QP_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct mrc_dev *dev = mrc_ctl_dev(attrs, true);
	struct mrc_abi_qp_info *io;
	struct mrc_qp *qp;
	int ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	io = uverbs_zalloc(attrs, sizeof(*io));
	if (IS_ERR(io))
		return PTR_ERR(io);
	ret = uverbs_copy_from_or_zero(io, attrs, MRC_ABI_ATTR_IN);
	if (ret)
		return ret;
	qp = mrc_qp_get(io->qpn);
	if (!qp)
		return -ENOENT;
	/* Numbers are given by the module, for all of its devices. */
	if (qp->base.dev != dev) {
		mrc_qp_put(qp);
		return -ENOENT;
	}
	return mrc_ctl_query_qp(attrs, qp, io);
}

/* --- endpoint operations ------------------------------------------------------ */

static int mrc_ctl_ep_req(struct mrc_ep_req *req,
			  const struct mrc_abi_ep_req *in, u32 op)
{
	static const u8 zero[sizeof(in->ev.reserved)];

	if (in->reserved0 || in->reserved1 || in->fmt_mode > U8_MAX ||
	    memcmp(in->ev.reserved, zero, sizeof(zero)))
		return -EINVAL;
	req->id = in->id;
	req->op = op ? MRC_EPOP_PORT_STATUS : MRC_EPOP_EV_PROBE;
	req->port = in->ev.port;
	req->fmt_mode = in->fmt_mode;
	memcpy(req->ev, in->ev.val, sizeof(req->ev));
	memcpy(&req->saddr, in->sgid, sizeof(req->saddr));
	memcpy(&req->daddr, in->dgid, sizeof(req->daddr));
	req->port_status = in->port_status;
	return 0;
}

static int mrc_ctl_ep_run(struct mrc_dev *dev, struct mrc_abi_ep_batch *io,
			  struct mrc_abi_ep_req *in, struct mrc_ep_req *req,
			  struct mrc_ep_rsp *rsp)
{
	struct mrc_abi_ep_rsp out;
	u32 i, n = 0;
	int ret, err;

	ret = mrc_ctl_take(in, io->req, io->n_req, sizeof(*in));
	for (i = 0; !ret && i < io->n_req; i++)
		ret = mrc_ctl_ep_req(&req[i], &in[i], io->op);
	if (ret)
		return ret;
	ret = mrc_ep_batch(dev, req, io->n_req, io->tc, io->timeout, rsp, &n);
	if (ret && ret != -ETIMEDOUT)
		return ret;
	for (i = 0; i < n; i++) {
		out = (struct mrc_abi_ep_rsp){
			.id = rsp[i].id,
			.port = rsp[i].port,
			.adj_svc_time = rsp[i].adj_svc_time,
			.rtt = rsp[i].rtt,
		};
		err = mrc_ctl_give(io->rsp + i * sizeof(out), &out, 1,
				   sizeof(out));
		if (err)
			return err;
	}
	io->n_rsp = n;
	return ret;
}

static int
UVERBS_HANDLER(MRC_ABI_DEV_EP_BATCH)(struct uverbs_attr_bundle *attrs)
{
	static const u8 zero[sizeof_field(struct mrc_abi_ep_batch, reserved)];
	struct mrc_dev *dev = mrc_ctl_dev(attrs, true);
	struct mrc_abi_ep_req *in;
	struct mrc_abi_ep_batch io;
	struct mrc_ep_req *req;
	struct mrc_ep_rsp *rsp;
	int ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = uverbs_copy_from_or_zero(&io, attrs, MRC_ABI_ATTR_IN);
	if (ret)
		return ret;
	if (!io.n_req || io.n_req > MRC_EP_BATCH_MAX || io.op > 1 ||
	    memcmp(io.reserved, zero, sizeof(zero)))
		return -EINVAL;
	io.n_rsp = 0;
	in = kvcalloc(io.n_req, sizeof(*in),
		      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	req = kvcalloc(io.n_req, sizeof(*req),
		       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	rsp = kvcalloc(io.n_req, sizeof(*rsp),
		       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (in && req && rsp)
		ret = mrc_ctl_ep_run(dev, &io, in, req, rsp);
	else
		ret = -ENOMEM;
	kvfree(in);
	kvfree(req);
	kvfree(rsp);
	return mrc_ctl_done(attrs, &io, sizeof(io), ret);
}

/* --- what the core parses -------------------------------------------------------- */

MRC_CTL_METHOD_OUT(MRC_ABI_DEV_QUERY, struct mrc_abi_device, algorithm);
MRC_CTL_METHOD_IO(MRC_ABI_DEV_ATTR, struct mrc_abi_dev_attr, extension,
		  extension);
MRC_CTL_METHOD_IO(MRC_ABI_DEV_PORT, struct mrc_abi_port, reserved, reserved);
MRC_CTL_METHOD_OUT(MRC_ABI_DEV_TC_GET, struct mrc_abi_tc, reserved);
MRC_CTL_METHOD_IN(MRC_ABI_DEV_TC_SET, struct mrc_abi_tc, reserved);
MRC_CTL_METHOD_IO(MRC_ABI_DEV_DEFAULTS_GET, struct mrc_abi_defaults, reserved,
		  reserved);
MRC_CTL_METHOD_IN(MRC_ABI_DEV_DEFAULT_SET, struct mrc_abi_default, cc_profile);
MRC_CTL_METHOD_IO(MRC_ABI_DEV_EP_BATCH, struct mrc_abi_ep_batch, reserved,
		  reserved);
MRC_CTL_METHOD_IO(MRC_ABI_DEV_QP_QUERY, struct mrc_abi_qp_info, n_evs, port_tx);

DECLARE_UVERBS_GLOBAL_METHODS(MRC_ABI_OBJECT_DEV,
			      &UVERBS_METHOD(MRC_ABI_DEV_QUERY),
			      &UVERBS_METHOD(MRC_ABI_DEV_PORT),
			      &UVERBS_METHOD(MRC_ABI_DEV_TC_GET),
			      &UVERBS_METHOD(MRC_ABI_DEV_TC_SET),
			      &UVERBS_METHOD(MRC_ABI_DEV_DEFAULTS_GET),
			      &UVERBS_METHOD(MRC_ABI_DEV_DEFAULT_SET),
			      &UVERBS_METHOD(MRC_ABI_DEV_EP_BATCH),
			      &UVERBS_METHOD(MRC_ABI_DEV_QP_QUERY));

DECLARE_UVERBS_GLOBAL_METHODS(MRC_ABI_OBJECT_DEV_ATTR,
			      &UVERBS_METHOD(MRC_ABI_DEV_ATTR));

const struct uapi_definition mrc_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MRC_ABI_OBJECT_DEV),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MRC_ABI_OBJECT_DEV_ATTR),
	UAPI_DEF_CHAIN(mrc_uapi_profile_defs),
	UAPI_DEF_CHAIN(mrc_uapi_qp_defs),
	UAPI_DEF_CHAIN(mrc_uapi_events_defs),
	{},
};
