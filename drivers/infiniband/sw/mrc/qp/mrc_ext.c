// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests of the extension (Documentation/extension.md): execution of
 * READ, atomic operations and FLUSH of the peer, and reception of the answers to own
 * requests. Keys, permissions and bounds are checked each time memory is accessed: when
 * a request is executed, and again for each packet with its data.
 */
#include <linux/atomic.h>
#include <linux/highmem.h>

#include "mrc_qp_priv.h"

int mrc_scatter(struct mrc_qp *qp, const struct mrc_sge *sge, u32 n, u64 at,
		const struct sk_buff *skb, int off, u32 len)
{
	u32 i;

	for (i = 0; i < n && len; i++) {
		struct mrc_mr *mr;
		u32 part;
		int ret;

		if (at >= sge[i].length) {
			at -= sge[i].length;
			continue;
		}
		part = min_t(u32, len, sge[i].length - at);
		mr = mrc_mr_get(qp->base.ibqp, sge[i].lkey, sge[i].addr + at, part,
				IB_ACCESS_LOCAL_WRITE);
		if (IS_ERR(mr))
			return -EFAULT;
		ret = mrc_mr_copy_from_skb(mr, sge[i].addr + at, skb, off, part);
		mrc_mr_put(mr);
		/* ODP: no such memory, or the key was re-registered after the check. */
		if (ret)
			return -EFAULT;
		at = 0;
		off += part;
		len -= part;
	}
	return len ? -EMSGSIZE : 0;
}

/* --- requests of the peer ---------------------------------------------------- */

static int mrc_rd_access(u8 op)
{
	switch (op) {
	case MRC_OP_READ_REQ:
		return IB_ACCESS_REMOTE_READ;
	case MRC_OP_CMP_SWAP:
	case MRC_OP_FETCH_ADD:
		return IB_ACCESS_REMOTE_ATOMIC;
	case MRC_OP_ATOMIC_WRITE:
		return IB_ACCESS_REMOTE_WRITE;
	default:	/* FLUSH */
		return IB_ACCESS_FLUSH_GLOBAL;
	}
}

/*
 * Execute @rd on the eight bytes at its address. The operation is atomic with respect to
 * programs and other devices. *@old: previous value. @who: QPN for mrc_mr_open().
 * Return: 0, the syndrome of the NAK, or -EAGAIN as mrc_mr_open().
 */
static int mrc_atomic(struct mrc_mr *mr, const struct mrc_rd *rd, u64 *old,
		      u32 who)
{
	struct page *page;
	u32 off, room;
	void *map;
	int ret;
	u64 *p;

	ret = mrc_mr_open(mr, rd->va, sizeof(*p), true, who);
	if (ret)
		return ret == -EAGAIN ? ret : MRC_SYN_NAK_ACCESS;
	page = mrc_mr_page(mr, rd->va, &off, &room);
	/* The offset of the region in its first page may be unaligned. */
	if (!IS_ALIGNED(off, sizeof(*p))) {
		mrc_mr_close(mr, sizeof(*p));
		return MRC_SYN_NAK_INV_REQ;
	}
	map = kmap_local_page(page);
	p = map + off;
	switch (rd->op) {
	case MRC_OP_CMP_SWAP:
		*old = atomic64_cmpxchg((atomic64_t *)p, rd->compare, rd->swap);
		break;
	case MRC_OP_FETCH_ADD:
		*old = atomic64_fetch_add(rd->compare, (atomic64_t *)p);
		break;
	default:	/* ATOMIC_WRITE: order after all earlier writes */
		smp_wmb();
		WRITE_ONCE(*p, (__force u64)cpu_to_be64(rd->swap));
		break;
	}
	kunmap_local(map);
	mrc_mr_close(mr, sizeof(*p));
	return 0;
}

/*
 * Check the memory of @rd, and execute operations other than READ. READ accesses the
 * memory when the answer is sent.
 */
