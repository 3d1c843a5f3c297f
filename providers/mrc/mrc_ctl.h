/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libMRC: Multipath Reliable Connection, the API for controllers.
 *
 * The controller is one program on a node. It decides which paths the queue pairs of
 * all programs use (entropy values, EV) and which congestion control (CC) they use. It
 * does so with profiles. Profiles belong to the device and stay when the controller
 * exits. The controller chooses their IDs. Everything except queries of devices and
 * versions needs CAP_NET_ADMIN.
 *
 * Functions return their results in the ways that mrc.h lists.
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
 * States of any profile. A profile that was never used is in INIT. The transitions are
 * INIT - OFFLINE - ONLINE - OFFLINE - INIT. In INIT the profile is forgotten.
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
	/* EV events are supported. */
	MRC_CTL_OPT_CAP_EV_EVENT = 1 << 2,
	/* Explicit EVs form a range, given by its first and last value. */
	MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE = 1 << 3,
	/* Lost EV events are counted exactly, not only reported. */
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
		uint32_t ev_free_count;		/* EVs still available */
		uint32_t ev_max_count_profile;	/* EVs of one profile */
		uint32_t ev_count_align;	/* explicit counts: multiples of this */
		uint32_t ev_max_width;		/* bits of an EV */
		uint32_t ev_fmt_mode_mask;	/* enum mrc_ctl_ev_fmt_mode */
		uint32_t ev_mode_mask;		/* enum mrc_ctl_ev_mode */
		uint32_t ev_op_max_entries;	/* per call, 0: no limit */
	} ev;
	struct {
		uint32_t cc_max_profiles;
		const char **algorithms; /* ends with NULL; owned by the library */
	} cc;
	uint32_t phy_port_mask;			/* bit N: port N, from 1 */
	uint32_t opt_attr;			/* enum mrc_ctl_attr_opt */
};

/*
 * -1. mrc_ctl_query_device_ex() tells in *@supported whether the device supports MRC,
 * and fills in @ctl_attr for the version that @mcontext was created with.
 * mrc_ctl_query_device() fails with ENOTSUP if the device does not support MRC.
 */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
int mrc_ctl_query_device_ex(struct ibv_context *context,
			    struct mrc_context *mcontext,
			    struct mrc_ctl_device_attr *ctl_attr,
			    int *supported);
#endif
int mrc_ctl_query_device(struct ibv_context *context,
			 struct mrc_ctl_device_attr *ctl_attr);

/* Versions of the library, encoded as by MRC_CTL_API_VER(). */
void mrc_ctl_query_version(uint32_t *current_version,
			   uint32_t *last_supported_version,
			   uint32_t *vendor_version,
			   uint32_t *last_supported_vendor_version);

/* --- ports ---------------------------------------------------------------- */

enum mrc_ctl_port_admin_state {
	MRC_CTL_PORT_ADMIN_DISABLED = 0,
	MRC_CTL_PORT_ADMIN_ENABLED = 1,
};

/* Members of struct mrc_ctl_port_attr that are used. */
enum mrc_ctl_port_attr_mask {
	MRC_CTL_PORT_ADMIN_STATE = 1 << 0,
};

struct mrc_ctl_port_attr {
	enum mrc_ctl_port_admin_state port_admin_state;
};

/* -1 (both). @port_num counts from 1. */
int mrc_ctl_query_port(struct mrc_context *context, uint8_t port_num,
		       struct mrc_ctl_port_attr *attr, int attr_mask);
int mrc_ctl_modify_port(struct mrc_context *context, uint8_t port_num,
			struct mrc_ctl_port_attr *attr, int attr_mask);

/* --- EV format profiles --------------------------------------------------- */

/* The header fields that carry the expanded EV. */
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

/* Members of struct mrc_ctl_ev_fmt_profile_attr that are used. */
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
		int fmt_field_count;	/* query: room in, number out */
	} ev_fmt_op;
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* -1 (both) */
int mrc_ctl_modify_ev_fmt_profile(struct mrc_context *mrc_ctx,
				  uint64_t ev_fmt_profile_id,
				  struct mrc_ctl_ev_fmt_profile_attr *attr,
				  int attr_mask);
int mrc_ctl_query_ev_fmt_profile(struct mrc_context *mrc_ctx,
				 uint64_t ev_fmt_profile_id,
				 struct mrc_ctl_ev_fmt_profile_attr *attr,
				 int attr_mask);

/* --- EV profiles ---------------------------------------------------------- */

/* A bit string; its first bit is the most significant bit of byte 0. */
typedef uint8_t mrc_ctl_ev_t[MRC_CTL_EV_MAX_BYTES];

struct mrc_ctl_ev {
	mrc_ctl_ev_t val;
	uint8_t port;			/* from 1 */
};

/* Initial value of the entries of an explicit profile. */
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
	MRC_CTL_EV_UNKNOWN = INT32_MIN,		/* bit 31; returned by queries only */
};

