// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * uverbs methods: the common part; methods on the device: limits, attributes, ports,
 * traffic classes, endpoint operations; defaults. No QP lock is held here.
 */
#include <linux/capability.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#define UVERBS_MODULE_NAME mrc
#include <rdma/uverbs_named_ioctl.h>

#include "mrc_ctl_priv.h"

static_assert(sizeof(struct mrc_abi_device) % 8 == 0);
static_assert(sizeof(struct mrc_abi_port) % 8 == 0);
static_assert(sizeof(struct mrc_abi_dev_attr) == 56);
static_assert(sizeof(struct mrc_abi_dev_limits) == 136);
static_assert(sizeof(struct mrc_abi_tc) == 8);
static_assert(sizeof(struct mrc_abi_default) == 40);
static_assert(sizeof(struct mrc_abi_defaults) == 8);
static_assert(sizeof(struct mrc_abi_ep_req) == 56);
static_assert(sizeof(struct mrc_abi_ep_addr) == 32);
static_assert(sizeof(struct mrc_abi_ep_batch) == 16);
/* An attribute has at most U16_MAX bytes. */
static_assert(MRC_EP_BATCH_MAX * sizeof(struct mrc_abi_ep_req) <= U16_MAX);
static_assert(sizeof(struct mrc_abi_ev_event) == 56);
static_assert((int)MRC_ABI_DSCP_NAMES == (int)MRC_DSCP_NAMES);
static_assert((int)MRC_ABI_LIMIT_PD == (int)MRC_COUNT_PD);
static_assert((int)MRC_ABI_LIMIT_AH == (int)MRC_COUNT_AH);
static_assert((int)MRC_ABI_LIMIT_CQ == (int)MRC_COUNT_CQ);
static_assert((int)MRC_ABI_LIMIT_MR == (int)MRC_COUNT_MR);
static_assert((int)MRC_ABI_LIMIT_MW == (int)MRC_COUNT_MW);
static_assert((int)MRC_ABI_LIMIT_QP == (int)MRC_COUNT_QP);
static_assert((int)MRC_ABI_LIMIT_SRQ == (int)MRC_COUNT_SRQ);
static_assert((int)MRC_ABI_LIMITS == (int)MRC_COUNTED);

bool mrc_ctl_admin(const struct mrc_dev *dev)
{
	return ns_capable(dev->net->user_ns, CAP_NET_ADMIN);
}

int mrc_ctl_call(struct uverbs_attr_bundle *attrs, enum mrc_ctl_perm who,
		 size_t size, mrc_ctl_fn fn)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct mrc_dev *dev;
	int ret, err;
	void *io;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	dev = to_mdev(uctx->device);
	if (who == MRC_CTL_ADMIN && !mrc_ctl_admin(dev))
		return -EPERM;
	io = uverbs_zalloc(attrs, size);
	if (IS_ERR(io))
		return PTR_ERR(io);
	if (uverbs_attr_is_valid(attrs, MRC_ABI_ATTR_IN)) {
		ret = _uverbs_copy_from_or_zero(io, attrs, MRC_ABI_ATTR_IN,
						size);
		if (ret)
			return ret;
	}
	ret = fn(dev, io, attrs);
	if ((ret && ret != -E2BIG && ret != -ETIMEDOUT) ||
	    !uverbs_attr_is_valid(attrs, MRC_ABI_ATTR_OUT))
		return ret;
	err = uverbs_copy_to_struct_or_zero(attrs, MRC_ABI_ATTR_OUT, io, size);
	return ret ?: err;
}

void *mrc_ctl_array_in(const struct uverbs_attr_bundle *attrs, u16 id,
		       size_t size, u32 max, u32 *n)
{
	int len;

	*n = 0;
	if (!uverbs_attr_is_valid(attrs, id))
		return NULL;
	len = uverbs_attr_get_len(attrs, id);
	if (len % size)
		return ERR_PTR(-EINVAL);
	if (len / size > max)
		return ERR_PTR(-E2BIG);
	*n = len / size;
	return uverbs_attr_get_alloced_ptr(attrs, id);
}

u32 mrc_ctl_array_room(const struct uverbs_attr_bundle *attrs, u16 id,
		       size_t size)
{
	if (!uverbs_attr_is_valid(attrs, id))
		return 0;
	return uverbs_attr_get_len(attrs, id) / size;
}

int mrc_ctl_array_out(const struct uverbs_attr_bundle *attrs, u16 id,
		      const void *from, u32 n, size_t size)
{
	return n ? uverbs_copy_to(attrs, id, from, n * size) : 0;
}

