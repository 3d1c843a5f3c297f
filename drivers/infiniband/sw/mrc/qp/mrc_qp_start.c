// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: their engines, made from the attributes when a state needs them
 * and told when attributes change (MRC 1.0 §14).
 */
#include <linux/ethtool.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dev/mrc_trace.h"
#include "mrc_qp_priv.h"

/* A stash of up to so many bytes is made when the first WRITE_IMM comes. */
#define MRC_STASH_LATE		4096

/* With Dynamic MPR a range may grow to this, units of 128 PSNs. */
#define MRC_MPR_DYNAMIC_MAX	32

/* Programs for MRC have their own attributes; they win (MRC 1.0 §14). */
static u64 mrc_qp_rto(const struct mrc_qp_attrs *a)
{
	if (a->mrc.mask & MRC_ABI_QP_TIMEOUT)
		return a->mrc.timeout ? 1024ull << a->mrc.timeout : 0;
	if (!a->timeout)
		return 0;
	return min_t(u64, 4096ull << a->timeout, MRC_RTO_MAX_NS);
}

static u8 mrc_qp_linear_cnt(const struct mrc_qp_attrs *a)
{
	return a->mrc.mask & MRC_ABI_QP_RETRY ? a->mrc.retry_linear :
						a->retry_cnt;
}

static u8 mrc_qp_exp_cnt(const struct mrc_qp_attrs *a)
{
	return a->mrc.mask & MRC_ABI_QP_RETRY ? a->mrc.retry_exp : 0;
}

static bool mrc_qp_cap(const struct mrc_qp *qp, u32 cap)
{
	return qp->attr.mrc.mask & MRC_ABI_QP_CAP && qp->attr.mrc.cap & cap;
}

static u16 mrc_qp_mpr(const struct mrc_qp *qp)
{
	return qp->attr.mrc.mpr ?: MRC_MPR_DEFAULT;
}

static u16 mrc_qp_mpr_dest(const struct mrc_qp *qp)
{
	return qp->attr.mrc.mpr_dest ?: MRC_MPR_DEFAULT;
}

static u16 mrc_qp_mpr_max(const struct mrc_qp *qp, u16 mpr)
{
	if (!mrc_qp_cap(qp, MRC_ABI_QP_CAP_DYNAMIC_MPR))
		return mpr;
	return max_t(u16, mpr, MRC_MPR_DYNAMIC_MAX);
}

/* Is data trimmed on its way, and does the peer say so? */
static bool mrc_qp_trims(const struct mrc_qp *qp)
{
	struct mrc_tc_map map;

	mrc_tc_get(qp->base.dev, &map);
	return map.trimming &&
	       !mrc_qp_cap(qp, MRC_ABI_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED);
}

/*
 * Service time: only where the program has said what the peer can do, because
 * a peer without it echoes timestamps as they came (OP-35).
 */
static bool mrc_qp_svc_time(const struct mrc_qp *qp)
{
	return qp->attr.mrc.mask & MRC_ABI_QP_CAP &&
	       !(qp->attr.mrc.cap & MRC_ABI_QP_CAP_SVC_TIME_DEST_UNSUPPORTED);
}

