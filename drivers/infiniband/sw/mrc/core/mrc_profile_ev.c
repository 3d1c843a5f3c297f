// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * EV profiles: states and rules. A call is planned first: struct mrc_evp_next describes
 * the profile after the call. The call is carried out only if the plan is valid.
 */
#include "mrc_profile_priv.h"

#define EVP_DEFINES	(MRC_EVP_MODE | MRC_EVP_FMT_ID | MRC_EVP_COUNT)
#define EVP_VALUES	(EVP_DEFINES | MRC_EVP_MIN_ACTIVE | MRC_EVP_EVENT_MASK)
#define EVP_OPS		(MRC_EVP_EV_OP | MRC_EVP_FIELDS_OP)
#define EVP_STATES	(MRC_EVP_STATE | MRC_EVP_CUR_STATE)
#define EVP_ALL		(EVP_STATES | EVP_VALUES | EVP_OPS | MRC_EVP_VENDOR_CFG)

static bool has_ev_op(const struct mrc_evp_req *r, u32 op)
{
	return r->mask & MRC_EVP_EV_OP && r->ev_op == op;
}

static bool queries_evs(const struct mrc_evp_req *r)
{
	return has_ev_op(r, MRC_EVP_OP_QUERY_EV_STATE) ||
	       has_ev_op(r, MRC_EVP_OP_QUERY_EV_ARRAY);
}

static bool changes_evs(const struct mrc_evp_req *r)
{
	return has_ev_op(r, MRC_EVP_OP_REPLACE_EV) ||
	       has_ev_op(r, MRC_EVP_OP_MODIFY_EV_STATE);
}

static bool has_fields_op(const struct mrc_evp_req *r, u32 op)
{
	return r->mask & MRC_EVP_FIELDS_OP && r->fields_op == op;
}

/* Checks of a request that do not depend on the profile. */
static int check_request(const struct mrc_evp_req *r,
			 const struct mrc_evp_env *env)
{
	if (r->mask & ~EVP_ALL || (r->mask & EVP_OPS) == EVP_OPS)
		return -EINVAL;
	if (r->mask & MRC_EVP_EV_OP) {
		if (r->ev_op > MRC_EVP_OP_QUERY_EV_ARRAY)
			return -EINVAL;
		if (env->max_entries && r->n_entries > env->max_entries &&
		    r->ev_op != MRC_EVP_OP_QUERY_EV_ARRAY)
			return -E2BIG;
	}
	if (r->mask & MRC_EVP_FIELDS_OP &&
	    r->fields_op > MRC_EVP_OP_QUERY_FIELDS)
		return -EINVAL;
	return 0;
}

/* Does the state of @p allow @r? */
static bool allowed(const struct mrc_ev_profile *p, const struct mrc_evp_req *r,
		    const struct mrc_evp_env *env)
{
	u32 refused;

	switch (p->state) {
	case MRC_PROFILE_INIT:
		if (!(r->mask & MRC_EVP_STATE))
			return !(r->mask & ~EVP_STATES);
		return !(r->mask & (MRC_EVP_EV_OP | MRC_EVP_VENDOR_CFG)) &&
		       !has_fields_op(r, MRC_EVP_OP_QUERY_FIELDS);
	case MRC_PROFILE_ONLINE:
		refused = EVP_DEFINES | MRC_EVP_MIN_ACTIVE | MRC_EVP_VENDOR_CFG;
		if (!env->modify_online) {
			refused |= MRC_EVP_EVENT_MASK;
			if (has_ev_op(r, MRC_EVP_OP_REPLACE_EV))
				refused |= MRC_EVP_EV_OP;
			if (has_fields_op(r, MRC_EVP_OP_MODIFY_FIELDS))
				refused |= MRC_EVP_FIELDS_OP;
		}
		return !(r->mask & refused);
	default:
		return true;
	}
}

static int check_state(const struct mrc_ev_profile *p,
		       const struct mrc_evp_req *r,
		       const struct mrc_evp_env *env)
{
	int rc = check_request(r, env);

	if (rc)
		return rc;
	if (r->mask & MRC_EVP_CUR_STATE && r->cur_state != p->state)
		return -EINVAL;
	if (r->mask & MRC_EVP_STATE && !mrc_profile_step_ok(p->state, r->state))
		return -EINVAL;
	if (!allowed(p, r, env))
		return -EINVAL;
	return p->users && r->mask & MRC_EVP_STATE ? -EBUSY : 0;
}

