// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * uverbs methods on profiles: check the program's input and call mrc_ctl.c. No QP lock
 * is held here.
 */
#include <linux/string.h>

#define UVERBS_MODULE_NAME mrc
#include <rdma/uverbs_named_ioctl.h>

#include "mrc_ctl_priv.h"

static_assert(sizeof(struct mrc_abi_fmt) == 160);
static_assert(sizeof(struct mrc_abi_ev_entry) == 48);
static_assert(sizeof(struct mrc_abi_evp) == 192);
static_assert(sizeof(struct mrc_abi_nscc) == 48);
static_assert(sizeof(struct mrc_abi_ccp) == 232);
static_assert((int)MRC_ABI_EV_BYTES == (int)MRC_EV_BYTES);
static_assert((int)MRC_ABI_VENDOR_CFG == (int)MRC_VENDOR_CFG);
static_assert((int)MRC_CTL_BATCH >= (int)MRC_EV_MAX);
/* An attribute has at most U16_MAX bytes. */
static_assert(MRC_CTL_BATCH * sizeof(struct mrc_abi_ev_entry) <= U16_MAX);

/* --- EV formats ---------------------------------------------------------------- */

static int mrc_ctl_do_fmt(struct mrc_dev *dev, struct mrc_abi_fmt *io,
			  struct uverbs_attr_bundle *attrs, bool modify)
{
	u8 width[MRC_EV_MAX_FIELDS] = {};
	bool query = io->mask & MRC_FMT_OP && io->op == MRC_FMT_OP_QUERY_FIELDS;
	struct mrc_fmt_req r = {
		.mask = io->mask,
		.state = io->state,
		.cur_state = io->cur_state,
		.mode = io->mode,
		.op = io->op,
		.width = width,
		.vendor = io->vendor_cfg,
	};
	const u8 *in;
	int ret;

	if (query) {
		r.n = min_t(u32, MRC_EV_MAX_FIELDS,
			    mrc_ctl_array_room(attrs, MRC_ABI_ATTR_ARRAY_OUT, 1));
	} else if (io->mask & MRC_FMT_OP) {
		in = mrc_ctl_array_in(attrs, MRC_ABI_ATTR_ARRAY_IN, 1,
				      MRC_EV_MAX_FIELDS, &r.n);
		if (IS_ERR(in))
			return PTR_ERR(in);
		memcpy(width, in ?: width, r.n);
	}
	ret = mrc_ctl_fmt(dev, io->id, &r, modify);
	if (!ret && query)
		ret = mrc_ctl_array_out(attrs, MRC_ABI_ATTR_ARRAY_OUT, width,
					r.n, 1);
	io->state = r.state;
	io->cur_state = r.cur_state;
	io->mode = r.mode;
	io->n_fields = r.n;
	return ret;
}

static int mrc_ctl_fmt_modify(struct mrc_dev *dev, void *io,
			      struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_do_fmt(dev, io, attrs, true);
}

static int mrc_ctl_fmt_query(struct mrc_dev *dev, void *io,
			     struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_do_fmt(dev, io, attrs, false);
}

/* --- EV profiles ---------------------------------------------------------------- */

