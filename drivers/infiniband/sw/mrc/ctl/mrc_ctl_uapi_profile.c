// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * uverbs methods on profiles: what programs pass, checked and turned into calls
 * of mrc_ctl.c. No QP lock is held here.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#define UVERBS_MODULE_NAME mrc
#include <rdma/uverbs_named_ioctl.h>

#include "mrc_ctl_priv.h"

static_assert(sizeof(struct mrc_abi_fmt) == 168);
static_assert(sizeof(struct mrc_abi_ev_entry) == 88);
static_assert(sizeof(struct mrc_abi_evp) == 208);
static_assert(sizeof(struct mrc_abi_nscc) == 48);
static_assert(sizeof(struct mrc_abi_ccp) == 232);
static_assert((int)MRC_ABI_EV_BYTES == (int)MRC_EV_BYTES);
static_assert((int)MRC_ABI_VENDOR_CFG == (int)MRC_VENDOR_CFG);
static_assert((int)MRC_CTL_BATCH >= (int)MRC_EV_MAX);

/* --- EV formats ---------------------------------------------------------------- */

static int mrc_ctl_do_fmt(struct uverbs_attr_bundle *attrs, bool modify)
{
	struct mrc_dev *dev = mrc_ctl_dev(attrs, true);
	u8 width[MRC_EV_MAX_FIELDS] = {};
	struct mrc_fmt_req r = {};
	struct mrc_abi_fmt io;
	u32 room = 0;
	int ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = uverbs_copy_from_or_zero(&io, attrs, MRC_ABI_ATTR_IN);
	if (ret)
		return ret;
	if (io.mask & MRC_FMT_OP) {
		if (io.op == MRC_FMT_OP_MODIFY_FIELDS && modify) {
			if (io.n_fields > MRC_EV_MAX_FIELDS)
				return -E2BIG;
			ret = mrc_ctl_take(width, io.fields, io.n_fields, 1);
			if (ret)
				return ret;
		}
		room = min_t(u32, io.n_fields, MRC_EV_MAX_FIELDS);
	}
	r.mask = io.mask;
	r.state = io.state;
	r.cur_state = io.cur_state;
	r.mode = io.mode;
	r.op = io.op;
	r.n = room;
	r.width = width;
	r.vendor = io.vendor_cfg;
	ret = mrc_ctl_fmt(dev, io.id, &r, modify);
	if (ret && ret != -E2BIG)
		return ret;
	if (!ret && io.mask & MRC_FMT_OP && io.op == MRC_FMT_OP_QUERY_FIELDS)
		ret = mrc_ctl_give(io.fields, width, min(r.n, room), 1);
	io.state = r.state;
	io.cur_state = r.cur_state;
	io.mode = r.mode;
	io.n_fields = r.n;
	return mrc_ctl_done(attrs, &io, sizeof(io), ret);
}

static int UVERBS_HANDLER(MRC_ABI_FMT_MODIFY)(struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_do_fmt(attrs, true);
}

static int UVERBS_HANDLER(MRC_ABI_FMT_QUERY)(struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_do_fmt(attrs, false);
}

/* --- EV profiles ---------------------------------------------------------------- */

static int mrc_ctl_ev_in(struct mrc_evp_val *val, const struct mrc_abi_ev *in)
{
	static const u8 zero[sizeof(in->reserved)];

	if (memcmp(in->reserved, zero, sizeof(zero)))
		return -EINVAL;
	memcpy(val->val, in->val, sizeof(val->val));
	val->port = in->port;
	return 0;
}

static void mrc_ctl_ev_out(struct mrc_abi_ev *out,
			   const struct mrc_evp_val *val)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->val, val->val, sizeof(out->val));
	out->port = val->port;
}

/* Arrays of a call, in the form of the engine. */
struct mrc_ctl_evp_arrays {
	struct mrc_evp_entry *entry;
	u32 n_entry;
	struct mrc_ev_field field[MRC_EV_MAX_FIELDS];
	u32 n_field;
};

