/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Snapshots of the state of a requester, a responder and the paths of a QP, for display.
 * The caller holds the lock that serialises the calls on the object. The functions only
 * read the object, so the caller may release the lock right after the call.
 */
#ifndef MRC_INFO_H
#define MRC_INFO_H

#include "mrc_base.h"
#include "mrc_ev.h"
#include "mrc_req.h"
#include "mrc_resp.h"

MRC_C_BEGIN

/**
 * struct mrc_req_info - a requester
 * @cc: name of its congestion control, constant
 * @cwnd: congestion window, bytes
 * @inflight: bytes in flight
 * @base_rtt: ns
 * @srtt: smoothed round trip, ns
 * @next_psn: of the next new packet
 * @cack: last PSN that the peer has received with all before it
 * @tack: last PSN that the peer has executed with all before it
 * @window: PSNs above @cack that may be sent (MPR, MRC 1.0 §5)
 * @unsacked: PSNs sent above @cack
 * @unacked: PSNs sent above @tack
 * @lost: packets that wait to be sent again
 * @queued: work requests that are not complete
 * @retries: retry counter, MRC 1.0 §9.4
 * @sched: enum mrc_sched
 * @failed: the requester is in ERROR
 * @pkts: data packets sent, retransmissions included
 * @rtx: retransmissions sent
 * @timeouts: expiries of the retry timer that were charged
 * @port_bytes: payload sent through port N
 */
struct mrc_req_info {
	const char *cc;
	u32 cwnd;
	u64 inflight;
	u64 base_rtt;
	u64 srtt;
	u32 next_psn;
	u32 cack;
	u32 tack;
	u32 window;
	u32 unsacked;
	u32 unacked;
	u32 lost;
	u32 queued;
	u32 retries;
	u8 sched;
	bool failed;
	u64 pkts;
	u64 rtx;
	u64 timeouts;
	u64 port_bytes[MRC_MAX_PORTS + 1];
};

void mrc_req_info(const struct mrc_req *req, struct mrc_req_info *info);

/**
 * struct mrc_resp_info - a responder
 * @cack: last PSN received with all before it
 * @exec: last PSN executed with all before it
 * @max_rcv: highest PSN received
 * @msn: messages completed
 * @unexec: PSNs received in order and not executed
 * @ahead: PSNs between @cack and @max_rcv
 * @ooo: packets received out of order and held
 * @bytes: payload received
 */
struct mrc_resp_info {
	u32 cack;
	u32 exec;
	u32 max_rcv;
	u32 msn;
	u32 unexec;
	u32 ahead;
	u32 ooo;
	u64 bytes;
};

void mrc_resp_info(const struct mrc_resp *resp, struct mrc_resp_info *info);

/**
 * struct mrc_paths_info - the EVs of a QP
 * @n: EVs
 * @n_ports: ports
 * @state: EVs by enum mrc_ev_state
 * @ports_up: bit N = port N may send
 * @peer_ports: bit N = the peer's port N is believed to be up
 */
struct mrc_paths_info {
	u32 n;
	u32 n_ports;
	u32 state[MRC_EV_STATES];
	u32 ports_up;
	u32 peer_ports;
};

void mrc_paths_info(const struct mrc_paths *p, struct mrc_paths_info *info);

MRC_C_END

#endif /* MRC_INFO_H */