/* --- device ------------------------------------------------------------------ */

static void mrc_ctl_fill_algorithms(struct mrc_abi_device *out)
{
	const struct mrc_cc_ops *ops;
	u32 i;

	for (i = 0; i < MRC_ABI_CC_NAMES; i++) {
		ops = mrc_cc_nth(i);
		if (!ops)
			break;
		strscpy(out->algorithm[i], ops->name, sizeof(out->algorithm[i]));
	}
	out->n_algorithms = i;
}

static int mrc_ctl_dev_query(struct mrc_dev *dev, void *io,
			     struct uverbs_attr_bundle *attrs)
{
	struct mrc_abi_device *out = io;

	out->protocol_version = 1;
	out->max_wimm = MRC_QP_MAX_WIMM;
	out->max_wimm_dest = MRC_QP_MAX_WIMM;
	out->max_mpr = U8_MAX;
	out->mpr_resolution = 1;
	out->max_qp_hint = READ_ONCE(dev->attr.max[MRC_COUNT_QP]);
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
	return 0;
}

static int mrc_ctl_dev_attr_set(struct mrc_dev *dev,
				const struct mrc_abi_dev_attr *in)
{
	const struct mrc_cc_ops *cc = NULL;

	if (!mrc_ctl_admin(dev))
		return -EPERM;
	if (in->mask & ~(MRC_ABI_DEV_ATTR_EXTENSION | MRC_ABI_DEV_ATTR_NUM_EVS |
			 MRC_ABI_DEV_ATTR_CWND | MRC_ABI_DEV_ATTR_CC |
			 MRC_ABI_DEV_ATTR_MPR))
		return -EINVAL;
	if (in->mask & MRC_ABI_DEV_ATTR_EXTENSION && in->extension > 1)
		return -EINVAL;
	if (in->mask & MRC_ABI_DEV_ATTR_NUM_EVS &&
	    (!in->num_evs || in->num_evs > MRC_EV_MAX))
		return -EINVAL;
	if (in->mask & MRC_ABI_DEV_ATTR_MPR && (!in->mpr || in->mpr > U8_MAX))
		return -EINVAL;
	if (in->mask & MRC_ABI_DEV_ATTR_CC) {
		if (memchr(in->cc, 0, sizeof(in->cc)))
			cc = mrc_cc_find(in->cc);
		if (!cc)
			return -EINVAL;
	}
	if (in->mask & MRC_ABI_DEV_ATTR_EXTENSION && in->extension &&
	    !IS_ENABLED(CONFIG_INFINIBAND_MRC_EXT))
		return -EOPNOTSUPP;
	if (in->mask & MRC_ABI_DEV_ATTR_EXTENSION)
		mrc_ext_switch(dev, in->extension);
	if (in->mask & MRC_ABI_DEV_ATTR_NUM_EVS)
		WRITE_ONCE(dev->attr.num_evs, in->num_evs);
	if (in->mask & MRC_ABI_DEV_ATTR_CWND)
		WRITE_ONCE(dev->attr.cwnd, in->cwnd);
	if (in->mask & MRC_ABI_DEV_ATTR_MPR)
		WRITE_ONCE(dev->attr.mpr, in->mpr);
	if (cc)
		WRITE_ONCE(dev->attr.cc, cc);
	return 0;
}

static int mrc_ctl_dev_attr(struct mrc_dev *dev, void *io,
			    struct uverbs_attr_bundle *attrs)
{
	struct mrc_abi_dev_attr *attr = io;
	int ret = 0;

	if (attr->reserved)
		return -EINVAL;
	if (attr->mask)
		ret = mrc_ctl_dev_attr_set(dev, attr);
	if (ret)
		return ret;
	attr->extension = READ_ONCE(dev->ext);
	attr->num_evs = READ_ONCE(dev->attr.num_evs);
	attr->cwnd = READ_ONCE(dev->attr.cwnd);
	attr->mpr = READ_ONCE(dev->attr.mpr);
	memset(attr->cc, 0, sizeof(attr->cc));
	strscpy(attr->cc, READ_ONCE(dev->attr.cc)->name, sizeof(attr->cc));
	return 0;
}

static int mrc_ctl_dev_limits(struct mrc_dev *dev, void *io,
			      struct uverbs_attr_bundle *attrs)
{
	struct mrc_abi_dev_limits *l = io;
	u32 i;

