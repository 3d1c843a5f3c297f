/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libMRC: Multipath Reliable Connection, the side of the controller.
 *
 * One program on a node, the controller, says which paths the queue pairs of
 * all programs take (entropy values, EV) and how they avoid congestion (CC).
 * It does so in profiles, which belong to the device, stay when the controller
 * ends, and bear numbers that the controller chooses. Everything but queries of
 * devices and versions needs CAP_NET_ADMIN.
 *
 * The ways to return are those that mrc.h lists.
 */
#ifndef _MRC_CTL_API_H_
#define _MRC_CTL_API_H_

#include <stdint.h>

#include <infiniband/verbs.h>

#include <mrc.h>
#include <mrc_ctl_api_ver.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MRC_CTL_MAX_VENDOR_CFG_SIZE 128
#define MRC_CTL_EV_MAX_BYTES 32

/* Versions of the control protocol; a device announces a set of these. */
enum mrc_ctl_protocol_version {
	MRC_CTL_PROTOCOL_VERSION_0 = 0,	/* the library chooses */
	MRC_CTL_PROTOCOL_VERSION_1 = 1 << 0,
};

/*
 * States of a profile of any kind. One that was never used is in INIT; steps go
 * INIT - OFFLINE - ONLINE - OFFLINE - INIT, and INIT forgets the profile.
 */
enum mrc_ctl_profile_state {
	MRC_CTL_PROFILE_INIT,
	MRC_CTL_PROFILE_OFFLINE,
	MRC_CTL_PROFILE_ONLINE,
};

/* --- device --------------------------------------------------------------- */

/* struct mrc_ctl_device_attr.opt_attr */
enum mrc_ctl_attr_opt {
	/* More of a profile can change while it is ONLINE. */
	MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE = 1 << 0,
	MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE = 1 << 1,
	/* There are EV events. */
	MRC_CTL_OPT_CAP_EV_EVENT = 1 << 2,
	/* Explicit EVs are a range, given by its first and last value. */
	MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE = 1 << 3,
	/* Lost EV events are counted, not only noticed. */
	MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT = 1 << 4,
	/* Endpoint operations can probe EVs. */
	MRC_CTL_OPT_CAP_EP_OP_EV_PROBE = 1 << 5,
};

struct mrc_ctl_device_attr {
	/* set of enum mrc_ctl_protocol_version */
	uint32_t mrc_ctl_protocol_version;
	struct {
		uint32_t ev_max_fmt_profiles;
		uint32_t ev_max_profiles;
		uint32_t ev_max_count;		/* EVs of all profiles */
		uint32_t ev_free_count;		/* those not in use */
		uint32_t ev_max_count_profile;	/* EVs of one profile */
		uint32_t ev_count_align;	/* explicit counts are multiples */
		uint32_t ev_max_width;		/* bits of an EV */
		uint32_t ev_fmt_mode_mask;	/* enum mrc_ctl_ev_fmt_mode */
		uint32_t ev_mode_mask;		/* enum mrc_ctl_ev_mode */
		uint32_t ev_op_max_entries;	/* of one call, 0: no limit */
	} ev;
	struct {
		uint32_t cc_max_profiles;
		const char **algorithms; /* NULL at the end; the library's */
	} cc;
	uint32_t phy_port_mask;			/* bit N: port N, from 1 */
	uint32_t opt_attr;			/* enum mrc_ctl_attr_opt */
};

/*
 * -1. The first says in *@supported whether the device does MRC and fills in
 * @ctl_attr for the version that @mcontext was made with; the second fails with
 * ENOTSUP where it does not.
 */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
int mrc_ctl_query_device_ex(struct ibv_context *context,
			    struct mrc_context *mcontext,
			    struct mrc_ctl_device_attr *ctl_attr,
			    int *supported);
#endif
int mrc_ctl_query_device(struct ibv_context *context,
			 struct mrc_ctl_device_attr *ctl_attr);

/* Versions of the library itself, encoded as MRC_CTL_API_VER() does. */
void mrc_ctl_query_version(uint32_t *current_version,
			   uint32_t *last_supported_version,
			   uint32_t *vendor_version,
			   uint32_t *last_supported_vendor_version);

/* --- ports ---------------------------------------------------------------- */