/* Number of EVs that the profile may have within the limit of the device. */
static u32 count_limit(const struct mrc_ev_profile *p,
		       const struct mrc_evp_env *env)
{
	u64 left = (u64)env->free_count + p->n_ev;
	u32 limit = env->max_count < MRC_EV_MAX ? env->max_count : MRC_EV_MAX;

	return left < limit ? (u32)left : limit;
}

static struct mrc_fmt_profile *lookup(const struct mrc_evp_env *env, u64 id)
{
	return env->fmt ? env->fmt(env->ctx, id) : NULL;
}

/* Attributes that are plain values. */
static int take_values(const struct mrc_evp_req *r,
		       const struct mrc_evp_env *env, struct mrc_evp_next *nx)
{
	if (r->mask & MRC_EVP_MODE) {
		if (r->mode != MRC_EVP_AUTO && r->mode != MRC_EVP_EXPLICIT &&
		    r->mode != MRC_EVP_GENERATED)
			return -EINVAL;
		nx->other = nx->mode != r->mode;
		nx->mode = r->mode;
	}
	if (r->mask & MRC_EVP_FMT_ID)
		nx->fmt_id = r->fmt_id;
	nx->set |= r->mask & EVP_VALUES;
	nx->fmt = nx->set & MRC_EVP_FMT_ID ? lookup(env, nx->fmt_id) : NULL;
	if (r->mask & MRC_EVP_FMT_ID && !mrc_evp_fmt_online(nx->fmt))
		return -EINVAL;
	if (r->mask & MRC_EVP_EVENT_MASK) {
		if (r->event_mask & ~(u32)MRC_EVP_EVENTS)
			return -EINVAL;
		nx->event_mask = r->event_mask;
	}
	if (r->mask & MRC_EVP_MIN_ACTIVE)
		nx->min_active = r->min_active;
	return 0;
}

static int take_fields(const struct mrc_evp_req *r, struct mrc_evp_next *nx)
{
	int rc;

	if (!has_fields_op(r, MRC_EVP_OP_MODIFY_FIELDS))
		return 0;
	if (r->n_fields > MRC_EV_MAX_FIELDS)
		return -E2BIG;
	if (!mrc_evp_fmt_online(nx->fmt))
		return -EINVAL;
	rc = mrc_ev_fields_check(&nx->fmt->fmt, r->field, r->n_fields);
	if (rc)
		return rc;
	nx->field = r->field;
	nx->n_fields = r->n_fields;
	return 0;
}

/* EVs per port that the fields can produce. */
static u32 per_port(const struct mrc_evp_next *nx,
		    const struct mrc_evp_env *env)
{
	u32 n = mrc_ev_combinations(nx->field, nx->n_fields);

	return mrc_evp_plain(nx->fmt) ? n / mrc_evp_n_ports(env) : n;
}

/* Generated mode: number of EVs granted for @nx->count_req. */
static int grant(const struct mrc_evp_next *nx, const struct mrc_evp_env *env,
		 u32 limit, u32 *count)
{
	u32 ports = mrc_evp_n_ports(env);
	u32 per, most;

	if (!ports)
		return -EINVAL;
	/* The number of EVs of an ONLINE profile cannot change. */
	if (nx->live && nx->state == MRC_PROFILE_ONLINE)
		return nx->count % ports || nx->count / ports > per_port(nx, env) ?
		       -EINVAL : 0;
	per = (nx->count_req + ports - 1) / ports;
	if (per > limit / ports)
		per = limit / ports;
	if (!per)
		return -E2BIG;
	most = per_port(nx, env);
	if (per > most)
		per = most;
	*count = per * ports;
	return per ? 0 : -EINVAL;
}

