// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requester: pauses between packets, for windows that would have to be smaller than a
 * packet (OP-44).
 *
 * With more senders than the queue of the last hop has room for packets, a packet of each
 * does not fit. Windows of one packet are the smallest, so most packets would be trimmed,
 * again and again, and the trimmed ones and their NACKs take the place of data. So a
 * requester whose only packet is trimmed several times pauses between packets. Each trim
 * lengthens the pauses, each packet that arrives halves them. The times are random, because
 * otherwise senders would stay in step.
 */
#include "mrc_ev_priv.h"
#include "mrc_req_priv.h"

/* The longest usual pause, in base RTTs. */
#define MRC_SPREAD_MAX_RTTS	64
/* So many trims in a row show that one packet is too much. */
#define MRC_SPREAD_TRIMS	3

/* From half of the usual pause to one and a half. */
void mrc_req_pause(struct mrc_req *req, u64 now)
{
	req->spread_until = now + req->spread / 2 +
			    (req->spread * (mrc_ev_random(req->paths) >> 16) >> 16);
}

/* A packet was trimmed, and congestion control knows of it. */
void mrc_req_spread_more(struct mrc_req *req, u64 now)
{
	const u64 max = MRC_SPREAD_MAX_RTTS * req->base_rtt;

	if (!req->spread) {
		if (req->cc->cwnd > req->cc->mtu)
			return;
		if (req->trims < MRC_SPREAD_TRIMS)
			req->trims++;
		if (req->trims < MRC_SPREAD_TRIMS)
			return;
	}
	req->spread += req->base_rtt / 2;
	if (req->spread > max)
		req->spread = max;
	mrc_req_pause(req, now);
}

void mrc_req_spread_less(struct mrc_req *req)
{
	req->trims = 0;
	req->spread /= 2;
	if (req->spread < req->base_rtt / 4) {
		req->spread = 0;
		req->spread_until = 0;
	}
}
