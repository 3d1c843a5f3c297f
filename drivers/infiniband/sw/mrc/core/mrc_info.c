// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Snapshots, see mrc_info.h. */
#include "mrc_info.h"

void mrc_req_info(const struct mrc_req *req, struct mrc_req_info *info)
{
	memset(info, 0, sizeof(*info));
	info->cc = req->cc->ops->name;
	info->cwnd = req->cc->cwnd;
	info->inflight = req->inflight;
	info->base_rtt = req->base_rtt;
	info->srtt = req->srtt;
	info->next_psn = req->next_psn;
	info->cack = req->cack;
	info->tack = req->tack;
	info->window = req->window;
	info->unsacked = mrc_psn_diff(req->next_psn, req->cack) - 1;
	info->unacked = mrc_psn_diff(req->next_psn, req->tack) - 1;
	info->lost = req->n_lost;
	info->queued = req->wq_post - req->wq_done;
	info->retries = req->retries;
	info->sched = mrc_req_sched(req);
	info->failed = mrc_req_failed(req);
	info->pkts = req->stat_pkts;
	info->rtx = req->stat_rtx;
	info->timeouts = req->stat_timeouts;
	memcpy(info->port_bytes, req->stat_port_bytes, sizeof(info->port_bytes));
}

void mrc_resp_info(const struct mrc_resp *resp, struct mrc_resp_info *info)
{
	memset(info, 0, sizeof(*info));
	info->cack = resp->cack;
	info->exec = resp->exec;
	info->max_rcv = resp->max_rcv;
	info->msn = resp->msn;
	info->unexec = mrc_psn_diff(resp->cack, resp->exec);
	info->ahead = mrc_psn_diff(resp->max_rcv, resp->cack);
	info->ooo = resp->ooo;
	info->bytes = resp->rcvd_bytes;
}

void mrc_paths_info(const struct mrc_paths *p, struct mrc_paths_info *info)
{
	u32 i;

	memset(info, 0, sizeof(*info));
	info->n = p->n;
	info->n_ports = p->n_ports;
	for (i = 0; i < p->n; i++)
		info->state[mrc_paths_state(p, i) % MRC_EV_STATES]++;
	info->ports_up = p->ports_up;
	info->peer_ports = p->peer_ports;
}
