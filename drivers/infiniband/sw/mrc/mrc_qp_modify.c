// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: state transitions, attributes, query (MRC 1.0 §14). */
#include <linux/ethtool.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "mrc_ctl.h"
#include "mrc_peer.h"
#include "mrc_qp.h"
#include "mrc_trace.h"

#define MRC_QP_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 MRC_ACCESS_FLUSH | MRC_ACCESS_PERSIST)

#define MRC_QP_REFUSED	(IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE | IB_QP_QKEY)

/* What SQD can change when nothing is under way any more. */
#define MRC_QP_WHEN_DRAINED \
	(IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_AV | IB_QP_TIMEOUT | \
	 IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC | \
	 IB_QP_MAX_DEST_RD_ATOMIC)

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

	mrc_tc_get(qp->dev, &map);
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

	trace_mrc_ev_state(qp->qpn, ev, mrc_paths_port(paths, ev),
			   mrc_paths_entropy(paths, ev), from, to);
	mrc_ctl_ev_event(qp, ev, to);
}

static void mrc_on_loss(void *ctx, u32 psn, int ev, u8 cause)
{
	const struct mrc_qp *qp = ctx;

	trace_mrc_loss(qp->qpn, psn, ev, cause);
}

static int mrc_qp_check_av(struct mrc_qp *qp, const struct ib_qp_attr *attr)
{
	const struct rdma_ah_attr *ah = &attr->ah_attr;
	const struct ib_global_route *grh;

	if (ah->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(ah) & IB_AH_GRH))
		return -EINVAL;
	grh = rdma_ah_read_grh(ah);
	if (!grh->sgid_attr ||
	    grh->sgid_attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return -EINVAL;
	if (ipv6_addr_v4mapped((const struct in6_addr *)&grh->dgid) !=
	    ipv6_addr_v4mapped((const struct in6_addr *)&grh->sgid_attr->gid))
		return -EINVAL;
	if (rdma_is_multicast_addr((struct in6_addr *)&grh->dgid) ||
	    rdma_is_zero_gid((union ib_gid *)&grh->dgid))
		return -EINVAL;
	return 0;
}

static int mrc_qp_check_mtu(struct mrc_qp *qp, const struct ib_qp_attr *attr)
{
	const struct mrc_port *port = &qp->dev->port[qp->attr.port];

	if (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096)
		return -EINVAL;
	return attr->path_mtu > READ_ONCE(port->mtu) ? -EINVAL : 0;
}

/* Nothing is changed before everything has been found good. */
static int mrc_qp_check_attr(struct mrc_qp *qp, const struct ib_qp_attr *attr,
			     int mask)
{
	int ret;

	if (mask & MRC_QP_REFUSED || mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (mask & IB_QP_PORT &&
	    (!attr->port_num || attr->port_num > qp->dev->n_ports))
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index)
		return -EINVAL;
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
	if (mask & IB_QP_DEST_QPN && attr->dest_qp_num > MRC_PSN_MASK)
		return -EINVAL;
	if (mask & IB_QP_AV) {
		ret = mrc_qp_check_av(qp, attr);
		if (ret)
			return ret;
	}
	if (mask & IB_QP_PATH_MTU) {
		ret = mrc_qp_check_mtu(qp, attr);
		if (ret)
			return ret;
	}
	return 0;
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
		if (qp->state == IB_QPS_RTS)	/* SQD: they are the same */
			return;
		memcpy(&qp->daddr, &grh->dgid, sizeof(qp->daddr));
		memcpy(&qp->saddr, &grh->sgid_attr->gid, sizeof(qp->saddr));
		qp->ipv6 = !ipv6_addr_v4mapped(&qp->daddr);
		qp->only_port = 0;
		if (ipv6_addr_type(&qp->daddr) & IPV6_ADDR_LINKLOCAL)
			qp->only_port = grh->sgid_attr->port_num;
	}
}

/* What the peer may do, by the attributes. Under resp_lock or before RTR. */
static void mrc_qp_permit(struct mrc_qp *qp)
{
	struct mrc_resp_cfg *cfg = &qp->resp.cfg;
	int access = qp->attr.access;

	qp->rnr_timer = qp->attr.min_rnr_timer;
	cfg->remote_write = access & IB_ACCESS_REMOTE_WRITE;
	if (!qp->ext || qp->main)
		return;
	cfg->remote_read = access & IB_ACCESS_REMOTE_READ;
	cfg->remote_atomic = access & IB_ACCESS_REMOTE_ATOMIC;
	cfg->remote_flush = access & MRC_ACCESS_FLUSH;
	cfg->max_rd = qp->attr.max_dest_rd_atomic ? MRC_MAX_RD_ATOMIC : 0;
}

