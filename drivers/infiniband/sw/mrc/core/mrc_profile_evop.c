// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * EVs of a profile: drawing EVs, EV operations of a controller, building the EV set
 * that QPs use.
 */
#include "mrc_profile_priv.h"

static bool same(const struct mrc_evp_val *a, const struct mrc_evp_val *b)
{
	return a->port == b->port && !memcmp(a->val, b->val, MRC_EV_BYTES);
}

static bool is_unpopulated(const struct mrc_evp_val *v)
{
	static const struct mrc_evp_val none;

	return same(v, &none);
}

/* First entry from @from on that equals @v, @n if there is none. */
static u32 find(const struct mrc_evp_ev *ev, u32 n, u32 from,
		const struct mrc_evp_val *v)
{
	while (from < n && !same(&ev[from].ev, v))
		from++;
	return from;
}

/* Does the packed value fit into the fields? */
static bool value_fits(const struct mrc_evp_next *nx, const u8 *packed)
{
	u8 out[MRC_EV_BYTES];
	u32 i, bits = 0;

	if (nx->n_fields)
		return !mrc_ev_expand(&nx->fmt->fmt, nx->field, nx->n_fields,
				      packed, out);
	for (i = 0; i < nx->fmt->fmt.n; i++)
		bits += nx->fmt->fmt.width[i];
	if (bits % 8 && packed[bits / 8] << bits % 8 & 0xFF)
		return false;
	for (i = (bits + 7) / 8; i < MRC_EV_BYTES; i++)
		if (packed[i])
			return false;
	return true;
}

static bool entry_ok(const struct mrc_evp_next *nx,
		     const struct mrc_evp_env *env, const struct mrc_evp_val *v)
{
	if (v->port > MRC_MAX_PORTS || !(mrc_evp_ports(env) >> v->port & 1))
		return false;
	return !mrc_evp_fmt_online(nx->fmt) || value_fits(nx, v->val);
}

/* Is the value of @v used on another port by an entry other than @but? */
static bool on_other_port(const struct mrc_evp_ev *ev, u32 n,
			  const struct mrc_evp_val *v,
			  const struct mrc_evp_val *but)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (ev[i].ev.port != v->port && ev[i].ev.port &&
		    !memcmp(ev[i].ev.val, v->val, MRC_EV_BYTES) &&
		    !(but && same(&ev[i].ev, but)))
			return true;
	return false;
}

int mrc_evp_check_entries(const struct mrc_evp_next *nx,
			  const struct mrc_evp_env *env,
			  const struct mrc_evp_ev *ev)
{
	u32 i;

	for (i = 0; i < nx->n_ev; i++) {
		if (!entry_ok(nx, env, &ev[i].ev))
			return -EINVAL;
		if (mrc_evp_plain(nx->fmt) &&
		    on_other_port(ev, i, &ev[i].ev, NULL))
			return -EINVAL;
	}
	return 0;
}

void mrc_evp_draw(const struct mrc_evp_next *nx, const struct mrc_evp_env *env,
		  struct mrc_evp_ev *ev)
{
	u32 combinations = mrc_ev_combinations(nx->field, nx->n_fields);
	u32 ports = mrc_evp_ports(env);
	u32 n_ports = mrc_evp_n_ports(env);
	struct mrc_evp_val v;
	u32 i, index;
	u8 port = 0;

	for (i = 0; i < nx->n_ev; i++) {
		do {
			port = port < MRC_MAX_PORTS ? (u8)(port + 1) : 1;
		} while (!(ports >> port & 1));
		index = mrc_evp_plain(nx->fmt) ? i : i / n_ports;
		index = mrc_ev_permute(index, combinations, env->seed);
		mrc_ev_generate(nx->field, nx->n_fields, index, v.val);
		v.port = port;
		if (!same(&ev[i].ev, &v))
			ev[i].denied = false;
		ev[i].ev = v;
	}
}

static int replace(const struct mrc_evp_next *nx, const struct mrc_evp_env *env,
		   struct mrc_evp_ev *ev, u32 n, const struct mrc_evp_entry *e)
{
	bool all = e->flags & MRC_EVP_F_ALL_COPIES;
	u32 i = find(ev, n, 0, &e->ev);
	struct mrc_evp_val former;

	if (e->state && e->state != MRC_EVP_GOOD && e->state != MRC_EVP_DENIED)
		return -EINVAL;
	if (is_unpopulated(&e->ev_new)) {
		if (nx->live || e->state == MRC_EVP_DENIED)
			return -EINVAL;
	} else if (!entry_ok(nx, env, &e->ev_new)) {
		return -EINVAL;
	}
	if (i == n)
		return -ENOENT;

