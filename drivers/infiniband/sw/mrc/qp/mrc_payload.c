// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Build packets from the descriptors of the engines. Payload is normally not copied: the
 * pinned pages become fragments of the skb. Payload that is short or scattered over many
 * SGEs is copied, because this is cheaper. Pages of paged memory (ODP) are copied too,
 * because the kernel may reclaim them before the packet has been sent.
 */
#include <linux/pkt_sched.h>
#include <net/inet_ecn.h>

#include "dev/mrc_trace.h"
#include "mrc_qp_priv.h"

#define MRC_TX_COPY	256	/* payload up to this size is copied, bytes */
#define MRC_TX_MAX_SEGS	4	/* payload from more SGEs than this is copied */

/* Worst case: each SGE of a packet touches one page more than it fills. */
static_assert(MRC_TX_MAX_SEGS * 2 + 4096 / PAGE_SIZE + 1 <= MAX_SKB_FRAGS);

static u8 mrc_tos(const struct mrc_dev *dev, const struct mrc_tx_desc *d)
{
	return mrc_tc_tx(&dev->tc, d->tc) << 2 |
	       (d->ect ? INET_ECN_ECT_0 : INET_ECN_NOT_ECT);
}

/* A part of a packet's payload within one SGE. */
struct mrc_seg {
	u64 va;
	u32 len;
	u32 lkey;
};

/*
 * Get the part of the message of @w that starts at @off, at most @len bytes. *@i: SGE at
 * which the search starts; *@base: offset of this SGE in the message. Both are updated.
 */
static bool mrc_next_seg(const struct mrc_swqe *w, u32 off, u32 len, u32 *i,
			 u32 *base, struct mrc_seg *seg)
{
	while (*i < w->num_sge) {
		const struct mrc_sge *sge = &w->sge[*i];

		if (off - *base < sge->length) {
			seg->va = sge->addr + (off - *base);
			seg->len = min(len, sge->length - (off - *base));
			seg->lkey = sge->lkey;
			return true;
		}
		*base += sge->length;
		(*i)++;
	}
	return false;
}

/* Number of SGEs in [off, off + len). Counting stops above MRC_TX_MAX_SEGS. */
static unsigned int mrc_count_segs(const struct mrc_swqe *w, u32 off, u32 len)
{
	u32 i = 0, base = 0;
	struct mrc_seg seg;
	unsigned int n = 0;

	while (len && n <= MRC_TX_MAX_SEGS &&
	       mrc_next_seg(w, off, len, &i, &base, &seg)) {
		off += seg.len;
		len -= seg.len;
		n++;
	}
	return n;
}

/* Append [off, off + len) of the message of @w to the packet. */
static int mrc_put_sges(struct mrc_qp *qp, const struct mrc_swqe *w,
			struct mrc_build *b, u32 off, u32 len)
{
	u32 i = 0, base = 0, n_open;
	struct mrc_seg seg;
	int ret = 0;

	while (len) {
		struct mrc_mr *mr;

		if (!mrc_next_seg(w, off, len, &i, &base, &seg))
			return -EFAULT;
		mr = mrc_mr_get(qp->base.ibqp, seg.lkey, seg.va, seg.len,
				w->remote ? IB_ACCESS_REMOTE_READ : 0);
		if (IS_ERR(mr))
			return -EFAULT;
		n_open = seg.len;
		ret = mrc_mr_open(mr, seg.va, n_open, false, qp->base.qpn);
		if (ret) {
			mrc_mr_put(mr);
			return ret;
		}
		off += seg.len;
		len -= seg.len;
		while (seg.len && !ret) {
			u32 poff, n;
			struct page *page = mrc_mr_page(mr, seg.va, &poff, &n);

			n = min(n, seg.len);
			ret = mrc_build_page(b, page, poff, n, mr->odp);
			seg.va += n;
			seg.len -= n;
		}
		mrc_mr_close(mr, n_open);
		mrc_mr_put(mr);
		if (ret)
			return ret;
	}
	return 0;
}

/* Build a packet with payload. Return: the skb or an ERR_PTR(). */
static struct sk_buff *mrc_build_data(struct mrc_qp *qp,
				      const struct mrc_tx_desc *d,
				      const struct mrc_head *head)
{
	const struct mrc_swqe *w = mrc_swqe_at(qp, d->slot);
	bool copy = d->len <= MRC_TX_COPY || w->inl ||
		    mrc_count_segs(w, d->off, d->len) > MRC_TX_MAX_SEGS;
	struct mrc_build b;
	struct sk_buff *skb;
	int ret;

	if (!mrc_build_begin(&b, head, d->len, copy))
		return ERR_PTR(-ENOMEM);
	if (w->inl) {
		mrc_build_bytes(&b, mrc_inline_at(qp, d->slot) + d->off, d->len);
	} else {
		ret = mrc_put_sges(qp, w, &b, d->off, d->len);
		if (ret) {
			mrc_build_drop(&b);
			return ERR_PTR(ret);
		}
	}
	skb = mrc_build_end(&b);
	return skb ?: ERR_PTR(-ENOMEM);
}

struct sk_buff *mrc_build_skb(struct mrc_qp *qp, const struct mrc_tx_desc *d)
{
	struct mrc_head head = {
		.hdr = &d->hdr,
		.saddr = &qp->flow.saddr,
		.daddr = &qp->flow.daddr,
		.dport = qp->flow.dport,
		.ipv6 = qp->flow.ipv6,
		.tos = mrc_tos(qp->base.dev, d),
		.srv6 = mrc_flow_srv6(&qp->flow),
	};
	u32 payload = d->data ? d->len : 0;
	struct sk_buff *skb;

	mrc_head_entropy(&head, d->entropy);
	skb = payload ? mrc_build_data(qp, d, &head) :
			mrc_build_bare(&head) ?: ERR_PTR(-ENOMEM);
	if (IS_ERR(skb))
		return skb;
	skb->priority = d->tc == MRC_TC_CONTROL ? TC_PRIO_INTERACTIVE :
						  TC_PRIO_BESTEFFORT;
	mrc_tx_cb(skb)->port = d->port;
	mrc_tx_cb(skb)->srv6 = head.srv6;
	if (head.srv6)
		mrc_srv6_encap(&qp->flow, skb, d->ev, d->port);
	trace_mrc_send(qp->base.qpn, &d->hdr, d->port, d->entropy, payload);
	return skb;
}