/*
 * Make @resp_mem and @paths_mem and what lives in them, from @set, which may
 * be replaced meanwhile.
 */
static int mrc_qp_make_responder(struct mrc_qp *qp, const struct mrc_set *set,
				 void **paths_mem, void **resp_mem)
{
	struct mrc_paths_cfg pcfg = {
		.set = set ? &set->set : NULL,
		.n_evs = clamp_t(unsigned int, qp->auto_evs ?: mrc_num_evs, 1,
				 MRC_EV_MAX),
		.n_ports = qp->dev->n_ports,
		.ipv6 = qp->ipv6,
		.trim_nack = mrc_qp_trims(qp),
		.min_active = qp->auto_min,
		.base_rtt = MRC_BASE_RTT_DEFAULT,
		.seed = get_random_u64(),
		.ctr = &qp->dev->ctr,
		.on_state = mrc_on_state,
		.ctx = qp,
	};
	struct mrc_resp_cfg rcfg = {
		.pmtu = qp->pmtu,
		.mpr = mrc_qp_mpr_dest(qp),
		.mpr_max = mrc_qp_mpr_max(qp, mrc_qp_mpr_dest(qp)),
		.max_wimm = qp->attr.mrc.max_wimm_dest ?: MRC_WIMM_DEFAULT,
		.rq_psn = qp->attr.rq_psn,
		.qpn = qp->qpn,
		.dqpn = qp->attr.dest_qpn,
		.pkey = MRC_PKEY_DEFAULT,
		.ext = qp->ext,
		.chan = qp->main,
		/* More than the peer was promised does no harm. */
		.max_rd = qp->ext ? MRC_MAX_RD_ATOMIC : 0,
		.trim_nack = true,
		.dynamic_mpr = mrc_qp_cap(qp, MRC_ABI_QP_CAP_DYNAMIC_MPR),
		.svc_time = mrc_qp_svc_time(qp),
		.late_stash = true,
		.late_rd = true,
		.base_rtt = MRC_BASE_RTT_DEFAULT,
		.ctr = &qp->dev->ctr,
		.seed = get_random_u64(),
	};

	/* What the packet path could not be sure to get is made now. */
	if (mrc_resp_stash_mem(&rcfg) > MRC_STASH_LATE)
		rcfg.late_stash = false;
	/* A profile without a count may ask for more than there will be. */
	pcfg.min_active = min_t(u32, pcfg.min_active,
				min_t(u32, pcfg.n_evs,
				      rounddown(MRC_EV_MAX, pcfg.n_ports)));
	*paths_mem = kvzalloc(mrc_paths_mem(&pcfg), GFP_KERNEL_ACCOUNT);
	*resp_mem = kvzalloc(mrc_resp_mem(&rcfg), GFP_KERNEL_ACCOUNT);
	if (!*paths_mem || !*resp_mem)
		return -ENOMEM;
	if (mrc_paths_init(&qp->paths, &pcfg, *paths_mem) ||
	    mrc_resp_init(&qp->resp, &rcfg, &qp->paths, *resp_mem))
		return -EINVAL;
	mrc_qp_permit(qp);
	return 0;
}

/* The responder starts here, and with it the EVs of its feedback (§11.8). */
static int mrc_qp_to_rtr(struct mrc_qp *qp)
{
	void *paths_mem = NULL, *resp_mem = NULL;
	struct mrc_set *set;
	int ret;

	qp->pmtu = ib_mtu_enum_to_int(qp->attr.path_mtu);
	/* Late packets of the last connection may have cached its routes. */
	mrc_route_drop(qp);
	ret = mrc_ctl_bind_qp(qp);
	if (ret)
		return ret;
	set = mrc_ctl_qp_set(qp);
	ret = mrc_srv6_fits(qp);
	if (!ret)
		ret = mrc_qp_make_responder(qp, set, &paths_mem, &resp_mem);
	if (!ret)
		ret = mrc_peer_join(qp);
	if (ret) {
		kvfree(paths_mem);
		kvfree(resp_mem);
		mrc_ctl_unbind_qp(qp);
		mrc_set_put(set);
		return ret;
	}

	spin_lock_bh(&qp->resp_lock);
	spin_lock(&qp->req_lock);
	if (qp->set != set)	/* the controller changed it since */
		mrc_paths_update(&qp->paths, &qp->set->set, mrc_now());
	qp->paths_mem = paths_mem;
	WRITE_ONCE(qp->paths_on, true);
	qp->resp_mem = resp_mem;
	qp->resp_on = !qp->main;	/* mrc_qp_start_ans() */
	trace_mrc_qp_state(qp->qpn, qp->state, IB_QPS_RTR);
	WRITE_ONCE(qp->state, IB_QPS_RTR);
	spin_unlock(&qp->req_lock);
	spin_unlock_bh(&qp->resp_lock);
	mrc_set_put(set);

	mrc_peer_up(qp);
	mrc_qp_update_ports(qp);
	return 0;
}

