/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libMRC: Multipath Reliable Connection, the API for applications.
 *
 * A program uses libibverbs to open a device, register memory and allocate protection
 * domains. It creates completion queues and queue pairs with this library. Queue pairs
 * do RDMA WRITE and RDMA WRITE WITH IMMEDIATE, over many paths at once.
 *
 * The comment above a function tells how it returns its result:
 *   errno     0, or a positive errno value; errno is set to it as well
 *   -1        0, or -1 with errno set
 *   pointer   the object, or NULL with errno set
 *
 * Names of earlier revisions of the API are also defined, unless a program defines
 * MRC_API_NO_OLD_NAMES before it includes this header.
 */
#ifndef _MRC_API_H_
#define _MRC_API_H_

#include <stdint.h>

#include <infiniband/verbs.h>

#include <mrc_api_ver.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MRC_MAX_VENDOR_CFG_SIZE 128

/* Versions of the protocol; a device announces a set of these. */
enum mrc_protocol_version {
	MRC_PROTOCOL_VERSION_0 = 0,	/* the library chooses */
	MRC_PROTOCOL_VERSION_1 = 1 << 0,
};

struct mrc_context;
struct mrc_qp_hint;
struct mrc_qp;
struct mrc_cq;
struct mrc_comp_channel;

/* --- device --------------------------------------------------------------- */

/* struct mrc_device_attr.cap */
enum mrc_device_cap {
	MRC_DEVICE_CAP_TRIM_NACK = 1 << 0,	/* NACKs trimmed packets */
	MRC_DEVICE_CAP_DYNAMIC_MPR = 1 << 1,	/* can use Dynamic MPR */
	MRC_DEVICE_CAP_SVC_TIME = 1 << 2,	/* reports its service time */
};

/*
 * Capabilities of a device. WIMM: WRITE WITH IMMEDIATE operations in flight on a queue
 * pair. MPR: range of packet sequence numbers in flight. Names with _dest are about the
 * responder, the others about the requester.
 */
struct mrc_device_attr {
	/* set of enum mrc_protocol_version */
#ifdef MRC_API_NO_OLD_NAMES
	uint32_t mrc_protocol_version;
#else
	__extension__ union {
		uint32_t mrc_protocol_version;
		uint32_t mrc_version;	/* old name */
	};
#endif
	struct {
		uint16_t max_wimm;
		uint16_t max_wimm_dest;
	} wimm_attr;
	struct {
		uint8_t max_mpr;	/* units of 128 PSNs */
		uint8_t mpr_resolution;	/* step, units of 128 PSNs */
	} mpr_attr;
	struct {
		uint32_t max_qp_hint;	/* hint objects */
	} qp_attr;
	uint32_t cap;			/* set of enum mrc_device_cap */
};

/*
 * The old name of the structure. In C a second name for a structure needs a macro. In
 * C++ a macro would break programs that have a member or variable of that name, but a
 * derived structure does not. Its constructors are for "= {0}".
 */
#if !defined(MRC_API_NO_OLD_NAMES) && !defined(mrc_attr)
#ifndef __cplusplus
#define mrc_attr mrc_device_attr
#else
struct mrc_attr : mrc_device_attr {
#if __cplusplus >= 201103L
	mrc_attr() = default;
	mrc_attr(uint32_t versions) : mrc_device_attr()
	{
		mrc_protocol_version = versions;
	}
#endif
};
#endif
#endif

/*
 * -1. *@supported is set to 0 if the device does not support MRC, which is no error.
 * mrc_query_device_ex() exists since version 1.0.1 and fills in @attr for the version
 * that @mcontext was created with (NULL: 1.0.0). mrc_query_device() always fills it in
 * for 1.0.0.
 */
#if MRC_API_VER_USED >= MRC_API_VER(1, 0, 1)
int mrc_query_device_ex(struct ibv_context *context,
			struct mrc_context *mcontext,
			struct mrc_device_attr *attr, int *supported);
#endif
int mrc_query_device(struct ibv_context *context, struct mrc_device_attr *attr,
		     int *supported);