enum mrc_ctl_port_admin_state {
	MRC_CTL_PORT_ADMIN_DISABLED = 0,
	MRC_CTL_PORT_ADMIN_ENABLED = 1,
};

/* Which members of struct mrc_ctl_port_attr are meant. */
enum mrc_ctl_port_attr_mask {
	MRC_CTL_PORT_ADMIN_STATE = 1 << 0,
};

struct mrc_ctl_port_attr {
	enum mrc_ctl_port_admin_state port_admin_state;
};

/* -1, both. @port_num counts from 1. */
int mrc_ctl_query_port(struct mrc_context *context, uint8_t port_num,
		       struct mrc_ctl_port_attr *attr, int attr_mask);
int mrc_ctl_modify_port(struct mrc_context *context, uint8_t port_num,
			struct mrc_ctl_port_attr *attr, int attr_mask);

/* --- EV format profiles --------------------------------------------------- */

/* Where in a packet the expanded EV goes. */
enum mrc_ctl_ev_fmt_mode {
	/* IPv6 flow label and UDP source port */
	MRC_CTL_EV_FMT_MODE_STEV = 1 << 0,
	/* IPv6 destination made of micro segments, and a segment routing header */
	MRC_CTL_EV_FMT_MODE_SRV6 = 1 << 1,
	/* UDP source port */
	MRC_CTL_EV_FMT_MODE_UDP = 1 << 2,
};

enum mrc_ctl_ev_fmt_op {
	MRC_CTL_EV_FMT_OP_MODIFY_FIELDS,
	MRC_CTL_EV_FMT_OP_QUERY_FIELDS,
};

/* Which members of struct mrc_ctl_ev_fmt_profile_attr are meant. */
enum mrc_ctl_ev_fmt_profile_attr_mask {
	MRC_CTL_EV_FMT_PROFILE_STATE = 1 << 0,
	MRC_CTL_EV_FMT_PROFILE_CUR_STATE = 1 << 1,
	MRC_CTL_EV_FMT_PROFILE_MODE = 1 << 2,
	MRC_CTL_EV_FMT_PROFILE_OP = 1 << 3,
	MRC_CTL_EV_FMT_VENDOR_CFG = INT32_MIN, /* bit 31 */
};

struct mrc_ctl_ev_fmt_field {
	uint8_t width;			/* bits */
};

struct mrc_ctl_ev_fmt_profile_attr {
	enum mrc_ctl_profile_state profile_state;
	enum mrc_ctl_profile_state cur_profile_state;
	enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
	struct {
		enum mrc_ctl_ev_fmt_op op;
		struct mrc_ctl_ev_fmt_field *fmt_fields;
		int fmt_field_count;	/* query: in room, out number */
	} ev_fmt_op;
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* -1, both */
int mrc_ctl_modify_ev_fmt_profile(struct mrc_context *mrc_ctx,
				  uint64_t ev_fmt_profile_id,
				  struct mrc_ctl_ev_fmt_profile_attr *attr,
				  int attr_mask);
int mrc_ctl_query_ev_fmt_profile(struct mrc_context *mrc_ctx,
				 uint64_t ev_fmt_profile_id,
				 struct mrc_ctl_ev_fmt_profile_attr *attr,
				 int attr_mask);

/* --- EV profiles ---------------------------------------------------------- */

/* A string of bits; its first is the most significant one of byte 0. */
typedef uint8_t mrc_ctl_ev_t[MRC_CTL_EV_MAX_BYTES];

struct mrc_ctl_ev {
	mrc_ctl_ev_t val;
	uint8_t port;			/* from 1 */
};

/* What the entries of an explicit profile hold at first. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define MRC_CTL_EV_UNPOPULATED (mrc_ctl_ev{ { 0 }, 0 })
#else
#define MRC_CTL_EV_UNPOPULATED \
	((struct mrc_ctl_ev){ .val = { 0 }, .port = 0 })
#endif

enum mrc_ctl_ev_state {
	MRC_CTL_EV_GOOD = 1 << 0,
	MRC_CTL_EV_ASSUMED_BAD = 1 << 1,	/* the device avoids it */
	MRC_CTL_EV_DENIED = 1 << 2,		/* the controller forbids it */
	MRC_CTL_EV_UNKNOWN = INT32_MIN,		/* bit 31; of queries only */
};

