/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Attributes of a connection (MRC 1.0 §14), and the configuration of requester,
 * responder and paths that follows from them.
 *
 *	struct mrc_attr attr = { .pmtu = 4096, .qpn = qpn, ... };
 *
 *	mrc_attr_resp_cfg(&attr, &resp_cfg);	sets what follows from attributes
 *	resp_cfg.seed = ...;			the caller sets the rest
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

/* Timeout code of verbs for the answer channel of a QP that has no timer. */
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
 * @ext: the QP has the extension
 * @ans: configure the answer channel of this QP, not the QP itself; needs @ext
 * @timeout: timeout code of verbs, 4.096 us * 2^timeout, 0..31; 0 = no timer
 * @retry_cnt: 0..7
 * @rnr_retry: 0..7, MRC_RNR_RETRY_INFINITE = for ever
 * @max_rd: the peer may have requests (READ, atomics, FLUSH) outstanding
 * @remote_write: the peer may write
 * @remote_read: the peer may read
 * @remote_atomic: the peer may execute atomic operations
 * @remote_flush: the peer may flush
 * @mrc_timeout_set: use @mrc_timeout, not @timeout
 * @mrc_timeout: MRC's code, 1.024 us * 2^timeout, 0..MRC_TIMEOUT_MAX; 0 = no timer
 * @mrc_retry_set: use @retry_linear and @retry_exp, not @retry_cnt
 * @retry_linear: 0..MRC_RETRY_LINEAR_MAX
 * @retry_exp: 0..MRC_RETRY_EXP_INFINITE
 * @mpr: the peer's maximum PSN range, units of 128 PSNs; 0 = MRC_MPR_DEFAULT
 * @mpr_dest: own maximum PSN range, likewise
 * @max_wimm: WRITE_IMMs in flight; 0 = MRC_WIMM_DEFAULT
 * @max_wimm_dest: WRITE_IMMs that the peer may have in flight, likewise
 * @caps_set: the program has declared the capabilities of the peer
 * @no_trim_nack: the peer does not answer trims
 * @dynamic_mpr: both ends do Dynamic MPR (§5.2)
 * @no_svc_time: the peer does not add its service time to echoes (OP-35)
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
 * struct mrc_retry - timer and retry budget of a requester
 * @rto: ns, 0 = no timer (§9.4)
 * @linear: retries at constant RTO
 * @exp: doubling retries, MRC_RETRY_EXP_INFINITE = for ever
 * @rnr: RNR retries of a message, MRC_RNR_RETRY_INFINITE = for ever
 */
struct mrc_retry {
	u64 rto;
	u8 linear;
	u8 exp;
	u8 rnr;
};

void mrc_attr_retry(const struct mrc_attr *a, struct mrc_retry *out);

/*
 * The timeout in effect as MRC's code, 0..MRC_TIMEOUT_MAX. A longer timeout of verbs
 * gives MRC_TIMEOUT_MAX.
 */
u8 mrc_attr_timeout_code(const struct mrc_attr *a);

/* The operations that the peer may use. */
void mrc_attr_permit(const struct mrc_attr *a, struct mrc_resp_permit *out);

/**
 * mrc_attr_paths_cfg - configuration of the EVs
 * @a: attributes
 * @n_evs: number of EVs in AUTO mode, clamped to 1..MRC_EV_MAX
 * @min_active: number of EVs that must stay GOOD or SKIP, clamped; 0 = default
 * @out: result; set, rto, seed, ctr, on_state and ctx become 0
 */
void mrc_attr_paths_cfg(const struct mrc_attr *a, u32 n_evs, u32 min_active,
			struct mrc_paths_cfg *out);

/*
 * Sets all members of @out except the remote_ ones, late_stash, late_rd, sack_threshold,
 * seed and ctr, which become 0.
 */
void mrc_attr_resp_cfg(const struct mrc_attr *a, struct mrc_resp_cfg *out);

/*
 * Sets all members of @out except sq_depth, base_rtt, rev, ctr, on_loss and ctx, which
 * become 0.
 */
void mrc_attr_req_cfg(const struct mrc_attr *a, struct mrc_req_cfg *out);

/* The first PSN that the responder expects; with @a->ans, that of the answer channel. */
u32 mrc_attr_rq_psn(const struct mrc_attr *a);

MRC_C_END

#endif /* MRC_ATTR_H */