/* Versions of the library, encoded as by MRC_API_VER(). */
void mrc_query_version(uint32_t *current_version,
		       uint32_t *last_supported_version,
		       uint32_t *vendor_version,
		       uint32_t *last_supported_vendor_version);

/* --- context -------------------------------------------------------------- */

/* The versions that the program was written for; 0: not specified. */
struct mrc_context_attr {
	uint32_t mrc_api_version_used;
	uint32_t mrc_vendor_api_version_used;
};

/* pointer. @context_attr may be NULL. */
struct mrc_context *mrc_create_context(struct ibv_context *vcontext,
				       struct mrc_context_attr *context_attr);
/* -1 */
int mrc_destroy_context(struct mrc_context *mrc_ctx);

/* --- completion queues ---------------------------------------------------- */

/* errno */
int mrc_create_comp_channel(struct mrc_context *mrc_ctx,
			    struct mrc_comp_channel **channel);
/* -1. The descriptor is readable while an event waits. */
int mrc_get_comp_channel_fd(struct mrc_comp_channel *channel, int *fd);
/* errno */
int mrc_destroy_comp_channel(struct mrc_comp_channel *channel);

/* pointer. @channel may be NULL. */
struct mrc_cq *mrc_create_cq(struct mrc_context *mrc_ctx, int cqe,
			     void *cq_context, struct mrc_comp_channel *channel,
			     int comp_vector);
/* The number of completions taken, or -1 with errno set. */
int mrc_poll_cq(struct mrc_cq *cq, int num_entries, struct ibv_wc *wc);
/* errno. Waits until all events of the queue are acknowledged. */
int mrc_destroy_cq(struct mrc_cq *cq);

/* errno. Requests one event. */
int mrc_req_notify_cq(struct mrc_cq *cq, int solicited_only);
/* -1. Waits for an event; every event must be acknowledged. */
int mrc_get_cq_event(struct mrc_comp_channel *channel, struct mrc_cq **cq,
		     void **cq_context);
void mrc_ack_cq_events(struct mrc_cq *cq, unsigned int nevents);

/* --- hints ---------------------------------------------------------------- */

/* Members of struct mrc_qp_hint_attr that are used. */
enum mrc_qp_hint_attr_mask {
	MRC_QP_HINT_NUM_QPS_PER_PEER = 1 << 0,
	MRC_QP_HINT_NUM_SEND_PEERS = 1 << 1,
	MRC_QP_HINT_NUM_REMOTE_RECV_PEERS = 1 << 2,
	MRC_QP_HINT_VENDOR_CFG = INT32_MIN, /* bit 31 */
};

/*
 * The traffic that a program expects on the queue pairs with this hint: how many of
 * them send to one peer at a time, how many peers they send to at a time, and how many
 * queue pairs elsewhere send to the same destination.
 */
