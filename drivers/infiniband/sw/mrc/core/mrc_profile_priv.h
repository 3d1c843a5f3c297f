/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by mrc_profile_ev.c (rules) and mrc_profile_evop.c (EVs). */
#ifndef MRC_PROFILE_PRIV_H
#define MRC_PROFILE_PRIV_H

#include "mrc_profile.h"
#include "mrc_ev.h"

MRC_C_BEGIN

/**
 * struct mrc_evp_next - an EV profile as it will be after a call
 * @state: as in struct mrc_ev_profile, as all that says no more
 * @set: see there
 * @mode: see there
 * @fmt_id: see there
 * @count: see there
 * @count_req: see there
 * @min_active: see there
 * @event_mask: see there
 * @n_fields: see there
 * @n_ev: see there
 * @fmt: its format profile in whatever state, NULL if there is none
 * @field: of the profile or of the request
 * @other: the mode is another one
 * @redefine: something that generated EVs depend on was given
 * @up: it goes ONLINE
 * @live: it is ONLINE now; each entry of a batch leaves it fit for use, as the
 *	batch may fail before the state changes
 */
struct mrc_evp_next {
	u8 state;
	u32 set;
	u32 mode;
	u64 fmt_id;
	u32 count;
	u32 count_req;
	u32 min_active;
	u32 event_mask;
	u32 n_fields;
	u32 n_ev;
	const struct mrc_ev_field *field;
	struct mrc_fmt_profile *fmt;
	bool other;
	bool redefine;
	bool up;
	bool live;
};

/* Ports that an EV may name. */
static inline u32 mrc_evp_ports(const struct mrc_evp_env *env)
{
	return env->ports & ((2u << MRC_MAX_PORTS) - 2);
}

static inline u32 mrc_evp_n_ports(const struct mrc_evp_env *env)
{
	u32 ports = mrc_evp_ports(env);
	u32 n = 0;

	for (; ports; ports &= ports - 1)
		n++;
	return n;
}

static inline bool mrc_evp_fmt_online(const struct mrc_fmt_profile *fmt)
{
	return fmt && fmt->state == MRC_PROFILE_ONLINE;
}

/* Is the value alone what tells EVs apart on the wire? */
static inline bool mrc_evp_plain(const struct mrc_fmt_profile *fmt)
{
	return !fmt || fmt->fmt.mode != MRC_EV_FMT_SRV6;
}

/*
 * Can the @n entries of an explicit profile be used: populated, as wide as the
 * format, different on the wire? 0 or -EINVAL.
 */
int mrc_evp_check_entries(const struct mrc_evp_next *nx,
			  const struct mrc_evp_env *env,
			  const struct mrc_evp_ev *ev);

/* Draw the EVs of a generated profile; entries that stay keep @denied. */
void mrc_evp_draw(const struct mrc_evp_next *nx, const struct mrc_evp_env *env,
		  struct mrc_evp_ev *ev);

/* REPLACE_EV and MODIFY_EV_STATE: 0, -EINVAL, -ENOENT. */
int mrc_evp_batch(const struct mrc_evp_next *nx, const struct mrc_evp_env *env,
		  struct mrc_evp_ev *ev, u32 n, const struct mrc_evp_req *r);

/* QUERY_EV_STATE and QUERY_EV_ARRAY: 0, -E2BIG, -ENOENT. */
int mrc_evp_query_evs(const struct mrc_ev_profile *p,
		      const struct mrc_evp_env *env, struct mrc_evp_req *r);

MRC_C_END

#endif /* MRC_PROFILE_PRIV_H */