/* Where the EVs of a profile come from. */
enum mrc_ctl_ev_mode {
	MRC_CTL_EV_MODE_AUTO = 1 << 0,	/* left to the device */
	MRC_CTL_EV_MODE_EXP = 1 << 1,	/* the controller lists them */
	MRC_CTL_EV_MODE_GEN = 1 << 2,	/* the device makes them of the fields */
};

enum mrc_ctl_ev_op {
	MRC_CTL_EV_OP_REPLACE_EV,
	MRC_CTL_EV_OP_MODIFY_EV_STATE,
	MRC_CTL_EV_OP_QUERY_EV_STATE,
	MRC_CTL_EV_OP_QUERY_EV_ARRAY,
};

enum mrc_ctl_ev_fields_op {
	MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS,
	MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS,
};

/* Which members of struct mrc_ctl_ev_profile_attr are meant. */
enum mrc_ctl_ev_profile_attr_mask {
	MRC_CTL_EV_PROFILE_STATE = 1 << 0,
	MRC_CTL_EV_PROFILE_CUR_STATE = 1 << 1,
	MRC_CTL_EV_PROFILE_MODE = 1 << 2,
	MRC_CTL_EV_PROFILE_FMT_ID = 1 << 3,
	MRC_CTL_EV_PROFILE_COUNT = 1 << 4,
	MRC_CTL_EV_PROFILE_MIN_ACTIVE = 1 << 5,
	MRC_CTL_EV_PROFILE_EVENT_MASK = 1 << 6,
	MRC_CTL_EV_PROFILE_EV_OP = 1 << 7,
	MRC_CTL_EV_PROFILE_EV_FIELDS_OP = 1 << 8,
	MRC_CTL_EV_PROFILE_VENDOR_CFG = INT32_MIN, /* bit 31 */
};

/*
 * A field of the expanded EV: @init_val, in which the bits of @mask are
 * replaced, from the highest down, by the next bits of the EV. The device makes
 * EVs whose bits here are a number from @min_val to @max_val.
 */
struct mrc_ctl_ev_field {
	uint32_t width;			/* bits */
	uint32_t init_val;
	uint32_t min_val;
	uint32_t max_val;
	uint32_t mask;
};

/* struct mrc_ctl_ev_op_entry.flags */
enum mrc_ctl_ev_op_flags {
	MRC_CTL_EV_OP_F_ALL_COPIES = 1 << 0,	/* every match, not the first */
};

struct mrc_ctl_ev_op_entry {
	struct mrc_ctl_ev ev;
	struct mrc_ctl_ev ev_new;
	enum mrc_ctl_ev_state state;
	uint32_t flags;			/* set of enum mrc_ctl_ev_op_flags */
};