struct mrc_qp_hint_attr {
	int num_qps_per_peer;
	int num_send_peers;
	int num_remote_recv_peers;
	uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

struct mrc_qp_hint_init_attr {
	struct mrc_qp_hint_attr attr;
};

/* pointer */
struct mrc_qp_hint *
mrc_create_qp_hint(struct mrc_context *mrc_ctx,
		   struct mrc_qp_hint_init_attr *init_attr);
/* -1 (all three) */
int mrc_destroy_qp_hint(struct mrc_qp_hint *qp_hint);
int mrc_query_qp_hint(struct mrc_qp_hint *qp_hint,
		      struct mrc_qp_hint_attr *qp_hint_attr,
		      int qp_hint_attr_mask);
int mrc_modify_qp_hint(struct mrc_qp_hint *qp_hint,
		       struct mrc_qp_hint_attr *qp_hint_attr,
		       int qp_hint_attr_mask);

/* --- queue pairs ---------------------------------------------------------- */

struct mrc_qp_init_attr {
	void *qp_context;
	struct mrc_cq *send_cq;
	struct mrc_cq *recv_cq;
	struct ibv_qp_cap cap;		/* on return the actual capabilities */
	int sq_sig_all;
	struct ibv_pd *pd;
	uint64_t send_ops_flags; /* set of enum ibv_qp_create_send_ops_flags */
	enum mrc_protocol_version protocol_version; /* 0: chosen by the library */
};

/* Members of struct mrc_qp_attr that are used. */
enum mrc_qp_attr_mask {
	MRC_QP_MAX_WIMM = 1 << 0,
	MRC_QP_MAX_WIMM_DEST = 1 << 1,
	MRC_QP_MPR = 1 << 2,
	MRC_QP_MPR_DEST = 1 << 3,
	MRC_QP_TIMEOUT = 1 << 4,
	MRC_QP_EV_PROFILE_ID = 1 << 5,
	MRC_QP_CC_PROFILE_ID = 1 << 6,
	MRC_QP_HINT = 1 << 7,
	MRC_QP_RETRY_CNT = 1 << 8,
	MRC_QP_CAP = 1 << 9,
	MRC_QP_VENDOR_CFG = INT32_MIN, /* bit 31 */
};

/* struct mrc_qp_attr.cap */
enum mrc_qp_cap {
	/* The peer does not NACK trimmed packets. */
	MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED = 1 << 0,
	/* Dynamic MPR, as requester and as responder. */
	MRC_QP_CAP_DYNAMIC_MPR = 1 << 1,
	/* The peer does not report its service time. */
	MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED = 1 << 2,
};

struct mrc_qp_attr {
	struct {
		uint8_t mpr;		/* units of 128 PSNs, 0: default */
		uint8_t mpr_dest;	/* likewise */
	} mpr;
	struct {
		uint16_t max_wimm;
		uint16_t max_wimm_dest;
	} wimm;
	uint8_t timeout;		/* 1.024 us * 2^timeout, up to 24 */
	struct {
		uint64_t ev_profile_id;
		uint64_t cc_profile_id;
	} profile;
	struct {
		uint8_t linear_cnt;	/* retries at equal intervals, up to 7 */
		uint8_t exp_cnt;	/* then at doubled intervals, 25: no limit */
	} retry;
	struct mrc_qp_hint *qp_hint;	/* NULL: none */
	uint32_t cap;			/* set of enum mrc_qp_cap */
	uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

/* pointer. The queue pair is in RESET. */
struct mrc_qp *mrc_create_qp(struct mrc_context *mrc_ctx,
			     struct mrc_qp_init_attr *mrc_qp_attr);
/* errno (all three). @vattr_mask is a set of enum ibv_qp_attr_mask. */
int mrc_destroy_qp(struct mrc_qp *qp);
int mrc_query_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		 struct mrc_qp_attr *mrc_attr, int mrc_attr_mask,
		 struct mrc_qp_init_attr *init_attr);
int mrc_modify_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		  struct mrc_qp_attr *mrc_attr, int mrc_attr_mask);
/* -1 */
int mrc_get_qpn(struct mrc_qp *qp, uint32_t *qpn);

/* -1. *@bad_wr is the first request that was not posted. */
int mrc_post_recv(struct mrc_qp *qp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);
/* errno. *@bad_wr is the first request that was not posted. */
int mrc_post_send(struct mrc_qp *qp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr);

/* --- asynchronous events -------------------------------------------------- */

struct mrc_async_event {
	union {
		struct mrc_cq *cq;
		struct mrc_qp *qp;
		int port_num;
	} element;
	enum ibv_event_type event_type;
};

/* -1. Waits for an event; every event must be acknowledged. */
int mrc_get_async_event(struct mrc_context *mrc_ctx,
			struct mrc_async_event *event);
void mrc_ack_async_event(struct mrc_async_event *event);

#ifdef __cplusplus
}
#endif

/* Old names of bits of enum mrc_qp_attr_mask. */
#ifndef MRC_API_NO_OLD_NAMES
#ifndef MRC_EV_PROFILE_ID
#define MRC_EV_PROFILE_ID MRC_QP_EV_PROFILE_ID
#endif
#ifndef MRC_CC_PROFILE_ID
#define MRC_CC_PROFILE_ID MRC_QP_CC_PROFILE_ID
#endif
#endif

#endif /* _MRC_API_H_ */
