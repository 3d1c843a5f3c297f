/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Control interface of the MRC soft RDMA device: profiles, ports, traffic
 * classes, endpoint operations, EV events and MRC attributes of queue pairs.
 *
 * The interface consists of methods of the uverbs ioctl (RDMA_VERBS_IOCTL) on a context
 * of the device. All methods need CAP_NET_ADMIN in the user namespace that owns the
 * device's network namespace, except device queries, reading device attributes and the
 * QP object.
 *
 * A method takes one struct as MRC_ABI_ATTR_IN and fills the same struct as
 * MRC_ABI_ATTR_OUT if that is present. Structs are padded to 8 bytes and reserved
 * fields must be zero. Each side accepts shorter and longer structs of the other. The
 * values of bits, states and operations are those of libMRC.
 *
 * An array is an attribute of its own. Its length is a multiple of the element size. It
 * gives the number of elements of an input array, or the room of an output array. An
 * empty array is left out. The struct returns the number of elements. If the room is
 * too small, the call fails with -E2BIG, and the struct is filled nevertheless.
 */
#ifndef MRC_CTL_ABI_USER_H
#define MRC_CTL_ABI_USER_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

enum mrc_abi_objects {
	MRC_ABI_OBJECT_DEV = (1U << UVERBS_ID_NS_SHIFT),
	MRC_ABI_OBJECT_DEFAULT,		/* default profiles, for QPs that name none */
	MRC_ABI_OBJECT_EV_FMT,		/* EV format profiles */
	MRC_ABI_OBJECT_EV_PROFILE,
	MRC_ABI_OBJECT_CC_PROFILE,
	MRC_ABI_OBJECT_QP,
	MRC_ABI_OBJECT_EV_EVENTS,
};

enum mrc_abi_dev_methods {
	MRC_ABI_DEV_QUERY = (1U << UVERBS_ID_NS_SHIFT),	/* mrc_abi_device */
	MRC_ABI_DEV_ATTR,		/* mrc_abi_dev_attr */
	MRC_ABI_DEV_PORT,		/* mrc_abi_port */
	MRC_ABI_DEV_TC_GET,		/* mrc_abi_tc */
	MRC_ABI_DEV_TC_SET,
	MRC_ABI_DEV_EP_BATCH,		/* mrc_abi_ep_batch */
	MRC_ABI_DEV_QP_QUERY,		/* mrc_abi_qp_info, of any QP */
	MRC_ABI_DEV_LIMITS,		/* mrc_abi_dev_limits */
};

enum mrc_abi_default_methods {
	MRC_ABI_DEFAULT_GET = (1U << UVERBS_ID_NS_SHIFT), /* mrc_abi_defaults */
	MRC_ABI_DEFAULT_SET,		/* mrc_abi_default */
};

/*
 * The methods of each kind of profile take struct mrc_abi_fmt, mrc_abi_evp or
 * mrc_abi_ccp. The controller chooses the ID of a profile. A profile belongs to the
 * device. It has no handle in a context, because a handle ends with its context.
 */
enum mrc_abi_ev_fmt_methods {
	MRC_ABI_FMT_MODIFY = (1U << UVERBS_ID_NS_SHIFT),
	MRC_ABI_FMT_QUERY,
};

enum mrc_abi_ev_profile_methods {
	MRC_ABI_EVP_MODIFY = (1U << UVERBS_ID_NS_SHIFT),
	MRC_ABI_EVP_QUERY,
};

enum mrc_abi_cc_profile_methods {
	MRC_ABI_CCP_MODIFY = (1U << UVERBS_ID_NS_SHIFT),
	MRC_ABI_CCP_QUERY,
};

enum mrc_abi_qp_methods {
	MRC_ABI_QP_SET = (1U << UVERBS_ID_NS_SHIFT),	/* mrc_abi_qp_attr */
	MRC_ABI_QP_QUERY,		/* mrc_abi_qp_info */
};

enum mrc_abi_ev_events_methods {
	MRC_ABI_EV_EVENTS_CREATE = (1U << UVERBS_ID_NS_SHIFT),
};