/* Bytes per second of the device's ports together, 0 = unknown. */
static u64 mrc_dev_rate(struct mrc_dev *dev)
{
	struct ethtool_link_ksettings ks;
	struct net_device *ndev;
	unsigned int i;
	u64 rate = 0;

	rtnl_lock();
	for (i = 1; i <= dev->n_ports; i++) {
		ndev = rtnl_dereference(dev->port[i].ndev);
		if (ndev && !__ethtool_get_link_ksettings(ndev, &ks) &&
		    ks.base.speed && ks.base.speed != (u32)SPEED_UNKNOWN)
			rate += ks.base.speed * 125000ull;
	}
	rtnl_unlock();
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
	const struct mrc_abi_qp_attr *a = &qp->attr.mrc;

	*out = *a;
	out->max_wimm = a->max_wimm ?: MRC_WIMM_DEFAULT;
	out->max_wimm_dest = a->max_wimm_dest ?: MRC_WIMM_DEFAULT;
	out->mpr = mrc_qp_mpr(qp);
	out->mpr_dest = mrc_qp_mpr_dest(qp);
	if (!(a->mask & MRC_ABI_QP_TIMEOUT) && qp->attr.timeout)
		out->timeout = min(qp->attr.timeout + 2, 24);
	out->retry_linear = mrc_qp_linear_cnt(&qp->attr);
	out->retry_exp = mrc_qp_exp_cnt(&qp->attr);
	if (!(a->mask & MRC_ABI_QP_EV_PROFILE))
		out->ev_profile = MRC_ABI_PROFILE_NONE;
	if (!(a->mask & MRC_ABI_QP_CC_PROFILE))
		out->cc_profile = MRC_ABI_PROFILE_NONE;
}

/* What the peer may do, by the attributes. Under rx.lock or before RTR. */
static void mrc_qp_permit(struct mrc_qp *qp)
{
	const int access = qp->attr.access;
	const struct mrc_resp_permit may = {
		.remote_write = access & IB_ACCESS_REMOTE_WRITE,
		.remote_read = access & IB_ACCESS_REMOTE_READ,
		.remote_atomic = access & IB_ACCESS_REMOTE_ATOMIC,
		.remote_flush = access & MRC_ACCESS_FLUSH,
		.max_rd = qp->attr.max_dest_rd_atomic ? MRC_MAX_RD_ATOMIC : 0,
	};

	qp->rx.rnr_timer = qp->attr.min_rnr_timer;
	mrc_resp_permit(&qp->rx.resp, &may);
}

/*
 * Make @resp_mem and what lives in it, and paths without tables, from @set, which
 * may be replaced meanwhile.
 */
static int mrc_qp_make_responder(struct mrc_qp *qp, const struct mrc_set *set,
				 void **resp_mem)
{
	struct mrc_paths_cfg pcfg = {
		.set = set ? &set->set : NULL,
		.n_evs = clamp_t(unsigned int, qp->auto_evs ?: mrc_num_evs, 1,
				 MRC_EV_MAX),
		.n_ports = qp->base.dev->n_ports,
		.ipv6 = qp->flow.ipv6,
		.trim_nack = mrc_qp_trims(qp),
		.min_active = qp->auto_min,
		.base_rtt = MRC_BASE_RTT_DEFAULT,
		.seed = get_random_u64(),
		.ctr = &qp->base.dev->ctr,
		.on_state = mrc_on_state,
		.ctx = qp,
	};
	struct mrc_resp_cfg rcfg = {
		.pmtu = qp->flow.pmtu,
		.mpr = mrc_qp_mpr_dest(qp),
		.mpr_max = mrc_qp_mpr_max(qp, mrc_qp_mpr_dest(qp)),
		.max_wimm = qp->attr.mrc.max_wimm_dest ?: MRC_WIMM_DEFAULT,
		.rq_psn = qp->attr.rq_psn,
		.qpn = qp->base.qpn,
		.dqpn = qp->attr.dest_qpn,
		.pkey = MRC_PKEY_DEFAULT,
		.ext = qp->ext,
		.chan = qp->ans_of,
		/* More than the peer was promised does no harm. */
		.max_rd = qp->ext ? MRC_MAX_RD_ATOMIC : 0,
		.trim_nack = true,
		.dynamic_mpr = mrc_qp_cap(qp, MRC_ABI_QP_CAP_DYNAMIC_MPR),
		.svc_time = mrc_qp_svc_time(qp),
		.late_stash = true,
		.late_rd = true,
		.base_rtt = MRC_BASE_RTT_DEFAULT,
		.ctr = &qp->base.dev->ctr,
		.seed = get_random_u64(),
	};

	/* What the packet path could not be sure to get is made now. */
	if (mrc_resp_stash_mem(&rcfg) > MRC_STASH_LATE)
		rcfg.late_stash = false;
	/* A profile without a count may ask for more than there will be. */
	pcfg.min_active = min_t(u32, pcfg.min_active,
				min_t(u32, pcfg.n_evs,
				      rounddown(MRC_EV_MAX, pcfg.n_ports)));
	*resp_mem = kvzalloc(mrc_resp_mem(&rcfg),
			     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!*resp_mem)
		return -ENOMEM;
	if (mrc_paths_prepare(&qp->paths, &pcfg) ||
	    mrc_resp_init(&qp->rx.resp, &rcfg, &qp->paths, *resp_mem))
		return -EINVAL;
	mrc_qp_permit(qp);
	return 0;
}

