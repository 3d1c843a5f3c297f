// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connected queue pairs: creation of the engines from the attributes of the QP, and
 * changes of attributes while the engines run (MRC 1.0 §14).
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dev/mrc_trace.h"
#include "mrc_qp_priv.h"

/* A stash of at most this size, bytes, is allocated when the first WRITE_IMM arrives. */
#define MRC_STASH_LATE		4096

/* MPR where the program names none: that of the device, from RTR on what it was then. */
static u8 mrc_qp_default_mpr(const struct mrc_qp *qp)
{
	return qp->attr.mpr ?: READ_ONCE(qp->base.dev->attr.mpr);
}

/*
 * Convert the attributes of @qp to those of the engine. An answer channel has the
 * attributes of its QP.
 */
static void mrc_qp_to_attr(const struct mrc_qp *qp, struct mrc_attr *out)
{
	const struct mrc_qp_attrs *a = &qp->attr;
	const u32 cap = a->mrc.mask & MRC_ABI_QP_CAP ? a->mrc.cap : 0;
	const u8 mpr = mrc_qp_default_mpr(qp);
	struct mrc_dscp_map map;

	mrc_tc_get(qp->base.dev, &map);
	*out = (struct mrc_attr){
		.qpn = qp->base.qpn,
		.dqpn = a->dest_qpn,
		.pmtu = qp->flow.pmtu,
		.sq_psn = a->sq_psn,
		.rq_psn = a->rq_psn,
		.n_ports = qp->base.dev->n_ports,
		.ipv6 = qp->flow.ipv6,
		.trimming = map.trimming,
		.ext = qp->ext,
		.ans = qp->ans_of,
		.timeout = a->timeout,
		.retry_cnt = a->retry_cnt,
		.rnr_retry = a->rnr_retry,
		.max_rd = a->max_dest_rd_atomic,
		.remote_write = a->access & IB_ACCESS_REMOTE_WRITE,
		.remote_read = a->access & IB_ACCESS_REMOTE_READ,
		.remote_atomic = a->access & IB_ACCESS_REMOTE_ATOMIC,
		.remote_flush = a->access & IB_ACCESS_FLUSH_GLOBAL,
		.mrc_timeout_set = a->mrc.mask & MRC_ABI_QP_TIMEOUT,
		.mrc_timeout = a->mrc.timeout,
		.mrc_retry_set = a->mrc.mask & MRC_ABI_QP_RETRY,
		.retry_linear = a->mrc.retry_linear,
		.retry_exp = a->mrc.retry_exp,
		.mpr = a->mrc.mpr ?: mpr,
		.mpr_dest = a->mrc.mpr_dest ?: mpr,
		.max_wimm = a->mrc.max_wimm,
		.max_wimm_dest = a->mrc.max_wimm_dest,
		.caps_set = a->mrc.mask & MRC_ABI_QP_CAP,
		.no_trim_nack = cap & MRC_ABI_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED,
		.dynamic_mpr = cap & MRC_ABI_QP_CAP_DYNAMIC_MPR,
		.no_svc_time = cap & MRC_ABI_QP_CAP_SVC_TIME_DEST_UNSUPPORTED,
		.no_resp_fc = cap & MRC_ABI_QP_CAP_NO_RESP_FC,
	};
}

/* Sum of the line rates of all ports of the device, bytes per second. 0 = unknown. */
static u64 mrc_dev_rate(struct mrc_dev *dev)
{
	unsigned int i;
	u64 rate = 0;

	for (i = 1; i <= dev->n_ports; i++)
		rate += mrc_port_speed(&dev->port[i]) * 125000ull;
	return rate;
}

static void mrc_on_state(void *ctx, const struct mrc_paths *paths, u16 ev,
			 u8 from, u8 to)
{
	struct mrc_qp *qp = ctx;

	trace_mrc_ev_state(qp->base.qpn, ev, mrc_paths_port(paths, ev),
			   mrc_paths_entropy(paths, ev), from, to);
	mrc_profiles->event(qp, paths, ev, to);
}

static void mrc_on_loss(void *ctx, u32 psn, int ev, u8 cause)
{
	const struct mrc_qp *qp = ctx;

	trace_mrc_loss(qp->base.qpn, psn, ev, cause);
}