static int mrc_rd_touch(struct mrc_qp *qp, const struct mrc_rd *rd, u64 *old)
{
	int access = mrc_rd_access(rd->op);
	struct mrc_mr *mr;
	int syn = 0;

	/* This driver supports no persistent memory. */
	if (rd->op == MRC_OP_FLUSH && rd->swap & MRC_FLUSH_PERSISTENT)
		return MRC_SYN_NAK_ACCESS;
	/* The address and the key of a READ of zero bytes are ignored. */
	if (rd->op == MRC_OP_READ_REQ && !rd->len)
		return 0;
	if (rd->op == MRC_OP_FLUSH && rd->swap & MRC_FLUSH_MR)
		mr = mrc_mr_get_all(qp->base.ibqp, rd->rkey, access);
	else
		mr = mrc_mr_get(qp->base.ibqp, rd->rkey, rd->va, rd->len, access);
	if (IS_ERR(mr))
		return MRC_SYN_NAK_ACCESS;
	if (rd->op == MRC_OP_FLUSH)
		smp_mb();	/* make earlier stores visible to all */
	else if (rd->op != MRC_OP_READ_REQ)
		syn = mrc_atomic(mr, rd, old, qp->base.qpn);
	mrc_mr_put(mr);
	return syn;
}

int mrc_ext_execute(struct mrc_qp *qp, const struct mrc_rd *rd)
{
	struct mrc_wr wr = { .op = MRC_WR_ANSWER, .num = rd->num };
	struct mrc_qp *ans = mrc_ans_get(qp);
	int slot, syn = MRC_SYN_NAK_REM_OP;
	struct mrc_swqe *w;
	u64 old = 0;

	lockdep_assert_held(&qp->rx.lock);
	if (!ans)
		return syn;
	if (rd->op == MRC_OP_READ_REQ)
		wr.len = rd->len;
	if (rd->op == MRC_OP_CMP_SWAP || rd->op == MRC_OP_FETCH_ADD) {
		wr.op = MRC_WR_ANSWER_ATOMIC;
		wr.len = MRC_ATOMIC_LEN;
	}
	spin_lock(&ans->tx.lock);
	/* The send queue has a slot for each request that the engine accepts. */
	if (!mrc_qp_sends(ans) || !mrc_req_can_post(mrc_qp_req(ans)))
		goto out;
	syn = mrc_rd_touch(qp, rd, &old);
	if (syn)
		goto out;
	slot = mrc_req_post(mrc_qp_req(ans), &wr, mrc_now());
	if (slot < 0) {
		syn = MRC_SYN_NAK_REM_OP;
		goto out;
	}
	w = mrc_swqe_at(ans, slot);
	memset(w, 0, sizeof(*w));
	w->len = wr.len;
	if (wr.op == MRC_WR_ANSWER_ATOMIC) {
		w->inl = true;
		put_unaligned_be64(old, mrc_inline_at(ans, slot));
	} else if (wr.len) {
		w->remote = true;
		w->num_sge = 1;
		w->sge[0] = (struct mrc_sge){
			.addr = rd->va,
			.length = wr.len,
			.lkey = rd->rkey,
		};
	}
	ans->tx.sq_taken++;
out:
	spin_unlock(&ans->tx.lock);
	mrc_qp_put(ans);
	return syn;
}

/* --- answers to our own requests ---------------------------------------------- */

/* Store the result of an atomic operation in host byte order. */
static int mrc_put_result(struct mrc_qp *qp, const struct mrc_swqe *w,
			  const struct sk_buff *skb, int off)
{
	u64 va = w->sge[0].addr;
	u8 buf[MRC_ATOMIC_LEN];
	struct mrc_mr *mr;
	u32 done, n;
	u64 val;
	int ret;

	if (skb_copy_bits(skb, off, buf, sizeof(buf)))
		return -EFAULT;
	val = get_unaligned_be64(buf);
	mr = mrc_mr_get(qp->base.ibqp, w->sge[0].lkey, va, sizeof(val),
			IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(mr))
		return -EFAULT;
	ret = mrc_mr_open(mr, va, sizeof(val), true, 0);
	if (ret) {
		mrc_mr_put(mr);
		return -EFAULT;
	}
	for (done = 0; done < sizeof(val); done += n) {
		u32 poff;
		struct page *page = mrc_mr_page(mr, va + done, &poff, &n);
		void *map = kmap_local_page(page);

		n = min_t(u32, n, sizeof(val) - done);
		memcpy(map + poff, (u8 *)&val + done, n);
		kunmap_local(map);
	}
	mrc_mr_close(mr, sizeof(val));
	mrc_mr_put(mr);
	return 0;
}

