/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* State of NSCC within struct mrc_cc; for mrc_nscc.c and its tests. */
#ifndef MRC_NSCC_H
#define MRC_NSCC_H

#include "mrc_cc.h"

/* Of struct mrc_nscc.avg: fractions of a nanosecond. */
#define MRC_NSCC_AVG_SHIFT	16

/**
 * struct mrc_nscc - state of one controller, MRC 1.0 §13.4; the window itself is
 *	mrc_cc.cwnd
 * @p: parameters, all filled in
 * @rate: bytes per second
 * @inflight: bytes sent less bytes that the responder counted or that were lost; at
 *	times slightly negative, because the responder counts in units of 256 bytes and
 *	packets are sometimes taken for lost wrongly
 * @inc: increase due at the next adjustment, bytes times bytes of window
 * @rcvd: bytes received since the last adjustment
 * @achieved: bytes received in this period of quick adapt
 * @fi_count: bytes received since the delay has been about zero
 * @ignore: bytes that must still leave the network before marks count again
 *	(bytes_to_ignore less bytes_ignored)
 * @avg: average delay, ns << MRC_NSCC_AVG_SHIFT
 * @last_adjust: ns
 * @last_dec: ns
 * @qa_end: end of the period of quick adapt, ns, 0 = none yet
 * @pi: proportional increase per window at zero delay, bytes
 * @max_cwnd: bytes, follows @base_rtt
 * @saved_cwnd: window before the responder's penalty, 0 = no penalty
 * @base_rtt: ns
 * @fast: fast increase is under way
 * @trigger_qa: a packet was trimmed
 * @trim: the peer answers trimmed packets with NACKs
 */
struct mrc_nscc {
	struct mrc_nscc_cfg p;
	u64 rate;
	s64 inflight;
	u64 inc;
	u64 rcvd;
	u64 achieved;
	u64 fi_count;
	u64 ignore;
	u64 avg;
	u64 last_adjust;
	u64 last_dec;
	u64 qa_end;
	u32 pi;
	u32 max_cwnd;
	u32 saved_cwnd;
	u32 base_rtt;
	bool fast;
	bool trigger_qa;
	bool trim;
};

static inline struct mrc_nscc *mrc_nscc_of(struct mrc_cc *cc)
{
	return (struct mrc_nscc *)cc->priv;
}

static inline const struct mrc_nscc *mrc_nscc_ro(const struct mrc_cc *cc)
{
	return (const struct mrc_nscc *)cc->priv;
}

#endif /* MRC_NSCC_H */