struct mrc_ctl_ev_profile_attr {
	enum mrc_ctl_profile_state profile_state;
	enum mrc_ctl_profile_state cur_profile_state;
	enum mrc_ctl_ev_mode ev_mode;
	uint64_t ev_fmt_profile_id;
	uint32_t ev_count;
	uint32_t ev_min_active;		/* the device leaves that many active */
	int ev_event_mask;		/* new states that make an event */
	struct {
		enum mrc_ctl_ev_op op;
		struct mrc_ctl_ev_op_entry *entries;
		int entry_count;	/* QUERY_EV_ARRAY: in room, out number */
	} ev_op;
	struct {
		enum mrc_ctl_ev_fields_op op;
		struct mrc_ctl_ev_field *fields;
		int field_count;	/* query: in room, out number */
	} ev_fields_op;
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* -1, both */
int mrc_ctl_modify_ev_profile(struct mrc_context *mrc_ctx,
			      uint64_t ev_profile_id,
			      struct mrc_ctl_ev_profile_attr *attr,
			      int attr_mask);
int mrc_ctl_query_ev_profile(struct mrc_context *mrc_ctx,
			     uint64_t ev_profile_id,
			     struct mrc_ctl_ev_profile_attr *attr,
			     int attr_mask);

/* --- CC profiles ---------------------------------------------------------- */

/* Which members of struct mrc_ctl_cc_profile_attr are meant. */
enum mrc_ctl_cc_profile_attr_mask {
	MRC_CTL_CC_PROFILE_STATE = 1 << 0,
	MRC_CTL_CC_PROFILE_CUR_STATE = 1 << 1,
	MRC_CTL_CC_PROFILE_ALGORITHM = 1 << 2,
	MRC_CTL_CC_PROFILE_CONFIG = 1 << 3,
	MRC_CTL_CC_PROFILE_VENDOR_CFG = INT32_MIN, /* bit 31 */
};

/* What a query puts into the two pointers belongs to the library. */
struct mrc_ctl_cc_profile_attr {
	enum mrc_ctl_profile_state profile_state;
	enum mrc_ctl_profile_state cur_profile_state;
	const char *algorithm;		/* NULL: no congestion control */
	const void *cc_config;		/* of the algorithm */
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* Configuration of the algorithm "uet-1.0-nscc". */
struct mrc_ctl_cc_nscc_cfg {
	uint8_t disable_qa;		/* not 0: no quick adapt */
	uint32_t adjust_bytes_threshold;	/* bytes */
	uint32_t adjust_period_threshold;	/* ns */
	uint32_t base_rtt;		/* ns */
	float eta;
	float fi;
	float fi_scale;
	float gamma;
	float max_md_jump;
	uint32_t max_cwnd;		/* bytes */
	uint8_t qa_gate;
	uint32_t qa_threshold;		/* ns */
	uint32_t target_delay;		/* ns */
};

/* -1, both */
int mrc_ctl_modify_cc_profile(struct mrc_context *mrc_ctx,
			      uint64_t cc_profile_id,
			      struct mrc_ctl_cc_profile_attr *attr,
			      int attr_mask);
int mrc_ctl_query_cc_profile(struct mrc_context *mrc_ctx,
			     uint64_t cc_profile_id,
			     struct mrc_ctl_cc_profile_attr *attr,
			     int attr_mask);

/* --- EV events ------------------------------------------------------------ */

/* An EV has changed its state to one in the profile's event mask. */
struct mrc_ctl_ev_event {
	uint64_t profile_id;
	struct mrc_ctl_ev ev;
	uint32_t drop_count;		/* events lost since the one before */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
	enum mrc_ctl_ev_state state;	/* the new one */
#endif
};

/* pointer. The queue is destroyed with mrc_destroy_cq(). */
struct mrc_cq *mrc_ctl_create_ev_event_cq(struct mrc_context *mrc_ctx, int cqe,
					  void *cq_context,
					  struct mrc_comp_channel *channel,
					  int comp_vector);
/*
 * The number of events taken, or an errno value with a minus sign. Array
 * elements have the size that the version given to mrc_create_context() has.
 */
int mrc_ctl_poll_ev_event(struct mrc_cq *ev_cq, int num_entries,
			  struct mrc_ctl_ev_event *ev_event);

/* --- endpoint operations -------------------------------------------------- */

enum mrc_ctl_ep_op_type {
	MRC_CTL_EP_OP_EV_PROBE,
	MRC_CTL_EP_OP_PORT_STATUS_UPDATE,
};

struct mrc_ctl_ep_req {
	uint16_t req_id;		/* different for each of a batch */
	union ibv_gid sgid;		/* GIDs of RoCE version 2 */
	union ibv_gid dgid;
	enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
	struct mrc_ctl_ev req_ev;	/* expanded; the port to send through */
	union {
		struct {
			uint32_t port_status;	/* bit N: port N is up */
		} port_status_update;
	} op;
};

struct mrc_ctl_ep_rsp {
	uint16_t req_id;
	uint8_t port;			/* on which the response arrived */
	unsigned int rtt;		/* ns */
	uint8_t adj_svc_time;		/* not 0: @rtt is without service time */
};

/*
 * -1. Sends @num_req requests and waits for the response to each of them up to
 * @rsp_timeout nanoseconds from its own sending. @rsp has room for @num_req; it and
 * *@num_rsp hold what arrived, when it fails with ETIMEDOUT as well.
 */
int mrc_ctl_ep_batch_send_wait(struct mrc_context *mrc_ctx, uint8_t req_tc,
			       enum mrc_ctl_ep_op_type op_type,
			       struct mrc_ctl_ep_req *req, int num_req,
			       uint32_t rsp_timeout, struct mrc_ctl_ep_rsp *rsp,
			       int *num_rsp);

#ifdef __cplusplus
}
#endif

#endif /* _MRC_CTL_API_H_ */