static int mrc_qp_to_rts(struct mrc_qp *qp)
{
	int ret = -EINVAL;

	spin_lock_bh(&qp->resp_lock);
	spin_lock(&qp->req_lock);
	if (qp->state == IB_QPS_RTR) {	/* a packet was not faster: ERROR */
		trace_mrc_qp_state(qp->qpn, qp->state, IB_QPS_RTS);
		WRITE_ONCE(qp->state, IB_QPS_RTS);
		ret = 0;
	}
	spin_unlock(&qp->req_lock);
	spin_unlock_bh(&qp->resp_lock);
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
		.mtu = mrc_nominal_size(mrc_hdr_len(&hdr), qp->pmtu),
		.max_pkts = MRC_CC_WINDOW_PKTS(cfg->mpr_max * MRC_MPR_UNIT),
		.base_rtt = MRC_BASE_RTT_DEFAULT,
		.line_rate = ops && ops != &mrc_cc_none ?
			     mrc_dev_rate(qp->dev) : 0,
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
	return __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
}

static int mrc_qp_make_requester(struct mrc_qp *qp)
{
	struct mrc_req_cfg cfg = {
		.sq_depth = qp->sq.depth,
		.pmtu = qp->pmtu,
		.mpr = mrc_qp_mpr(qp),
		.mpr_max = mrc_qp_mpr_max(qp, mrc_qp_mpr(qp)),
		.max_wimm = qp->attr.mrc.max_wimm ?: MRC_WIMM_DEFAULT,
		.sq_psn = qp->attr.sq_psn,
		.qpn = qp->qpn,
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
		.ext = qp->ext,
		.chan = qp->main,
		.max_rd_atomic = qp->ext && !qp->main ? MRC_MAX_RD_ATOMIC : 0,
		.rnr_retry = qp->attr.rnr_retry,
		.rev = &qp->resp.rev,
		.ctr = &qp->dev->ctr,
		.on_loss = mrc_on_loss,
		.ctx = qp,
	};
	struct mrc_requester *tx;
	void *swqe, *inl = NULL;
	int ret = 0;

	tx = mrc_alloc_table(sizeof(*tx) + mrc_req_mem(&cfg));
	swqe = mrc_alloc_table((size_t)qp->sq.depth * qp->swqe_size);
	if (qp->main)	/* results of atomic operations */
		inl = kcalloc(qp->sq.depth, qp->max_inline, GFP_KERNEL_ACCOUNT);
	if (!tx || !swqe || (qp->main && !inl)) {
		ret = -ENOMEM;
		goto out;
	}
	mrc_qp_make_cc(qp, &cfg, &tx->cc_cfg);

	spin_lock_bh(&qp->req_lock);
	if (qp->state == IB_QPS_RTS) {	/* a packet was not faster: ERROR */
		tx->cc_cfg.now = mrc_now();
		mrc_cc_init(&tx->cc, qp->cc_ops, &tx->cc_cfg);
		ret = mrc_req_init(&tx->req, &cfg, &qp->paths, &tx->cc,
				   tx->mem);
		if (!ret) {
			/* Memory is for the most that SQD can change it to. */
			if (qp->ext && !qp->main)
				mrc_req_set_rd_atomic(&tx->req,
						      qp->attr.max_rd_atomic);
			mrc_paths_set_rtt(&qp->paths, MRC_BASE_RTT_DEFAULT,
					  cfg.rto);
			mrc_req_set_drain(&tx->req, qp->sqd);
			qp->tx = tx;
			qp->swqe = swqe;
			if (qp->main) {
				qp->inl_buf = inl;
				inl = NULL;
			}
			qp->sq_taken = qp->sq.idx;
			WRITE_ONCE(qp->req_on, true);
			tx = NULL;
			swqe = NULL;
		}
	}
	spin_unlock_bh(&qp->req_lock);
out:
	kvfree(tx);
	kvfree(swqe);
	kvfree(inl);
	return ret;
}