static int mrc_ctl_entries_in(struct mrc_ctl_evp_arrays *a,
			      const struct mrc_abi_evp *io)
{
	struct mrc_abi_ev_entry e;
	u32 i;
	int ret;

	if (io->ev_op != MRC_EVP_OP_QUERY_EV_ARRAY &&
	    io->n_entries > MRC_CTL_BATCH)
		return -E2BIG;
	/* No profile has more than a batch may. */
	a->n_entry = min_t(u32, io->n_entries, MRC_CTL_BATCH);
	/* One more, so that an empty batch is not a missing one. */
	a->entry = kvcalloc(a->n_entry + 1, sizeof(*a->entry),
			    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!a->entry)
		return -ENOMEM;
	if (io->ev_op == MRC_EVP_OP_QUERY_EV_ARRAY)
		return 0;
	for (i = 0; i < a->n_entry; i++) {
		ret = mrc_ctl_take(&e, io->entries + i * sizeof(e), 1,
				   sizeof(e));
		if (!ret)
			ret = mrc_ctl_ev_in(&a->entry[i].ev, &e.ev);
		if (!ret)
			ret = mrc_ctl_ev_in(&a->entry[i].ev_new, &e.ev_new);
		if (ret)
			return ret;
		a->entry[i].state = e.state;
		a->entry[i].flags = e.flags;
	}
	return 0;
}

static int mrc_ctl_entries_out(const struct mrc_ctl_evp_arrays *a,
			       const struct mrc_abi_evp *io, u32 n)
{
	struct mrc_abi_ev_entry e;
	u32 i;
	int ret;

	for (i = 0; i < min(n, a->n_entry); i++) {
		mrc_ctl_ev_out(&e.ev, &a->entry[i].ev);
		mrc_ctl_ev_out(&e.ev_new, &a->entry[i].ev_new);
		e.state = a->entry[i].state;
		e.flags = a->entry[i].flags;
		ret = mrc_ctl_give(io->entries + i * sizeof(e), &e, 1,
				   sizeof(e));
		if (ret)
			return ret;
	}
	return 0;
}

static int mrc_ctl_fields_in(struct mrc_ctl_evp_arrays *a,
			     const struct mrc_abi_evp *io)
{
	struct mrc_abi_ev_field f;
	u32 i;
	int ret;

	a->n_field = min_t(u32, io->n_fields, MRC_EV_MAX_FIELDS);
	if (io->fields_op != MRC_EVP_OP_MODIFY_FIELDS)
		return 0;
	if (io->n_fields > MRC_EV_MAX_FIELDS)
		return -E2BIG;
	for (i = 0; i < a->n_field; i++) {
		ret = mrc_ctl_take(&f, io->fields + i * sizeof(f), 1, sizeof(f));
		if (ret)
			return ret;
		if (f.reserved)
			return -EINVAL;
		a->field[i].width = f.width;
		a->field[i].init_val = f.init_val;
		a->field[i].min_val = f.min_val;
		a->field[i].max_val = f.max_val;
		a->field[i].mask = f.mask;
	}
	return 0;
}

static int mrc_ctl_fields_out(const struct mrc_ctl_evp_arrays *a,
			      const struct mrc_abi_evp *io, u32 n)
{
	u32 i;
	int ret;

	for (i = 0; i < min(n, a->n_field); i++) {
		struct mrc_abi_ev_field f = {
			.width = a->field[i].width,
			.init_val = a->field[i].init_val,
			.min_val = a->field[i].min_val,
			.max_val = a->field[i].max_val,
			.mask = a->field[i].mask,
		};

		ret = mrc_ctl_give(io->fields + i * sizeof(f), &f, 1,
				   sizeof(f));
		if (ret)
			return ret;
	}
	return 0;
}

static int mrc_ctl_evp_arrays_in(struct mrc_ctl_evp_arrays *a,
				 const struct mrc_abi_evp *io)
{
	int ret = 0;

	if (io->mask & MRC_EVP_EV_OP)
		ret = mrc_ctl_entries_in(a, io);
	if (!ret && io->mask & MRC_EVP_FIELDS_OP)
		ret = mrc_ctl_fields_in(a, io);
	return ret;
}