static int mrc_ctl_ev_in(struct mrc_evp_val *val, const struct mrc_abi_ev *in)
{
	if (memchr_inv(in->reserved, 0, sizeof(in->reserved)))
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

/* Arrays of a call, converted for the engine. */
struct mrc_ctl_evp_arrays {
	struct mrc_evp_entry *entry;
	u32 n_entry;
	u32 entry_room;
	struct mrc_ev_field field[MRC_EV_MAX_FIELDS];
	u32 n_field;
};

static int mrc_ctl_entries_in(struct mrc_ctl_evp_arrays *a,
			      struct mrc_abi_evp *io,
			      struct uverbs_attr_bundle *attrs)
{
	bool whole = io->ev_op == MRC_EVP_OP_QUERY_EV_ARRAY;
	bool replace = io->ev_op == MRC_EVP_OP_REPLACE_EV;
	const struct mrc_abi_ev_entry *in;
	const struct mrc_abi_ev *new;
	u32 i, n, n_new;
	int ret = 0;

	in = mrc_ctl_array_in(attrs, MRC_ABI_ATTR_ARRAY_IN, sizeof(*in),
			      MRC_CTL_BATCH, &n);
	if (IS_ERR(in))
		return PTR_ERR(in);
	new = mrc_ctl_array_in(attrs, MRC_ABI_ATTR_SECOND_IN, sizeof(*new),
			       MRC_CTL_BATCH, &n_new);
	if (IS_ERR(new))
		return PTR_ERR(new);
	if ((whole && n) || n_new != (replace ? n : 0))
		return -EINVAL;
	/* MRC_CTL_BATCH is enough: no profile has more EVs. */
	a->entry_room = min_t(u32, MRC_CTL_BATCH,
			      mrc_ctl_array_room(attrs, MRC_ABI_ATTR_ARRAY_OUT,
						 sizeof(*in)));
	if (io->ev_op == MRC_EVP_OP_QUERY_EV_STATE && a->entry_room < n) {
		io->n_entries = n;
		return -E2BIG;
	}
	a->n_entry = whole ? a->entry_room : n;
	/* One element more, so that an empty batch is not NULL. */
	a->entry = uverbs_kcalloc(attrs, a->n_entry + 1, sizeof(*a->entry));
	if (IS_ERR(a->entry))
		return PTR_ERR(a->entry);
	for (i = 0; !ret && i < n; i++) {
		ret = mrc_ctl_ev_in(&a->entry[i].ev, &in[i].ev);
		if (!ret && replace)
			ret = mrc_ctl_ev_in(&a->entry[i].ev_new, &new[i]);
		a->entry[i].state = in[i].state;
		a->entry[i].flags = in[i].flags;
	}
	return ret;
}

static int mrc_ctl_entries_out(const struct mrc_ctl_evp_arrays *a, u32 n,
			       struct uverbs_attr_bundle *attrs)
{
	struct mrc_abi_ev_entry *out;
	u32 i;

	n = min(n, a->entry_room);
	out = uverbs_kcalloc(attrs, n, sizeof(*out));
	if (IS_ERR(out))
		return PTR_ERR(out);
	for (i = 0; i < n; i++) {
		mrc_ctl_ev_out(&out[i].ev, &a->entry[i].ev);
		out[i].state = a->entry[i].state;
		out[i].flags = a->entry[i].flags;
	}
	return mrc_ctl_array_out(attrs, MRC_ABI_ATTR_ARRAY_OUT, out, n,
				 sizeof(*out));
}

static int mrc_ctl_fields_in(struct mrc_ctl_evp_arrays *a,
			     const struct mrc_abi_evp *io,
			     struct uverbs_attr_bundle *attrs)
{
	const struct mrc_abi_ev_field *in;
	u32 i;

	if (io->fields_op == MRC_EVP_OP_QUERY_FIELDS) {
		a->n_field = min_t(u32, MRC_EV_MAX_FIELDS,
				   mrc_ctl_array_room(attrs,
						      MRC_ABI_ATTR_FIELDS_OUT,
						      sizeof(*in)));
		return 0;
	}
	in = mrc_ctl_array_in(attrs, MRC_ABI_ATTR_FIELDS_IN, sizeof(*in),
			      MRC_EV_MAX_FIELDS, &a->n_field);
	if (IS_ERR(in))
		return PTR_ERR(in);
	for (i = 0; i < a->n_field; i++) {
		if (in[i].reserved)
			return -EINVAL;
		a->field[i].width = in[i].width;
		a->field[i].init_val = in[i].init_val;
		a->field[i].min_val = in[i].min_val;
		a->field[i].max_val = in[i].max_val;
		a->field[i].mask = in[i].mask;
	}
	return 0;
}

static int mrc_ctl_fields_out(const struct mrc_ctl_evp_arrays *a, u32 n,
			      struct uverbs_attr_bundle *attrs)
{
	struct mrc_abi_ev_field out[MRC_EV_MAX_FIELDS] = {};
	u32 i;

	n = min(n, a->n_field);
	for (i = 0; i < n; i++) {
		out[i].width = a->field[i].width;
		out[i].init_val = a->field[i].init_val;
		out[i].min_val = a->field[i].min_val;
		out[i].max_val = a->field[i].max_val;
		out[i].mask = a->field[i].mask;
	}
	return mrc_ctl_array_out(attrs, MRC_ABI_ATTR_FIELDS_OUT, out, n,
				 sizeof(out[0]));
}

static int mrc_ctl_evp_arrays_in(struct mrc_ctl_evp_arrays *a,
				 struct mrc_abi_evp *io,
				 struct uverbs_attr_bundle *attrs)
{
	int ret = 0;

	if (io->mask & MRC_EVP_EV_OP)
		ret = mrc_ctl_entries_in(a, io, attrs);
	if (!ret && io->mask & MRC_EVP_FIELDS_OP)
		ret = mrc_ctl_fields_in(a, io, attrs);
	return ret;
}

static int mrc_ctl_evp_arrays_out(const struct mrc_ctl_evp_arrays *a,
				  const struct mrc_abi_evp *io,
				  const struct mrc_evp_req *r,
				  struct uverbs_attr_bundle *attrs)
{
	int ret = 0;

	if (io->mask & MRC_EVP_EV_OP &&
	    (io->ev_op == MRC_EVP_OP_QUERY_EV_STATE ||
	     io->ev_op == MRC_EVP_OP_QUERY_EV_ARRAY))
		ret = mrc_ctl_entries_out(a, r->n_entries, attrs);
	if (!ret && io->mask & MRC_EVP_FIELDS_OP &&
	    io->fields_op == MRC_EVP_OP_QUERY_FIELDS)
		ret = mrc_ctl_fields_out(a, r->n_fields, attrs);
	return ret;
}

static int mrc_ctl_do_evp(struct mrc_dev *dev, struct mrc_abi_evp *io,
			  struct uverbs_attr_bundle *attrs, bool modify)
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
	struct mrc_ctl_evp_arrays *a;
	int ret;

	if (io->reserved)
		return -EINVAL;
	a = uverbs_zalloc(attrs, sizeof(*a));
	if (IS_ERR(a))
		return PTR_ERR(a);
	ret = mrc_ctl_evp_arrays_in(a, io, attrs);
	if (ret)
		return ret;
	r.n_entries = a->n_entry;
	r.entry = a->entry;
	r.n_fields = a->n_field;
	r.field = a->field;
	ret = mrc_ctl_evp(dev, io->id, &r, modify);
	if (!ret)
		ret = mrc_ctl_evp_arrays_out(a, io, &r, attrs);
	io->state = r.state;
	io->cur_state = r.cur_state;
	io->mode = r.mode;
	io->fmt_id = r.fmt_id;
	io->count = r.count;
	io->min_active = r.min_active;
	io->event_mask = r.event_mask;
	io->n_entries = r.n_entries;
	io->n_fields = r.n_fields;
	return ret;
}

