// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connected queue pairs: which ports a QP may send through.
 */
#include "mrc_qp_priv.h"

/*
 * Send only through the ports in @mask. Under tx.lock. Return: true if the QP may send,
 * so that the caller can call mrc_req_run().
 */
static bool mrc_qp_set_ports(struct mrc_qp *qp, u32 mask)
{
	if (mrc_qp_sends(qp)) {
		mrc_req_set_ports(mrc_qp_req(qp), mask, mrc_now());
		return true;
	}
	if (qp->paths_on)
		mrc_paths_set_ports(&qp->paths, mask);
	return false;
}

void mrc_qp_update_ports(struct mrc_qp *qp)
{
	unsigned long up, mask = 0, missing, wait;
	unsigned int port;

	if (!READ_ONCE(qp->paths_on) || READ_ONCE(qp->base.state) == IB_QPS_ERR)
		return;

	up = mrc_dev_ports_up(qp->base.dev);
	if (qp->bound_port)
		up &= BIT(qp->bound_port);

	local_bh_disable();
	rcu_read_lock();
	for_each_set_bit(port, &up, MRC_MAX_PORTS + 1) {
		if (port > qp->base.dev->n_ports)
			break;
		if (mrc_flow_srv6(&qp->flow) ? mrc_srv6_port_ok(&qp->flow, port) :
				      !!mrc_route_get(&qp->flow, port))
			mask |= BIT(port);
	}
	rcu_read_unlock();
	local_bh_enable();
	missing = up & ~mask;

	spin_lock_bh(&qp->tx.lock);
	/*
	 * Routes are usually added a moment after the link comes up. Retry soon at first,
	 * then less and less often.
	 */
	if (missing & ~qp->no_route)
		qp->no_route_at = jiffies;
	wait = clamp_t(unsigned long, (jiffies - qp->no_route_at) / 4,
		       MRC_ROUTE_SOON, MRC_ROUTE_RETRY);
	WRITE_ONCE(qp->no_route, missing);
	if (mrc_qp_set_ports(qp, mask)) {
		mrc_req_run(qp, false);
	} else {
		if (qp->paths_on)
			mrc_paths_peer_status(&qp->paths, mrc_peer_status(qp),
					      mrc_now());
		spin_unlock_bh(&qp->tx.lock);
	}

	/* Do not queue the work again during destroy, which would have to wait for it. */
	if (missing && !READ_ONCE(qp->dead))
		mrc_qp_queue_work(qp, wait);
}

static void mrc_paths_leave(struct mrc_qp *qp, u32 up)
{
	spin_lock_bh(&qp->tx.lock);
	mrc_qp_set_ports(qp, mrc_paths_ports_up(&qp->paths) & up);
	spin_unlock_bh(&qp->tx.lock);
}

void mrc_qp_leave_ports(struct mrc_qp *qp, u32 up)
{
	struct mrc_qp *ans = mrc_ans_get(qp);

	mrc_paths_leave(qp, up);
	if (ans) {
		mrc_paths_leave(ans, up);
		mrc_qp_put(ans);
	}
}

const struct mrc_port_client mrc_qp_port_client = {
	.changed = mrc_peers_ports_changed,
};