static int mrc_ctl_evp_arrays_out(const struct mrc_ctl_evp_arrays *a,
				  const struct mrc_abi_evp *io,
				  const struct mrc_evp_req *r)
{
	int ret = 0;

	if (io->mask & MRC_EVP_EV_OP &&
	    (io->ev_op == MRC_EVP_OP_QUERY_EV_STATE ||
	     io->ev_op == MRC_EVP_OP_QUERY_EV_ARRAY))
		ret = mrc_ctl_entries_out(a, io, r->n_entries);
	if (!ret && io->mask & MRC_EVP_FIELDS_OP &&
	    io->fields_op == MRC_EVP_OP_QUERY_FIELDS)
		ret = mrc_ctl_fields_out(a, io, r->n_fields);
	return ret;
}

static int mrc_ctl_run_evp(struct uverbs_attr_bundle *attrs,
			   struct mrc_dev *dev, struct mrc_abi_evp *io,
			   struct mrc_ctl_evp_arrays *a, bool modify)
{
	struct mrc_evp_req r = {
		.mask = io->mask,
		.state = io->state,
		.cur_state = io->cur_state,
		.mode = io->mode,
		.fmt_id = io->fmt_id,
		.count = io->count,
		.min_active = io->min_active,
		.event_mask = io->event_mask,
		.ev_op = io->ev_op,
		.fields_op = io->fields_op,
		.vendor = io->vendor_cfg,
	};
	int ret = mrc_ctl_evp_arrays_in(a, io);

	if (ret)
		return ret;
	r.n_entries = a->n_entry;
	r.entry = a->entry;
	r.n_fields = a->n_field;
	r.field = a->field;
	ret = mrc_ctl_evp(dev, io->id, &r, modify);
	if (ret && ret != -E2BIG)
		return ret;
	if (!ret)
		ret = mrc_ctl_evp_arrays_out(a, io, &r);
	io->state = r.state;
	io->cur_state = r.cur_state;
	io->mode = r.mode;
	io->fmt_id = r.fmt_id;
	io->count = r.count;
	io->min_active = r.min_active;
	io->event_mask = r.event_mask;
	io->n_entries = r.n_entries;
	io->n_fields = r.n_fields;
	return mrc_ctl_done(attrs, io, sizeof(*io), ret);
}

static int mrc_ctl_do_evp(struct uverbs_attr_bundle *attrs, bool modify)
{
	struct mrc_dev *dev = mrc_ctl_dev(attrs, true);
	struct mrc_ctl_evp_arrays *a;
	struct mrc_abi_evp io;
	int ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = uverbs_copy_from_or_zero(&io, attrs, MRC_ABI_ATTR_IN);
	if (ret)
		return ret;
	if (io.reserved)
		return -EINVAL;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	ret = mrc_ctl_run_evp(attrs, dev, &io, a, modify);
	kvfree(a->entry);
	kfree(a);
	return ret;
}

static int UVERBS_HANDLER(MRC_ABI_EVP_MODIFY)(struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_do_evp(attrs, true);
}

static int UVERBS_HANDLER(MRC_ABI_EVP_QUERY)(struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_do_evp(attrs, false);
}

/* --- CC profiles ----------------------------------------------------------------- */

static int mrc_ctl_nscc_in(struct mrc_nscc_cfg *cfg,
			   const struct mrc_abi_nscc *in)
{
	if (in->reserved)
		return -EINVAL;
	*cfg = (struct mrc_nscc_cfg){
		.disable_qa = in->disable_qa,
		.qa_gate = in->qa_gate,
		.adjust_bytes_threshold = in->adjust_bytes_threshold,
		.adjust_period_threshold = in->adjust_period_threshold,
		.base_rtt = in->base_rtt,
		.eta = in->eta,
		.fi = in->fi,
		.fi_scale = in->fi_scale,
		.gamma = in->gamma,
		.max_md_jump = in->max_md_jump,
		.max_cwnd = in->max_cwnd,
		.qa_threshold = in->qa_threshold,
		.target_delay = in->target_delay,
	};
	return 0;
}