static int mrc_ctl_evp_modify(struct mrc_dev *dev, void *io,
			      struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_do_evp(dev, io, attrs, true);
}

static int mrc_ctl_evp_query(struct mrc_dev *dev, void *io,
			     struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_do_evp(dev, io, attrs, false);
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

static int mrc_ctl_do_ccp(struct mrc_dev *dev, struct mrc_abi_ccp *io,
			  bool modify)
{
	struct mrc_nscc_cfg nscc;
	struct mrc_ccp_req r = {
		.mask = io->mask,
		.state = io->state,
		.cur_state = io->cur_state,
		.name = io->algorithm,
		.nscc = &nscc,
		.vendor = io->vendor_cfg,
	};
	int ret;

	if (io->reserved || !memchr(io->algorithm, 0, sizeof(io->algorithm)))
		return -EINVAL;
	ret = mrc_ctl_nscc_in(&nscc, &io->nscc);
	if (ret)
		return ret;
	ret = mrc_ctl_ccp(dev, io->id, &r, modify);
	if (ret)
		return ret;
	io->state = r.state;
	io->cur_state = r.cur_state;
	if (!modify && io->mask & MRC_CCP_ALGORITHM) {
		memset(io->algorithm, 0, sizeof(io->algorithm));
		strscpy(io->algorithm, r.name ?: "", sizeof(io->algorithm));
	}
	if (!modify && io->mask & MRC_CCP_CONFIG)
		mrc_ctl_nscc_out(&io->nscc, &nscc);
	return 0;
}

static int mrc_ctl_ccp_modify(struct mrc_dev *dev, void *io,
			      struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_do_ccp(dev, io, true);
}

static int mrc_ctl_ccp_query(struct mrc_dev *dev, void *io,
			     struct uverbs_attr_bundle *attrs)
{
	return mrc_ctl_do_ccp(dev, io, false);
}

/*
 * --- method definitions for the RDMA core ------------------------------------------
 */

/* A method on a kind of profile whose struct ends in vendor_cfg. */
#define MRC_CTL_PROFILE_METHOD(_id, _type, _fn, ...)			\
	MRC_CTL_METHOD(_id, MRC_CTL_ADMIN, _type, _fn,			\
		       MRC_CTL_IN(_type, vendor_cfg),			\
		       MRC_CTL_OUT(_type, vendor_cfg, UA_OPTIONAL),	\
		       ##__VA_ARGS__)

#define MRC_CTL_FMT_ARRAYS						\
	MRC_CTL_ARRAY_IN(MRC_ABI_ATTR_ARRAY_IN, 1),			\
	MRC_CTL_ARRAY_OUT(MRC_ABI_ATTR_ARRAY_OUT, 1)

#define MRC_CTL_EVP_ARRAYS						\
	MRC_CTL_ARRAY_IN(MRC_ABI_ATTR_ARRAY_IN,				\
			 sizeof(struct mrc_abi_ev_entry)),		\
	MRC_CTL_ARRAY_OUT(MRC_ABI_ATTR_ARRAY_OUT,			\
			  sizeof(struct mrc_abi_ev_entry)),		\
	MRC_CTL_ARRAY_IN(MRC_ABI_ATTR_SECOND_IN,			\
			 sizeof(struct mrc_abi_ev)),			\
	MRC_CTL_ARRAY_IN(MRC_ABI_ATTR_FIELDS_IN,			\
			 sizeof(struct mrc_abi_ev_field)),		\
	MRC_CTL_ARRAY_OUT(MRC_ABI_ATTR_FIELDS_OUT,			\
			  sizeof(struct mrc_abi_ev_field))

MRC_CTL_PROFILE_METHOD(MRC_ABI_FMT_MODIFY, struct mrc_abi_fmt,
		       mrc_ctl_fmt_modify, MRC_CTL_FMT_ARRAYS);
MRC_CTL_PROFILE_METHOD(MRC_ABI_FMT_QUERY, struct mrc_abi_fmt,
		       mrc_ctl_fmt_query, MRC_CTL_FMT_ARRAYS);
MRC_CTL_PROFILE_METHOD(MRC_ABI_EVP_MODIFY, struct mrc_abi_evp,
		       mrc_ctl_evp_modify, MRC_CTL_EVP_ARRAYS);
MRC_CTL_PROFILE_METHOD(MRC_ABI_EVP_QUERY, struct mrc_abi_evp,
		       mrc_ctl_evp_query, MRC_CTL_EVP_ARRAYS);
MRC_CTL_PROFILE_METHOD(MRC_ABI_CCP_MODIFY, struct mrc_abi_ccp,
		       mrc_ctl_ccp_modify);
MRC_CTL_PROFILE_METHOD(MRC_ABI_CCP_QUERY, struct mrc_abi_ccp,
		       mrc_ctl_ccp_query);

DECLARE_UVERBS_GLOBAL_METHODS(MRC_ABI_OBJECT_EV_FMT,
			      &UVERBS_METHOD(MRC_ABI_FMT_MODIFY),
			      &UVERBS_METHOD(MRC_ABI_FMT_QUERY));

DECLARE_UVERBS_GLOBAL_METHODS(MRC_ABI_OBJECT_EV_PROFILE,
			      &UVERBS_METHOD(MRC_ABI_EVP_MODIFY),
			      &UVERBS_METHOD(MRC_ABI_EVP_QUERY));

DECLARE_UVERBS_GLOBAL_METHODS(MRC_ABI_OBJECT_CC_PROFILE,
			      &UVERBS_METHOD(MRC_ABI_CCP_MODIFY),
			      &UVERBS_METHOD(MRC_ABI_CCP_QUERY));

const struct uapi_definition mrc_uapi_profile_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MRC_ABI_OBJECT_EV_FMT),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MRC_ABI_OBJECT_EV_PROFILE),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MRC_ABI_OBJECT_CC_PROFILE),
	{},
};
