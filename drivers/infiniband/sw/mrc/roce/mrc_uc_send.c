// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Unreliable connections: sending. A work request completes when its last packet has been
 * built. All packets use the same plane, because the peer treats a packet out of order as
 * a loss.
 */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <net/ipv6.h>

#include "mrc_uc_qp.h"

#define MRC_UC_FLAGS	(IB_SEND_FENCE | IB_SEND_SIGNALED | \
			 IB_SEND_SOLICITED | IB_SEND_INLINE)

/* Copy the work request at the head of the ring and begin its message. */
static enum ib_wc_status mrc_uc_begin(struct mrc_ud *ud)
{
	const struct mrc_send_wqe *e = mrc_ring_entry(&ud->sq, ud->sq.idx);
	struct mrc_uc_tx *tx = &ud->uc->tx;
	struct mrc_ud_tx *w = &ud->uc->wqe;
	enum ib_wc_status st;

	memcpy(&w->h, e, sizeof(w->h));
	barrier();	/* use only the copy from here on */
	w->num_sge = 0;
	w->len = 0;
	if (w->h.send_flags & ~MRC_UC_FLAGS || w->h.reserved)
		return IB_WC_LOC_QP_OP_ERR;
	switch (w->h.opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
		tx->write = false;
		break;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		tx->write = true;
		break;
	default:
		return IB_WC_LOC_QP_OP_ERR;
	}
	st = mrc_ud_copy_data(ud, e, w, MRC_UC_MAX_MSG);
	if (st != IB_WC_SUCCESS)
		return st;
	tx->with_imm = w->h.opcode == IB_WR_SEND_WITH_IMM ||
		       w->h.opcode == IB_WR_RDMA_WRITE_WITH_IMM;
	tx->se = w->h.send_flags & IB_SEND_SOLICITED;
	tx->len = w->len;
	tx->va = w->h.remote_addr;
	tx->rkey = w->h.rkey;
	memcpy(&tx->imm, &w->h.imm_data, sizeof(tx->imm));
	mrc_uc_tx_begin(tx);
	return IB_WC_SUCCESS;
}

/* Consume and complete the work request at the head of the ring. */
static void mrc_uc_complete(struct mrc_ud *ud, enum ib_wc_status status,
			    bool *fatal)
{
	const struct mrc_ud_tx *w = &ud->uc->wqe;
	struct mrc_cqe cqe = {
		.wr_id = w->h.wr_id,
		.status = status,
		.opcode = ud->uc->tx.write ? IB_WC_RDMA_WRITE : IB_WC_SEND,
		.byte_len = w->len,
		.qp_num = ud->base.qpn,
	};

	/* Consume the entry before the completion: the program may post again at once. */
	ud->sq.idx++;
	mrc_ring_consumed(&ud->sq);
	if ((status != IB_WC_SUCCESS || ud->base.sig_all ||
	     w->h.send_flags & IB_SEND_SIGNALED) &&
	    mrc_cq_post(ud->base.scq, ud->base.ibqp, &cqe, status != IB_WC_SUCCESS,
			ud->port))
		*fatal = true;
}

static void mrc_uc_put_part(struct mrc_build *b, const struct mrc_mr *mr,
			    u64 va, u32 len)
{
	while (len) {
		u32 poff, n;
		struct page *page = mrc_mr_page(mr, va, &poff, &n);

		n = min(n, len);
		mrc_build_page(b, page, poff, n, false);
		va += n;
		len -= n;
	}
}

/* Append [off, off + len) of the message to the packet. */
static enum ib_wc_status mrc_uc_put_payload(struct mrc_ud *ud,
					    struct mrc_build *b, u32 off,
					    u32 len)
{
	const struct mrc_ud_tx *w = &ud->uc->wqe;
	u32 i, n;

	if (w->h.send_flags & IB_SEND_INLINE) {
		const struct mrc_send_wqe *e;

		e = mrc_ring_entry(&ud->sq, ud->sq.idx);
		mrc_build_bytes(b, (const u8 *)(e + 1) + off, len);
		return IB_WC_SUCCESS;
	}
	for (i = 0; i < w->num_sge && len; i++) {
		const struct mrc_sge *sge = &w->sge[i];
		struct mrc_mr *mr;

		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(len, sge->length - off);
		mr = mrc_mr_get_local(ud->base.dev, ud->base.ibqp->pd, sge->lkey,
				      sge->addr + off, n, 0);
		mr = mrc_mr_pinned(mr);
		if (IS_ERR(mr))
			return IB_WC_LOC_PROT_ERR;
		mrc_uc_put_part(b, mr, sge->addr + off, n);
		mrc_mr_put(mr);
		off = 0;
		len -= n;
	}
	return IB_WC_SUCCESS;
}

