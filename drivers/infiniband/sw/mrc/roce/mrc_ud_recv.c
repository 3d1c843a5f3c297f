// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reception of datagrams that net/ has verified. No datagram is answered. Datagrams that
 * cannot be received are dropped and counted. A QP goes to ERROR only for a local reason.
 */
#include <linux/highmem.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/sched/mm.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "mrc_uc_qp.h"

#define MRC_UD_MAX_LATE	64	/* datagrams that wait for memory, per QP */

enum ib_wc_status mrc_ud_copy_rwqe(struct mrc_ud *ud, struct mrc_ud_rx *rx,
				   u64 *room)
{
	const struct mrc_recv_wqe *e = mrc_ring_entry(&ud->rq, ud->rq.idx);
	const struct mrc_sge *ring_sge = (const void *)(e + 1);
	struct mrc_recv_wqe h;
	u32 i;

	memcpy(&h, e, sizeof(h));
	barrier();	/* use only the copy from here on */
	rx->wr_id = h.wr_id;
	*room = 0;
	if (h.num_sge > ud->max_recv_sge || h.reserved)
		return IB_WC_LOC_QP_OP_ERR;
	rx->num_sge = h.num_sge;
	memcpy(rx->sge, ring_sge, h.num_sge * sizeof(*ring_sge));
	barrier();
	for (i = 0; i < rx->num_sge; i++)
		*room += rx->sge[i].length;
	return IB_WC_SUCCESS;
}

/* Copy @len bytes at offset @off of the GRH followed by the payload to @to. */
static int mrc_dgram_copy(const struct mrc_pkt *pkt, const u8 *grh, u32 off,
			  void *to, u32 len)
{
	if (off < MRC_GRH_LEN) {
		u32 n = min(len, MRC_GRH_LEN - off);

		memcpy(to, grh + off, n);
		off += n;
		to += n;
		len -= n;
	}
	return len ? skb_copy_bits(pkt->skb,
				   mrc_pkt_payload(pkt) + off - MRC_GRH_LEN, to,
				   len) : 0;
}

/*
 * Make the GRH from the IP header. An IPv6 header has the format of a GRH. An IPv4
 * header is stored in the last 20 bytes.
 */
static void mrc_dgram_grh(const struct mrc_pkt *pkt, u8 *grh)
{
	u32 n = pkt->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);

	memset(grh, 0, MRC_GRH_LEN);
	memcpy(grh + MRC_GRH_LEN - n, skb_network_header(pkt->skb), n);
}

static enum ib_wc_status mrc_ud_scatter(struct mrc_ud *ud,
					const struct mrc_pkt *pkt,
					const struct mrc_ud_rx *rx)
{
	u32 i, len, off = 0, left = MRC_GRH_LEN + pkt->hdr.payload_len;
	u8 grh[MRC_GRH_LEN];
	int ret = 0;

	mrc_dgram_grh(pkt, grh);
	for (i = 0; i < rx->num_sge && left && !ret; i++) {
		struct mrc_sge sge = rx->sge[i];
		struct mrc_mr *mr;

		sge.length = min(sge.length, left);
		if (!sge.length)
			continue;
		mr = mrc_mr_get_local(ud->base.dev, ud->base.ibqp->pd, sge.lkey, sge.addr,
				      sge.length, IB_ACCESS_LOCAL_WRITE);
		if (IS_ERR(mr))
			return IB_WC_LOC_PROT_ERR;
		left -= sge.length;
		len = sge.length;
		if (mrc_mr_open(mr, sge.addr, len, true, 0)) {
			mrc_mr_put(mr);
			return IB_WC_LOC_PROT_ERR;
		}
		while (sge.length && !ret) {
			u32 poff, n;
			struct page *page = mrc_mr_page(mr, sge.addr, &poff,
							&n);
			void *map = kmap_local_page(page);

			n = min(n, sge.length);
			ret = mrc_dgram_copy(pkt, grh, off, map + poff, n);
			kunmap_local(map);
			off += n;
			sge.addr += n;
			sge.length -= n;
		}
		mrc_mr_close(mr, len);
		mrc_mr_put(mr);
	}
	return ret ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS;
}

/* A copy of @pkt, or NULL. */
static struct mrc_ud_late *mrc_ud_copy(struct mrc_ud *ud, const struct mrc_pkt *pkt,
				       gfp_t gfp)
{
	struct mrc_ud_late *l = kmalloc(sizeof(*l), gfp);

	if (!l)
		return NULL;
	l->pkt = *pkt;
	l->pkt.rx.hdr = &l->pkt.hdr;
	l->pkt.dev = ud->base.dev;
	l->pkt.skb = skb_copy_expand(pkt->skb, skb_headroom(pkt->skb), 0, gfp);
	if (l->pkt.skb)
		return l;
	kfree(l);
	return NULL;
}

/*
 * The memory cgroup that allocations are charged to is a variable of the CPU. With
 * PREEMPT_RT soft interrupts of one CPU may preempt each other, and one must not see or
 * restore the value of another. Waiting for memory is rare, so one lock suffices.
 */