void mrc_qp_effective(const struct mrc_qp *qp, struct mrc_abi_qp_attr *out)
{
	struct mrc_resp_cfg resp;
	struct mrc_req_cfg req;
	struct mrc_attr attr;

	mrc_qp_to_attr(qp, &attr);
	mrc_attr_resp_cfg(&attr, &resp);
	mrc_attr_req_cfg(&attr, &req);
	*out = qp->attr.mrc;
	out->max_wimm = req.max_wimm;
	out->max_wimm_dest = resp.max_wimm;
	out->mpr = req.mpr;
	out->mpr_dest = resp.mpr;
	out->timeout = mrc_attr_timeout_code(&attr);
	out->retry_linear = req.linear_cnt;
	out->retry_exp = req.exp_cnt;
	if (!(out->mask & MRC_ABI_QP_EV_PROFILE))
		out->ev_profile = MRC_ABI_PROFILE_NONE;
	if (!(out->mask & MRC_ABI_QP_CC_PROFILE))
		out->cc_profile = MRC_ABI_PROFILE_NONE;
}

/* Set the permissions of the peer from the attributes. Under rx.lock or before RTR. */
static void mrc_qp_permit(struct mrc_qp *qp, const struct mrc_attr *attr)
{
	struct mrc_resp_permit may;

	qp->rx.rnr_timer = qp->attr.min_rnr_timer;
	mrc_attr_permit(attr, &may);
	mrc_resp_permit(&qp->rx.resp, &may);
}

/*
 * Allocate *@resp_mem, the memory of the responder. Initialise the responder and the
 * paths, without their tables. The EVs come from @set; a controller may replace the set
 * of the QP in the meantime.
 */
static int mrc_qp_make_responder(struct mrc_qp *qp, const struct mrc_set *set,
				 void **resp_mem)
{
	struct mrc_paths_cfg pcfg;
	struct mrc_resp_cfg rcfg;
	struct mrc_attr attr;

	mrc_qp_to_attr(qp, &attr);
	mrc_attr_paths_cfg(&attr, qp->auto_evs ?:
			   READ_ONCE(qp->base.dev->attr.num_evs), qp->auto_min,
			   &pcfg);
	pcfg.set = set ? &set->set : NULL;
	pcfg.seed = get_random_u64();
	pcfg.ctr = &qp->base.dev->ctr;
	pcfg.on_state = mrc_on_state;
	pcfg.ctx = qp;

	mrc_attr_resp_cfg(&attr, &rcfg);
	rcfg.late_stash = true;
	rcfg.late_rd = true;
	rcfg.ctr = &qp->base.dev->ctr;
	rcfg.seed = get_random_u64();
	/* An atomic allocation of a large stash would be unreliable: allocate it now. */
	if (mrc_resp_stash_mem(&rcfg) > MRC_STASH_LATE)
		rcfg.late_stash = false;
	*resp_mem = kvzalloc(mrc_resp_mem(&rcfg), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!*resp_mem)
		return -ENOMEM;
	if (mrc_paths_prepare(&qp->paths, &pcfg) ||
	    mrc_resp_init(&qp->rx.resp, &rcfg, &qp->paths, *resp_mem))
		return -EINVAL;
	mrc_qp_permit(qp, &attr);
	return 0;
}

/* Get the current EV set of @qp with a reference, NULL = AUTO. */
static struct mrc_set *mrc_qp_get_set(struct mrc_qp *qp)
{
	struct mrc_set *set;

	spin_lock_bh(&qp->tx.lock);
	set = qp->flow.set;
	if (set)
		refcount_inc(&set->ref);
	spin_unlock_bh(&qp->tx.lock);
	return set;
}

/* Start the responder, and the paths that its feedback uses (§11.8). */
int mrc_qp_to_rtr(struct mrc_qp *qp)
{
	void *resp_mem = NULL;
	struct mrc_set *set;
	int ret;

	qp->flow.pmtu = ib_mtu_enum_to_int(qp->attr.path_mtu);
	qp->attr.mpr = READ_ONCE(qp->base.dev->attr.mpr);
	/* Late packets of the previous connection may have cached old routes. */
	mrc_route_drop(&qp->flow);
	ret = mrc_profiles->bind(qp);
	if (ret)
		return ret;
	set = mrc_qp_get_set(qp);
	ret = mrc_srv6_fits(&qp->flow, qp->attr.port);
	if (!ret)
		ret = mrc_qp_make_responder(qp, set, &resp_mem);
	if (!ret)
		ret = mrc_peer_join(qp);
	if (ret) {
		kvfree(resp_mem);
		mrc_profiles->unbind(qp);
		mrc_set_put(set);
		return ret;
	}

	spin_lock_bh(&qp->rx.lock);
	spin_lock(&qp->tx.lock);
	if (qp->flow.set != set)	/* a controller has replaced the set */
		mrc_paths_update(&qp->paths, &qp->flow.set->set, mrc_now());
	WRITE_ONCE(qp->paths_on, true);
	qp->rx.mem.resp = resp_mem;
	WRITE_ONCE(qp->rx.on, !qp->ans_of);	/* mrc_qp_start_ans() */
	trace_mrc_qp_state(qp->base.qpn, qp->base.state, IB_QPS_RTR);
	WRITE_ONCE(qp->base.state, IB_QPS_RTR);
	spin_unlock(&qp->tx.lock);
	spin_unlock_bh(&qp->rx.lock);
	mrc_set_put(set);

	mrc_peer_up(qp);
	mrc_qp_update_ports(qp);
	return 0;
}

