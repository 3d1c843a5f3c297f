// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connected queue pairs: modify_qp (attributes and state) and query_qp (MRC 1.0 §14). The
 * effect on the engines is in mrc_qp_start.c.
 */
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "dev/mrc_trace.h"
#include "mrc_qp_priv.h"

#define MRC_QP_REFUSED	(IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE | IB_QP_QKEY)

/* Attributes that can be changed in SQD only after the send queue has drained. */
#define MRC_QP_WHEN_DRAINED \
	(IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_AV | IB_QP_TIMEOUT | \
	 IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC | \
	 IB_QP_MAX_DEST_RD_ATOMIC)

/* Check all attributes before any of them is changed. */
static int mrc_qp_check_attr(struct mrc_qp *qp, const struct ib_qp_attr *attr,
			     int mask)
{
	int ret;

	if (mask & MRC_QP_REFUSED || mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	ret = mrc_qp_check_port_pkey(qp->base.dev, attr, mask);
	if (ret)
		return ret;
	if (mask & IB_QP_ACCESS_FLAGS && attr->qp_access_flags & ~MRC_QP_ACCESS)
		return -EINVAL;
	if ((mask & IB_QP_TIMEOUT && attr->timeout > 31) ||
	    (mask & IB_QP_RETRY_CNT && attr->retry_cnt > MRC_MAX_RETRY) ||
	    (mask & IB_QP_RNR_RETRY && attr->rnr_retry > MRC_MAX_RETRY) ||
	    (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31))
		return -EINVAL;
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC &&
	     attr->max_rd_atomic > MRC_MAX_RD_ATOMIC) ||
	    (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	     attr->max_dest_rd_atomic > MRC_MAX_RD_ATOMIC))
		return -EINVAL;
	return mrc_qp_check_peer(&qp->base.dev->port[qp->attr.port], attr, mask);
}

static void mrc_qp_store_attr(struct mrc_qp *qp, const struct ib_qp_attr *attr,
			      int mask)
{
	struct mrc_qp_attrs *a = &qp->attr;

	if (mask & IB_QP_PORT)
		a->port = attr->port_num;
	if (mask & IB_QP_PKEY_INDEX)
		a->pkey_index = attr->pkey_index;
	if (mask & IB_QP_ACCESS_FLAGS)
		a->access = attr->qp_access_flags;
	if (mask & IB_QP_PATH_MTU)
		a->path_mtu = attr->path_mtu;
	if (mask & IB_QP_DEST_QPN)
		a->dest_qpn = attr->dest_qp_num;
	if (mask & IB_QP_RQ_PSN)
		a->rq_psn = attr->rq_psn & MRC_PSN_MASK;
	if (mask & IB_QP_SQ_PSN)
		a->sq_psn = attr->sq_psn & MRC_PSN_MASK;
	if (mask & IB_QP_TIMEOUT)
		a->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		a->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		a->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_MIN_RNR_TIMER)
		a->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		a->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		a->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_AV) {
		const struct ib_global_route *grh;

		grh = rdma_ah_read_grh(&attr->ah_attr);
		a->dgid = grh->dgid;
		a->flow_label = grh->flow_label;
		a->sgid_index = grh->sgid_index;
		a->hop_limit = grh->hop_limit;
		a->traffic_class = grh->traffic_class;
		a->sl = rdma_ah_get_sl(&attr->ah_attr);
		if (qp->base.state == IB_QPS_RTS)	/* SQD: same addresses */
			return;
		memcpy(&qp->flow.daddr, &grh->dgid, sizeof(qp->flow.daddr));
		memcpy(&qp->flow.saddr, &grh->sgid_attr->gid, sizeof(qp->flow.saddr));
		qp->flow.dport = mrc_dport(qp->base.dev, &qp->flow.daddr);
		qp->flow.ipv6 = !ipv6_addr_v4mapped(&qp->flow.daddr);
		qp->bound_port = 0;
		if (ipv6_addr_type(&qp->flow.daddr) & IPV6_ADDR_LINKLOCAL)
			qp->bound_port = grh->sgid_attr->port_num;
	}
}

