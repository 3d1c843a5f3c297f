// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * EV format profiles: states and rules.
 */
#include "mrc_profile.h"

#define FMT_ALL		(MRC_FMT_STATE | MRC_FMT_CUR_STATE | MRC_FMT_MODE | \
			 MRC_FMT_OP | MRC_FMT_VENDOR_CFG)

bool mrc_profile_step_ok(u8 from, u32 to)
{
	switch (from) {
	case MRC_PROFILE_INIT:
		return to == MRC_PROFILE_OFFLINE;
	case MRC_PROFILE_OFFLINE:
		return to == MRC_PROFILE_ONLINE || to == MRC_PROFILE_INIT;
	case MRC_PROFILE_ONLINE:
		return to == MRC_PROFILE_OFFLINE;
	default:
		return false;
	}
}

/* Does @r change anything but the state? */
static bool changes(const struct mrc_fmt_req *r)
{
	return r->mask & (MRC_FMT_MODE | MRC_FMT_VENDOR_CFG) ||
	       (r->mask & MRC_FMT_OP && r->op == MRC_FMT_OP_MODIFY_FIELDS);
}

static int check_state(const struct mrc_fmt_profile *p,
		       const struct mrc_fmt_req *r)
{
	if (r->mask & ~FMT_ALL)
		return -EINVAL;
	if (r->mask & MRC_FMT_CUR_STATE && r->cur_state != p->state)
		return -EINVAL;
	if (r->mask & MRC_FMT_STATE && !mrc_profile_step_ok(p->state, r->state))
		return -EINVAL;
	if (r->mask & MRC_FMT_OP && r->op > MRC_FMT_OP_QUERY_FIELDS)
		return -EINVAL;
	if (p->users && (r->mask & MRC_FMT_STATE || changes(r)))
		return -EBUSY;
	return 0;
}

/* Does the state of @p allow @r? */
static int check_allowed(const struct mrc_fmt_profile *p,
			 const struct mrc_fmt_req *r)
{
	switch (p->state) {
	case MRC_PROFILE_INIT:
		if (!(r->mask & MRC_FMT_STATE))
			return changes(r) || r->mask & MRC_FMT_OP ? -EINVAL : 0;
		if (!(r->mask & MRC_FMT_MODE) || r->mask & MRC_FMT_VENDOR_CFG)
			return -EINVAL;
		return r->mask & MRC_FMT_OP &&
		       r->op == MRC_FMT_OP_QUERY_FIELDS ? -EINVAL : 0;
	case MRC_PROFILE_ONLINE:
		return changes(r) ? -EINVAL : 0;
	default:
		return 0;
	}
}

/* Compute the format after the call. */
static int next_fmt(const struct mrc_fmt_profile *p,
		    const struct mrc_fmt_req *r, struct mrc_ev_fmt *fmt,
		    bool *has_fields)
{
	*fmt = p->fmt;
	*has_fields = p->has_fields;
	if (r->mask & MRC_FMT_MODE) {
		if (r->mode > MRC_EV_FMT_ALL ||
		    !mrc_ev_fmt_limit((u8)r->mode))
			return -EINVAL;
		fmt->mode = (u8)r->mode;
	}
	if (r->mask & MRC_FMT_OP && r->op == MRC_FMT_OP_MODIFY_FIELDS) {
		if (!r->n)
			return -EINVAL;
		if (r->n > MRC_EV_MAX_FIELDS)
			return -E2BIG;
		memset(fmt->width, 0, sizeof(fmt->width));
		memcpy(fmt->width, r->width, r->n);
		fmt->n = (u8)r->n;
		*has_fields = true;
	}
	if (*has_fields)
		return mrc_ev_fmt_check(fmt);
	return r->mask & MRC_FMT_STATE && r->state == MRC_PROFILE_ONLINE ?
	       -EINVAL : 0;
}

static int query_fields(const struct mrc_fmt_profile *p, struct mrc_fmt_req *r)
{
	u32 room = r->n;

	r->n = p->fmt.n;
	if (room < p->fmt.n)
		return -E2BIG;
	if (p->fmt.n)
		memcpy(r->width, p->fmt.width, p->fmt.n);
	return 0;
}

int mrc_fmt_modify(struct mrc_fmt_profile *p, struct mrc_fmt_req *r)
{
	struct mrc_ev_fmt fmt;
	bool has_fields;
	int rc;

	rc = check_state(p, r);
	if (!rc)
		rc = check_allowed(p, r);
	if (!rc)
		rc = next_fmt(p, r, &fmt, &has_fields);
	if (!rc && r->mask & MRC_FMT_OP && r->op == MRC_FMT_OP_QUERY_FIELDS)
		rc = query_fields(p, r);
	if (rc)
		return rc;

	p->fmt = fmt;
	p->has_fields = has_fields;
	if (r->mask & MRC_FMT_VENDOR_CFG)
		memcpy(p->vendor, r->vendor, sizeof(p->vendor));
	if (r->mask & MRC_FMT_STATE)
		p->state = (u8)r->state;
	if (p->state == MRC_PROFILE_INIT)
		memset(p, 0, sizeof(*p));
	return 0;
}

int mrc_fmt_query(const struct mrc_fmt_profile *p, struct mrc_fmt_req *r)
{
	int rc;

	if (r->mask & ~FMT_ALL)
		return -EINVAL;
	if (p->state == MRC_PROFILE_INIT &&
	    r->mask & (MRC_FMT_MODE | MRC_FMT_OP | MRC_FMT_VENDOR_CFG))
		return -EINVAL;
	if (r->mask & MRC_FMT_OP) {
		if (r->op != MRC_FMT_OP_QUERY_FIELDS)
			return -EINVAL;
		rc = query_fields(p, r);
		if (rc)
			return rc;
	}
	if (r->mask & MRC_FMT_STATE)
		r->state = p->state;
	if (r->mask & MRC_FMT_CUR_STATE)
		r->cur_state = p->state;
	if (r->mask & MRC_FMT_MODE)
		r->mode = p->fmt.mode;
	if (r->mask & MRC_FMT_VENDOR_CFG)
		memcpy(r->vendor, p->vendor, sizeof(p->vendor));
	return 0;
}
