// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The verbs of queue pairs: the part common to all kinds. It calls the operations of the
 * kind (struct mrc_qp_kind), which the layers qp and roce implement.
 */
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "mrc_queue.h"

/* Indexed by enum ib_qp_type. NULL: the type is not supported. */
static const struct mrc_qp_kind *const *mrc_qp_kinds;

int mrc_qp_verbs_init(const struct mrc_qp_kind *const *kinds)
{
	mrc_qp_kinds = kinds;
	return mrc_qp_base_table_init();
}

void mrc_qp_verbs_exit(void)
{
	mrc_qp_base_table_exit();
}

static const struct mrc_qp_kind *mrc_qp_kind_of(enum ib_qp_type type)
{
	return type < IB_QPT_MAX ? mrc_qp_kinds[type] : NULL;
}

/* The checks common to all kinds. Fills in @parts->req for the check of the kind. */
static int mrc_qp_check_init(const struct ib_qp_init_attr *init,
			     struct ib_udata *udata,
			     struct mrc_qp_params *parts)
{
	const struct ib_qp_cap *cap = &init->cap;
	int ret;

	if (init->create_flags)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > MRC_MAX_QP_WR ||
	    cap->max_recv_wr > MRC_MAX_QP_WR ||
	    cap->max_send_sge > MRC_MAX_SGE ||
	    cap->max_recv_sge > MRC_MAX_SGE ||
	    cap->max_inline_data > MRC_MAX_INLINE)
		return -EINVAL;
	ret = mrc_udata_in(udata, &parts->req, sizeof(parts->req));
	if (ret)
		return ret;
	if (parts->req.comp_mask)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(struct mrc_create_qp_resp))
		return -EINVAL;
	return 0;
}

/*
 * Allocate the rings. @cap is updated to the granted capabilities. Nothing is allocated
 * on failure.
 */
static int mrc_qp_make_rings(struct mrc_qp_params *parts, struct ib_qp_cap *cap,
			     struct ib_ucontext *uctx,
			     struct mrc_create_qp_resp *resp)
{
	struct mrc_ring *sq = &parts->sq, *rq = &parts->rq;
	u32 stride;
	int ret;

	cap->max_send_wr = max(cap->max_send_wr, 1u);
	cap->max_send_sge = max(cap->max_send_sge, 1u);
	/*
	 * An entry has room for either SGEs or inline data. So the room of the SGEs is
	 * granted for inline data even if the program did not request any, as other
	 * devices do.
	 */
	cap->max_inline_data = max_t(u32, ALIGN(cap->max_inline_data, 16),
				     cap->max_send_sge * sizeof(struct mrc_sge));
	stride = sizeof(struct mrc_send_wqe) + cap->max_inline_data;
	ret = mrc_ring_alloc(sq, uctx, cap->max_send_wr, stride, &resp->sq);
	if (ret)
		return ret;
	cap->max_send_wr = sq->depth;
	resp->max_inline = cap->max_inline_data;

	if (parts->srq) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
		ret = mrc_srq_attach(parts->srq, rq);
	} else if (cap->max_recv_wr) {
		cap->max_recv_sge = max(cap->max_recv_sge, 1u);
		stride = sizeof(struct mrc_recv_wqe) +
			 cap->max_recv_sge * sizeof(struct mrc_sge);
		ret = mrc_ring_alloc(rq, uctx, cap->max_recv_wr, stride,
				     &resp->rq);
		if (!ret)
			cap->max_recv_wr = rq->depth;
	}
	if (ret) {
		mrc_ring_free(sq);
		return ret;
	}
	parts->cap = *cap;
	parts->cap.max_recv_wr = rq->depth;
	if (parts->srq)
		parts->cap.max_recv_sge = parts->srq->max_sge;
	else if (!rq->depth)
		parts->cap.max_recv_sge = 0;
	return 0;
}

/* Create the rings, copy the response to the program, and create the QP. */
static int mrc_qp_make(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		       struct ib_udata *udata, struct mrc_qp_params *parts)
{
	struct mrc_ibqp *mib = to_mibqp(ibqp);
	struct mrc_create_qp_resp resp = {};
	struct ib_ucontext *uctx = NULL;
	int ret;

	if (udata)
		uctx = rdma_udata_to_uverbs_attr_bundle(udata)->context;
	parts->scq = to_mcq(init->send_cq);
	parts->rcq = to_mcq(init->recv_cq);
	parts->srq = init->srq ? to_msrq(init->srq) : NULL;
	parts->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	ret = mrc_qp_make_rings(parts, &init->cap, uctx, &resp);
	if (ret)
		return ret;
	/* Before the QP can be found by others, because nothing may fail after that. */
	if (udata)
		ret = mrc_udata_out(udata, &resp, sizeof(resp));
	mib->cap = parts->cap;
	mib->sig_all = parts->sig_all;
	if (!ret)
		ret = mib->kind->create(ibqp, init, parts);
	if (ret) {
		mrc_ring_free(&parts->sq);
		mrc_ring_free(&parts->rq);
	}
	return ret;
}