int mrc_qp_to_rts(struct mrc_qp *qp)
{
	int ret = -EINVAL;

	spin_lock_bh(&qp->rx.lock);
	spin_lock(&qp->tx.lock);
	if (qp->base.state == IB_QPS_RTR) {	/* no packet has moved it to ERROR */
		trace_mrc_qp_state(qp->base.qpn, qp->base.state, IB_QPS_RTS);
		WRITE_ONCE(qp->base.state, IB_QPS_RTS);
		ret = 0;
	}
	spin_unlock(&qp->tx.lock);
	spin_unlock_bh(&qp->rx.lock);
	return ret;
}

static void mrc_qp_make_cc(const struct mrc_qp *qp,
			   const struct mrc_req_cfg *cfg,
			   struct mrc_cc_cfg *cc_cfg)
{
	struct mrc_hdr hdr = { .opcode = MRC_OP_WRITE_ONLY, .ts = true };
	const struct mrc_cc_ops *ops = qp->cc_ops;

	*cc_cfg = (struct mrc_cc_cfg){
		.window = READ_ONCE(qp->base.dev->attr.cwnd),
		.mtu = mrc_nominal_size(mrc_hdr_len(&hdr), qp->flow.pmtu),
		.max_pkts = MRC_CC_WINDOW_PKTS(cfg->mpr_max * MRC_MPR_UNIT),
		.base_rtt = MRC_BASE_RTT_DEFAULT,
		.line_rate = ops && ops->has_params ?
			     mrc_dev_rate(qp->base.dev) : 0,
		.trim_nack = cfg->trim_nack,
		.nscc = &qp->nscc,
	};
}

/*
 * Allocate a table whose size depends on a window or a queue. kmalloc() would round sizes
 * of more than a few pages up to a power of two. Free with kvfree().
 */
static void *mrc_alloc_table(size_t size)
{
	if (size <= 2 * PAGE_SIZE)
		return kzalloc(size, GFP_KERNEL_ACCOUNT);
	return __vmalloc(size, MRC_GFP_SIZED | __GFP_ZERO);
}

static int mrc_qp_make_requester(struct mrc_qp *qp)
{
	struct mrc_requester *tx;
	struct mrc_req_cfg cfg;
	struct mrc_attr attr;
	void *swqe, *inl = NULL;
	size_t tables;
	int ret = 0;

	mrc_qp_to_attr(qp, &attr);
	mrc_attr_req_cfg(&attr, &cfg);
	cfg.sq_depth = qp->tx.sq.depth;
	cfg.rev = mrc_resp_rev(&qp->rx.resp);
	cfg.ctr = &qp->base.dev->ctr;
	cfg.on_loss = mrc_on_loss;
	cfg.ctx = qp;
	tables = ALIGN(mrc_req_mem(&cfg), 8);
	tx = mrc_alloc_table(sizeof(*tx) + tables +
			     mrc_paths_tables(&qp->paths));
	swqe = mrc_alloc_table((size_t)qp->tx.sq.depth * qp->tx.swqe_size);
	if (qp->ans_of)	/* results of atomic operations */
		inl = kcalloc(qp->tx.sq.depth, qp->tx.max_inline, GFP_KERNEL_ACCOUNT);
	if (!tx || !swqe || (qp->ans_of && !inl)) {
		ret = -ENOMEM;
		goto out;
	}
	mrc_qp_make_cc(qp, &cfg, &tx->cc_cfg);

	/* The responder reads the EVs under rx.lock. */
	spin_lock_bh(&qp->rx.lock);
	spin_lock(&qp->tx.lock);
	if (qp->base.state == IB_QPS_RTS) {	/* no packet has moved it to ERROR */
		tx->cc_cfg.now = mrc_now();
		mrc_cc_init(&tx->cc, qp->cc_ops, &tx->cc_cfg);
		ret = mrc_req_init(&tx->req, &cfg, &qp->paths, &tx->cc,
				   tx->mem);
		if (!ret) {
			/* The memory suffices for the maximum, which SQD may set. */
			if (qp->ext && !qp->ans_of)
				mrc_req_set_rd_atomic(&tx->req,
						      qp->attr.max_rd_atomic);
			mrc_paths_add_tables(&qp->paths, (void *)tx->mem + tables);
			mrc_paths_set_rtt(&qp->paths, MRC_BASE_RTT_DEFAULT,
					  cfg.rto);
			mrc_req_set_drain(&tx->req, qp->tx.sqd);
			qp->tx.eng = tx;
			qp->tx.swqe = swqe;
			if (qp->ans_of) {
				qp->tx.inl_buf = inl;
				inl = NULL;
			}
			qp->tx.sq_taken = qp->tx.sq.idx;
			qp->tx.timer_due_at = tx->cc_cfg.now;
			qp->tx.timer_grid = 0;
			WRITE_ONCE(qp->tx.on, true);
			tx = NULL;
			swqe = NULL;
		}
	}
	spin_unlock(&qp->tx.lock);
	spin_unlock_bh(&qp->rx.lock);
out:
	kvfree(tx);
	kvfree(swqe);
	kvfree(inl);
	return ret;
}