static DEFINE_SPINLOCK(mrc_ud_charge_lock);

/*
 * Keep @pkt until the memory of the receive has been fetched. False: no room, also if the
 * program's memory cgroup has none. The buffer of the NIC is charged to nobody and may be
 * much larger than the packet, so a copy is kept.
 */
static bool mrc_ud_keep(struct mrc_ud *ud, const struct mrc_pkt *pkt)
{
	struct mem_cgroup *old;
	struct mrc_ud_late *l;

	lockdep_assert_held(&ud->rq_lock);
	if (ud->n_late >= MRC_UD_MAX_LATE)
		return false;
	spin_lock(&mrc_ud_charge_lock);
	old = set_active_memcg(ud->memcg);
	l = mrc_ud_copy(ud, pkt, GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	set_active_memcg(old);
	spin_unlock(&mrc_ud_charge_lock);
	if (!l)
		return false;
	list_add_tail(&l->node, &ud->late);
	ud->n_late++;
	return true;
}

/* Check that @ud accepts @pkt. Return: the drop counter, or -1. Under rq_lock. */
static int mrc_ud_refuses(struct mrc_ud *ud, const struct mrc_pkt *pkt)
{
	if (ud->base.state < IB_QPS_RTR || ud->base.state == IB_QPS_ERR)
		return MRC_CTR_DROP_STATE;
	if (pkt->hdr.deth.qkey != ud->qkey)
		return MRC_CTR_DROP_QKEY;
	return -1;
}

/* Result for a datagram. */
enum mrc_ud_recv_result {
	MRC_UD_DONE,	/* received, or dropped and counted */
	MRC_UD_WAIT,	/* the memory of the receive is being fetched */
	MRC_UD_FATAL,	/* as DONE, and the QP must go to ERROR */
};

/* Write @pkt to @rx. -EAGAIN: the memory is being fetched; else 0, and *@st is set. */
static int mrc_ud_place(struct mrc_ud *ud, const struct mrc_pkt *pkt,
			const struct mrc_ud_rx *rx, enum ib_wc_status *st)
{
	struct mrc_dev *dev = ud->base.dev;
	struct mrc_odp_hold hold;
	int ret = 0;

	if (!mrc_odp_any(&dev->odp)) {
		*st = mrc_ud_scatter(ud, pkt, rx);
		return 0;
	}
	mrc_odp_hold_init(&hold);
	ret = mrc_odp_ready(dev, ud->base.ibqp->pd, rx->sge, rx->num_sge, 0,
			    MRC_GRH_LEN + pkt->hdr.payload_len, true, ud->base.qpn, NULL,
			    &hold);
	if (!ret)
		*st = mrc_ud_scatter(ud, pkt, rx);
	mrc_odp_release(&hold);
	return ret;
}

/* Receive or drop a datagram. Under rq_lock. */
static enum mrc_ud_recv_result mrc_ud_take(struct mrc_ud *ud,
					   const struct mrc_pkt *pkt)
{
	struct mrc_dev *dev = ud->base.dev;
	u8 port = pkt->rx.port ?: ud->port;
	struct mrc_cqe cqe = {
		.opcode = IB_WC_RECV,
		.wc_flags = IB_WC_GRH,
		.byte_len = MRC_GRH_LEN + pkt->hdr.payload_len,
		.qp_num = ud->base.qpn,
		.src_qp = pkt->hdr.deth.sqpn,
		.sl = pkt->ipv6 ? MRC_CQE_SL_IPV6 : MRC_CQE_SL_IPV4,
	};
	struct mrc_ud_rx rx;
	int pending, drop;
	bool fatal;
	u64 room;

	if (mrc_roce_op_info(pkt->hdr.opcode)->flags & MRC_OPF_IMM) {
		cqe.wc_flags |= IB_WC_WITH_IMM;
		memcpy(&cqe.imm_data, &pkt->hdr.reth.imm, sizeof(cqe.imm_data));
	}
	if (!ud->user) {
		cqe.wc_flags |= IB_WC_WITH_NETWORK_HDR_TYPE;
		cqe.reserved = port;
		/* The core then searches the GIDs of the VLAN only. */
		if (is_vlan_dev(pkt->skb->dev)) {
			cqe.wc_flags |= IB_WC_WITH_VLAN;
			cqe.reserved |= (u32)vlan_dev_vlan_id(pkt->skb->dev) << 16;
		}
	}
	fatal = false;
	drop = mrc_ud_refuses(ud, pkt);
	if (drop >= 0)
		goto drop;
	pending = ud->rq.depth ? mrc_ring_pending(&ud->rq) : 0;
	if (!pending && ud->base.srq)
		pending = mrc_srq_take(ud->base.srq, &ud->rq, 1);
	fatal = pending < 0;
	drop = MRC_CTR_UD_NO_RECV;
	if (pending <= 0)
		goto drop;
	cqe.status = mrc_ud_copy_rwqe(ud, &rx, &room);
	/* Drop without an error: any sender that knows the Q_Key could end the QP. */
	drop = MRC_CTR_DROP_LENGTH;
	if (cqe.status == IB_WC_SUCCESS && room < MRC_GRH_LEN + pkt->hdr.payload_len)
		goto drop;
	if (cqe.status == IB_WC_SUCCESS &&
	    mrc_ud_place(ud, pkt, &rx, &cqe.status))
		return MRC_UD_WAIT;
	fatal = cqe.status != IB_WC_SUCCESS;
	cqe.wr_id = rx.wr_id;
	/* Consume the entry before the completion: the program may post again at once. */
	ud->rq.idx++;
	mrc_srq_used(ud->base.srq, &ud->rq);
	mrc_ring_consumed(&ud->rq);
	mrc_ctr_add(&dev->ctr, port, MRC_CTR_RX_UD, 1);
	if (mrc_cq_post(ud->base.rcq, ud->base.ibqp, &cqe, pkt->hdr.se || fatal, port))
		fatal = true;
	return fatal ? MRC_UD_FATAL : MRC_UD_DONE;

drop:
	mrc_ctr_add(&dev->ctr, port, drop, 1);
	return fatal ? MRC_UD_FATAL : MRC_UD_DONE;
}

void mrc_ud_deliver(struct mrc_ud *ud, const struct mrc_pkt *pkt)
{
	u32 seq = mrc_odp_seq(&ud->base.dev->odp);
	enum mrc_ud_recv_result v = MRC_UD_WAIT;

	spin_lock_bh(&ud->rq_lock);
	/* Keep the order of datagrams, although UD does not require it. */
	if (list_empty(&ud->late))
		v = mrc_ud_take(ud, pkt);
	if (v == MRC_UD_WAIT) {
		mrc_ctr_add(&ud->base.dev->ctr, pkt->rx.port ?: ud->port,
			    mrc_ud_keep(ud, pkt) ? MRC_CTR_UD_PAGE :
						  MRC_CTR_UD_NO_RECV, 1);
		mrc_ud_wait_page(ud, seq);
	}
	spin_unlock_bh(&ud->rq_lock);
	if (v == MRC_UD_FATAL)
		mrc_ud_error(ud, IB_EVENT_QP_FATAL);
}

void mrc_ud_deliver_late(struct mrc_ud *ud)
{
	u32 seq = mrc_odp_seq(&ud->base.dev->odp);
	enum mrc_ud_recv_result v = MRC_UD_DONE;
	struct mrc_ud_late *l;

	spin_lock_bh(&ud->rq_lock);
	while (v == MRC_UD_DONE &&
	       (l = list_first_entry_or_null(&ud->late, struct mrc_ud_late,
					     node))) {
		v = mrc_ud_take(ud, &l->pkt);
		if (v == MRC_UD_WAIT) {
			mrc_ud_wait_page(ud, seq);
			break;
		}
		list_del(&l->node);
		ud->n_late--;
		consume_skb(l->pkt.skb);
		kfree(l);
	}
	spin_unlock_bh(&ud->rq_lock);
	if (v == MRC_UD_FATAL)
		mrc_ud_error(ud, IB_EVENT_QP_FATAL);
}

/* Deliver a unicast datagram to its destination QP. */
static bool mrc_dgram_unicast(struct mrc_pkt *pkt)
{
	struct net *net = dev_net(pkt->skb->dev);
	struct mrc_dev *dev = pkt->dev;
	struct mrc_ud *ud;
	bool ok;

	ud = pkt->hdr.dqp == MRC_QPN_GSI ? mrc_gsi_get(net, dev, pkt) :
					   mrc_ud_get(net, pkt->hdr.dqp);
	if (!ud)
		return false;
	ok = !ud->uc && (!dev || ud->base.dev == dev);
	if (ok)
		mrc_ud_deliver(ud, pkt);
	mrc_ud_put(ud);
	return ok;
}

static bool mrc_ud_rcv(struct mrc_pkt *pkt)
{
	bool group = pkt->hdr.dqp == MRC_QPN_MCAST;

	if (!rdma_is_multicast_addr(&pkt->daddr))
		return !group && mrc_dgram_unicast(pkt);
	if (!pkt->dev || !group)
		return false;
	mrc_mcast_rcv(pkt->dev, pkt);
	return true;
}

int mrc_ud_post_recv(struct mrc_ud *ud)
{
	bool more = false;
	int ret = 0;

	spin_lock_bh(&ud->rq_lock);
	if (ud->base.state == IB_QPS_RESET)
		ret = -EINVAL;
	else if (ud->base.state == IB_QPS_ERR)
		more = mrc_ud_flush_rq(ud);
	spin_unlock_bh(&ud->rq_lock);
	if (more)
		mrc_ud_flush_later(ud);
	return ret;
}

bool mrc_roce_rcv(struct mrc_pkt *pkt)
{
	return mrc_uc_opcode(pkt->hdr.opcode) ? mrc_uc_rcv(pkt) : mrc_ud_rcv(pkt);
}