/* RTS to SQD: started work requests are finished, the others wait. */
static int mrc_qp_drain(struct mrc_qp *qp, bool notify)
{
	spin_lock_bh(&qp->tx.lock);
	if (qp->base.state != IB_QPS_RTS) {	/* went to ERROR meanwhile */
		spin_unlock_bh(&qp->tx.lock);
		return -EINVAL;
	}
	trace_mrc_qp_state(qp->base.qpn, IB_QPS_RTS, IB_QPS_SQD);
	qp->tx.sqd_notify = notify;
	if (qp->tx.on) {
		WRITE_ONCE(qp->tx.sqd, MRC_SQD_DRAINING);
		mrc_req_set_drain(mrc_qp_req(qp), true);
		mrc_req_run(qp, true);
		return 0;
	}
	WRITE_ONCE(qp->tx.sqd, MRC_SQD_DRAINED);
	spin_unlock_bh(&qp->tx.lock);
	if (notify)
		mrc_qp_report(qp->base.ibqp, IB_EVENT_SQ_DRAINED);
	return 0;
}

/* SQD to RTS: process the work requests that were posted meanwhile. */
static int mrc_qp_resume(struct mrc_qp *qp)
{
	spin_lock_bh(&qp->tx.lock);
	if (qp->base.state != IB_QPS_RTS) {
		spin_unlock_bh(&qp->tx.lock);
		return -EINVAL;
	}
	trace_mrc_qp_state(qp->base.qpn, IB_QPS_SQD, IB_QPS_RTS);
	WRITE_ONCE(qp->tx.sqd, MRC_SQD_OFF);
	if (!qp->tx.on) {
		spin_unlock_bh(&qp->tx.lock);
		return 0;
	}
	mrc_req_set_drain(mrc_qp_req(qp), false);
	mrc_qp_set_todo(qp, MRC_TODO_SQ);
	mrc_req_run(qp, true);
	return 0;
}

static int mrc_qp_transit(struct mrc_qp *qp, enum ib_qp_state cur,
			  enum ib_qp_state new, int mask, bool notify)
{
	int ret = 0;