/* Is @h a packet of the answer to @w? */
static bool mrc_answer_fits(const struct mrc_swqe *w, const struct mrc_hdr *h)
{
	bool atomic = h->opcode == MRC_OP_ATOMIC_RESP;

	switch (w->op) {
	case IB_WR_RDMA_READ:
		return !atomic && h->reth.dmalen == w->len &&
		       h->reth.va <= w->len &&
		       h->payload_len <= w->len - h->reth.va;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return atomic && !h->reth.va &&
		       h->payload_len == MRC_ATOMIC_LEN;
	default:	/* FLUSH, ATOMIC_WRITE: the answer has no data */
		return h->opcode == MRC_OP_READ_RESP_ONLY && !h->payload_len;
	}
}

int mrc_ext_answer_ready(struct mrc_qp *ans, const struct mrc_hdr *h,
			 struct mrc_odp_hold *hold)
{
	struct mrc_qp *qp = ans->ans_of;
	struct mrc_swqe *w;
	int ret = 0;
	u32 slot;

	lockdep_assert_held(&ans->rx.lock);
	spin_lock(&qp->tx.lock);
	/* An answer that does not fit is refused by mrc_ext_take_answer(). */
	if (mrc_qp_sends(qp) && qp->conn == ans->conn &&
	    mrc_req_find(mrc_qp_req(qp), h->msn, &slot)) {
		w = mrc_swqe_at(qp, slot);
		if (mrc_answer_fits(w, h))
			ret = mrc_odp_ready(qp->base.dev, qp->base.ibqp->pd, w->sge,
					    w->num_sge, h->reth.va,
					    h->payload_len, true, qp->base.qpn,
					    &ans->rx.page_fetched_at, hold);
	}
	spin_unlock(&qp->tx.lock);
	return ret;
}

u8 mrc_ext_take_answer(struct mrc_qp *ans, const struct mrc_hdr *h,
		       const struct sk_buff *skb, int off, bool *kick)
{
	struct mrc_qp *qp = ans->ans_of;
	struct mrc_rd_state *rd;
	struct mrc_swqe *w;
	u8 syn = 0;
	u32 slot;
	int ret;

	lockdep_assert_held(&ans->rx.lock);
	spin_lock(&qp->tx.lock);
	/* In ERROR all requests have been flushed: drop the data. */
	if (qp->base.state != IB_QPS_RTS || qp->conn != ans->conn ||
	    (qp->tx.on && !mrc_req_ready(mrc_qp_req(qp))))
		goto out;
	syn = MRC_SYN_NAK_INV_REQ;
	/* Without a requester no request was ever sent. */
	if (!qp->tx.on || !mrc_req_find(mrc_qp_req(qp), h->msn, &slot))
		goto out;
	w = mrc_swqe_at(qp, slot);
	rd = &qp->tx.eng->rd[h->msn & (MRC_MAX_RD_ATOMIC - 1)];
	if (rd->slot != slot || rd->left < h->payload_len ||
	    !mrc_answer_fits(w, h))
		goto out;
	if (w->op == IB_WR_RDMA_READ)
		ret = mrc_scatter(qp, w->sge, w->num_sge, h->reth.va, skb, off,
				  h->payload_len);
	else if (h->payload_len)
		ret = mrc_put_result(qp, w, skb, off);
	else
		ret = 0;
	if (ret) {
		syn = MRC_SYN_NAK_REM_OP;
		mrc_req_fail(mrc_qp_req(qp), slot, MRC_WC_LOC_PROT);
		*kick = true;
		goto out;
	}
	rd->left -= h->payload_len;
	syn = 0;
out:
	spin_unlock(&qp->tx.lock);
	return syn;
}