/* The source of the EVs of a profile. */
enum mrc_ctl_ev_mode {
	MRC_CTL_EV_MODE_AUTO = 1 << 0,	/* left to the device */
	MRC_CTL_EV_MODE_EXP = 1 << 1,	/* the controller lists them */
	MRC_CTL_EV_MODE_GEN = 1 << 2,	/* the device generates them from the fields */
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

/* Members of struct mrc_ctl_ev_profile_attr that are used. */
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
 * A field of the expanded EV. Its value is @init_val, with the bits of @mask replaced,
 * from the highest down, by the next bits of the EV. When the device generates EVs,
 * these bits are a number from @min_val to @max_val.
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
	MRC_CTL_EV_OP_F_ALL_COPIES = 1 << 0,	/* every match, not only the first one */
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
	uint32_t ev_min_active;		/* the device keeps at least this many active */
	int ev_event_mask;		/* new states that are reported as events */
	struct {
		enum mrc_ctl_ev_op op;
		struct mrc_ctl_ev_op_entry *entries;
		int entry_count;	/* QUERY_EV_ARRAY: room in, number out */
	} ev_op;
	struct {
		enum mrc_ctl_ev_fields_op op;
		struct mrc_ctl_ev_field *fields;
		int field_count;	/* query: room in, number out */
	} ev_fields_op;
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* -1 (both) */
int mrc_ctl_modify_ev_profile(struct mrc_context *mrc_ctx,
			      uint64_t ev_profile_id,
			      struct mrc_ctl_ev_profile_attr *attr,
			      int attr_mask);
int mrc_ctl_query_ev_profile(struct mrc_context *mrc_ctx,
			     uint64_t ev_profile_id,
			     struct mrc_ctl_ev_profile_attr *attr,
			     int attr_mask);

/* --- CC profiles ---------------------------------------------------------- */

/* Members of struct mrc_ctl_cc_profile_attr that are used. */
enum mrc_ctl_cc_profile_attr_mask {
	MRC_CTL_CC_PROFILE_STATE = 1 << 0,
	MRC_CTL_CC_PROFILE_CUR_STATE = 1 << 1,
	MRC_CTL_CC_PROFILE_ALGORITHM = 1 << 2,
	MRC_CTL_CC_PROFILE_CONFIG = 1 << 3,
	MRC_CTL_CC_PROFILE_VENDOR_CFG = INT32_MIN, /* bit 31 */
};

/* The library owns the memory of the two pointers that a query returns. */
struct mrc_ctl_cc_profile_attr {
	enum mrc_ctl_profile_state profile_state;
	enum mrc_ctl_profile_state cur_profile_state;
	const char *algorithm;		/* NULL: no congestion control */
	const void *cc_config;		/* type depends on the algorithm */
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

/* -1 (both) */
int mrc_ctl_modify_cc_profile(struct mrc_context *mrc_ctx,
			      uint64_t cc_profile_id,
			      struct mrc_ctl_cc_profile_attr *attr,
			      int attr_mask);
int mrc_ctl_query_cc_profile(struct mrc_context *mrc_ctx,
			     uint64_t cc_profile_id,
			     struct mrc_ctl_cc_profile_attr *attr,
			     int attr_mask);

/* --- EV events ------------------------------------------------------------ */

/* The state of an EV has changed to a state in the profile's event mask. */
struct mrc_ctl_ev_event {
	uint64_t profile_id;
	struct mrc_ctl_ev ev;
	uint32_t drop_count;		/* events lost since the previous one */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
	enum mrc_ctl_ev_state state;	/* new state */
#endif
};

/* pointer. The queue is destroyed with mrc_destroy_cq(). */
struct mrc_cq *mrc_ctl_create_ev_event_cq(struct mrc_context *mrc_ctx, int cqe,
					  void *cq_context,
					  struct mrc_comp_channel *channel,
					  int comp_vector);
/*
 * Returns the number of events taken, or a negative errno value. The size of the array
 * elements is that of the version given to mrc_create_context().
 */
int mrc_ctl_poll_ev_event(struct mrc_cq *ev_cq, int num_entries,
			  struct mrc_ctl_ev_event *ev_event);

/* --- endpoint operations -------------------------------------------------- */

enum mrc_ctl_ep_op_type {
	MRC_CTL_EP_OP_EV_PROBE,
	MRC_CTL_EP_OP_PORT_STATUS_UPDATE,
};

struct mrc_ctl_ep_req {
	uint16_t req_id;		/* unique in a batch */
	union ibv_gid sgid;		/* GIDs of RoCE version 2 */
	union ibv_gid dgid;
	enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
	struct mrc_ctl_ev req_ev;	/* expanded; with the port to send through */
	union {
		struct {
			uint32_t port_status;	/* bit N: port N is up */
		} port_status_update;
	} op;
};

struct mrc_ctl_ep_rsp {
	uint16_t req_id;
	uint8_t port;			/* port where the response arrived */
	unsigned int rtt;		/* ns */
	uint8_t adj_svc_time;		/* not 0: @rtt excludes the service time */
};

/*
 * -1. Sends @num_req requests and waits for the response to each of them, up to
 * @rsp_timeout nanoseconds after the request was sent. @rsp has room for @num_req
 * responses. @rsp and *@num_rsp hold the responses that arrived, also if the function
 * fails with ETIMEDOUT.
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