/*
 * Build the packet with the headers @h in *@skbp. NULL if there is no memory: then the
 * packet is lost, and the peer drops the message.
 */
static enum ib_wc_status mrc_uc_make(struct mrc_ud *ud,
				     const struct mrc_hdr *h, u32 off,
				     struct sk_buff **skbp)
{
	enum ib_wc_status st;
	struct mrc_head head;
	struct mrc_build b;

	*skbp = NULL;
	mrc_ud_head(ud, &ud->uc->av, h, h->dqp, &head);
	if (!mrc_build_begin(&b, &head, h->payload_len, true))
		return IB_WC_SUCCESS;
	st = mrc_uc_put_payload(ud, &b, off, h->payload_len);
	if (st != IB_WC_SUCCESS) {
		mrc_build_drop(&b);
		return st;
	}
	*skbp = mrc_build_end(&b);
	return IB_WC_SUCCESS;
}

/* Largest L3 length of a packet with full payload, bytes. */
static u32 mrc_uc_mtu(const struct mrc_uc *uc)
{
	return (uc->av.ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) +
	       MRC_UDP_HLEN + MRC_UC_HDR_MAX + uc->tx.pmtu + MRC_ICRC_LEN;
}

/* Get a referenced route through the current plane of @ud, or NULL. */
static struct dst_entry *mrc_uc_try(struct mrc_ud *ud)
{
	struct dst_entry *dst = mrc_av_route(ud->base.dev, &ud->uc->av);

	if (dst && dst_mtu(dst) < mrc_uc_mtu(ud->uc)) {
		dst_release(dst);
		return NULL;
	}
	return dst;
}

/*
 * Get a referenced route through the QP's own port, or through another port while the own
 * port is down or has no route. NULL if there is none. After a change of planes the QP
 * uses the new plane for a while, because each change may reorder packets in flight.
 * Under RCU with BH disabled.
 */
static struct dst_entry *mrc_uc_route(struct mrc_ud *ud)
{
	u32 up = mrc_dev_ports_up(ud->base.dev);
	struct mrc_uc *uc = ud->uc;
	struct dst_entry *dst;
	u8 home = uc->bound_port ?: ud->port;
	unsigned int i;

	lockdep_assert_held(&uc->tx_mutex);
	if (uc->bound_port)
		up &= BIT(uc->bound_port);
	if (up & BIT(uc->av.port) &&
	    (uc->av.port == home || time_before(jiffies, uc->back_at))) {
		dst = mrc_uc_try(ud);
		if (dst)
			return dst;
	}
	for (i = 0; i < ud->base.dev->n_ports; i++) {
		u8 port = (home - 1 + i) % ud->base.dev->n_ports + 1;

		if (!(up & BIT(port)))
			continue;
		if (uc->av.port != port) {
			mrc_av_drop_route(&uc->av);
			WRITE_ONCE(uc->av.port, port);
		}
		dst = mrc_uc_try(ud);
		if (dst) {
			uc->back_at = jiffies + MRC_ROUTE_RETRY;
			return dst;
		}
	}
	return NULL;
}

/*
 * Build the next packet of the message in progress and append it to @list. Return: false
 * if the work request has failed; the QP then goes to SQE.
 */
static bool mrc_uc_packet(struct mrc_ud *ud, struct sk_buff_head *list,
			  struct dst_entry *dst, bool *fatal)
{
	struct mrc_uc *uc = ud->uc;
	enum ib_wc_status st = IB_WC_SUCCESS;
	struct sk_buff *skb = NULL;
	struct mrc_hdr h;
	u32 off;