/* Attributes of all methods. The comment of each struct lists its arrays. */
enum mrc_abi_attrs {
	MRC_ABI_ATTR_IN = (1U << UVERBS_ID_NS_SHIFT),
	MRC_ABI_ATTR_OUT,
	MRC_ABI_ATTR_HANDLE,		/* QP, or new file descriptor */
	MRC_ABI_ATTR_ARRAY_IN,		/* input array of the method */
	MRC_ABI_ATTR_ARRAY_OUT,
	MRC_ABI_ATTR_FIELDS_IN,		/* of EVs: struct mrc_abi_ev_field */
	MRC_ABI_ATTR_FIELDS_OUT,
	MRC_ABI_ATTR_SECOND_IN,		/* as many elements as ARRAY_IN */
};

enum {
	MRC_ABI_EV_BYTES	= 32,
	MRC_ABI_VENDOR_CFG	= 128,
	MRC_ABI_CC_NAME		= 32,	/* including the terminating zero */
	MRC_ABI_CC_NAMES	= 8,
	MRC_ABI_PORTS		= 16,
};

/* No profile: the default of the device applies. */
#define MRC_ABI_PROFILE_NONE	(~0ULL)

/* --- device, MRC_ABI_DEV_* -------------------------------------------------- */

/* struct mrc_abi_device.cap */
enum mrc_abi_device_cap {
	MRC_ABI_CAP_TRIM_NACK		= 1 << 0,
	MRC_ABI_CAP_DYNAMIC_MPR		= 1 << 1,
	MRC_ABI_CAP_SVC_TIME		= 1 << 2,
};

/* struct mrc_abi_device.opt */
enum mrc_abi_device_opt {
	MRC_ABI_OPT_EV_MODIFY_ONLINE	= 1 << 0,
	MRC_ABI_OPT_CC_MODIFY_ONLINE	= 1 << 1,
	MRC_ABI_OPT_EV_EVENT		= 1 << 2,
	MRC_ABI_OPT_EV_EXPLICIT_RANGE	= 1 << 3,
	MRC_ABI_OPT_EV_EVENT_PRECISE	= 1 << 4,
	MRC_ABI_OPT_EP_EV_PROBE		= 1 << 5,
};

struct mrc_abi_device {
	__u32 comp_mask;
	__u32 protocol_version;		/* bit 0: version 1 */
	__u16 max_wimm;
	__u16 max_wimm_dest;
	__u8 max_mpr;			/* units of 128 PSNs */
	__u8 mpr_resolution;		/* units of 128 PSNs */
	__u16 reserved0;
	__u32 max_qp_hint;
	__u32 cap;			/* enum mrc_abi_device_cap */
	__u32 ctl_protocol_version;	/* bit 0: version 1 */
	__u32 ev_max_fmt_profiles;
	__u32 ev_max_profiles;
	__u32 ev_max_count;
	__u32 ev_free_count;
	__u32 ev_max_count_profile;
	__u32 ev_count_align;
	__u32 ev_max_width;
	__u32 ev_fmt_mode_mask;
	__u32 ev_mode_mask;
	__u32 ev_op_max_entries;	/* 0 = no limit */
	__u32 cc_max_profiles;
	__u32 phy_port_mask;		/* bit N = port N */
	__u32 opt;			/* enum mrc_abi_device_opt */
	__u32 ep_batch_max;
	__u32 max_defaults;
	__u32 max_event_depth;
	__u32 n_algorithms;
	char algorithm[MRC_ABI_CC_NAMES][MRC_ABI_CC_NAME];
};

enum mrc_abi_dev_attr_mask {
	MRC_ABI_DEV_ATTR_EXTENSION	= 1 << 0,
	MRC_ABI_DEV_ATTR_NUM_EVS	= 1 << 1,
	MRC_ABI_DEV_ATTR_CWND		= 1 << 2,
	MRC_ABI_DEV_ATTR_CC		= 1 << 3,
	MRC_ABI_DEV_ATTR_MPR		= 1 << 4,
};

/*
 * If @mask is not 0, the attributes in @mask are changed first, all or none; this needs
 * CAP_NET_ADMIN. All attributes are returned. A queue pair keeps the values that the
 * device had when the queue pair was created (extension) or went to RTR or RTS (the
 * others).
 */
struct mrc_abi_dev_attr {
	__u32 mask;			/* enum mrc_abi_dev_attr_mask */
	__u32 extension;		/* 0 MRC 1.0 only, 1 extension on */
	__u32 num_evs;			/* of QPs without EV profile, 1..1024 */
	__u32 cwnd;			/* their first cwnd, bytes; 0 = 256 KiB */
	char cc[MRC_ABI_CC_NAME];	/* algorithm without CC profile */
	__u32 mpr;			/* both directions, units of 128 PSNs, 1..255 */
	__u32 reserved;
};

