// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Unreliable connections: reception of packets that net/ has verified. No packet is
 * answered. An error that a peer can cause ends the message and is counted. A QP goes to
 * ERROR only for a local reason.
 */
#include <net/ipv6.h>

#include "mrc_uc_qp.h"

/* Flags of the opcode of @pkt, enum mrc_op_flags. */
static u32 mrc_uc_flags(const struct mrc_pkt *pkt)
{
	return mrc_roce_op_info(pkt->hdr.opcode)->flags;
}

/*
 * Check that @ud accepts @pkt, by its state and addresses. Return: the drop counter, or
 * -1 to accept. Under rq_lock.
 */
static int mrc_uc_refuses(struct mrc_ud *ud, const struct mrc_pkt *pkt)
{
	const struct mrc_uc *uc = ud->uc;

	if (ud->base.state < IB_QPS_RTR || ud->base.state == IB_QPS_ERR)
		return MRC_CTR_DROP_STATE;
	if (!ipv6_addr_equal(&pkt->saddr, &uc->av.daddr) ||
	    !ipv6_addr_equal(&pkt->daddr, &uc->av.saddr) ||
	    (uc->bound_port && pkt->rx.port && pkt->rx.port != uc->bound_port))
		return MRC_CTR_DROP_ADDR;
	return -1;
}

/* Number of receives in the ring, > 0 if there is one. -EINVAL: invalid counter. */
static int mrc_uc_have_recv(struct mrc_ud *ud)
{
	int pending = ud->rq.depth ? mrc_ring_pending(&ud->rq) : 0;

	if (!pending && ud->base.srq)
		pending = mrc_srq_take(ud->base.srq, &ud->rq, 1);
	return pending;
}

/* Copy payload at offset @off of a SEND into the memory of the receive. */
static enum ib_wc_status mrc_uc_scatter(struct mrc_ud *ud,
					const struct mrc_pkt *pkt, u32 off)
{
	const struct mrc_ud_rx *rx = &ud->uc->recv;
	u32 from = mrc_pkt_payload(pkt), left = pkt->hdr.payload_len, i, n;

	for (i = 0; i < rx->num_sge && left; i++) {
		const struct mrc_sge *sge = &rx->sge[i];
		struct mrc_mr *mr;
		int ret;

		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(left, sge->length - off);
		mr = mrc_mr_get_local(ud->base.dev, ud->base.ibqp->pd, sge->lkey,
				      sge->addr + off, n,
				      IB_ACCESS_LOCAL_WRITE);
		mr = mrc_mr_pinned(mr);
		if (IS_ERR(mr))
			return IB_WC_LOC_PROT_ERR;
		ret = mrc_mr_copy_from_skb(mr, sge->addr + off, pkt->skb,
					   from, n);
		mrc_mr_put(mr);
		if (ret)
			return IB_WC_LOC_PROT_ERR;
		off = 0;
		from += n;
		left -= n;
	}
	return IB_WC_SUCCESS;
}

/*
 * Take a packet of a SEND. Return: the drop counter, or -1; *@st is the status of the
 * receive.
 */
static int mrc_uc_take_send(struct mrc_ud *ud, const struct mrc_pkt *pkt,
			    u32 off, enum ib_wc_status *st)
{
	struct mrc_uc *uc = ud->uc;

	/* A receive of a broken message was not consumed; this message uses it. */
	if (mrc_uc_flags(pkt) & MRC_OPF_FIRST) {
		int have = mrc_uc_have_recv(ud);

		if (have < 0)
			*st = IB_WC_GENERAL_ERR;
		if (have <= 0)
			return MRC_CTR_UC_NO_RECV;
		*st = mrc_ud_copy_rwqe(ud, &uc->recv, &uc->room);
		if (*st != IB_WC_SUCCESS)
			return -1;
	}
	if ((u64)off + pkt->hdr.payload_len > uc->room)
		return MRC_CTR_DROP_LENGTH;
	*st = mrc_uc_scatter(ud, pkt, off);
	return -1;
}

/* Take a packet of a WRITE. Returns the same values as mrc_uc_take_send(). */
static int mrc_uc_take_write(struct mrc_ud *ud, const struct mrc_pkt *pkt,
			     u32 off, enum ib_wc_status *st)
{
	struct mrc_uc *uc = ud->uc;
	const struct mrc_uc_rx *rx = &uc->rx;
	u32 flags = mrc_uc_flags(pkt);
	u32 len = flags & MRC_OPF_FIRST ? rx->len : pkt->hdr.payload_len;
	struct mrc_mr *mr;
	int ret;

	if (!uc->remote_write)
		return MRC_CTR_UC_ACCESS;
	/* The first packet checks the range of the whole message, others their own. */
	if (len) {
		mr = mrc_mr_get_remote(ud->base.dev, ud->base.ibqp->pd, rx->rkey,
				       rx->va + off, len,
				       IB_ACCESS_REMOTE_WRITE);
		mr = mrc_mr_pinned(mr);
		if (IS_ERR(mr))
			return MRC_CTR_UC_ACCESS;
		ret = mrc_mr_copy_from_skb(mr, rx->va + off, pkt->skb,
					   mrc_pkt_payload(pkt), pkt->hdr.payload_len);
		mrc_mr_put(mr);
		if (ret)
			return MRC_CTR_UC_ACCESS;
	}
	if (flags & MRC_OPF_IMM) {
		ret = mrc_uc_have_recv(ud);
		if (ret < 0)
			*st = IB_WC_GENERAL_ERR;
		if (ret <= 0)
			return MRC_CTR_UC_NO_RECV;
		*st = mrc_ud_copy_rwqe(ud, &uc->recv, &uc->room);
	}
	return -1;
}