	mrc_uc_tx_next(&uc->tx, &h, &off);
	if (dst)
		st = mrc_uc_make(ud, &h, off, &skb);
	if (skb) {
		mrc_ctr_add(&ud->base.dev->ctr, uc->av.port, MRC_CTR_TX_UC, 1);
		mrc_tx_cb(skb)->port = uc->av.port;
		skb_dst_set(skb, dst_clone(dst));
		__skb_queue_tail(list, skb);
	} else if (st == IB_WC_SUCCESS) {
		mrc_ctr_add(&ud->base.dev->ctr, uc->av.port, MRC_CTR_TX_ERROR, 1);
		/* The peer would drop the rest of the message. */
		mrc_uc_tx_abort(&uc->tx);
	} else {
		mrc_uc_tx_abort(&uc->tx);
	}
	if (!uc->tx.active)
		mrc_uc_complete(ud, st, fatal);
	return st == IB_WC_SUCCESS;
}

/* Return: true if there is more to flush. */
static bool mrc_uc_fail(struct mrc_ud *ud)
{
	WRITE_ONCE(ud->base.state, IB_QPS_SQE);
	return mrc_ud_flush_sq(ud);
}

/*
 * Build up to MRC_TX_BATCH packets. Return: true if there is more to send or to flush. A
 * work request that cannot be sent moves the QP to SQE; the program can move it back to
 * RTS.
 */
static bool mrc_uc_batch(struct mrc_ud *ud, struct sk_buff_head *list,
			 struct dst_entry *dst, bool *fatal)
{
	struct mrc_uc *uc = ud->uc;
	int pending, n;

	lockdep_assert_held(&ud->sq_lock);
	if (ud->base.state == IB_QPS_SQE || ud->base.state == IB_QPS_ERR) {
		mrc_uc_tx_abort(&uc->tx);
		return mrc_ud_flush_sq(ud);
	}
	if (ud->base.state != IB_QPS_RTS && ud->base.state != IB_QPS_SQD)
		return false;
	pending = mrc_ring_pending(&ud->sq);
	if (pending < 0) {	/* invalid producer counter */
		*fatal = true;
		return false;
	}
	/* The entry in progress is in the ring, unless the program decremented prod. */
	if (uc->tx.active && !pending)
		mrc_uc_tx_abort(&uc->tx);
	for (n = 0; n < MRC_TX_BATCH && !*fatal; n++) {
		if (!uc->tx.active) {
			enum ib_wc_status st;

			if (!pending || ud->base.state != IB_QPS_RTS)
				return false;
			st = mrc_uc_begin(ud);
			if (st != IB_WC_SUCCESS) {
				mrc_uc_complete(ud, st, fatal);
				return mrc_uc_fail(ud);
			}
		}
		if (!mrc_uc_packet(ud, list, dst, fatal))
			return mrc_uc_fail(ud);
		if (!uc->tx.active)
			pending--;
	}
	return !*fatal;
}

static bool mrc_uc_send(struct mrc_ud *ud)
{
	struct sk_buff_head list;
	struct dst_entry *dst;
	bool more, fatal = false;

	__skb_queue_head_init(&list);
	local_bh_disable();
	rcu_read_lock();
	dst = mrc_uc_route(ud);
	spin_lock(&ud->sq_lock);
	more = mrc_uc_batch(ud, &list, dst, &fatal);
	spin_unlock(&ud->sq_lock);
	dst_release(dst);
	mrc_ud_xmit(ud, &list);
	rcu_read_unlock();
	local_bh_enable();
	if (fatal)
		mrc_ud_error(ud, IB_EVENT_QP_FATAL);
	return more;
}

int mrc_uc_post_send(struct mrc_ud *ud)
{
	bool more;

	if (READ_ONCE(ud->base.state) < IB_QPS_RTS)
		return -EINVAL;
	mutex_lock(&ud->uc->tx_mutex);
	do {
		more = mrc_uc_send(ud);
		cond_resched();
		/* Another thread may keep posting, so the loop may not end by itself. */
	} while (more && !fatal_signal_pending(current));
	if (more && READ_ONCE(ud->base.state) >= IB_QPS_SQE)
		mrc_ud_flush_later(ud);
	mutex_unlock(&ud->uc->tx_mutex);
	return 0;
}
