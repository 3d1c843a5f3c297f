// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The verbs of queue pairs, which lead to the code of their kind: connected
 * ones (mrc_qp.c), or datagrams and UC (mrc_ud.c).
 */
#include <linux/slab.h>

#include "mrc_kverbs.h"
#include "mrc_qp.h"
#include "mrc_srq.h"
#include "mrc_ud.h"

/* Those whose packets are plain RoCE v2. */
static bool mrc_is_ud(enum ib_qp_type type)
{
	return type == IB_QPT_UD || type == IB_QPT_GSI || type == IB_QPT_UC;
}

int mrc_qp_make_rings(struct mrc_ring *sq, struct mrc_ring *rq,
		      struct mrc_srq *srq, struct ib_qp_cap *cap,
		      struct ib_ucontext *uctx,
		      struct mrc_create_qp_resp *resp)
{
	u32 stride;
	int ret;

	cap->max_send_wr = max(cap->max_send_wr, 1u);
	cap->max_send_sge = max(cap->max_send_sge, 1u);
	/*
	 * An entry has room for its gather list or for data: as much is
	 * allowed, as with other devices, to programs that do not ask.
	 */
	cap->max_inline_data = max_t(u32, ALIGN(cap->max_inline_data, 16),
				     cap->max_send_sge * sizeof(struct mrc_sge));
	stride = sizeof(struct mrc_send_wqe) + cap->max_inline_data;
	ret = mrc_ring_alloc(sq, uctx, cap->max_send_wr, stride, &resp->sq);
	if (ret)
		return ret;
	cap->max_send_wr = sq->depth;
	resp->max_inline = cap->max_inline_data;

	if (srq) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
		ret = mrc_srq_attach(srq, rq);
	} else if (cap->max_recv_wr) {
		cap->max_recv_sge = max(cap->max_recv_sge, 1u);
		stride = sizeof(struct mrc_recv_wqe) +
			 cap->max_recv_sge * sizeof(struct mrc_sge);
		ret = mrc_ring_alloc(rq, uctx, cap->max_recv_wr, stride,
				     &resp->rq);
		if (!ret)
			cap->max_recv_wr = rq->depth;
	}
	if (ret)
		mrc_ring_free(sq);
	return ret;
}

u32 mrc_qp_recv_sge(const struct mrc_srq *srq, const struct ib_qp_cap *cap)
{
	if (srq)
		return srq->max_sge;
	return cap->max_recv_wr ? cap->max_recv_sge : 0;
}

static int mrc_verbs_create_qp(struct ib_qp *ibqp,
			       struct ib_qp_init_attr *init,
			       struct ib_udata *udata)
{
	struct mrc_ibqp *mib = to_mibqp(ibqp);
	struct mrc_kern *kern = NULL;
	int ret;

	if (!udata) {
		kern = mrc_kern_alloc(ibqp);
		if (!kern)
			return -ENOMEM;
	}
	if (mrc_is_ud(init->qp_type))
		ret = mrc_create_ud(ibqp, init, udata);
	else
		ret = mrc_create_qp(ibqp, init, udata);
	if (ret) {
		kfree(kern);
		return ret;
	}
	if (kern && mib->ud) {
		kern->sq = &mib->ud->sq;
		kern->rq = &mib->ud->rq;
	} else if (kern) {
		kern->sq = &mib->qp->sq;
		kern->rq = &mib->qp->rq;
	}
	if (kern) {
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
	int ret;

	mrc_kern_stop(mib->kern);
	if (mib->ud)
		ret = mrc_destroy_ud(ibqp);
	else
		ret = mrc_destroy_qp(ibqp, udata);
	kfree(mib->kern);
	mib->kern = NULL;
	return ret;
}

static int mrc_verbs_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			       int mask, struct ib_udata *udata)
{
	if (mrc_is_ud(ibqp->qp_type))
		return mrc_modify_ud(ibqp, attr, mask, udata);
	return mrc_modify_qp(ibqp, attr, mask, udata);
}

static int mrc_verbs_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			      int mask, struct ib_qp_init_attr *init)
{
	if (mrc_is_ud(ibqp->qp_type))
		return mrc_query_ud(ibqp, attr, mask, init);
	return mrc_query_qp(ibqp, attr, mask, init);
}

enum ib_qp_state mrc_qp_state(struct ib_qp *ibqp)
{
	const struct mrc_ibqp *mib = to_mibqp(ibqp);

	return mib->ud ? READ_ONCE(mib->ud->state) : READ_ONCE(mib->qp->state);
}

int mrc_doorbell_send(struct ib_qp *ibqp)
{
	struct mrc_ibqp *mib = to_mibqp(ibqp);
	int ret;

	if (mib->ud)
		return mrc_ud_post_send(mib->ud);
	ret = mrc_post_send(ibqp);
	/* Nobody would ring again. */
	if (ret == -ENOMEM && mib->kern)
		mrc_qp_error(mib->qp, mib->qp->conn, IB_EVENT_QP_FATAL);
	return ret;
}

int mrc_doorbell_recv(struct ib_qp *ibqp)
{
	struct mrc_ibqp *mib = to_mibqp(ibqp);

	return mib->ud ? mrc_ud_post_recv(mib->ud) : mrc_post_recv(ibqp);
}

static int mrc_verbs_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			       const struct ib_send_wr **bad_wr)
{
	struct mrc_kern *kern = to_mibqp(ibqp)->kern;

	if (!wr)
		return kern ? 0 : mrc_doorbell_send(ibqp);
	if (kern)
		return mrc_kern_post_send(kern, wr, bad_wr);
	*bad_wr = wr;	/* programs' work requests come through the ring */
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

const struct ib_device_ops mrc_qp_ops = {
	.create_qp = mrc_verbs_create_qp,
	.modify_qp = mrc_verbs_modify_qp,
	.query_qp = mrc_verbs_query_qp,
	.destroy_qp = mrc_verbs_destroy_qp,
	.post_send = mrc_verbs_post_send,
	.post_recv = mrc_verbs_post_recv,
	.attach_mcast = mrc_attach_mcast,
	.detach_mcast = mrc_detach_mcast,
	INIT_RDMA_OBJ_SIZE(ib_qp, mrc_ibqp, ib),
};
