// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sending of datagrams. Each work request is one packet. The payload is copied, and the
 * work request completes as soon as the packet has been built.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/sched/signal.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>

#include "mrc_uc_qp.h"

#define MRC_UD_ROUNDS	16	/* batches before the work item is queued again */
#define MRC_UD_FLAGS	(IB_SEND_FENCE | IB_SEND_SIGNALED | \
			 IB_SEND_SOLICITED | IB_SEND_INLINE)

/* Result for an entry of the send ring. */
enum mrc_ud_send_result {
	MRC_UD_SENT,
	MRC_UD_FAILED,
	MRC_UD_LATE,	/* the memory is being fetched */
};

/* May UC send @sge? Checked first, so that a message does not fail halfway. */
static bool mrc_uc_key_ok(struct mrc_ud *ud, const struct mrc_sge *sge)
{
	struct mrc_mr *mr;

	mr = mrc_mr_pinned(mrc_mr_get_local(ud->base.dev, ud->base.ibqp->pd, sge->lkey,
					    sge->addr, sge->length, 0));
	if (IS_ERR(mr))
		return false;
	mrc_mr_put(mr);
	return true;
}

/* Copy the SGEs of @e. The message may have up to @max bytes. */
static enum ib_wc_status mrc_ud_copy_sges(struct mrc_ud *ud,
					  const struct mrc_send_wqe *e,
					  struct mrc_ud_tx *tx, u32 max)
{
	const struct mrc_sge *ring_sge = (const void *)(e + 1);
	u32 i;

	if (tx->h.num_sge > ud->max_send_sge || tx->h.inline_len)
		return IB_WC_LOC_QP_OP_ERR;
	for (i = 0; i < tx->h.num_sge; i++) {
		struct mrc_sge *sge = &tx->sge[tx->num_sge];

		memcpy(sge, &ring_sge[i], sizeof(*sge));
		barrier();	/* use only the copy from here on */
		if (!sge->length)
			continue;
		if (sge->length > max - tx->len)
			return IB_WC_LOC_LEN_ERR;
		if (ud->uc && !mrc_uc_key_ok(ud, sge))
			return IB_WC_LOC_PROT_ERR;
		tx->len += sge->length;
		tx->num_sge++;
	}
	return IB_WC_SUCCESS;
}

enum ib_wc_status mrc_ud_copy_data(struct mrc_ud *ud,
				   const struct mrc_send_wqe *e,
				   struct mrc_ud_tx *tx, u32 max)
{
	if (!(tx->h.send_flags & IB_SEND_INLINE))
		return mrc_ud_copy_sges(ud, e, tx, max);
	if (tx->h.inline_len > ud->max_inline || tx->h.num_sge)
		return IB_WC_LOC_QP_OP_ERR;
	if (tx->h.inline_len > max)
		return IB_WC_LOC_LEN_ERR;
	tx->len = tx->h.inline_len;
	return IB_WC_SUCCESS;
}

static enum ib_wc_status mrc_ud_copy_wqe(struct mrc_ud *ud,
					 const struct mrc_send_wqe *e,
					 struct mrc_ud_tx *tx, u32 mtu)
{
	if (tx->h.send_flags & ~MRC_UD_FLAGS || tx->h.reserved ||
	    (tx->h.opcode != IB_WR_SEND && tx->h.opcode != IB_WR_SEND_WITH_IMM))
		return IB_WC_LOC_QP_OP_ERR;
	return mrc_ud_copy_data(ud, e, tx, mtu);
}

void mrc_ud_head(const struct mrc_ud *ud, const struct mrc_av *av,
		 const struct mrc_hdr *hdr, u32 dqpn, struct mrc_head *head)
{
	*head = (struct mrc_head) {
		.hdr = hdr,
		.saddr = &av->saddr,
		.daddr = &av->daddr,
		.dport = av->dport,
		.sport = rdma_get_udp_sport(av->flow_label, ud->base.qpn, dqpn),
		.flow_label = av->flow_label,
		.ipv6 = av->ipv6,
		.tos = av->tos,
		.ttl = av->ttl,
	};
}

