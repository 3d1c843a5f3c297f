// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC for controllers: EV format profiles.
 */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <util/util.h>

#include "lib_ctl.h"

/* The array of widths is passed to the kernel without conversion. */
static_assert(sizeof(struct mrc_ctl_ev_fmt_field) == 1, "a width is a byte");

static int fmt(struct mrc_context *ctx, uint64_t id,
	       struct mrc_ctl_ev_fmt_profile_attr *attr, uint32_t mask,
	       bool modify)
{
	struct mrc_abi_fmt io = { .id = id, .mask = mask };
	struct lib_ctl_array widths = {};
	bool queries = false;
	int err;

	if (!ctx || (mask && !attr))
		return EINVAL;
	if (mask & MRC_CTL_EV_FMT_PROFILE_STATE)
		io.state = attr->profile_state;
	if (mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE)
		io.cur_state = attr->cur_profile_state;
	if (mask & MRC_CTL_EV_FMT_PROFILE_MODE)
		io.mode = attr->ev_fmt_mode;
	if (mask & MRC_CTL_EV_FMT_PROFILE_OP) {
		if (!lib_ctl_array_ok(attr->ev_fmt_op.fmt_fields,
				      attr->ev_fmt_op.fmt_field_count))
			return EINVAL;
		io.op = attr->ev_fmt_op.op;
		queries = io.op == MRC_CTL_EV_FMT_OP_QUERY_FIELDS;
		widths.size = attr->ev_fmt_op.fmt_field_count;
		if (widths.size > LIB_CTL_ARRAY_MAX(1)) {
			if (!queries)
				return E2BIG;
			widths.size = LIB_CTL_ARRAY_MAX(1);
		}
		widths.attr = MRC_ABI_ATTR_ARRAY_IN;
		widths.in = attr->ev_fmt_op.fmt_fields;
		if (queries) {
			widths.attr = MRC_ABI_ATTR_ARRAY_OUT;
			widths.in = NULL;
			widths.out = attr->ev_fmt_op.fmt_fields;
		}
	}
	if (modify && mask & (uint32_t)MRC_CTL_EV_FMT_VENDOR_CFG)
		memcpy(io.vendor_cfg, attr->vendor_cfg, sizeof(io.vendor_cfg));

	err = lib_ctl_call(ctx, MRC_ABI_OBJECT_EV_FMT,
			   modify ? MRC_ABI_FMT_MODIFY : MRC_ABI_FMT_QUERY,
			   &io, sizeof(io), &widths, 1);
	/* E2BIG may have another cause; then do not change the count. */
	if (queries && (!err || (err == E2BIG && io.n_fields > widths.size)))
		attr->ev_fmt_op.fmt_field_count = io.n_fields;
	if (err || modify)
		return err;
	if (mask & MRC_CTL_EV_FMT_PROFILE_STATE)
		attr->profile_state = io.state;
	if (mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE)
		attr->cur_profile_state = io.cur_state;
	if (mask & MRC_CTL_EV_FMT_PROFILE_MODE)
		attr->ev_fmt_mode = io.mode;
	if (mask & (uint32_t)MRC_CTL_EV_FMT_VENDOR_CFG)
		memcpy(attr->vendor_cfg, io.vendor_cfg,
		       sizeof(attr->vendor_cfg));
	return 0;
}

int mrc_ctl_modify_ev_fmt_profile(struct mrc_context *mrc_ctx,
				  uint64_t ev_fmt_profile_id,
				  struct mrc_ctl_ev_fmt_profile_attr *attr,
				  int attr_mask)
{
	int err = fmt(mrc_ctx, ev_fmt_profile_id, attr, attr_mask, true);

	return err ? mrc_lib_err(err) : 0;
}

int mrc_ctl_query_ev_fmt_profile(struct mrc_context *mrc_ctx,
				 uint64_t ev_fmt_profile_id,
				 struct mrc_ctl_ev_fmt_profile_attr *attr,
				 int attr_mask)
{
	int err = fmt(mrc_ctx, ev_fmt_profile_id, attr, attr_mask, false);

	return err ? mrc_lib_err(err) : 0;
}