	if (l->reserved || l->mask & ~GENMASK(MRC_ABI_LIMITS - 1, 0))
		return -EINVAL;
	/* Not mrc_ctl_admin(): a container must not raise its own limits. */
	if (l->mask && !capable(CAP_NET_ADMIN))
		return -EPERM;
	for (i = 0; i < MRC_ABI_LIMITS; i++)
		if (l->mask & BIT(i) && l->max[i] > MRC_MAX_OBJECTS)
			return -EINVAL;
	for (i = 0; i < MRC_ABI_LIMITS; i++)
		if (l->mask & BIT(i))
			WRITE_ONCE(dev->attr.max[i], l->max[i]);
	if (l->mask)
		mrc_dev_changed(dev);
	for (i = 0; i < MRC_ABI_LIMITS; i++) {
		l->max[i] = READ_ONCE(dev->attr.max[i]);
		l->now[i] = atomic_read(&dev->n[i]);
	}
	memset(l->max + i, 0, sizeof(l->max) - i * sizeof(*l->max));
	memset(l->now + i, 0, sizeof(l->now) - i * sizeof(*l->now));
	return 0;
}

static int mrc_ctl_dev_port(struct mrc_dev *dev, void *io,
			    struct uverbs_attr_bundle *attrs)
{
	struct mrc_abi_port *p = io;
	int ret;

	if (!p->port || p->port > dev->n_ports || p->reserved ||
	    p->mask & ~MRC_ABI_PORT_ADMIN_STATE)
		return -EINVAL;
	if (p->mask & MRC_ABI_PORT_ADMIN_STATE) {
		if (p->admin_state > 1)
			return -EINVAL;
		ret = mrc_port_set_admin(dev, p->port, p->admin_state);
		if (ret)
			return ret;
	}
	p->admin_state = mrc_port_admin(dev, p->port);
	return 0;
}

static int mrc_ctl_tc_get(struct mrc_dev *dev, void *io,
			  struct uverbs_attr_bundle *attrs)
{
	struct mrc_abi_tc *out = io;
	struct mrc_dscp_map map;

	mrc_tc_get(dev, &map);
	memcpy(out->dscp, map.dscp, sizeof(out->dscp));
	out->trimming = map.trimming;
	return 0;
}

static int mrc_ctl_tc_set(struct mrc_dev *dev, void *io,
			  struct uverbs_attr_bundle *attrs)
{
	const struct mrc_abi_tc *in = io;
	struct mrc_dscp_map map = {};

	if (in->reserved || in->trimming > 1)
		return -EINVAL;
	memcpy(map.dscp, in->dscp, sizeof(map.dscp));
	map.trimming = in->trimming;
	return mrc_tc_set(dev, &map);
}

static int mrc_ctl_dev_qp_query(struct mrc_dev *dev, void *io,
				struct uverbs_attr_bundle *attrs)
{
	struct mrc_abi_qp_info *info = io;
	struct mrc_qp *qp = mrc_qp_get(info->qpn);

	if (!qp)
		return -ENOENT;
	/* QPNs are unique in the module, so this one may be of another device. */
	if (qp->base.dev != dev) {
		mrc_qp_put(qp);
		return -ENOENT;
	}
	return mrc_ctl_query_qp(attrs, qp, info);
}

/* --- defaults ---------------------------------------------------------------- */

static int mrc_ctl_do_defaults_get(struct mrc_dev *dev, void *io,
				   struct uverbs_attr_bundle *attrs)
{
	struct mrc_abi_defaults *d = io;
	struct mrc_abi_default *def;

	if (d->reserved)
		return -EINVAL;
	def = uverbs_kcalloc(attrs, MRC_CTL_DEFAULTS, sizeof(*def));
	if (IS_ERR(def))
		return PTR_ERR(def);
	d->n = mrc_ctl_defaults_get(dev, def);
	if (d->n > mrc_ctl_array_room(attrs, MRC_ABI_ATTR_ARRAY_OUT,
				      sizeof(*def)))
		return -E2BIG;
	return mrc_ctl_array_out(attrs, MRC_ABI_ATTR_ARRAY_OUT, def, d->n,
				 sizeof(*def));
}

static int mrc_ctl_do_default_set(struct mrc_dev *dev, void *io,
				  struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_default_set(dev, io);
}

/* --- endpoint operations ------------------------------------------------------ */