/* Fill in the headers except the destination QPN. */
static void mrc_ud_hdr(const struct mrc_ud *ud, const struct mrc_ud_tx *tx,
		       struct mrc_hdr *hdr)
{
	bool gsi = ud->base.qpn == MRC_QPN_GSI;

	*hdr = (struct mrc_hdr) {
		.opcode = MRC_UD_SEND,
		.pad = -tx->len & 3,
		.se = tx->h.send_flags & IB_SEND_SOLICITED,
		.pkey = MRC_PKEY_DEFAULT,
		.psn = ud->psn,
		.deth.qkey = gsi ? MRC_GSI_QKEY : tx->h.rkey,
		.deth.sqpn = ud->base.qpn,
	};
	/* A controlled Q_Key can be sent only if it was set for the QP (privileged). */
	if (!gsi && hdr->deth.qkey & MRC_QKEY_OWN)
		hdr->deth.qkey = ud->qkey;
	if (tx->h.opcode == IB_WR_SEND_WITH_IMM) {
		hdr->opcode = MRC_UD_SEND_IMM;
		memcpy(&hdr->reth.imm, &tx->h.imm_data, sizeof(hdr->reth.imm));
	}
}

/* Append the payload to the packet. */
static enum ib_wc_status mrc_ud_put_payload(struct mrc_ud *ud,
					    const struct mrc_ud_tx *tx,
					    const struct mrc_send_wqe *e,
					    struct mrc_build *b)
{
	u32 i, len;

	if (tx->h.send_flags & IB_SEND_INLINE) {
		mrc_build_bytes(b, e + 1, tx->len);
		return IB_WC_SUCCESS;
	}
	for (i = 0; i < tx->num_sge; i++) {
		struct mrc_sge sge = tx->sge[i];
		struct mrc_mr *mr;

		mr = mrc_mr_get_local(ud->base.dev, ud->base.ibqp->pd, sge.lkey, sge.addr,
				      sge.length, 0);
		if (IS_ERR(mr))
			return IB_WC_LOC_PROT_ERR;
		len = sge.length;
		if (mrc_mr_open(mr, sge.addr, len, false, 0)) {
			mrc_mr_put(mr);
			return IB_WC_LOC_PROT_ERR;
		}
		while (sge.length) {
			u32 off, n;
			struct page *page = mrc_mr_page(mr, sge.addr, &off, &n);

			n = min(n, sge.length);
			mrc_build_page(b, page, off, n, false);
			sge.addr += n;
			sge.length -= n;
		}
		mrc_mr_close(mr, len);
		mrc_mr_put(mr);
	}
	return IB_WC_SUCCESS;
}

/*
 * Build the packet for @tx with its route in *@skbp. If there is no memory or route,
 * *@skbp stays NULL and the datagram is lost, which is allowed for datagrams.
 */
static enum ib_wc_status mrc_ud_build(struct mrc_ud *ud, struct mrc_av *av,
				      const struct mrc_ud_tx *tx,
				      const struct mrc_send_wqe *e,
				      struct sk_buff **skbp)
{
	u32 dqpn = tx->h.remote_addr >> 32 & MRC_PSN_MASK;
	enum ib_wc_status st;
	struct mrc_head head;
	struct mrc_build b;
	struct sk_buff *skb;
	struct mrc_hdr hdr;

	mrc_ud_hdr(ud, tx, &hdr);
	hdr.dqp = av->mcast ? MRC_QPN_MCAST : dqpn;
	mrc_ud_head(ud, av, &hdr, dqpn, &head);
	if (!mrc_build_begin(&b, &head, tx->len, true))
		return IB_WC_SUCCESS;
	WRITE_ONCE(ud->psn, (ud->psn + 1) & MRC_PSN_MASK);
	st = mrc_ud_put_payload(ud, tx, e, &b);
	if (st != IB_WC_SUCCESS) {
		mrc_build_drop(&b);
		return st;
	}
	skb = mrc_build_end(&b);
	skb_dst_set(skb, mrc_av_route(ud->base.dev, av));
	if (!skb_dst(skb) || skb->len > dst_mtu(skb_dst(skb))) {
		kfree_skb(skb);
		return IB_WC_SUCCESS;
	}
	*skbp = skb;
	return IB_WC_SUCCESS;
}

