/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by mrc_profile_ev.c (rules) and mrc_profile_evop.c (EVs). */
#ifndef MRC_PROFILE_PRIV_H
#define MRC_PROFILE_PRIV_H

#include "mrc_profile.h"
#include "mrc_ev.h"

MRC_C_BEGIN

/**
 * struct mrc_evp_next - an EV profile as it will be after a call
 * @state: as in struct mrc_ev_profile, like all members with "see there"
 * @set: see there
 * @mode: see there
 * @fmt_id: see there
 * @count: see there
 * @count_req: see there
 * @min_active: see there
 * @event_mask: see there
 * @n_fields: see there
 * @n_ev: see there
 * @fmt: its format profile in any state, NULL if there is none
 * @field: fields of the profile or of the request
 * @other: the mode changes
 * @redefine: the call sets something that generated EVs depend on
 * @up: the profile goes ONLINE
 * @live: the profile is ONLINE now. Each entry of a batch must leave it usable, because
 *	the batch may fail before the state changes
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

/* Are EVs distinguished on the wire by their value alone? */
static inline bool mrc_evp_plain(const struct mrc_fmt_profile *fmt)
{
	return !fmt || fmt->fmt.mode != MRC_EV_FMT_SRV6;
}

/*
 * Are all @nx->n_ev entries of an explicit profile usable: populated, no wider than the
 * format, distinct on the wire? Return: 0 or -EINVAL.
 */
int mrc_evp_check_entries(const struct mrc_evp_next *nx,
			  const struct mrc_evp_env *env,
			  const struct mrc_evp_ev *ev);

/* Draw the EVs of a generated profile. Entries that do not change keep @denied. */
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
