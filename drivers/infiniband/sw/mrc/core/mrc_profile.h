/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Profiles that a controller makes: EV formats, EVs, congestion control (MRC 1.0 §11.3,
 * §14; libMRC's mrc_ctl.h). This file has states and rules, no storage and no locks:
 * the caller serialises calls on one device and owns the memory.
 *
 * A call is checked completely before anything changes. Only a batch of EV operations
 * stops at the entry that fails and keeps the entries before it.
 */
#ifndef MRC_PROFILE_H
#define MRC_PROFILE_H

#include "mrc_base.h"
#include "mrc_evfmt.h"
#include "mrc_evset.h"
#include "mrc_cc.h"

MRC_C_BEGIN

#define MRC_VENDOR_CFG		128	/* bytes, opaque */

/* Values as in libMRC's enum mrc_ctl_profile_state. */
enum mrc_profile_state {
	MRC_PROFILE_INIT,
	MRC_PROFILE_OFFLINE,
	MRC_PROFILE_ONLINE,
};

/* Is the step one of INIT -> OFFLINE -> ONLINE -> OFFLINE -> INIT? */
bool mrc_profile_step_ok(u8 from, u32 to);

/* Format profiles ---------------------------------------------------------- */

/* Bits as in libMRC's enum mrc_ctl_ev_fmt_profile_attr_mask. */
enum mrc_fmt_attr {
	MRC_FMT_STATE		= 1u << 0,
	MRC_FMT_CUR_STATE	= 1u << 1,
	MRC_FMT_MODE		= 1u << 2,
	MRC_FMT_OP		= 1u << 3,
	MRC_FMT_VENDOR_CFG	= 1u << 31,
};

enum mrc_fmt_op {
	MRC_FMT_OP_MODIFY_FIELDS,
	MRC_FMT_OP_QUERY_FIELDS,
};

/**
 * struct mrc_fmt_profile - all zero is INIT
 * @state: enum mrc_profile_state
 * @has_fields: fields were set
 * @users: EV profiles that are ONLINE and refer to this one
 * @fmt: mode and widths
 * @vendor: opaque
 */
struct mrc_fmt_profile {
	u8 state;
	bool has_fields;
	u32 users;
	struct mrc_ev_fmt fmt;
	u8 vendor[MRC_VENDOR_CFG];
};

/**
 * struct mrc_fmt_req - a modify or query call
 * @mask: enum mrc_fmt_attr
 * @state: MRC_FMT_STATE
 * @cur_state: MRC_FMT_CUR_STATE: modify asserts it, query returns it
 * @mode: MRC_FMT_MODE
 * @op: MRC_FMT_OP
 * @n: fields in @width; on return the number of fields that the profile has, also with
 *	-E2BIG of a query
 * @width: widths of the fields, room for @n
 * @vendor: MRC_VENDOR_CFG bytes
 */
struct mrc_fmt_req {
	u32 mask;
	u32 state;
	u32 cur_state;
	u32 mode;
	u32 op;
	u32 n;
	u8 *width;
	u8 *vendor;
};

/*
 * Return: 0, -EINVAL, -EBUSY, -E2BIG; see libMRC, EV format profile. A profile with
 * @users neither leaves ONLINE nor is changed (-EBUSY). An ONLINE profile without users
 * refuses changes with -EINVAL. Queries of fields set @n of the request, with 0 and
 * with -E2BIG (not enough room).
 */
int mrc_fmt_modify(struct mrc_fmt_profile *p, struct mrc_fmt_req *r);
int mrc_fmt_query(const struct mrc_fmt_profile *p, struct mrc_fmt_req *r);

/* EV profiles --------------------------------------------------------------- */

/* Bits as in libMRC's enum mrc_ctl_ev_profile_attr_mask. */
enum mrc_evp_attr {
	MRC_EVP_STATE		= 1u << 0,
	MRC_EVP_CUR_STATE	= 1u << 1,
	MRC_EVP_MODE		= 1u << 2,
	MRC_EVP_FMT_ID		= 1u << 3,
	MRC_EVP_COUNT		= 1u << 4,
	MRC_EVP_MIN_ACTIVE	= 1u << 5,
	MRC_EVP_EVENT_MASK	= 1u << 6,
	MRC_EVP_EV_OP		= 1u << 7,
	MRC_EVP_FIELDS_OP	= 1u << 8,
	MRC_EVP_VENDOR_CFG	= 1u << 31,
};

enum mrc_evp_mode {
	MRC_EVP_AUTO		= 1 << 0,
	MRC_EVP_EXPLICIT	= 1 << 1,
	MRC_EVP_GENERATED	= 1 << 2,
};

enum mrc_evp_ev_op {
	MRC_EVP_OP_REPLACE_EV,
	MRC_EVP_OP_MODIFY_EV_STATE,
	MRC_EVP_OP_QUERY_EV_STATE,
	MRC_EVP_OP_QUERY_EV_ARRAY,
};

enum mrc_evp_fields_op {
	MRC_EVP_OP_MODIFY_FIELDS,
	MRC_EVP_OP_QUERY_FIELDS,
};

/* EV states as a controller sees them, libMRC's enum mrc_ctl_ev_state. */
enum mrc_evp_ev_state {
	MRC_EVP_GOOD		= 1u << 0,
	MRC_EVP_ASSUMED_BAD	= 1u << 1,
	MRC_EVP_DENIED		= 1u << 2,
	MRC_EVP_UNKNOWN		= 1u << 31,
};

#define MRC_EVP_EVENTS	(MRC_EVP_GOOD | MRC_EVP_ASSUMED_BAD)

#define MRC_EVP_F_ALL_COPIES	(1u << 0)

/* No padding: compared as a whole. */
struct mrc_evp_val {
	u8 val[MRC_EV_BYTES];	/* packed */
	u8 port;		/* 1-based; 0 and all zero: unpopulated */
};

/*
 * One entry of a batch, libMRC's struct mrc_ctl_ev_op_entry. Queries of the
 * array fill @state as well.
 */
struct mrc_evp_entry {
	struct mrc_evp_val ev;
	struct mrc_evp_val ev_new;
	u32 state;
	u32 flags;
};

/* One EV of a profile. What devices found out about the path is kept by the QPs. */
struct mrc_evp_ev {
	struct mrc_evp_val ev;
	bool denied;
};

/**
 * struct mrc_ev_profile - all zero is INIT
 * @state: enum mrc_profile_state
 * @set: enum mrc_evp_attr of attributes that have a value
 * @mode: enum mrc_evp_mode
 * @fmt_id: format profile
 * @count: number of EVs granted; 0 = not set, only in AUTO mode. There the number is
 *	only a hint for the sets that QPs make themselves
 * @count_req: number of EVs last requested
 * @min_active: ev_min_active
 * @event_mask: MRC_EVP_EVENTS
 * @n_fields: fields set, 0 = identity (explicit mode)
 * @field: see struct mrc_ev_field
 * @n_ev: entries of @ev: @count, or 0 in AUTO mode
 * @ev: made by mrc_evp_modify() in the caller's memory
 * @users: QPs that refer to this profile while it is ONLINE; maintained by the caller
 * @vendor: opaque
 */
struct mrc_ev_profile {
	u8 state;
	u32 set;
	u32 mode;
	u64 fmt_id;
	u32 count;
	u32 count_req;
	u32 min_active;
	u32 event_mask;
	u32 n_fields;
	struct mrc_ev_field field[MRC_EV_MAX_FIELDS];
	u32 n_ev;
	struct mrc_evp_ev *ev;
	u32 users;
	u8 vendor[MRC_VENDOR_CFG];
};

/**
 * struct mrc_evp_req - a modify or query call
 * @mask: enum mrc_evp_attr; the members below follow its order
 * @state: as in struct mrc_ev_profile, like all members without an own description
 * @cur_state: modify asserts it, query returns it
 * @mode: see there
 * @fmt_id: see there
 * @count: see there
 * @min_active: see there
 * @event_mask: see there
 * @ev_op: enum mrc_evp_ev_op
 * @n_entries: entries in @entry; on return the number of EVs of the profile (array
 *	query)
 * @entry: entries of the EV operation
 * @fields_op: enum mrc_evp_fields_op
 * @n_fields: fields in @field; on return the number of fields of the profile
 * @field: fields of the field operation
 * @vendor: MRC_VENDOR_CFG opaque bytes
 */
struct mrc_evp_req {
	u32 mask;
	u32 state;
	u32 cur_state;
	u32 mode;
	u64 fmt_id;
	u32 count;
	u32 min_active;
	u32 event_mask;
	u32 ev_op;
	u32 n_entries;
	struct mrc_evp_entry *entry;
	u32 fields_op;
	u32 n_fields;
	struct mrc_ev_field *field;
	u8 *vendor;
};

/**
 * struct mrc_evp_env - environment of a call on an EV profile
 * @fmt: looks up a format profile, returns NULL if there is none
 * @ctx: for @fmt
 * @ports: bit N = port N exists, N = 1..MRC_MAX_PORTS (bit 0 unused)
 * @max_count: EVs per profile, at most MRC_EV_MAX
 * @free_count: EVs not yet allocated to profiles of the device
 * @max_entries: largest batch, 0 = no limit; array queries are not limited
 * @modify_online: MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE
 * @seed: unpredictable, the same for all calls on one profile; determines the order in
 *	which generated EVs are drawn
 * @bad: bit i = some QP has EV i in state ASSUMED_BAD; as many bits as the profile has
 *	EVs before the call; may be NULL
 */
struct mrc_evp_env {
	struct mrc_fmt_profile *(*fmt)(void *ctx, u64 id);
	void *ctx;
	u32 ports;
	u32 max_count;
	u32 free_count;
	u32 max_entries;
	bool modify_online;
	u64 seed;
	const unsigned long *bad;
};

/*
 * Number of entries (struct mrc_evp_ev) of the new array that the caller must pass to
 * mrc_evp_modify(), 0 = none.
 */
u32 mrc_evp_array_after(const struct mrc_ev_profile *p,
			const struct mrc_evp_req *r,
			const struct mrc_evp_env *env);

/* Number of EVs (@n_ev) that the profile will have after @r if @r succeeds. */
u32 mrc_evp_count_after(const struct mrc_ev_profile *p,
			const struct mrc_evp_req *r,
			const struct mrc_evp_env *env);

/*
 * Bytes of the EV set to build after @r if @r succeeds, 0 if none is needed (the
 * profile is not ONLINE then, or is AUTO, or neither EVs nor the event mask change). If
 * the caller allocates this memory and mrc_evp_count_after() struct mrc_evset_src
 * before the call, nothing can fail after the call.
 */
size_t mrc_evp_set_mem_after(const struct mrc_ev_profile *p,
			     const struct mrc_evp_req *r,
			     const struct mrc_evp_env *env);

/**
 * mrc_evp_modify - change a profile
 * @p: the profile
 * @r: the call
 * @env: see there
 * @mem: *@mem: new array if mrc_evp_array_after() is not 0, else NULL; on return the
 *	array that is not needed (any more), to be freed by the caller
 *
 * Return: 0, -EINVAL, -E2BIG, -EBUSY, -ENOENT (an EV is not in the profile), -ENOMEM
 * (the new array is missing); see libMRC, EV profile.
 *
 * In generated mode, EVs are drawn when something that defines them changes and when
 * the profile goes ONLINE. An EV that is drawn again at its place stays DENIED if it
 * was. This function maintains @users of format profiles.
 *
 * The caller builds a new set with mrc_evp_build() if mrc_evp_set_mem_after() was not 0
 * before the call and the profile is ONLINE after it. This holds for a failed call as
 * well: when a batch of EV operations fails, the entries before the failing entry are
 * done, but nothing else of the call is. If the call needs a new array, a failing batch
 * changes nothing.
 */
int mrc_evp_modify(struct mrc_ev_profile *p, struct mrc_evp_req *r,
		   const struct mrc_evp_env *env, struct mrc_evp_ev **mem);

/*
 * Query a profile. Return: 0, -EINVAL, -E2BIG (with the required count), -ENOENT. State
 * of an EV: UNKNOWN for an unpopulated entry, else DENIED, else ASSUMED_BAD as in
 * @env->bad, else GOOD.
 */
int mrc_evp_query(const struct mrc_ev_profile *p, struct mrc_evp_req *r,
		  const struct mrc_evp_env *env);

/* Bytes of the set of @p, 0 for AUTO profiles (there is none). */
size_t mrc_evp_set_mem(const struct mrc_ev_profile *p,
		       const struct mrc_fmt_profile *fmt);

/*
 * Build the set of an ONLINE profile with EVs (@p->n_ev > 0). @tmp: scratch memory of
 * @p->n_ev struct mrc_evset_src; @seed: see mrc_evset_init(). Succeeds for every
 * profile that mrc_evp_modify() let go ONLINE, else -EINVAL.
 */
int mrc_evp_build(const struct mrc_ev_profile *p,
		  const struct mrc_fmt_profile *fmt, u64 seed,
		  struct mrc_evset_src *tmp, struct mrc_evset *set, void *mem);

/* CC profiles ----------------------------------------------------------------*/

/* Bits as in libMRC's enum mrc_ctl_cc_profile_attr_mask. */
enum mrc_ccp_attr {
	MRC_CCP_STATE		= 1u << 0,
	MRC_CCP_CUR_STATE	= 1u << 1,
	MRC_CCP_ALGORITHM	= 1u << 2,
	MRC_CCP_CONFIG		= 1u << 3,
	MRC_CCP_VENDOR_CFG	= 1u << 31,
};

/**
 * struct mrc_cc_profile - all zero is INIT
 * @state: enum mrc_profile_state
 * @ops: algorithm; NULL = congestion control is off (the fixed window)
 * @has_algorithm: @ops was set
 * @has_config: @nscc was set
 * @nscc: parameters
 * @users: QPs that refer to this profile while it is ONLINE
 * @vendor: opaque
 */
struct mrc_cc_profile {
	u8 state;
	bool has_algorithm;
	bool has_config;
	const struct mrc_cc_ops *ops;
	struct mrc_nscc_cfg nscc;
	u32 users;
	u8 vendor[MRC_VENDOR_CFG];
};

/*
 * @name: algorithm, "" or NULL = off; @nscc: for MRC_CCP_CONFIG. A query of the
 * algorithm sets @name to a constant string ("" = off).
 */
struct mrc_ccp_req {
	u32 mask;
	u32 state;
	u32 cur_state;
	const char *name;
	struct mrc_nscc_cfg *nscc;
	u8 *vendor;
};

/* Upper limits of parameters; 0 means "derived" for all parameters. */
#define MRC_CCP_MAX_TIME	1000000000u	/* ns */
#define MRC_CCP_MAX_BYTES	(1u << 30)
#define MRC_CCP_MAX_RATIO	(1024u << 16)	/* Q16, of fi_scale */

/*
 * Return: 0, -EINVAL, -EBUSY (leaving ONLINE with users); see libMRC, CC profile.
 * @modify_online: MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE. Changing the algorithm
 * discards the parameters of the former one. The caller maintains @users.
 */
int mrc_ccp_modify(struct mrc_cc_profile *p, struct mrc_ccp_req *r,
		   bool modify_online);
int mrc_ccp_query(const struct mrc_cc_profile *p, struct mrc_ccp_req *r);

MRC_C_END

#endif /* MRC_PROFILE_H */