/* Newest version of its EVs with a reference, NULL = AUTO. */
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

/* The responder starts here, and with it the EVs of its feedback (§11.8). */
int mrc_qp_to_rtr(struct mrc_qp *qp)
{
	void *resp_mem = NULL;
	struct mrc_set *set;
	int ret;

	qp->flow.pmtu = ib_mtu_enum_to_int(qp->attr.path_mtu);
	/* Late packets of the last connection may have cached its routes. */
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
	if (qp->flow.set != set)	/* the controller changed it since */
		mrc_paths_update(&qp->paths, &qp->flow.set->set, mrc_now());
	WRITE_ONCE(qp->paths_on, true);
	qp->rx.mem.resp = resp_mem;
	qp->rx.on = !qp->ans_of;	/* mrc_qp_start_ans() */
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
	if (qp->base.state == IB_QPS_RTR) {	/* a packet was not faster: ERROR */
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
		.window = mrc_cwnd,
		.mtu = mrc_nominal_size(mrc_hdr_len(&hdr), qp->flow.pmtu),
		.max_pkts = MRC_CC_WINDOW_PKTS(cfg->mpr_max * MRC_MPR_UNIT),
		.base_rtt = MRC_BASE_RTT_DEFAULT,
		.line_rate = ops && ops != &mrc_cc_none ?
			     mrc_dev_rate(qp->base.dev) : 0,
		.trim_nack = cfg->trim_nack,
		.nscc = &qp->nscc,
	};
}

/*
 * For what has exactly the size that a window or a queue gives it: kmalloc()
 * would round more than a few pages up to a power of two. kvfree() frees it.
 */
static void *mrc_alloc_table(size_t size)
{
	if (size <= 2 * PAGE_SIZE)
		return kzalloc(size, GFP_KERNEL_ACCOUNT);
	/* The size is a program's choice: its errno is enough said. */
	return __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
}