/* The same if memory may be paged. True: it is being fetched, and *@st is not set. */
static bool mrc_ud_build_paged(struct mrc_ud *ud, struct mrc_av *av,
			       const struct mrc_ud_tx *tx,
			       const struct mrc_send_wqe *e,
			       struct sk_buff **skbp, enum ib_wc_status *st)
{
	struct mrc_dev *dev = ud->base.dev;
	struct mrc_odp_hold hold;
	bool late;

	mrc_odp_hold_init(&hold);
	late = mrc_odp_ready(dev, ud->base.ibqp->pd, tx->sge, tx->num_sge, 0,
			     tx->len, false, ud->base.qpn, NULL, &hold) == -EAGAIN;
	if (!late)
		*st = mrc_ud_build(ud, av, tx, e, skbp);
	mrc_odp_release(&hold);
	return late;
}

/* Send and complete the next entry of the ring, unless its memory must be fetched. */
static enum mrc_ud_send_result mrc_ud_send_one(struct mrc_ud *ud,
					       struct mrc_ud_tx *tx,
					       struct sk_buff_head *list,
					       bool *fatal)
{
	const struct mrc_send_wqe *e = mrc_ring_entry(&ud->sq, ud->sq.idx);
	struct mrc_dev *dev = ud->base.dev;
	struct mrc_cqe cqe = {
		.opcode = IB_WC_SEND,
		.qp_num = ud->base.qpn,
	};
	u32 seq = mrc_odp_seq(&dev->odp);
	struct sk_buff *skb = NULL;
	bool late = false;
	u8 port = ud->port;
	struct mrc_av *av;
	u32 mtu;

	memcpy(&tx->h, e, sizeof(tx->h));
	barrier();	/* use only the copy from here on */
	tx->num_sge = 0;
	tx->len = 0;
	cqe.wr_id = tx->h.wr_id;

	rcu_read_lock();
	av = mrc_av_find(dev, ud->base.ibqp->pd, (u32)tx->h.remote_addr);
	cqe.status = IB_WC_LOC_QP_OP_ERR;
	if (av) {
		port = av->port;
		mtu = ib_mtu_enum_to_int(READ_ONCE(dev->port[port].mtu));
		cqe.status = mrc_ud_copy_wqe(ud, e, tx, mtu);
	}
	if (cqe.status == IB_WC_SUCCESS) {
		if (mrc_odp_any(&dev->odp))
			late = mrc_ud_build_paged(ud, av, tx, e, &skb,
						  &cqe.status);
		else
			cqe.status = mrc_ud_build(ud, av, tx, e, &skb);
	}
	rcu_read_unlock();
	if (late) {
		WRITE_ONCE(ud->tx_late, true);
		mrc_ud_wait_page(ud, seq);
		return MRC_UD_LATE;
	}

	if (skb) {
		mrc_ctr_add(&dev->ctr, port, MRC_CTR_TX_UD, 1);
		mrc_tx_cb(skb)->port = port;
		__skb_queue_tail(list, skb);
	} else if (cqe.status == IB_WC_SUCCESS) {
		mrc_ctr_add(&dev->ctr, port, MRC_CTR_TX_ERROR, 1);
	}
	/* Consume the entry before the completion: the program may post again at once. */
	ud->sq.idx++;
	mrc_ring_consumed(&ud->sq);
	cqe.byte_len = tx->len;
	if (cqe.status != IB_WC_SUCCESS || ud->base.sig_all ||
	    tx->h.send_flags & IB_SEND_SIGNALED)
		*fatal = mrc_cq_post(ud->base.scq, ud->base.ibqp, &cqe,
				     cqe.status != IB_WC_SUCCESS, port);
	return cqe.status == IB_WC_SUCCESS ? MRC_UD_SENT : MRC_UD_FAILED;
}