/* Objects whose number is limited, those of all programs together. */
enum mrc_abi_limit {
	MRC_ABI_LIMIT_PD,
	MRC_ABI_LIMIT_AH,
	MRC_ABI_LIMIT_CQ,
	MRC_ABI_LIMIT_MR,
	MRC_ABI_LIMIT_MW,
	MRC_ABI_LIMIT_QP,
	MRC_ABI_LIMIT_SRQ,
	MRC_ABI_LIMITS,
	MRC_ABI_LIMIT_ROOM = 16
};

/*
 * If @mask is not 0, the limits in @mask are changed first, all or none. This needs
 * CAP_NET_ADMIN in the initial user namespace: the root of a container controls the
 * device, but the host decides how much of the host it may use. All limits and all
 * numbers are returned; @now and the other elements of @max are ignored on input. Existing
 * objects stay when a limit falls below their number. Objects of the kernel are not counted.
 */
struct mrc_abi_dev_limits {
	__u32 mask;			/* bit N: enum mrc_abi_limit N */
	__u32 reserved;
	__u32 max[MRC_ABI_LIMIT_ROOM];	/* 0..65536 */
	__u32 now[MRC_ABI_LIMIT_ROOM];
};

enum mrc_abi_port_mask {
	MRC_ABI_PORT_ADMIN_STATE	= 1 << 0,
};

/* Attributes in @mask are changed first; all are returned. */
struct mrc_abi_port {
	__u32 port;			/* 1-based */
	__u32 mask;			/* attributes to change */
	__u32 admin_state;		/* 0 disabled, 1 enabled */
	__u32 reserved;
};

/* Order of the codepoints in struct mrc_abi_tc (MRC 1.0 §15). */
enum mrc_abi_dscp {
	MRC_ABI_DSCP_NO_TRIM,
	MRC_ABI_DSCP_TRIMMABLE,
	MRC_ABI_DSCP_TRIMMABLE_RETX,
	MRC_ABI_DSCP_TRIMMED,
	MRC_ABI_DSCP_TRIMMED_LASTHOP,
	MRC_ABI_DSCP_CONTROL,
	MRC_ABI_DSCP_NAMES
};

struct mrc_abi_tc {
	__u8 dscp[MRC_ABI_DSCP_NAMES];	/* 0..63, all different */
	__u8 trimming;			/* the fabric trims */
	__u8 reserved;
};

/*
 * By the peer's address: default profiles for QPs that name none, and the UDP port to
 * which packets are sent. The longest prefix that has a profile decides on both profiles,
 * the longest one that has a port decides on the port. Setting an entry replaces the entry
 * with the same prefix. Setting both IDs to MRC_ABI_PROFILE_NONE and the port to 0 removes
 * it. It counts for QPs that go to RTR and for address handles that are created from then
 * on.
 */
struct mrc_abi_default {
	__u8 prefix[16];		/* GID, IPv4 as ::ffff:a.b.c.d */
	__u32 prefix_len;		/* 0..128 */
	__u32 udp_port;			/* 0 = none; before, a reserved member */
	__aligned_u64 ev_profile;
	__aligned_u64 cc_profile;
};

/* ARRAY_OUT: struct mrc_abi_default */
struct mrc_abi_defaults {
	__u32 n;			/* out */
	__u32 reserved;
};

/* --- profiles ------------------------------------------------------------------ */

/* ARRAY_IN, ARRAY_OUT: widths of the fields in bits, one byte each */
struct mrc_abi_fmt {
	__aligned_u64 id;
	__u32 mask;			/* enum mrc_ctl_ev_fmt_profile_attr_mask */
	__u32 state;
	__u32 cur_state;
	__u32 mode;
	__u32 op;
	__u32 n_fields;			/* out */
	__u8 vendor_cfg[MRC_ABI_VENDOR_CFG];
};

struct mrc_abi_ev {
	__u8 val[MRC_ABI_EV_BYTES];
	__u8 port;
	__u8 reserved[7];
};

struct mrc_abi_ev_entry {
	struct mrc_abi_ev ev;
	__u32 state;			/* enum mrc_ctl_ev_state */
	__u32 flags;			/* enum mrc_ctl_ev_op_flags */
};

struct mrc_abi_ev_field {
	__u32 width;
	__u32 init_val;
	__u32 min_val;
	__u32 max_val;
	__u32 mask;
	__u32 reserved;
};