/* PSNs of answers are known from RTS on. */
static void mrc_qp_start_ans_rx(struct mrc_qp *ans)
{
	struct mrc_resp_cfg cfg = ans->resp.cfg;

	cfg.rq_psn = ans->attr.rq_psn;
	spin_lock_bh(&ans->resp_lock);
	/* The requester learns reverse paths for it. */
	spin_lock(&ans->req_lock);
	if (ans->state == IB_QPS_RTS && !ans->resp_on)
		ans->resp_on = !mrc_resp_init(&ans->resp, &cfg, &ans->paths,
					      ans->resp_mem);
	spin_unlock(&ans->req_lock);
	spin_unlock_bh(&ans->resp_lock);
}

int mrc_qp_start_ans(struct mrc_qp *ans, bool rx)
{
	int ret = 0;

	if (!READ_ONCE(ans->paths_on)) {
		ret = mrc_qp_to_rtr(ans);
		if (!ret)
			ret = mrc_qp_to_rts(ans);
	}
	if (!ret && !ans->req_on)
		ret = mrc_qp_make_requester(ans);
	if (!ret && rx && !ans->resp_on)
		mrc_qp_start_ans_rx(ans);
	return ret;
}

int mrc_qp_start_requester(struct mrc_qp *qp)
{
	int ret = 0;

	mutex_lock(&qp->mutex);
	if (READ_ONCE(qp->state) == IB_QPS_RTS && !qp->req_on)
		ret = mrc_qp_make_requester(qp);
	mutex_unlock(&qp->mutex);
	return ret;
}

/* RTS to SQD: what is begun goes on, the rest waits. */
static int mrc_qp_drain(struct mrc_qp *qp, bool notify)
{
	spin_lock_bh(&qp->req_lock);
	if (qp->state != IB_QPS_RTS) {	/* a packet was faster: ERROR */
		spin_unlock_bh(&qp->req_lock);
		return -EINVAL;
	}
	trace_mrc_qp_state(qp->qpn, IB_QPS_RTS, IB_QPS_SQD);
	qp->sqd_notify = notify;
	if (qp->req_on) {
		WRITE_ONCE(qp->sqd, MRC_SQD_DRAINING);
		mrc_req_set_drain(&qp->tx->req, true);
		mrc_req_run(qp, true);
		return 0;
	}
	WRITE_ONCE(qp->sqd, MRC_SQD_DRAINED);
	spin_unlock_bh(&qp->req_lock);
	if (notify)
		mrc_qp_report(qp, IB_EVENT_SQ_DRAINED);
	return 0;
}

/* SQD to RTS: go on with what was posted meanwhile. */
static int mrc_qp_resume(struct mrc_qp *qp)
{
	spin_lock_bh(&qp->req_lock);
	if (qp->state != IB_QPS_RTS) {
		spin_unlock_bh(&qp->req_lock);
		return -EINVAL;
	}
	trace_mrc_qp_state(qp->qpn, IB_QPS_SQD, IB_QPS_RTS);
	WRITE_ONCE(qp->sqd, MRC_SQD_OFF);
	if (!qp->req_on) {
		spin_unlock_bh(&qp->req_lock);
		return 0;
	}
	mrc_req_set_drain(&qp->tx->req, false);
	qp->sq_pending = true;
	mrc_req_run(qp, true);
	return 0;
}

void mrc_qp_apply_retry(struct mrc_qp *qp)
{
	spin_lock_bh(&qp->req_lock);
	if (qp->req_on && qp->state == IB_QPS_RTS)
		mrc_req_set_retry(&qp->tx->req, mrc_qp_rto(&qp->attr),
				  mrc_qp_linear_cnt(&qp->attr),
				  mrc_qp_exp_cnt(&qp->attr),
				  qp->attr.rnr_retry);
	spin_unlock_bh(&qp->req_lock);
}

int mrc_qp_apply_mpr(struct mrc_qp *qp, u8 mpr)
{
	int ret = 0;

	spin_lock_bh(&qp->resp_lock);
	if (qp->resp_on)
		ret = mrc_resp_set_mpr(&qp->resp, mpr ?: MRC_MPR_DEFAULT);
	spin_unlock_bh(&qp->resp_lock);
	return ret;
}

/* Attributes that a live QP can change take effect. */
static void mrc_qp_apply_live(struct mrc_qp *qp, int mask)
{
	if (mask & (IB_QP_ACCESS_FLAGS | IB_QP_MIN_RNR_TIMER |
		    IB_QP_MAX_DEST_RD_ATOMIC)) {
		spin_lock_bh(&qp->resp_lock);
		if (qp->resp_on)
			mrc_qp_permit(qp);
		spin_unlock_bh(&qp->resp_lock);
	}
	if (mask & (IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY))
		mrc_qp_apply_retry(qp);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC) {
		spin_lock_bh(&qp->req_lock);
		if (qp->req_on && qp->state == IB_QPS_RTS)
			mrc_req_set_rd_atomic(&qp->tx->req,
					      qp->attr.max_rd_atomic);
		spin_unlock_bh(&qp->req_lock);
	}
}

