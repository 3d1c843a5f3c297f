// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC for controllers: congestion control profiles. The kernel has no floating
 * point: ratios are converted to and from units of 2^-16 here.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib_ctl.h"

static const char nscc_name[] = "uet-1.0-nscc";

/**
 * struct mrc_ctl_store - configuration of a profile as a query returned it
 * @next: store of another profile of the same context
 * @id: ID of the profile
 * @nscc: programs have a pointer to it
 *
 * A program may read @nscc until the profile is modified. So a query that returns the
 * same values does not write to it.
 */
struct mrc_ctl_store {
	struct mrc_ctl_store *next;
	uint64_t id;
	struct mrc_ctl_cc_nscc_cfg nscc;
};

/* Protects the lists of all contexts: queries are rare. */
static pthread_mutex_t cc_lock = PTHREAD_MUTEX_INITIALIZER;

void mrc_lib_ctl_free(struct mrc_ctl_store *ctl)
{
	struct mrc_ctl_store *next;

	for (; ctl; ctl = next) {
		next = ctl->next;
		free(ctl);
	}
}

/* memcmp() also compares padding, so the caller must clear @nscc first. */
static const struct mrc_ctl_cc_nscc_cfg *
keep_config(struct mrc_context *ctx, uint64_t id,
	    const struct mrc_ctl_cc_nscc_cfg *nscc)
{
	struct mrc_ctl_store *cc;

	pthread_mutex_lock(&cc_lock);
	for (cc = ctx->ctl; cc; cc = cc->next)
		if (cc->id == id)
			break;
	if (!cc) {
		cc = calloc(1, sizeof(*cc));
		if (cc) {
			cc->id = id;
			cc->next = ctx->ctl;
			ctx->ctl = cc;
		}
	}
	if (cc && memcmp(&cc->nscc, nscc, sizeof(*nscc)))
		memcpy(&cc->nscc, nscc, sizeof(*nscc));
	pthread_mutex_unlock(&cc_lock);
	return cc ? &cc->nscc : NULL;
}

/* --- numbers -------------------------------------------------------------- */

#define BYTES	1.0
#define RATIO	65536.0

/*
 * Convert @v to units of 1/@scale, rounded. 0 tells the kernel to derive the parameter,
 * so a small positive @v gives 1. Returns 0 or EINVAL. The kernel checks the bounds,
 * but negative numbers, NaN and numbers of more than 32 bits cannot be passed to it.
 */
static int to_fixed(float v, double scale, uint32_t *fixed)
{
	double x = (double)v * scale + 0.5;

	if (!(v >= 0) || !(x < 4294967296.0))
		return EINVAL;
	*fixed = x;
	if (!*fixed && v > 0)
		*fixed = 1;
	return 0;
}

/*
 * The reverse: of all numbers that convert to @fixed, return the one with the fewest
 * decimals, as a person may have written it. So 0.8 is returned as 0.8 and not as
 * 0.80000305. Five decimals distinguish all units of 2^-16.
 */
static float to_float(uint32_t fixed, double scale)
{
	double x = fixed / scale, unit;
	uint32_t again;
	float v;

	for (unit = 1; unit <= 100000; unit *= 10) {
		v = (uint64_t)(x * unit + 0.5) / unit;
		if (!to_fixed(v, scale, &again) && again == fixed)
			return v;
	}
	return x;
}

static int nscc_in(struct mrc_abi_nscc *to,
		   const struct mrc_ctl_cc_nscc_cfg *from)
{
	*to = (struct mrc_abi_nscc){
		.disable_qa = !!from->disable_qa,
		.qa_gate = from->qa_gate,
		.adjust_bytes_threshold = from->adjust_bytes_threshold,
		.adjust_period_threshold = from->adjust_period_threshold,
		.base_rtt = from->base_rtt,
		.max_cwnd = from->max_cwnd,
		.qa_threshold = from->qa_threshold,
		.target_delay = from->target_delay,
	};
	return to_fixed(from->eta, BYTES, &to->eta) ||
	       to_fixed(from->fi, BYTES, &to->fi) ||
	       to_fixed(from->fi_scale, RATIO, &to->fi_scale) ||
	       to_fixed(from->gamma, RATIO, &to->gamma) ||
	       to_fixed(from->max_md_jump, RATIO, &to->max_md_jump) ?
		       EINVAL : 0;
}

static void nscc_out(struct mrc_ctl_cc_nscc_cfg *to,
		     const struct mrc_abi_nscc *from)
{
	memset(to, 0, sizeof(*to));
	to->disable_qa = from->disable_qa;
	to->adjust_bytes_threshold = from->adjust_bytes_threshold;
	to->adjust_period_threshold = from->adjust_period_threshold;
	to->base_rtt = from->base_rtt;
	to->eta = to_float(from->eta, BYTES);
	to->fi = to_float(from->fi, BYTES);
	to->fi_scale = to_float(from->fi_scale, RATIO);
	to->gamma = to_float(from->gamma, RATIO);
	to->max_md_jump = to_float(from->max_md_jump, RATIO);
	to->max_cwnd = from->max_cwnd;
	to->qa_gate = from->qa_gate;
	to->qa_threshold = from->qa_threshold;
	to->target_delay = from->target_delay;
}

/* --- profiles ------------------------------------------------------------- */

static int call(struct mrc_context *ctx, uint16_t method,
		struct mrc_abi_ccp *io)
{
	return lib_ctl_call(ctx, MRC_ABI_OBJECT_CC_PROFILE, method, io,
			    sizeof(*io), NULL, 0);
}