/* Start the responder of an answer channel. Its first PSN is known from RTS on. */
static void mrc_qp_start_ans_rx(struct mrc_qp *ans)
{
	struct mrc_attr attr;

	mrc_qp_to_attr(ans, &attr);
	spin_lock_bh(&ans->rx.lock);
	/* The requester writes the reverse paths of the responder, under tx.lock. */
	spin_lock(&ans->tx.lock);
	if (ans->base.state == IB_QPS_RTS && !ans->rx.on)
		WRITE_ONCE(ans->rx.on, !mrc_resp_restart(&ans->rx.resp,
							 mrc_attr_rq_psn(&attr)));
	spin_unlock(&ans->tx.lock);
	spin_unlock_bh(&ans->rx.lock);
}

int mrc_qp_start_ans(struct mrc_qp *ans, bool rx)
{
	int ret = 0;

	if (!READ_ONCE(ans->paths_on)) {
		ret = mrc_qp_to_rtr(ans);
		if (!ret)
			ret = mrc_qp_to_rts(ans);
	}
	if (!ret && !ans->tx.on)
		ret = mrc_qp_make_requester(ans);
	if (!ret && rx && !ans->rx.on)
		mrc_qp_start_ans_rx(ans);
	return ret;
}

int mrc_qp_start_requester(struct mrc_qp *qp)
{
	int ret = 0;

	mutex_lock(&qp->mutex);
	if (READ_ONCE(qp->base.state) == IB_QPS_RTS && !qp->tx.on)
		ret = mrc_qp_make_requester(qp);
	mutex_unlock(&qp->mutex);
	return ret;
}

void mrc_qp_apply_retry(struct mrc_qp *qp)
{
	struct mrc_retry retry;
	struct mrc_attr attr;

	mrc_qp_to_attr(qp, &attr);
	mrc_attr_retry(&attr, &retry);
	spin_lock_bh(&qp->tx.lock);
	if (mrc_qp_sends(qp))
		mrc_req_set_retry(mrc_qp_req(qp), retry.rto, retry.linear,
				  retry.exp, retry.rnr);
	spin_unlock_bh(&qp->tx.lock);
}

int mrc_qp_apply_mpr(struct mrc_qp *qp, u8 mpr)
{
	int ret = 0;

	spin_lock_bh(&qp->rx.lock);
	if (qp->rx.on)
		ret = mrc_resp_set_mpr(&qp->rx.resp,
				       mpr ?: mrc_qp_default_mpr(qp));
	spin_unlock_bh(&qp->rx.lock);
	return ret;
}

void mrc_qp_apply_live(struct mrc_qp *qp, int mask)
{
	if (mask & (IB_QP_ACCESS_FLAGS | IB_QP_MIN_RNR_TIMER |
		    IB_QP_MAX_DEST_RD_ATOMIC)) {
		struct mrc_attr attr;

		mrc_qp_to_attr(qp, &attr);
		spin_lock_bh(&qp->rx.lock);
		if (qp->rx.on)
			mrc_qp_permit(qp, &attr);
		spin_unlock_bh(&qp->rx.lock);
	}
	if (mask & (IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY))
		mrc_qp_apply_retry(qp);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC) {
		spin_lock_bh(&qp->tx.lock);
		if (mrc_qp_sends(qp))
			mrc_req_set_rd_atomic(mrc_qp_req(qp),
					      qp->attr.max_rd_atomic);
		spin_unlock_bh(&qp->tx.lock);
	}
}