static int take_count(const struct mrc_ev_profile *p,
		      const struct mrc_evp_req *r,
		      const struct mrc_evp_env *env, struct mrc_evp_next *nx)
{
	u32 limit = count_limit(p, env);
	bool automatic = nx->mode == MRC_EVP_AUTO;
	u32 count = nx->count_req;
	int rc;

	if (r->mask & MRC_EVP_COUNT) {
		if (!r->count)
			return -EINVAL;
		count = r->count;
		nx->count_req = count;
	}
	/* A change from AUTO to another mode allocates EVs as COUNT does. */
	if ((r->mask & MRC_EVP_COUNT || nx->other) &&
	    count > (automatic ? env->max_count : limit))
		return -E2BIG;
	if (nx->mode == MRC_EVP_GENERATED) {
		if (!(r->mask & MRC_EVP_COUNT))
			count = nx->count;
		rc = nx->redefine || nx->up ? grant(nx, env, limit, &count) : 0;
		if (rc)
			return rc;
	}
	nx->count = count;
	nx->n_ev = automatic ? 0 : count;
	return 0;
}

/* Does the profile have all that its mode requires? */
static bool is_complete(const struct mrc_evp_next *nx)
{
	u32 needs = nx->mode == MRC_EVP_AUTO ? MRC_EVP_MODE : EVP_DEFINES;

	return (nx->set & needs) == needs &&
	       (nx->mode != MRC_EVP_GENERATED || nx->n_fields);
}

/* Are the parts of the profile consistent for its state after the call? */
static int check_whole(const struct mrc_evp_next *nx,
		       const struct mrc_evp_env *env)
{
	if (nx->min_active > (nx->count ? nx->count : env->max_count))
		return -EINVAL;
	if (!nx->up || nx->mode == MRC_EVP_AUTO)
		return 0;
	/* The format profile may have left ONLINE since the EV profile named it. */
	if (!mrc_evp_fmt_online(nx->fmt))
		return -EINVAL;
	return nx->n_fields ? mrc_ev_fields_check(&nx->fmt->fmt, nx->field,
						  nx->n_fields) : 0;
}

static int plan(const struct mrc_ev_profile *p, const struct mrc_evp_req *r,
		const struct mrc_evp_env *env, struct mrc_evp_next *nx)
{
	int rc = check_state(p, r, env);

	if (rc)
		return rc;
	memset(nx, 0, sizeof(*nx));
	nx->state = r->mask & MRC_EVP_STATE ? (u8)r->state : p->state;
	nx->set = p->set;
	nx->mode = p->mode;
	nx->fmt_id = p->fmt_id;
	nx->count = p->count;
	nx->count_req = p->count_req;
	nx->min_active = p->min_active;
	nx->event_mask = p->event_mask;
	nx->n_fields = p->n_fields;
	nx->n_ev = p->n_ev;
	nx->field = p->field;
	nx->redefine = r->mask & EVP_DEFINES ||
		       has_fields_op(r, MRC_EVP_OP_MODIFY_FIELDS);
	nx->live = p->state == MRC_PROFILE_ONLINE;
	nx->up = r->mask & MRC_EVP_STATE && r->state == MRC_PROFILE_ONLINE;
	if (nx->state == MRC_PROFILE_INIT && p->state == MRC_PROFILE_INIT)
		return 0;

	rc = take_values(r, env, nx);
	if (!rc)
		rc = take_fields(r, nx);
	if (!rc && !is_complete(nx))
		rc = -EINVAL;
	if (!rc)
		rc = take_count(p, r, env, nx);
	if (!rc)
		rc = check_whole(nx, env);
	/*
	 * REPLACE_EV changes entries in the array of the new mode. A profile that goes
	 * to INIT gets no array: the old array would be left changed by a batch that
	 * fails.
	 */
	if (!rc && has_ev_op(r, MRC_EVP_OP_REPLACE_EV) &&
	    (nx->mode != MRC_EVP_EXPLICIT ||
	     (nx->other && nx->state == MRC_PROFILE_INIT)))
		rc = -EINVAL;
	if (!rc && nx->state == MRC_PROFILE_INIT)
		nx->n_ev = 0;
	return rc;
}

static bool needs_array(const struct mrc_ev_profile *p,
			const struct mrc_evp_next *nx)
{
	return nx->n_ev && (nx->n_ev != p->n_ev || nx->other);
}