static int mrc_ctl_ep_req(struct mrc_ep_req *req,
			  const struct mrc_abi_ep_req *in,
			  const struct mrc_abi_ep_addr *addr, u32 op)
{
	if (in->reserved0 || in->reserved1 || in->fmt_mode > U8_MAX ||
	    memchr_inv(in->ev.reserved, 0, sizeof(in->ev.reserved)))
		return -EINVAL;
	req->id = in->id;
	req->op = op ? MRC_EPOP_PORT_STATUS : MRC_EPOP_EV_PROBE;
	req->port = in->ev.port;
	req->fmt_mode = in->fmt_mode;
	memcpy(req->ev, in->ev.val, sizeof(req->ev));
	memcpy(&req->saddr, addr->sgid, sizeof(req->saddr));
	memcpy(&req->daddr, addr->dgid, sizeof(req->daddr));
	req->port_status = in->port_status;
	return 0;
}

static int mrc_ctl_ep_rsp(struct uverbs_attr_bundle *attrs,
			  const struct mrc_ep_rsp *rsp, u32 n)
{
	struct mrc_abi_ep_rsp *out = uverbs_kcalloc(attrs, n, sizeof(*out));
	u32 i;

	if (IS_ERR(out))
		return PTR_ERR(out);
	for (i = 0; i < n; i++) {
		out[i].id = rsp[i].id;
		out[i].port = rsp[i].port;
		out[i].adj_svc_time = rsp[i].adj_svc_time;
		out[i].rtt = rsp[i].rtt;
	}
	return mrc_ctl_array_out(attrs, MRC_ABI_ATTR_ARRAY_OUT, out, n,
				 sizeof(*out));
}

static int mrc_ctl_ep_batch(struct mrc_dev *dev, void *io,
			    struct uverbs_attr_bundle *attrs)
{
	const struct mrc_abi_ep_addr *addr;
	const struct mrc_abi_ep_req *in;
	struct mrc_abi_ep_batch *b = io;
	u32 i, n, n_addr, n_rsp = 0;
	struct mrc_ep_req *req;
	struct mrc_ep_rsp *rsp;
	int ret, err;

	in = mrc_ctl_array_in(attrs, MRC_ABI_ATTR_ARRAY_IN, sizeof(*in),
			      MRC_EP_BATCH_MAX, &n);
	if (IS_ERR(in))
		return PTR_ERR(in);
	addr = mrc_ctl_array_in(attrs, MRC_ABI_ATTR_SECOND_IN, sizeof(*addr),
				MRC_EP_BATCH_MAX, &n_addr);
	if (IS_ERR(addr))
		return PTR_ERR(addr);
	if (!n || n_addr != n || b->op > 1 ||
	    mrc_ctl_array_room(attrs, MRC_ABI_ATTR_ARRAY_OUT,
			       sizeof(struct mrc_abi_ep_rsp)) < n ||
	    memchr_inv(b->reserved, 0, sizeof(b->reserved)))
		return -EINVAL;
	req = uverbs_kcalloc(attrs, n, sizeof(*req));
	if (IS_ERR(req))
		return PTR_ERR(req);
	rsp = uverbs_kcalloc(attrs, n, sizeof(*rsp));
	if (IS_ERR(rsp))
		return PTR_ERR(rsp);
	for (i = 0; i < n; i++) {
		ret = mrc_ctl_ep_req(&req[i], &in[i], &addr[i], b->op);
		if (ret)
			return ret;
	}
	ret = mrc_ep_batch(dev, req, n, b->tc, b->timeout, rsp, &n_rsp);
	if (ret && ret != -ETIMEDOUT)
		return ret;
	b->n_rsp = n_rsp;
	err = mrc_ctl_ep_rsp(attrs, rsp, n_rsp);
	return err ?: ret;
}

/*
 * --- method definitions for the RDMA core ------------------------------------------
 */

MRC_CTL_METHOD(MRC_ABI_DEV_QUERY, MRC_CTL_PERM_NONE, struct mrc_abi_device,
	       mrc_ctl_dev_query,
	       MRC_CTL_OUT(struct mrc_abi_device, algorithm, UA_MANDATORY));
/* Every program may read the attributes; changes need CAP_NET_ADMIN. */
MRC_CTL_METHOD(MRC_ABI_DEV_ATTR, MRC_CTL_PERM_NONE, struct mrc_abi_dev_attr,
	       mrc_ctl_dev_attr,
	       MRC_CTL_IN(struct mrc_abi_dev_attr, cc),
	       MRC_CTL_OUT(struct mrc_abi_dev_attr, cc, UA_OPTIONAL));
/* Every program may read the limits; the method itself says who may change them. */
MRC_CTL_METHOD(MRC_ABI_DEV_LIMITS, MRC_CTL_PERM_NONE, struct mrc_abi_dev_limits,
	       mrc_ctl_dev_limits,
	       MRC_CTL_IN(struct mrc_abi_dev_limits, now),
	       MRC_CTL_OUT(struct mrc_abi_dev_limits, now, UA_MANDATORY));