static int mrc_qp_transit(struct mrc_qp *qp, enum ib_qp_state cur,
			  enum ib_qp_state new, int mask, bool notify)
{
	int ret = 0;

	switch (new) {
	case IB_QPS_RESET:
		mrc_qp_part(qp);
		mrc_qp_reset(qp, false);
		return 0;
	case IB_QPS_INIT:
		if (cur == IB_QPS_INIT)
			return 0;
		spin_lock_bh(&qp->resp_lock);
		spin_lock(&qp->req_lock);
		trace_mrc_qp_state(qp->qpn, qp->state, IB_QPS_INIT);
		WRITE_ONCE(qp->state, IB_QPS_INIT);
		spin_unlock(&qp->req_lock);
		spin_unlock_bh(&qp->resp_lock);
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
		mrc_qp_part(qp);
		mrc_qp_error(qp, qp->conn, MRC_BY_PROGRAM);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

enum ib_qp_state mrc_qp_verbs_state(const struct mrc_qp *qp)
{
	enum ib_qp_state state = READ_ONCE(qp->state);

	return state == IB_QPS_RTS && READ_ONCE(qp->sqd) ? IB_QPS_SQD : state;
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

/*
 * Packets on their way keep the attributes that they were sent with, so most
 * changes wait for the drain. The peer's address belongs to the connection.
 */
static int mrc_qp_check_sqd(const struct mrc_qp *qp,
			    const struct ib_qp_attr *attr, int mask)
{
	const struct ib_global_route *grh;

	if (mask & MRC_QP_WHEN_DRAINED &&
	    READ_ONCE(qp->sqd) != MRC_SQD_DRAINED)
		return -EINVAL;
	if (!(mask & IB_QP_AV))
		return 0;
	grh = rdma_ah_read_grh(&attr->ah_attr);
	if (memcmp(&grh->dgid, &qp->daddr, sizeof(qp->daddr)) ||
	    memcmp(&grh->sgid_attr->gid, &qp->saddr, sizeof(qp->saddr)) ||
	    (qp->only_port && grh->sgid_attr->port_num != qp->only_port))
		return -EOPNOTSUPP;
	return 0;
}

static int mrc_modify_locked(struct mrc_qp *qp, struct ib_qp_attr *attr,
			     int mask, const struct mrc_abi_qp_attr *mrc)
{
	enum ib_qp_state cur = mrc_qp_verbs_state(qp), new;
	struct mrc_qp_attrs old = qp->attr;
	int ret;

	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != cur)
		return -EINVAL;
	new = mask & IB_QP_STATE ? attr->qp_state : cur;
	if (!ib_modify_qp_is_ok(cur, new, IB_QPT_RC, mask))
		return -EINVAL;
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
	struct mrc_qp *qp = to_mibqp(ibqp)->qp;
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

int mrc_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct mrc_qp *qp = mrc_qp_of(ibqp);
	const struct mrc_qp_attrs *a;

	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	if (!qp) {
		attr->qp_state = IB_QPS_ERR;
		attr->cur_qp_state = IB_QPS_ERR;
		return 0;
	}
	mutex_lock(&qp->mutex);
	a = &qp->attr;
	attr->qp_state = mrc_qp_verbs_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->sq_draining = READ_ONCE(qp->sqd) == MRC_SQD_DRAINING;
	attr->en_sqd_async_notify = qp->sqd_notify;
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
	if (a->path_mtu) {	/* the AV came with the path MTU, at RTR */
		attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
		rdma_ah_set_grh(&attr->ah_attr, (union ib_gid *)&a->dgid,
				a->flow_label, a->sgid_index, a->hop_limit,
				a->traffic_class);
		rdma_ah_set_sl(&attr->ah_attr, a->sl);
		rdma_ah_set_port_num(&attr->ah_attr, a->port);
	}
	attr->cap.max_send_wr = qp->sq.depth;
	attr->cap.max_recv_wr = qp->rq.depth;
	attr->cap.max_send_sge = qp->max_send_sge;
	attr->cap.max_recv_sge = qp->max_recv_sge;
	attr->cap.max_inline_data = qp->max_inline;

	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->cap = attr->cap;
	init->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR :
					  IB_SIGNAL_REQ_WR;
	init->qp_type = ibqp->qp_type;
	init->port_num = a->port;
	mutex_unlock(&qp->mutex);
	mrc_qp_put(qp);
	return 0;
}