	former = ev[i].ev;
	if (nx->live && mrc_evp_plain(nx->fmt)) {
		/*
		 * If only one of several equal entries is replaced, the others stay on
		 * their port.
		 */
		bool stays = !all && e->ev_new.port != former.port &&
			     find(ev, n, i + 1, &former) < n;

		if (on_other_port(ev, n, &e->ev_new, &former) ||
		    (stays && !memcmp(former.val, e->ev_new.val, MRC_EV_BYTES)))
			return -EINVAL;
	}
	do {
		ev[i].ev = e->ev_new;
		ev[i].denied = e->state == MRC_EVP_DENIED;
		i = find(ev, n, i + 1, &former);
	} while (all && i < n);
	return 0;
}

static int set_state(struct mrc_evp_ev *ev, u32 n, const struct mrc_evp_entry *e)
{
	bool all = e->flags & MRC_EVP_F_ALL_COPIES;
	u32 i;

	if (e->state != MRC_EVP_GOOD && e->state != MRC_EVP_DENIED)
		return -EINVAL;
	i = is_unpopulated(&e->ev) ? n : find(ev, n, 0, &e->ev);
	if (i == n)
		return -ENOENT;
	do {
		ev[i].denied = e->state == MRC_EVP_DENIED;
		i = find(ev, n, i + 1, &e->ev);
	} while (all && i < n);
	return 0;
}

int mrc_evp_batch(const struct mrc_evp_next *nx, const struct mrc_evp_env *env,
		  struct mrc_evp_ev *ev, u32 n, const struct mrc_evp_req *r)
{
	const struct mrc_evp_entry *e;
	int rc = 0;
	u32 i;

	for (i = 0; i < r->n_entries && !rc; i++) {
		e = &r->entry[i];
		if (e->flags & ~(u32)MRC_EVP_F_ALL_COPIES)
			return -EINVAL;
		if (r->ev_op == MRC_EVP_OP_REPLACE_EV)
			rc = replace(nx, env, ev, n, e);
		else
			rc = set_state(ev, n, e);
	}
	return rc;
}

static u32 state_of(const struct mrc_ev_profile *p,
		    const struct mrc_evp_env *env, u32 i)
{
	const u32 bits = 8 * sizeof(unsigned long);

	if (is_unpopulated(&p->ev[i].ev))
		return MRC_EVP_UNKNOWN;
	if (p->ev[i].denied)
		return MRC_EVP_DENIED;
	if (env->bad && env->bad[i / bits] >> i % bits & 1)
		return MRC_EVP_ASSUMED_BAD;
	return MRC_EVP_GOOD;
}

int mrc_evp_query_evs(const struct mrc_ev_profile *p,
		      const struct mrc_evp_env *env, struct mrc_evp_req *r)
{
	u32 room = r->n_entries;
	u32 i, k;

	if (r->ev_op == MRC_EVP_OP_QUERY_EV_ARRAY) {
		r->n_entries = p->n_ev;
		if (room < p->n_ev)
			return -E2BIG;
		for (i = 0; i < p->n_ev; i++) {
			r->entry[i].ev = p->ev[i].ev;
			r->entry[i].state = state_of(p, env, i);
		}
		return 0;
	}
	for (i = 0; i < r->n_entries; i++) {
		k = find(p->ev, p->n_ev, 0, &r->entry[i].ev);
		if (k == p->n_ev)
			return -ENOENT;
		r->entry[i].state = state_of(p, env, k);
	}
	return 0;
}

int mrc_evp_build(const struct mrc_ev_profile *p,
		  const struct mrc_fmt_profile *fmt, u64 seed,
		  struct mrc_evset_src *tmp, struct mrc_evset *set, void *mem)
{
	u32 i;
	int rc;

	if (p->state != MRC_PROFILE_ONLINE || !mrc_evp_fmt_online(fmt))
		return -EINVAL;
	for (i = 0; i < p->n_ev; i++) {
		tmp[i].port = p->ev[i].ev.port;
		tmp[i].denied = p->ev[i].denied;
		if (!p->n_fields) {
			memcpy(tmp[i].val, p->ev[i].ev.val, MRC_EV_BYTES);
			continue;
		}
		rc = mrc_ev_expand(&fmt->fmt, p->field, p->n_fields,
				   p->ev[i].ev.val, tmp[i].val);
		if (rc)
			return rc;
	}
	return mrc_evset_init(set, p->n_ev, fmt->fmt.mode,
			      mrc_ev_fmt_srh(&fmt->fmt), (u16)p->min_active,
			      tmp, seed, mem);
}
