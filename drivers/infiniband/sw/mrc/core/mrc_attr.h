/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Attributes of a connection (MRC 1.0 §14), and the configuration of its engines that
 * follows from them.
 *
 *	struct mrc_attr attr = { .pmtu = 4096, .qpn = qpn, ... };
 *
 *	mrc_attr_resp_cfg(&attr, &resp_cfg);	what follows from attributes is set
 *	resp_cfg.seed = ...;			the rest is the caller's
 *
 * Pure functions: any thread, no allocation.
 */
#ifndef MRC_ATTR_H
#define MRC_ATTR_H

#include "mrc_ev.h"
#include "mrc_req.h"
#include "mrc_resp.h"

MRC_C_BEGIN

/* With Dynamic MPR a range may grow to this, units of 128 PSNs. */
#define MRC_MPR_DYNAMIC_MAX	32

/* IB's timeout code that answers are sent with where the QP has none. */
#define MRC_ANS_TIMEOUT		14

/* The largest timeout code of MRC 1.0. */
#define MRC_TIMEOUT_MAX		24

/**
 * struct mrc_attr - attributes as verbs and libMRC have them
 * @qpn: own QPN
 * @dqpn: peer's QPN
 * @pmtu: path MTU in bytes, 256..4096, power of two
 * @sq_psn: first PSN sent, 24 bits
 * @rq_psn: first PSN expected, 24 bits
 * @n_ports: ports of the device, 1..MRC_MAX_PORTS
 * @ipv6: family of the connection
 * @trimming: the fabric trims, as far as the device knows
 * @ext: has the extension
 * @ans: these are the attributes of the QP whose answer channel is configured, which
 *	needs @ext
 * @timeout: verbs' code, 4.096 us * 2^timeout, 0..31; 0 = no timer
 * @retry_cnt: 0..7
 * @rnr_retry: 0..7, MRC_RNR_RETRY_INFINITE = for ever
 * @max_rd: the peer may have requests under way
 * @remote_write: the peer may write
 * @remote_read: and read
 * @remote_atomic: and execute atomic operations
 * @remote_flush: and flush
 * @mrc_timeout_set: @mrc_timeout counts instead of @timeout
 * @mrc_timeout: MRC's code, 1.024 us * 2^timeout, 0..MRC_TIMEOUT_MAX; 0 = no timer
 * @mrc_retry_set: @retry_linear and @retry_exp count instead of @retry_cnt
 * @retry_linear: 0..MRC_RETRY_LINEAR_MAX
 * @retry_exp: 0..MRC_RETRY_EXP_INFINITE
 * @mpr: the peer's range, units of 128 PSNs; 0 = MRC_MPR_DEFAULT
 * @mpr_dest: own range likewise
 * @max_wimm: WRITE_IMMs in flight; 0 = MRC_WIMM_DEFAULT
 * @max_wimm_dest: those that the peer may have in flight, likewise
 * @caps_set: the program has said what the peer can do
 * @no_trim_nack: the peer does not answer trims
 * @dynamic_mpr: both ends do Dynamic MPR (§5.2)
 * @no_svc_time: the peer does not add its residence time to echoes (OP-35)
 * @no_resp_fc: ignore the peer's window penalty (§13.6)
 */
struct mrc_attr {
	u32 qpn;
	u32 dqpn;
	u32 pmtu;
	u32 sq_psn;
	u32 rq_psn;
	u8 n_ports;
	bool ipv6;
	bool trimming;
	bool ext;
	bool ans;
	u8 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	bool max_rd;
	bool remote_write;
	bool remote_read;
	bool remote_atomic;
	bool remote_flush;
	bool mrc_timeout_set;
	u8 mrc_timeout;
	bool mrc_retry_set;
	u8 retry_linear;
	u8 retry_exp;
	u16 mpr;
	u16 mpr_dest;
	u16 max_wimm;
	u16 max_wimm_dest;
	bool caps_set;
	bool no_trim_nack;
	bool dynamic_mpr;
	bool no_svc_time;
	bool no_resp_fc;
};

/**
 * struct mrc_retry - how long a requester tries
 * @rto: ns, 0 = no timer (§9.4)
 * @linear: retries at constant RTO
 * @exp: doubling retries, MRC_RETRY_EXP_INFINITE = for ever
 * @rnr: how often a message may find no receive
 */
struct mrc_retry {
	u64 rto;
	u8 linear;
	u8 exp;
	u8 rnr;
};

void mrc_attr_retry(const struct mrc_attr *a, struct mrc_retry *out);

/* The timeout in force as MRC's code, 0..MRC_TIMEOUT_MAX, rounded down where verbs' is longer. */
u8 mrc_attr_timeout_code(const struct mrc_attr *a);

/* What the peer may do. */
void mrc_attr_permit(const struct mrc_attr *a, struct mrc_resp_permit *out);

/**
 * mrc_attr_paths_cfg - how to make the EVs
 * @a: attributes
 * @n_evs: EVs of AUTO mode as far as somebody asked for a number; clamped
 * @min_active: GOOD and SKIP EVs that must remain, clamped; 0 = default
 * @out: all is set but set, seed, ctr, on_state and ctx, which become 0
 */
void mrc_attr_paths_cfg(const struct mrc_attr *a, u32 n_evs, u32 min_active,
			struct mrc_paths_cfg *out);

/* Sets all of @out but late_stash, late_rd, sack_threshold, seed and ctr: these are 0. */
void mrc_attr_resp_cfg(const struct mrc_attr *a, struct mrc_resp_cfg *out);

/* Sets all of @out but sq_depth, rev, ctr, on_loss and ctx: these are 0. */
void mrc_attr_req_cfg(const struct mrc_attr *a, struct mrc_req_cfg *out);

/* The first PSN that the responder expects, of the answer channel with @a->ans. */
u32 mrc_attr_rq_psn(const struct mrc_attr *a);

MRC_C_END

#endif /* MRC_ATTR_H */