void mrc_ud_xmit(struct mrc_ud *ud, struct sk_buff_head *list)
{
	struct net *net = ud->base.dev->net;
	struct sk_buff *skb;
	unsigned int port, out;
	bool mcast;
	u32 len;
	int ret;

	while ((skb = __skb_dequeue(list))) {
		len = skb->len;
		port = mrc_tx_cb(skb)->port;
		out = mrc_io_port(skb, port);
		memset(skb->cb, 0, sizeof(skb->cb));
		if (skb->protocol == htons(ETH_P_IPV6)) {
			mcast = ipv6_addr_is_multicast(&ipv6_hdr(skb)->daddr);
			ret = ip6_local_out(net, NULL, skb);
		} else {
			mcast = ipv4_is_multicast(ip_hdr(skb)->daddr);
			ret = ip_local_out(net, NULL, skb);
		}
		if (net_xmit_eval(ret))
			mrc_ctr_add(&ud->base.dev->ctr, port, MRC_CTR_TX_ERROR, 1);
		else
			mrc_io_add(ud->base.dev, out, MRC_IO_TX_PKTS, 1, len, mcast);
	}
}

/*
 * Send up to MRC_TX_BATCH entries. Return: true if there is more to send or to flush. An
 * entry that cannot be sent moves the QP to SQE; the program can move it back to RTS.
 */
static bool mrc_ud_send_batch(struct mrc_ud *ud, struct mrc_ud_tx *tx,
			      struct sk_buff_head *list, bool *fatal)
{
	enum mrc_ud_send_result sent;
	int pending, n;

	lockdep_assert_held(&ud->sq_lock);
	WRITE_ONCE(ud->tx_late, false);
	if (ud->base.state == IB_QPS_SQE || ud->base.state == IB_QPS_ERR)
		return mrc_ud_flush_sq(ud);
	if (ud->base.state != IB_QPS_RTS)
		return false;
	pending = mrc_ring_pending(&ud->sq);
	*fatal = pending < 0;	/* invalid producer counter */
	for (n = 0; n < pending && n < MRC_TX_BATCH && !*fatal; n++) {
		sent = mrc_ud_send_one(ud, tx, list, fatal);
		if (sent == MRC_UD_SENT)
			continue;
		if (sent == MRC_UD_LATE)
			return false;
		WRITE_ONCE(ud->base.state, IB_QPS_SQE);
		return mrc_ud_flush_sq(ud);
	}
	return n < pending && !*fatal;
}

/*
 * Send up to @rounds batches. Return: 0, -ENOMEM, -EINVAL if the QP cannot send, or 1 if there
 * is more to send.
 */
static int mrc_ud_send(struct mrc_ud *ud, unsigned int rounds)
{
	struct sk_buff_head list;
	struct mrc_ud_tx *tx;
	bool more, fatal;

	if (READ_ONCE(ud->base.state) < IB_QPS_RTS)
		return -EINVAL;
	tx = kmalloc(sizeof(*tx), GFP_KERNEL);
	if (!tx)
		return -ENOMEM;
	do {
		fatal = false;
		__skb_queue_head_init(&list);
		spin_lock_bh(&ud->sq_lock);
		more = mrc_ud_send_batch(ud, tx, &list, &fatal);
		spin_unlock_bh(&ud->sq_lock);
		local_bh_disable();
		mrc_ud_xmit(ud, &list);
		local_bh_enable();
		if (fatal)
			mrc_ud_error(ud, IB_EVENT_QP_FATAL);
		cond_resched();
		/* Another thread may keep posting, so the loop may not end by itself. */
	} while (more && --rounds && !fatal_signal_pending(current));
	kfree(tx);
	if (more && READ_ONCE(ud->base.state) < IB_QPS_SQE)
		return 1;
	/* Others may share the QP. */
	if (more)
		mrc_ud_flush_later(ud);
	return 0;
}

int mrc_ud_post_send(struct mrc_ud *ud)
{
	if (ud->uc)
		return mrc_uc_post_send(ud);
	return min(mrc_ud_send(ud, UINT_MAX), 0);
}

bool mrc_ud_send_late(struct mrc_ud *ud)
{
	if (!READ_ONCE(ud->tx_late) || mrc_ud_send(ud, MRC_UD_ROUNDS) <= 0)
		return false;
	WRITE_ONCE(ud->tx_late, true);
	return true;
}