/*
 * ARRAY_IN, ARRAY_OUT: struct mrc_abi_ev_entry. SECOND_IN: struct mrc_abi_ev, the new
 * values if an operation replaces the EVs of ARRAY_IN. FIELDS_IN, FIELDS_OUT: struct
 * mrc_abi_ev_field.
 */
struct mrc_abi_evp {
	__aligned_u64 id;
	__u32 mask;			/* enum mrc_ctl_ev_profile_attr_mask */
	__u32 state;
	__u32 cur_state;
	__u32 mode;
	__aligned_u64 fmt_id;
	__u32 count;
	__u32 min_active;
	__u32 event_mask;
	__u32 ev_op;
	__u32 n_entries;		/* out */
	__u32 fields_op;
	__u32 n_fields;			/* out */
	__u32 reserved;
	__u8 vendor_cfg[MRC_ABI_VENDOR_CFG];
};

/* Ratios are in units of 2^-16. With 0 the device derives the parameter. */
struct mrc_abi_nscc {
	__u8 disable_qa;
	__u8 qa_gate;
	__u16 reserved;
	__u32 adjust_bytes_threshold;	/* bytes */
	__u32 adjust_period_threshold;	/* ns */
	__u32 base_rtt;			/* ns */
	__u32 eta;			/* bytes */
	__u32 fi;			/* bytes */
	__u32 fi_scale;			/* ratio */
	__u32 gamma;			/* ratio, at most 1 */
	__u32 max_md_jump;		/* ratio, at most 1 */
	__u32 max_cwnd;			/* bytes */
	__u32 qa_threshold;		/* ns */
	__u32 target_delay;		/* ns */
};

struct mrc_abi_ccp {
	__aligned_u64 id;
	__u32 mask;			/* enum mrc_ctl_cc_profile_attr_mask */
	__u32 state;
	__u32 cur_state;
	__u32 reserved;
	char algorithm[MRC_ABI_CC_NAME];	/* "" = off */
	struct mrc_abi_nscc nscc;
	__u8 vendor_cfg[MRC_ABI_VENDOR_CFG];
};

/* --- endpoint operations ------------------------------------------------------ */

struct mrc_abi_ep_addr {
	__u8 sgid[16];
	__u8 dgid[16];
};

struct mrc_abi_ep_req {
	__u16 id;
	__u16 reserved0;
	__u32 fmt_mode;			/* enum mrc_ctl_ev_fmt_mode */
	struct mrc_abi_ev ev;		/* expanded */
	__u32 port_status;
	__u32 reserved1;
};

struct mrc_abi_ep_rsp {
	__u16 id;
	__u8 port;
	__u8 adj_svc_time;
	__u32 rtt;			/* ns */
};

/*
 * ARRAY_IN: struct mrc_abi_ep_req. SECOND_IN: struct mrc_abi_ep_addr for each request.
 * ARRAY_OUT: struct mrc_abi_ep_rsp, with room for as many. With -ETIMEDOUT it holds the
 * responses that arrived in time.
 */
struct mrc_abi_ep_batch {
	__u32 n_rsp;			/* out */
	__u32 op;			/* 0 EV probe, 1 port status update */
	__u32 timeout;			/* ns, from the sending of each request */
	__u8 tc;			/* traffic class byte */
	__u8 reserved[3];
};

/* --- EV events ---------------------------------------------------------------- */

/*
 * Creates a file descriptor from which struct mrc_abi_ev_event can be read. poll()
 * reports it readable while there are events. A full queue drops the newest event and
 * counts it.
 */
struct mrc_abi_ev_events {
	__u32 depth;			/* 1..max_event_depth */
	__u32 reserved;
};

struct mrc_abi_ev_event {
	__aligned_u64 profile_id;
	struct mrc_abi_ev ev;		/* packed, as in the profile */
	__u32 drop_count;		/* events lost since the previous event */
	__u32 state;			/* enum mrc_ctl_ev_state, the new one */
};

/* --- queue pairs, MRC_ABI_OBJECT_QP ------------------------------------------- */