static void mrc_ctl_nscc_out(struct mrc_abi_nscc *out,
			     const struct mrc_nscc_cfg *cfg)
{
	*out = (struct mrc_abi_nscc){
		.disable_qa = cfg->disable_qa,
		.qa_gate = cfg->qa_gate,
		.adjust_bytes_threshold = cfg->adjust_bytes_threshold,
		.adjust_period_threshold = cfg->adjust_period_threshold,
		.base_rtt = cfg->base_rtt,
		.eta = cfg->eta,
		.fi = cfg->fi,
		.fi_scale = cfg->fi_scale,
		.gamma = cfg->gamma,
		.max_md_jump = cfg->max_md_jump,
		.max_cwnd = cfg->max_cwnd,
		.qa_threshold = cfg->qa_threshold,
		.target_delay = cfg->target_delay,
	};
}

static int mrc_ctl_do_ccp(struct uverbs_attr_bundle *attrs, bool modify)
{
	struct mrc_dev *dev = mrc_ctl_dev(attrs, true);
	struct mrc_ccp_req r = {};
	struct mrc_nscc_cfg nscc;
	struct mrc_abi_ccp io;
	int ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = uverbs_copy_from_or_zero(&io, attrs, MRC_ABI_ATTR_IN);
	if (ret)
		return ret;
	if (io.reserved || !memchr(io.algorithm, 0, sizeof(io.algorithm)))
		return -EINVAL;
	ret = mrc_ctl_nscc_in(&nscc, &io.nscc);
	if (ret)
		return ret;
	r.mask = io.mask;
	r.state = io.state;
	r.cur_state = io.cur_state;
	r.name = io.algorithm;
	r.nscc = &nscc;
	r.vendor = io.vendor_cfg;
	ret = mrc_ctl_ccp(dev, io.id, &r, modify);
	if (ret)
		return ret;
	io.state = r.state;
	io.cur_state = r.cur_state;
	if (!modify && io.mask & MRC_CCP_ALGORITHM) {
		memset(io.algorithm, 0, sizeof(io.algorithm));
		strscpy(io.algorithm, r.name ?: "", sizeof(io.algorithm));
	}
	if (!modify && io.mask & MRC_CCP_CONFIG)
		mrc_ctl_nscc_out(&io.nscc, &nscc);
	return mrc_ctl_out(attrs, &io, sizeof(io));
}

static int UVERBS_HANDLER(MRC_ABI_CCP_MODIFY)(struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_do_ccp(attrs, true);
}

static int UVERBS_HANDLER(MRC_ABI_CCP_QUERY)(struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_do_ccp(attrs, false);
}

/* --- what the core parses -------------------------------------------------------- */

MRC_CTL_METHOD_IO(MRC_ABI_FMT_MODIFY, struct mrc_abi_fmt, vendor_cfg,
		  vendor_cfg);
MRC_CTL_METHOD_IO(MRC_ABI_FMT_QUERY, struct mrc_abi_fmt, vendor_cfg,
		  vendor_cfg);
MRC_CTL_METHOD_IO(MRC_ABI_EVP_MODIFY, struct mrc_abi_evp, vendor_cfg,
		  vendor_cfg);
MRC_CTL_METHOD_IO(MRC_ABI_EVP_QUERY, struct mrc_abi_evp, vendor_cfg,
		  vendor_cfg);
MRC_CTL_METHOD_IO(MRC_ABI_CCP_MODIFY, struct mrc_abi_ccp, vendor_cfg,
		  vendor_cfg);
MRC_CTL_METHOD_IO(MRC_ABI_CCP_QUERY, struct mrc_abi_ccp, vendor_cfg,
		  vendor_cfg);

DECLARE_UVERBS_GLOBAL_METHODS(MRC_ABI_OBJECT_PROFILE,
			      &UVERBS_METHOD(MRC_ABI_FMT_MODIFY),
			      &UVERBS_METHOD(MRC_ABI_FMT_QUERY),
			      &UVERBS_METHOD(MRC_ABI_EVP_MODIFY),
			      &UVERBS_METHOD(MRC_ABI_EVP_QUERY),
			      &UVERBS_METHOD(MRC_ABI_CCP_MODIFY),
			      &UVERBS_METHOD(MRC_ABI_CCP_QUERY));

const struct uapi_definition mrc_uapi_profile_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MRC_ABI_OBJECT_PROFILE),
	{},
};