static int mrc_verbs_create_qp(struct ib_qp *ibqp,
			       struct ib_qp_init_attr *init,
			       struct ib_udata *udata)
{
	struct mrc_dev *dev = to_mdev(ibqp->device);
	struct mrc_ibqp *mib = to_mibqp(ibqp);
	struct mrc_qp_params parts = {
		.user = udata,
		.dev = dev,
	};
	struct mrc_kern *kern = NULL;
	int ret;

	mib->kind = mrc_qp_kind_of(init->qp_type);
	if (!mib->kind)
		return -EOPNOTSUPP;
	ret = mrc_qp_check_init(init, udata, &parts);
	if (!ret)
		ret = mib->kind->check(init, &parts);
	if (ret)
		return ret;
	if (udata) {
		ret = mrc_count(dev, MRC_COUNT_QP);
		if (ret)
			return ret;
	} else {
		kern = mrc_kern_alloc(ibqp);
		if (!kern)
			return -ENOMEM;
	}
	ret = mrc_qp_make(ibqp, init, udata, &parts);
	if (ret) {
		if (udata)
			mrc_uncount(dev, MRC_COUNT_QP);
		kfree(kern);
		return ret;
	}
	if (kern) {
		mib->kind->rings(ibqp, &kern->sq, &kern->rq);
		kern->max_send_sge = init->cap.max_send_sge;
		kern->max_recv_sge = init->cap.max_recv_sge;
		kern->max_inline = init->cap.max_inline_data;
		mib->kern = kern;
	}
	return 0;
}

static int mrc_verbs_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct mrc_ibqp *mib = to_mibqp(ibqp);

	mrc_kern_stop(mib->kern);
	mib->kind->destroy(ibqp);
	if (!mib->kern)	/* QPs of consumers in the kernel are not counted */
		mrc_uncount(to_mdev(ibqp->device), MRC_COUNT_QP);
	kfree(mib->kern);
	mib->kern = NULL;
	return 0;
}

static int mrc_verbs_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			       int mask, struct ib_udata *udata)
{
	return to_mibqp(ibqp)->kind->modify(ibqp, attr, mask, udata);
}

static int mrc_verbs_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			      int mask, struct ib_qp_init_attr *init)
{
	const struct mrc_ibqp *mib = to_mibqp(ibqp);

	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	if (!mib->kind->query(ibqp, attr)) {
		attr->qp_state = IB_QPS_ERR;
		attr->cur_qp_state = IB_QPS_ERR;
		return 0;
	}
	/*
	 * "rdma resource show qp" passes no mask and shows the result to every user.
	 * PSNs are only returned if the mask requests them, which only the owner of the
	 * QP can do.
	 */
	if (!(mask & IB_QP_SQ_PSN))
		attr->sq_psn = 0;
	if (!(mask & IB_QP_RQ_PSN))
		attr->rq_psn = 0;
	attr->cur_qp_state = attr->qp_state;
	attr->cap = mib->cap;

	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->cap = mib->cap;
	init->sq_sig_type = mib->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->qp_type = ibqp->qp_type;
	init->port_num = attr->port_num;
	return 0;
}

int mrc_qp_modify_to(const struct ib_qp *ibqp, enum ib_qp_state cur,
		     const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state new = mask & IB_QP_STATE ? attr->qp_state : cur;

	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != cur)
		return -EINVAL;
	return ib_modify_qp_is_ok(cur, new, ibqp->qp_type, mask) ? new :
								   -EINVAL;
}

int mrc_qp_check_port_pkey(const struct mrc_dev *dev,
			   const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_PORT &&
	    (!attr->port_num || attr->port_num > dev->n_ports))
		return -EINVAL;
	return mask & IB_QP_PKEY_INDEX && attr->pkey_index ? -EINVAL : 0;
}

static int mrc_qp_check_av(const struct rdma_ah_attr *ah)
{
	const struct ib_global_route *grh;
	const struct in6_addr *dgid;

	if (ah->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(ah) & IB_AH_GRH))
		return -EINVAL;
	grh = rdma_ah_read_grh(ah);
	dgid = (const struct in6_addr *)&grh->dgid;
	if (!grh->sgid_attr ||
	    grh->sgid_attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP ||
	    ipv6_addr_v4mapped(dgid) !=
	    ipv6_addr_v4mapped((const struct in6_addr *)&grh->sgid_attr->gid))
		return -EINVAL;
	if (rdma_is_multicast_addr((struct in6_addr *)dgid) ||
	    ipv6_addr_any(dgid))
		return -EINVAL;
	return 0;
}