u32 mrc_evp_array_after(const struct mrc_ev_profile *p,
			const struct mrc_evp_req *r,
			const struct mrc_evp_env *env)
{
	struct mrc_evp_next nx;

	return !plan(p, r, env, &nx) && needs_array(p, &nx) ? nx.n_ev : 0;
}

u32 mrc_evp_count_after(const struct mrc_ev_profile *p,
			const struct mrc_evp_req *r,
			const struct mrc_evp_env *env)
{
	struct mrc_evp_next nx;

	return plan(p, r, env, &nx) ? p->n_ev : nx.n_ev;
}

size_t mrc_evp_set_mem(const struct mrc_ev_profile *p,
		       const struct mrc_fmt_profile *fmt)
{
	return p->n_ev && fmt ? mrc_evset_mem(p->n_ev, fmt->fmt.mode) : 0;
}

size_t mrc_evp_set_mem_after(const struct mrc_ev_profile *p,
			     const struct mrc_evp_req *r,
			     const struct mrc_evp_env *env)
{
	struct mrc_evp_next nx;

	if (plan(p, r, env, &nx) || !nx.n_ev || !nx.fmt)
		return 0;
	/* If the batch fails, a profile that was to go OFFLINE stays ONLINE. */
	if (nx.state != MRC_PROFILE_ONLINE && !(nx.live && changes_evs(r)))
		return 0;
	if (!nx.up && !changes_evs(r) && !(r->mask & MRC_EVP_EVENT_MASK) &&
	    !has_fields_op(r, MRC_EVP_OP_MODIFY_FIELDS))
		return 0;
	return mrc_evset_mem(nx.n_ev, nx.fmt->fmt.mode);
}

static int query_fields(const struct mrc_evp_next *nx, struct mrc_evp_req *r)
{
	bool identity = nx->mode == MRC_EVP_EXPLICIT && !nx->n_fields &&
			nx->fmt;
	u32 room = r->n_fields;

	r->n_fields = identity ? nx->fmt->fmt.n : nx->n_fields;
	if (room < r->n_fields)
		return -E2BIG;
	if (identity)
		mrc_ev_fields_identity(&nx->fmt->fmt, r->field);
	else if (r->n_fields)
		memcpy(r->field, nx->field, r->n_fields * sizeof(*r->field));
	return 0;
}

static void start_array(const struct mrc_ev_profile *p,
			const struct mrc_evp_next *nx, struct mrc_evp_ev *ev)
{
	u32 keep = p->n_ev < nx->n_ev ? p->n_ev : nx->n_ev;

	memset(ev, 0, nx->n_ev * sizeof(*ev));
	if (keep && !nx->other)
		memcpy(ev, p->ev, keep * sizeof(*ev));
}

/* Make the EVs according to @nx and the batch of @r, in @ev, which may be @p->ev. */
static int make_evs(const struct mrc_ev_profile *p,
		    const struct mrc_evp_next *nx, const struct mrc_evp_req *r,
		    const struct mrc_evp_env *env, struct mrc_evp_ev *ev)
{
	bool draw = nx->mode == MRC_EVP_GENERATED && (nx->redefine || nx->up);
	int rc = 0;

	if (nx->state == MRC_PROFILE_INIT)
		return changes_evs(r) ? mrc_evp_batch(nx, env, p->ev, p->n_ev, r) :
					0;
	/* A new array needs no undo if the batch fails. */
	if (draw && ev != p->ev)
		mrc_evp_draw(nx, env, ev);
	if (changes_evs(r))
		rc = mrc_evp_batch(nx, env, ev, nx->n_ev, r);
	if (!rc && nx->mode == MRC_EVP_EXPLICIT &&
	    nx->state == MRC_PROFILE_ONLINE && (nx->up || nx->redefine))
		rc = mrc_evp_check_entries(nx, env, ev);
	if (!rc && draw && ev == p->ev)
		mrc_evp_draw(nx, env, ev);
	return rc;
}