MRC_CTL_METHOD(MRC_ABI_DEV_PORT, MRC_CTL_ADMIN, struct mrc_abi_port,
	       mrc_ctl_dev_port,
	       MRC_CTL_IN(struct mrc_abi_port, reserved),
	       MRC_CTL_OUT(struct mrc_abi_port, reserved, UA_OPTIONAL));
MRC_CTL_METHOD(MRC_ABI_DEV_TC_GET, MRC_CTL_ADMIN, struct mrc_abi_tc,
	       mrc_ctl_tc_get,
	       MRC_CTL_OUT(struct mrc_abi_tc, reserved, UA_MANDATORY));
MRC_CTL_METHOD(MRC_ABI_DEV_TC_SET, MRC_CTL_ADMIN, struct mrc_abi_tc,
	       mrc_ctl_tc_set,
	       MRC_CTL_IN(struct mrc_abi_tc, reserved));
MRC_CTL_METHOD(MRC_ABI_DEV_EP_BATCH, MRC_CTL_ADMIN, struct mrc_abi_ep_batch,
	       mrc_ctl_ep_batch,
	       MRC_CTL_IN(struct mrc_abi_ep_batch, reserved),
	       MRC_CTL_OUT(struct mrc_abi_ep_batch, reserved, UA_OPTIONAL),
	       MRC_CTL_ARRAY_IN(MRC_ABI_ATTR_ARRAY_IN,
				sizeof(struct mrc_abi_ep_req)),
	       MRC_CTL_ARRAY_IN(MRC_ABI_ATTR_SECOND_IN,
				sizeof(struct mrc_abi_ep_addr)),
	       MRC_CTL_ARRAY_OUT(MRC_ABI_ATTR_ARRAY_OUT,
				 sizeof(struct mrc_abi_ep_rsp)));
MRC_CTL_METHOD(MRC_ABI_DEV_QP_QUERY, MRC_CTL_ADMIN, struct mrc_abi_qp_info,
	       mrc_ctl_dev_qp_query,
	       MRC_CTL_IN(struct mrc_abi_qp_info, state),
	       MRC_CTL_OUT(struct mrc_abi_qp_info, port_tx, UA_OPTIONAL),
	       MRC_CTL_ARRAY_OUT(MRC_ABI_ATTR_ARRAY_OUT,
				 sizeof(struct mrc_abi_qp_ev)));
MRC_CTL_METHOD(MRC_ABI_DEFAULT_GET, MRC_CTL_ADMIN, struct mrc_abi_defaults,
	       mrc_ctl_do_defaults_get,
	       MRC_CTL_OUT(struct mrc_abi_defaults, reserved, UA_MANDATORY),
	       MRC_CTL_ARRAY_OUT(MRC_ABI_ATTR_ARRAY_OUT,
				 sizeof(struct mrc_abi_default)));
MRC_CTL_METHOD(MRC_ABI_DEFAULT_SET, MRC_CTL_ADMIN, struct mrc_abi_default,
	       mrc_ctl_do_default_set,
	       MRC_CTL_IN(struct mrc_abi_default, cc_profile));

DECLARE_UVERBS_GLOBAL_METHODS(MRC_ABI_OBJECT_DEV,
			      &UVERBS_METHOD(MRC_ABI_DEV_QUERY),
			      &UVERBS_METHOD(MRC_ABI_DEV_ATTR),
			      &UVERBS_METHOD(MRC_ABI_DEV_PORT),
			      &UVERBS_METHOD(MRC_ABI_DEV_TC_GET),
			      &UVERBS_METHOD(MRC_ABI_DEV_TC_SET),
			      &UVERBS_METHOD(MRC_ABI_DEV_EP_BATCH),
			      &UVERBS_METHOD(MRC_ABI_DEV_QP_QUERY),
			      &UVERBS_METHOD(MRC_ABI_DEV_LIMITS));

DECLARE_UVERBS_GLOBAL_METHODS(MRC_ABI_OBJECT_DEFAULT,
			      &UVERBS_METHOD(MRC_ABI_DEFAULT_GET),
			      &UVERBS_METHOD(MRC_ABI_DEFAULT_SET));

const struct uapi_definition mrc_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MRC_ABI_OBJECT_DEV),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MRC_ABI_OBJECT_DEFAULT),
	UAPI_DEF_CHAIN(mrc_uapi_profile_defs),
	UAPI_DEF_CHAIN(mrc_uapi_qp_defs),
	UAPI_DEF_CHAIN(mrc_uapi_events_defs),
	{},
};