int mrc_qp_check_peer(const struct mrc_port *port,
		      const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_DEST_QPN && attr->dest_qp_num > MRC_PSN_MASK)
		return -EINVAL;
	if (mask & IB_QP_PATH_MTU &&
	    (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096 ||
	     attr->path_mtu > READ_ONCE(port->mtu)))
		return -EINVAL;
	return mask & IB_QP_AV ? mrc_qp_check_av(&attr->ah_attr) : 0;
}

void mrc_qp_report(struct ib_qp *ibqp, int event)
{
	struct ib_event ev = {
		.device = ibqp->device,
		.element.qp = ibqp,
		.event = event,
	};

	if (ibqp->event_handler)
		ibqp->event_handler(&ev, ibqp->qp_context);
}

bool mrc_qp_flush_ring(struct ib_qp *ibqp, struct mrc_ring *ring,
		       struct mrc_srq *srq, struct mrc_cq *cq,
		       enum ib_wc_opcode opcode, u8 port)
{
	int pending = mrc_ring_pending(ring);
	bool more = pending > MRC_FLUSH_MAX;

	/* wr_id is the first member of the entries of both rings. */
	BUILD_BUG_ON(offsetof(struct mrc_send_wqe, wr_id) ||
		     offsetof(struct mrc_recv_wqe, wr_id));
	/* With an invalid producer counter the posted entries are unknown. */
	for (pending = min(pending, MRC_FLUSH_MAX); pending > 0; pending--) {
		const u64 *wr_id = mrc_ring_entry(ring, ring->idx);
		struct mrc_cqe cqe = {
			.wr_id = READ_ONCE(*wr_id),
			.opcode = opcode,
			.status = IB_WC_WR_FLUSH_ERR,
			.qp_num = ibqp->qp_num,
		};

		ring->idx++;
		mrc_srq_used(srq, ring);
		mrc_ring_consumed(ring);
		mrc_cq_post(cq, ibqp, &cqe, true, port);
	}
	return more;
}

void mrc_qp_request_kick(struct mrc_ring *rq)
{
	WRITE_ONCE(rq->hdr->flags, MRC_RING_F_KICK);
	/*
	 * The program reads the flags after its store to prod and a barrier. So either
	 * the program sees the flag, or the caller sees the new entry.
	 */
	smp_mb();
}

enum ib_qp_state mrc_qp_state(struct ib_qp *ibqp)
{
	return READ_ONCE(to_mibqp(ibqp)->base->state);
}

int mrc_doorbell_send(struct ib_qp *ibqp)
{
	return to_mibqp(ibqp)->kind->post_send(ibqp);
}

int mrc_doorbell_recv(struct ib_qp *ibqp)
{
	return to_mibqp(ibqp)->kind->post_recv(ibqp);
}

static int mrc_verbs_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			       const struct ib_send_wr **bad_wr)
{
	struct mrc_kern *kern = to_mibqp(ibqp)->kern;

	if (!wr)
		return kern ? 0 : mrc_doorbell_send(ibqp);
	if (kern)
		return mrc_kern_post_send(kern, wr, bad_wr);
	*bad_wr = wr;	/* programs must post through the ring */
	return -EOPNOTSUPP;
}

static int mrc_verbs_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			       const struct ib_recv_wr **bad_wr)
{
	struct mrc_kern *kern = to_mibqp(ibqp)->kern;

	if (!wr)
		return kern ? 0 : mrc_doorbell_recv(ibqp);
	if (kern)
		return mrc_kern_post_recv(kern, wr, bad_wr);
	*bad_wr = wr;
	return -EOPNOTSUPP;
}

static int mrc_fill_qp(struct sk_buff *msg, void *obj, bool all)
{
	struct ib_qp *ibqp = obj;
	const struct mrc_qp_kind *kind = to_mibqp(ibqp)->kind;

	return kind->fill_res ? kind->fill_res(msg, ibqp, all) : 0;
}

static int mrc_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	return mrc_res_fill(msg, ibqp->device, mrc_fill_qp, ibqp);
}

const struct ib_device_ops mrc_qp_ops = {
	.create_qp = mrc_verbs_create_qp,
	.modify_qp = mrc_verbs_modify_qp,
	.query_qp = mrc_verbs_query_qp,
	.destroy_qp = mrc_verbs_destroy_qp,
	.post_send = mrc_verbs_post_send,
	.post_recv = mrc_verbs_post_recv,
	.fill_res_qp_entry = mrc_fill_res_qp_entry,
	INIT_RDMA_OBJ_SIZE(ib_qp, mrc_ibqp, ib),
};