static void commit(struct mrc_ev_profile *p, const struct mrc_evp_next *nx,
		   const struct mrc_evp_req *r, struct mrc_evp_ev *ev)
{
	if (nx->mode != MRC_EVP_AUTO && nx->fmt) {
		nx->fmt->users -= p->state == MRC_PROFILE_ONLINE;
		nx->fmt->users += nx->state == MRC_PROFILE_ONLINE;
	}
	p->ev = ev;
	if (nx->state == MRC_PROFILE_INIT) {
		memset(p, 0, sizeof(*p));
		return;
	}
	p->state = nx->state;
	p->set = nx->set;
	p->mode = nx->mode;
	p->fmt_id = nx->fmt_id;
	p->count = nx->count;
	p->count_req = nx->count_req;
	p->min_active = nx->min_active;
	p->event_mask = nx->event_mask;
	p->n_ev = nx->n_ev;
	if (nx->field != p->field) {
		memset(p->field, 0, sizeof(p->field));
		memcpy(p->field, nx->field, nx->n_fields * sizeof(*p->field));
	}
	p->n_fields = nx->n_fields;
	if (r->mask & MRC_EVP_VENDOR_CFG)
		memcpy(p->vendor, r->vendor, sizeof(p->vendor));
}

int mrc_evp_modify(struct mrc_ev_profile *p, struct mrc_evp_req *r,
		   const struct mrc_evp_env *env, struct mrc_evp_ev **mem)
{
	struct mrc_evp_ev *was = p->ev, *ev = p->ev;
	struct mrc_evp_next nx;
	int rc;

	rc = plan(p, r, env, &nx);
	if (rc)
		return rc;
	if (needs_array(p, &nx)) {
		if (!*mem)
			return -ENOMEM;
		ev = *mem;
		start_array(p, &nx, ev);
	} else if (*mem) {
		return -EINVAL;
	} else if (!nx.n_ev) {
		ev = NULL;
	}

	if (queries_evs(r))
		rc = mrc_evp_query_evs(p, env, r);
	else if (has_fields_op(r, MRC_EVP_OP_QUERY_FIELDS))
		rc = query_fields(&nx, r);
	if (!rc)
		rc = make_evs(p, &nx, r, env, ev);
	if (rc)
		return rc;
	commit(p, &nx, r, ev);
	*mem = ev != was ? was : NULL;
	return 0;
}

static int query_ops(const struct mrc_ev_profile *p, struct mrc_evp_req *r,
		     const struct mrc_evp_env *env)
{
	struct mrc_evp_next nx;

	if (r->mask & MRC_EVP_EV_OP)
		return queries_evs(r) ? mrc_evp_query_evs(p, env, r) : -EINVAL;
	if (!(r->mask & MRC_EVP_FIELDS_OP))
		return 0;
	if (!has_fields_op(r, MRC_EVP_OP_QUERY_FIELDS))
		return -EINVAL;
	memset(&nx, 0, sizeof(nx));
	nx.mode = p->mode;
	nx.n_fields = p->n_fields;
	nx.field = p->field;
	nx.fmt = p->set & MRC_EVP_FMT_ID ? lookup(env, p->fmt_id) : NULL;
	return query_fields(&nx, r);
}

int mrc_evp_query(const struct mrc_ev_profile *p, struct mrc_evp_req *r,
		  const struct mrc_evp_env *env)
{
	int rc = check_request(r, env);

	if (!rc && p->state == MRC_PROFILE_INIT && r->mask & ~EVP_STATES)
		rc = -EINVAL;
	if (!rc)
		rc = query_ops(p, r, env);
	if (rc)
		return rc;
	if (r->mask & MRC_EVP_STATE)
		r->state = p->state;
	if (r->mask & MRC_EVP_CUR_STATE)
		r->cur_state = p->state;
	if (r->mask & MRC_EVP_MODE)
		r->mode = p->mode;
	if (r->mask & MRC_EVP_FMT_ID)
		r->fmt_id = p->fmt_id;
	if (r->mask & MRC_EVP_COUNT)
		r->count = p->count;
	if (r->mask & MRC_EVP_MIN_ACTIVE)
		r->min_active = p->min_active;
	if (r->mask & MRC_EVP_EVENT_MASK)
		r->event_mask = p->event_mask;
	if (r->mask & MRC_EVP_VENDOR_CFG)
		memcpy(r->vendor, p->vendor, sizeof(p->vendor));
	return 0;
}
