// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Congestion control profiles: states and rules.
 */
#include "mrc_profile.h"

#define CCP_ATTRS	(MRC_CCP_ALGORITHM | MRC_CCP_CONFIG | \
			 MRC_CCP_VENDOR_CFG)
#define CCP_ALL		(MRC_CCP_STATE | MRC_CCP_CUR_STATE | CCP_ATTRS)

#define Q16_ONE		(1u << 16)
#define MAX_SHIFT	31u

static bool nscc_ok(const struct mrc_nscc_cfg *c)
{
	return c->qa_gate <= MAX_SHIFT && c->gamma <= Q16_ONE &&
	       c->max_md_jump <= Q16_ONE &&
	       c->fi_scale <= MRC_CCP_MAX_RATIO &&
	       c->adjust_period_threshold <= MRC_CCP_MAX_TIME &&
	       c->base_rtt <= MRC_CCP_MAX_TIME &&
	       c->qa_threshold <= MRC_CCP_MAX_TIME &&
	       c->target_delay <= MRC_CCP_MAX_TIME &&
	       c->adjust_bytes_threshold <= MRC_CCP_MAX_BYTES &&
	       c->eta <= MRC_CCP_MAX_BYTES && c->fi <= MRC_CCP_MAX_BYTES &&
	       c->max_cwnd <= MRC_CCP_MAX_BYTES;
}

static int check_state(const struct mrc_cc_profile *p,
		       const struct mrc_ccp_req *r)
{
	if (r->mask & ~CCP_ALL)
		return -EINVAL;
	if (r->mask & MRC_CCP_CUR_STATE && r->cur_state != p->state)
		return -EINVAL;
	if (r->mask & MRC_CCP_STATE && !mrc_profile_step_ok(p->state, r->state))
		return -EINVAL;
	if (p->users && r->mask & MRC_CCP_STATE)
		return -EBUSY;
	return 0;
}

static int check_allowed(const struct mrc_cc_profile *p,
			 const struct mrc_ccp_req *r, bool modify_online)
{
	u32 attrs = r->mask & CCP_ATTRS;

	switch (p->state) {
	case MRC_PROFILE_INIT:
		if (!(r->mask & MRC_CCP_STATE))
			return attrs ? -EINVAL : 0;
		return !(attrs & MRC_CCP_ALGORITHM) ||
		       attrs & MRC_CCP_VENDOR_CFG ? -EINVAL : 0;
	case MRC_PROFILE_ONLINE:
		if (modify_online)
			attrs &= ~(u32)MRC_CCP_CONFIG;
		return attrs ? -EINVAL : 0;
	default:
		return 0;
	}
}

int mrc_ccp_modify(struct mrc_cc_profile *p, struct mrc_ccp_req *r,
		   bool modify_online)
{
	const struct mrc_cc_ops *ops = p->ops;
	bool has_config = p->has_config;
	int rc;

	rc = check_state(p, r);
	if (!rc)
		rc = check_allowed(p, r, modify_online);
	if (rc)
		return rc;
	if (r->mask & MRC_CCP_ALGORITHM) {
		ops = r->name && *r->name ? mrc_cc_find(r->name) : NULL;
		if (r->name && *r->name && !ops)
			return -EINVAL;
		has_config = has_config && ops == p->ops;
	}
	if (r->mask & MRC_CCP_CONFIG) {
		if (!nscc_ok(r->nscc))
			return -EINVAL;
		has_config = true;
	}
	/* Not every algorithm has parameters. */
	if (r->mask & MRC_CCP_STATE && r->state == MRC_PROFILE_ONLINE &&
	    !has_config && ops && ops->has_params)
		return -EINVAL;

	p->ops = ops;
	p->has_algorithm |= !!(r->mask & MRC_CCP_ALGORITHM);
	if (r->mask & MRC_CCP_CONFIG)
		p->nscc = *r->nscc;
	else if (!has_config)
		memset(&p->nscc, 0, sizeof(p->nscc));
	p->has_config = has_config;
	if (r->mask & MRC_CCP_VENDOR_CFG)
		memcpy(p->vendor, r->vendor, sizeof(p->vendor));
	if (r->mask & MRC_CCP_STATE)
		p->state = (u8)r->state;
	if (p->state == MRC_PROFILE_INIT)
		memset(p, 0, sizeof(*p));
	return 0;
}

int mrc_ccp_query(const struct mrc_cc_profile *p, struct mrc_ccp_req *r)
{
	if (r->mask & ~CCP_ALL)
		return -EINVAL;
	if (p->state == MRC_PROFILE_INIT && r->mask & CCP_ATTRS)
		return -EINVAL;
	if (r->mask & MRC_CCP_STATE)
		r->state = p->state;
	if (r->mask & MRC_CCP_CUR_STATE)
		r->cur_state = p->state;
	if (r->mask & MRC_CCP_ALGORITHM)
		r->name = p->ops ? p->ops->name : "";
	if (r->mask & MRC_CCP_CONFIG)
		*r->nscc = p->nscc;
	if (r->mask & MRC_CCP_VENDOR_CFG)
		memcpy(r->vendor, p->vendor, sizeof(p->vendor));
	return 0;
}