static int mrc_qp_make_requester(struct mrc_qp *qp)
{
	struct mrc_req_cfg cfg = {
		.sq_depth = qp->tx.sq.depth,
		.pmtu = qp->flow.pmtu,
		.mpr = mrc_qp_mpr(qp),
		.mpr_max = mrc_qp_mpr_max(qp, mrc_qp_mpr(qp)),
		.max_wimm = qp->attr.mrc.max_wimm ?: MRC_WIMM_DEFAULT,
		.sq_psn = qp->attr.sq_psn,
		.qpn = qp->base.qpn,
		.dqpn = qp->attr.dest_qpn,
		.pkey = MRC_PKEY_DEFAULT,
		.rto = mrc_qp_rto(&qp->attr),
		.linear_cnt = mrc_qp_linear_cnt(&qp->attr),
		.exp_cnt = mrc_qp_exp_cnt(&qp->attr),
		.use_ts = true,
		.trim_nack = mrc_qp_trims(qp),
		.dynamic_mpr = mrc_qp_cap(qp, MRC_ABI_QP_CAP_DYNAMIC_MPR),
		.svc_time = mrc_qp_svc_time(qp),
		.ignore_pen = mrc_qp_cap(qp, MRC_ABI_QP_CAP_NO_RESP_FC),
		.n_ports = qp->base.dev->n_ports,
		.ext = qp->ext,
		.chan = qp->ans_of,
		.max_rd_atomic = qp->ext && !qp->ans_of ? MRC_MAX_RD_ATOMIC : 0,
		.rnr_retry = qp->attr.rnr_retry,
		.rev = mrc_resp_rev(&qp->rx.resp),
		.ctr = &qp->base.dev->ctr,
		.on_loss = mrc_on_loss,
		.ctx = qp,
	};
	size_t tables = ALIGN(mrc_req_mem(&cfg), 8);
	struct mrc_requester *tx;
	void *swqe, *inl = NULL;
	int ret = 0;

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

	/* The responder looks at EVs under its own lock. */
	spin_lock_bh(&qp->rx.lock);
	spin_lock(&qp->tx.lock);
	if (qp->base.state == IB_QPS_RTS) {	/* a packet was not faster: ERROR */
		tx->cc_cfg.now = mrc_now();
		mrc_cc_init(&tx->cc, qp->cc_ops, &tx->cc_cfg);
		ret = mrc_req_init(&tx->req, &cfg, &qp->paths, &tx->cc,
				   tx->mem);
		if (!ret) {
			/* Memory is for the most that SQD can change it to. */
			if (qp->ext && !qp->ans_of)
				mrc_req_set_rd_atomic(&tx->req,
						      qp->attr.max_rd_atomic);
			mrc_paths_equip(&qp->paths, (void *)tx->mem + tables);
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

/* PSNs of answers are known from RTS on. */
static void mrc_qp_start_ans_rx(struct mrc_qp *ans)
{
	spin_lock_bh(&ans->rx.lock);
	/* The requester learns reverse paths for it. */
	spin_lock(&ans->tx.lock);
	if (ans->base.state == IB_QPS_RTS && !ans->rx.on)
		ans->rx.on = !mrc_resp_restart(&ans->rx.resp,
						 ans->attr.rq_psn);
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
	spin_lock_bh(&qp->tx.lock);
	if (qp->tx.on && qp->base.state == IB_QPS_RTS)
		mrc_req_set_retry(mrc_qp_req(qp), mrc_qp_rto(&qp->attr),
				  mrc_qp_linear_cnt(&qp->attr),
				  mrc_qp_exp_cnt(&qp->attr),
				  qp->attr.rnr_retry);
	spin_unlock_bh(&qp->tx.lock);
}

int mrc_qp_apply_mpr(struct mrc_qp *qp, u8 mpr)
{
	int ret = 0;

	spin_lock_bh(&qp->rx.lock);
	if (qp->rx.on)
		ret = mrc_resp_set_mpr(&qp->rx.resp, mpr ?: MRC_MPR_DEFAULT);
	spin_unlock_bh(&qp->rx.lock);
	return ret;
}

/* Attributes that a live QP can change take effect. */
void mrc_qp_apply_live(struct mrc_qp *qp, int mask)
{
	if (mask & (IB_QP_ACCESS_FLAGS | IB_QP_MIN_RNR_TIMER |
		    IB_QP_MAX_DEST_RD_ATOMIC)) {
		spin_lock_bh(&qp->rx.lock);
		if (qp->rx.on)
			mrc_qp_permit(qp);
		spin_unlock_bh(&qp->rx.lock);
	}
	if (mask & (IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY))
		mrc_qp_apply_retry(qp);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC) {
		spin_lock_bh(&qp->tx.lock);
		if (qp->tx.on && qp->base.state == IB_QPS_RTS)
			mrc_req_set_rd_atomic(mrc_qp_req(qp),
					      qp->attr.max_rd_atomic);
		spin_unlock_bh(&qp->tx.lock);
	}
}