	switch (new) {
	case IB_QPS_RESET:
		mrc_qp_send_final_ack(qp);
		mrc_qp_reset(qp, false);
		return 0;
	case IB_QPS_INIT:
		if (cur == IB_QPS_INIT)
			return 0;
		spin_lock_bh(&qp->rx.lock);
		spin_lock(&qp->tx.lock);
		trace_mrc_qp_state(qp->base.qpn, qp->base.state, IB_QPS_INIT);
		WRITE_ONCE(qp->base.state, IB_QPS_INIT);
		spin_unlock(&qp->tx.lock);
		spin_unlock_bh(&qp->rx.lock);
		return 0;
	case IB_QPS_RTR:
		return mrc_qp_to_rtr(qp);
	case IB_QPS_RTS:
	case IB_QPS_SQD:
		if (cur == IB_QPS_RTR) {
			ret = mrc_qp_to_rts(qp);
			if (ret)
				return ret;
		}
		mrc_qp_apply_live(qp, mask);
		if (cur == IB_QPS_RTS && new == IB_QPS_SQD)
			ret = mrc_qp_drain(qp, notify);
		else if (cur == IB_QPS_SQD && new == IB_QPS_RTS)
			ret = mrc_qp_resume(qp);
		return ret;
	case IB_QPS_ERR:
		mrc_qp_send_final_ack(qp);
		mrc_qp_error(qp, qp->conn, MRC_BY_PROGRAM);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

enum ib_qp_state mrc_qp_verbs_state(const struct mrc_qp *qp)
{
	enum ib_qp_state state = READ_ONCE(qp->base.state);

	return state == IB_QPS_RTS && READ_ONCE(qp->tx.sqd) ? IB_QPS_SQD : state;
}

/*
 * Packets in flight depend on the attributes with which they were sent, so most changes
 * are only allowed after the drain. The addresses of a connection cannot be changed.
 */
static int mrc_qp_check_sqd(const struct mrc_qp *qp,
			    const struct ib_qp_attr *attr, int mask)
{
	const struct ib_global_route *grh;

	if (mask & MRC_QP_WHEN_DRAINED &&
	    READ_ONCE(qp->tx.sqd) != MRC_SQD_DRAINED)
		return -EINVAL;
	if (!(mask & IB_QP_AV))
		return 0;
	grh = rdma_ah_read_grh(&attr->ah_attr);
	if (memcmp(&grh->dgid, &qp->flow.daddr, sizeof(qp->flow.daddr)) ||
	    memcmp(&grh->sgid_attr->gid, &qp->flow.saddr, sizeof(qp->flow.saddr)) ||
	    (qp->bound_port && grh->sgid_attr->port_num != qp->bound_port))
		return -EOPNOTSUPP;
	return 0;
}

static int mrc_modify_locked(struct mrc_qp *qp, struct ib_qp_attr *attr,
			     int mask, const struct mrc_abi_qp_attr *mrc)
{
	enum ib_qp_state cur = mrc_qp_verbs_state(qp);
	struct mrc_qp_attrs old = qp->attr;
	int new, ret;

	new = mrc_qp_modify_to(qp->base.ibqp, cur, attr, mask);
	if (new < 0)
		return new;
	if (new == IB_QPS_RESET || new == IB_QPS_ERR)
		return mrc_qp_transit(qp, cur, new, mask, false);

	ret = mrc_qp_check_attr(qp, attr, mask);
	if (ret)
		return ret;
	if (cur == IB_QPS_SQD) {
		ret = mrc_qp_check_sqd(qp, attr, mask);
		if (ret)
			return ret;
	}
	ret = mrc_qp_set_mrc(qp, mrc);
	if (ret)
		return ret;
	mrc_qp_store_attr(qp, attr, mask);
	ret = mrc_qp_transit(qp, cur, new, mask,
			     mask & IB_QP_EN_SQD_ASYNC_NOTIFY &&
			     attr->en_sqd_async_notify);
	if (ret)
		qp->attr = old;
	return ret;
}

int mrc_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata)
{
	struct mrc_qp *qp = mrc_qp_from(ibqp);
	struct mrc_abi_modify_qp req = {};
	int ret = mrc_udata_in(udata, &req, sizeof(req));

	if (ret)
		return ret;
	if (req.comp_mask || req.reserved)
		return -EINVAL;
	mutex_lock(&qp->mutex);
	ret = mrc_modify_locked(qp, attr, mask, &req.attr);
	mutex_unlock(&qp->mutex);
	return ret;
}

bool mrc_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr)
{
	struct mrc_qp *qp = mrc_qp_of(ibqp);
	const struct mrc_qp_attrs *a;

	if (!qp)
		return false;
	mutex_lock(&qp->mutex);
	a = &qp->attr;
	attr->qp_state = mrc_qp_verbs_state(qp);
	attr->sq_draining = READ_ONCE(qp->tx.sqd) == MRC_SQD_DRAINING;
	attr->en_sqd_async_notify = qp->tx.sqd_notify;
	attr->path_mtu = a->path_mtu;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->rq_psn = a->rq_psn;
	attr->sq_psn = a->sq_psn;
	attr->dest_qp_num = a->dest_qpn;
	attr->qp_access_flags = a->access;
	attr->pkey_index = a->pkey_index;
	attr->max_rd_atomic = a->max_rd_atomic;
	attr->max_dest_rd_atomic = a->max_dest_rd_atomic;
	attr->min_rnr_timer = a->min_rnr_timer;
	attr->port_num = a->port;
	attr->timeout = a->timeout;
	attr->retry_cnt = a->retry_cnt;
	attr->rnr_retry = a->rnr_retry;
	if (a->path_mtu) {	/* the AV is set together with the path MTU, at RTR */
		attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
		rdma_ah_set_grh(&attr->ah_attr, (union ib_gid *)&a->dgid,
				a->flow_label, a->sgid_index, a->hop_limit,
				a->traffic_class);
		rdma_ah_set_sl(&attr->ah_attr, a->sl);
		rdma_ah_set_port_num(&attr->ah_attr, a->port);
	}
	mutex_unlock(&qp->mutex);
	mrc_qp_put(qp);
	return true;
}