/* Consume and complete the receive at the head. Return: true if the CQ has overflowed. */
static bool mrc_uc_complete_recv(struct mrc_ud *ud,
				 const struct mrc_pkt *pkt,
				 enum ib_wc_status st)
{
	u32 flags = mrc_uc_flags(pkt);
	struct mrc_uc *uc = ud->uc;
	struct mrc_cqe cqe = {
		.wr_id = uc->recv.wr_id,
		.status = st,
		.opcode = flags & MRC_OPF_SEND ? IB_WC_RECV :
						 IB_WC_RECV_RDMA_WITH_IMM,
		.byte_len = uc->rx.off,
		.qp_num = ud->base.qpn,
		.src_qp = uc->attr.dest_qpn,
	};

	if (flags & MRC_OPF_IMM) {
		cqe.wc_flags = IB_WC_WITH_IMM;
		memcpy(&cqe.imm_data, &pkt->hdr.reth.imm, sizeof(cqe.imm_data));
	}
	/* Consume the entry before the completion: the program may post again at once. */
	ud->rq.idx++;
	mrc_srq_used(ud->base.srq, &ud->rq);
	mrc_ring_consumed(&ud->rq);
	return mrc_cq_post(ud->base.rcq, ud->base.ibqp, &cqe,
			   pkt->hdr.se || st != IB_WC_SUCCESS, ud->port);
}

/*
 * Take a packet and count it. *@fatal is set if the QP must go to ERROR. Return: the
 * drop counter, or -1 if the packet was taken. Under rq_lock.
 */
static int mrc_uc_take(struct mrc_ud *ud, const struct mrc_pkt *pkt, u8 port,
		       bool *fatal)
{
	enum ib_wc_status st = IB_WC_SUCCESS;
	u32 flags = mrc_uc_flags(pkt);
	struct mrc_dev *dev = ud->base.dev;
	struct mrc_uc *uc = ud->uc;
	struct mrc_uc_in in;
	int drop;

	mrc_uc_rx_packet(&uc->rx, &pkt->hdr, &in);
	if (in.broken)
		mrc_ctr_add(&dev->ctr, port, MRC_CTR_UC_BROKEN, 1);
	if (in.drop >= 0)
		return in.drop;
	drop = flags & MRC_OPF_SEND ? mrc_uc_take_send(ud, pkt, in.off, &st) :
				      mrc_uc_take_write(ud, pkt, in.off, &st);
	*fatal = st != IB_WC_SUCCESS;
	if (drop >= 0) {
		mrc_uc_rx_abort(&uc->rx);
		return drop;
	}
	mrc_ctr_add(&dev->ctr, port, MRC_CTR_RX_UC, 1);
	if (*fatal) {
		mrc_uc_rx_abort(&uc->rx);
		mrc_uc_complete_recv(ud, pkt, st);
		return -1;
	}
	if (!(flags & MRC_OPF_LAST))
		return -1;
	mrc_ctr_add(&dev->ctr, port, MRC_CTR_RX_UC_MSG, 1);
	if (flags & (MRC_OPF_SEND | MRC_OPF_IMM))
		*fatal = mrc_uc_complete_recv(ud, pkt, IB_WC_SUCCESS);
	return -1;
}

static void mrc_uc_deliver(struct mrc_ud *ud, const struct mrc_pkt *pkt)
{
	bool fatal = false, est = false;
	u8 port = pkt->rx.port;
	int drop;

	spin_lock_bh(&ud->rq_lock);
	drop = mrc_uc_refuses(ud, pkt);
	if (drop < 0) {
		drop = mrc_uc_take(ud, pkt, port ?: ud->port, &fatal);
		est = drop < 0 && !ud->uc->established;
		ud->uc->established |= est;
	}
	spin_unlock_bh(&ud->rq_lock);
	if (drop >= 0)
		mrc_ctr_add(&ud->base.dev->ctr, port ?: ud->port, drop, 1);
	/* A consumer may wait in RTR until the peer sends. */
	if (est)
		mrc_qp_report(ud->base.ibqp, IB_EVENT_COMM_EST);
	if (fatal)
		mrc_ud_error(ud, IB_EVENT_QP_FATAL);
}

bool mrc_uc_rcv(const struct mrc_pkt *pkt)
{
	struct mrc_ud *ud = mrc_ud_get(dev_net(pkt->skb->dev), pkt->hdr.dqp);
	bool ok;

	if (!ud)
		return false;
	ok = ud->uc && (!pkt->dev || ud->base.dev == pkt->dev);
	if (ok)
		mrc_uc_deliver(ud, pkt);
	mrc_ud_put(ud);
	return ok;
}