static int algorithm_in(struct mrc_abi_ccp *io, const char *algorithm)
{
	size_t len = algorithm ? strlen(algorithm) : 0;

	/*
	 * A name that does not fit is not known to any device; "" does not mean "off"
	 * here.
	 */
	if (len >= sizeof(io->algorithm) || (algorithm && !len))
		return EINVAL;
	memcpy(io->algorithm, algorithm ? algorithm : "", len);
	return 0;
}

/*
 * The format of a configuration depends on the algorithm, given in this call or by the
 * profile. Algorithms without parameters ignore the pointer. The kernel still has to
 * know that a configuration was passed, because the state of the profile may forbid
 * that.
 */
static int config_in(struct mrc_context *ctx, struct mrc_abi_ccp *io,
		     const struct mrc_ctl_cc_profile_attr *attr, uint32_t mask)
{
	struct mrc_abi_ccp now = {
		.id = io->id,
		.mask = MRC_CTL_CC_PROFILE_ALGORITHM,
	};
	const char *algorithm = io->algorithm;
	int err;

	if (!(mask & MRC_CTL_CC_PROFILE_ALGORITHM)) {
		algorithm = now.algorithm;
		err = call(ctx, MRC_ABI_CCP_QUERY, &now);
		/*
		 * Fails in INIT, where there is no algorithm; a configuration is
		 * invalid then.
		 */
		if (err)
			return err;
	}
	if (strcmp(algorithm, nscc_name))
		return 0;
	if (!attr->cc_config)
		return EINVAL;
	return nscc_in(&io->nscc, attr->cc_config);
}

static int modify(struct mrc_context *ctx, uint64_t id,
		  const struct mrc_ctl_cc_profile_attr *attr, uint32_t mask)
{
	struct mrc_abi_ccp io = { .id = id, .mask = mask };
	int err = 0;

	if (!ctx || (mask && !attr))
		return EINVAL;
	if (mask & MRC_CTL_CC_PROFILE_STATE)
		io.state = attr->profile_state;
	if (mask & MRC_CTL_CC_PROFILE_CUR_STATE)
		io.cur_state = attr->cur_profile_state;
	if (mask & (uint32_t)MRC_CTL_CC_PROFILE_VENDOR_CFG)
		memcpy(io.vendor_cfg, attr->vendor_cfg, sizeof(io.vendor_cfg));
	if (mask & MRC_CTL_CC_PROFILE_ALGORITHM)
		err = algorithm_in(&io, attr->algorithm);
	if (!err && mask & MRC_CTL_CC_PROFILE_CONFIG)
		err = config_in(ctx, &io, attr, mask);
	return err ? err : call(ctx, MRC_ABI_CCP_MODIFY, &io);
}

static int query(struct mrc_context *ctx, uint64_t id,
		 struct mrc_ctl_cc_profile_attr *attr, uint32_t mask)
{
	struct mrc_abi_ccp io = { .id = id, .mask = mask };
	const struct mrc_ctl_cc_nscc_cfg *config = NULL;
	struct mrc_ctl_cc_nscc_cfg nscc;
	const char *algorithm = NULL;
	int err;

	if (!ctx || (mask && !attr))
		return EINVAL;
	/* The algorithm decides which parameters there are. */
	if (mask & MRC_CTL_CC_PROFILE_CONFIG)
		io.mask |= MRC_CTL_CC_PROFILE_ALGORITHM;
	err = call(ctx, MRC_ABI_CCP_QUERY, &io);
	if (err)
		return err;
	if (mask & MRC_CTL_CC_PROFILE_ALGORITHM)
		err = lib_ctl_algorithm(ctx, io.algorithm, &algorithm);
	if (!err && mask & MRC_CTL_CC_PROFILE_CONFIG &&
	    !strcmp(io.algorithm, nscc_name)) {
		nscc_out(&nscc, &io.nscc);
		config = keep_config(ctx, id, &nscc);
		if (!config)
			err = ENOMEM;
	}
	if (err)
		return err;

	if (mask & MRC_CTL_CC_PROFILE_STATE)
		attr->profile_state = io.state;
	if (mask & MRC_CTL_CC_PROFILE_CUR_STATE)
		attr->cur_profile_state = io.cur_state;
	if (mask & MRC_CTL_CC_PROFILE_ALGORITHM)
		attr->algorithm = algorithm;
	if (mask & MRC_CTL_CC_PROFILE_CONFIG)
		attr->cc_config = config;
	if (mask & (uint32_t)MRC_CTL_CC_PROFILE_VENDOR_CFG)
		memcpy(attr->vendor_cfg, io.vendor_cfg,
		       sizeof(attr->vendor_cfg));
	return 0;
}

int mrc_ctl_modify_cc_profile(struct mrc_context *mrc_ctx,
			      uint64_t cc_profile_id,
			      struct mrc_ctl_cc_profile_attr *attr,
			      int attr_mask)
{
	int err = modify(mrc_ctx, cc_profile_id, attr, attr_mask);

	return err ? mrc_lib_err(err) : 0;
}

int mrc_ctl_query_cc_profile(struct mrc_context *mrc_ctx,
			     uint64_t cc_profile_id,
			     struct mrc_ctl_cc_profile_attr *attr,
			     int attr_mask)
{
	int err = query(mrc_ctx, cc_profile_id, attr, attr_mask);

	return err ? mrc_lib_err(err) : 0;
}