/* struct mrc_abi_qp_attr.mask: bits 0..9 as in libMRC's enum mrc_qp_attr_mask */
enum mrc_abi_qp_mask {
	MRC_ABI_QP_MAX_WIMM		= 1 << 0,
	MRC_ABI_QP_MAX_WIMM_DEST	= 1 << 1,
	MRC_ABI_QP_MPR			= 1 << 2,
	MRC_ABI_QP_MPR_DEST		= 1 << 3,
	MRC_ABI_QP_TIMEOUT		= 1 << 4,
	MRC_ABI_QP_EV_PROFILE		= 1 << 5,
	MRC_ABI_QP_CC_PROFILE		= 1 << 6,
	MRC_ABI_QP_RETRY		= 1 << 8,
	MRC_ABI_QP_CAP			= 1 << 9,
};

/* struct mrc_abi_qp_attr.cap: bits 0..2 as in libMRC's enum mrc_qp_cap */
enum mrc_abi_qp_cap {
	MRC_ABI_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED	= 1 << 0,
	MRC_ABI_QP_CAP_DYNAMIC_MPR			= 1 << 1,
	MRC_ABI_QP_CAP_SVC_TIME_DEST_UNSUPPORTED	= 1 << 2,
	/* Ignore the responder's window penalty (MRC 1.0 §13.6). */
	MRC_ABI_QP_CAP_NO_RESP_FC			= 1 << 16,
};

/*
 * When attributes can be set: profiles, the responder's attributes and capabilities in
 * RESET and INIT; the requester's attributes also in RTR; timeout and retries also in
 * RTR and in SQD when drained; mpr_dest with Dynamic MPR also in RTR and RTS, to shrink
 * or widen the range. For WIMM and MPR 0 means the default.
 */
struct mrc_abi_qp_attr {
	__u32 mask;			/* enum mrc_abi_qp_mask */
	__u32 cap;			/* enum mrc_abi_qp_cap */
	__aligned_u64 ev_profile;
	__aligned_u64 cc_profile;
	__u16 max_wimm;
	__u16 max_wimm_dest;
	__u8 mpr;			/* units of 128 PSNs */
	__u8 mpr_dest;
	__u8 timeout;			/* 1.024 us * 2^timeout, 0..24 */
	__u8 retry_linear;		/* 0..7 */
	__u8 retry_exp;			/* 0..25, 25 = for ever */
	__u8 reserved[7];
};

struct mrc_abi_qp_ev {
	__u32 entropy;			/* UDP source port low, flow label high */
	__u8 port;
	__u8 state;			/* 0 good, 1 denied, 2 skip, 3 assumed bad */
	__u16 drops;			/* losses and timeouts, saturating */
};

/*
 * Driver data of the verbs command that modifies a QP: MRC attributes that take effect
 * with the transition, or not at all if it fails. Ignored in transitions to RESET and
 * ERR.
 */
struct mrc_abi_modify_qp {
	__u32 comp_mask;
	__u32 reserved;
	struct mrc_abi_qp_attr attr;
};

/*
 * ARRAY_OUT: struct mrc_abi_qp_ev; the QP may have more EVs than there is room for.
 * @attr holds the effective values of all attributes; its mask tells which of them were
 * set. A QP without a requester (nothing was posted yet) has zeros from cwnd to
 * timeouts. A QP without paths (before RTR) has no EVs.
 */
struct mrc_abi_qp_info {
	__u32 qpn;			/* in for MRC_ABI_DEV_QP_QUERY; out */
	__u32 dest_qpn;
	__u32 n_evs;			/* out */
	__u32 state;			/* enum ibv_qp_state */
	struct mrc_abi_qp_attr attr;
	__aligned_u64 ev_profile;	/* effective, MRC_ABI_PROFILE_NONE = AUTO */
	__aligned_u64 cc_profile;	/* effective */
	char cc[MRC_ABI_CC_NAME];	/* algorithm, "" before the first send */
	__aligned_u64 inflight;		/* bytes */
	__aligned_u64 base_rtt;		/* ns */
	__aligned_u64 srtt;		/* ns */
	__aligned_u64 tx_pkts;
	__aligned_u64 rtx_pkts;
	__aligned_u64 timeouts;
	__u32 cwnd;			/* bytes */
	__u32 window;			/* PSNs */
	__u32 sched_state;		/* 0 idle, 1 active, 2 ready, 3 pending */
	__u32 ports_up;			/* bit N = local port N may send */
	__u32 peer_ports;		/* bit N = peer's port N is used, §12.3 */
	__u32 n_ports;
	__u32 port_tx[MRC_ABI_PORTS];	/* packets through port 1.., modulo 2^32 */
	__aligned_u64 port_tx_bytes[MRC_ABI_PORTS]; /* their payload */
};

#endif /* MRC_CTL_ABI_USER_H */
