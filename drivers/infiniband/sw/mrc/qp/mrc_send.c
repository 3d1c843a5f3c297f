// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Building and sending packets. Payload is not copied: the pinned pages become
 * fragments of the skb, with headers in front and pad and ICRC in a small
 * fragment behind. Short or scattered payload is copied, that is cheaper; and so
 * is memory that the kernel may take back before the packet is gone.
 */
#include <linux/highmem.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <linux/vmalloc.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>

#include "mrc_qp.h"
#include "mrc_peer.h"
#include "queue/mrc_qp_verbs.h"
#include "dev/mrc_trace.h"
#include "net/mrc_net.h"

#define MRC_TX_COPY	256	/* payload up to this is copied */
#define MRC_TX_MAX_SEGS	4	/* SGEs in one packet before copying */
#define MRC_TX_ROUNDS	16	/* batches before the work item goes on */
#define MRC_TX_PAGE_NS	(32 * NSEC_PER_MSEC)	/* no word of missing pages */
#define MRC_TX_PAGE_MAX_NS	(4ull * NSEC_PER_SEC)

/* Worst case: each SGE of a packet touches one page more than it fills. */
static_assert(MRC_TX_MAX_SEGS * 2 + 4096 / PAGE_SIZE + 1 <= MAX_SKB_FRAGS);

static u8 mrc_tos(const struct mrc_dev *dev, const struct mrc_tx_desc *d)
{
	return mrc_tc_tx(&dev->tc, d->tc) << 2 |
	       (d->ect ? INET_ECN_ECT_0 : INET_ECN_NOT_ECT);
}

/* A stretch of a packet's payload within one SGE. */
struct mrc_seg {
	u64 va;
	u32 len;
	u32 lkey;
};

/*
 * Next stretch of @w from *@off on, at most @len bytes; *@i is the SGE to
 * start with, *@base the message offset of its first byte.
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

/* SGEs that [off, off + len) touches, counted up to more than the limit. */
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

static void mrc_add_frag(struct sk_buff *skb, struct page *page, u32 off,
			 u32 len)
{
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, off, len, len);
}

/* A copy of @len bytes, at most a page, as another fragment. */
static void *mrc_copy_frag(struct sk_buff *skb, const void *from, u32 len)
{
	void *p = netdev_alloc_frag(len);
	struct page *page;

	if (!p)
		return NULL;
	memcpy(p, from, len);
	page = virt_to_head_page(p);
	mrc_add_frag(skb, page, p - page_address(page), len);
	return p;
}

/*
 * Copy a part of @page to the tail of @skb or attach it, and continue the CRC.
 * 0 or -ENOMEM.
 */
static int mrc_put_page(struct sk_buff *skb, struct page *page, u32 off,
			u32 len, bool copy, bool paged, u32 *crc)
{
	void *map = kmap_local_page(page);
	const void *p = map + off;

	if (copy) {
		p = skb_put_data(skb, p, len);
	} else if (paged || !sendpage_ok(page)) {	/* slab: of a ULP */
		p = mrc_copy_frag(skb, p, len);
	} else {
		get_page(page);
		mrc_add_frag(skb, page, off, len);
	}
	if (p)
		*crc = mrc_crc32(*crc, p, len);
	kunmap_local(map);
	return p ? 0 : -ENOMEM;
}

/* Put [off, off + len) of the message of @w behind the headers. */
static int mrc_put_sges(struct mrc_qp *qp, const struct mrc_swqe *w,
			struct sk_buff *skb, u32 off, u32 len, bool copy,
			u32 *crc)
{
	u32 i = 0, base = 0, n_open;
	struct mrc_seg seg;
	int ret = 0;

	while (len) {
		struct mrc_mr *mr;

		if (!mrc_next_seg(w, off, len, &i, &base, &seg))
			return -EFAULT;
		mr = mrc_mr_get(qp, seg.lkey, seg.va, seg.len,
				w->remote ? IB_ACCESS_REMOTE_READ : 0);
		if (IS_ERR(mr))
			return -EFAULT;
		n_open = seg.len;
		ret = mrc_mr_open(mr, seg.va, n_open, false, qp->qpn);
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
			ret = mrc_put_page(skb, page, poff, n, copy, mr->odp,
					   crc);
			seg.va += n;
			seg.len -= n;
		}
		mrc_mr_close(mr, n_open);
		mrc_mr_put(mr);
		if (ret)
			return ret;
	}
	/* The program may write to its buffer at any time. */
	if (!copy)
		skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	return 0;
}

static void mrc_put_trailer(void *p, u32 pad, u32 crc)
{
	static const u8 zero[4];

	memset(p, 0, pad);
	crc = mrc_crc32(crc, zero, pad);
	put_unaligned_le32(mrc_icrc_finish(crc), p + pad);
}

static int mrc_put_payload(struct mrc_qp *qp, const struct mrc_tx_desc *d,
			   struct sk_buff *skb, bool copy, u32 crc)
{
	const struct mrc_swqe *w = mrc_swqe_at(qp, d->slot);
	u32 trailer = d->hdr.pad + MRC_ICRC_LEN;
	struct page *page;
	void *p;
	int ret;

	if (w->inl) {
		p = skb_put_data(skb, mrc_inline_at(qp, d->slot) + d->off,
				 d->len);
		crc = mrc_crc32(crc, p, d->len);
	} else {
		ret = mrc_put_sges(qp, w, skb, d->off, d->len, copy, &crc);
		if (ret)
			return ret;
	}
	if (copy) {
		p = skb_put(skb, trailer);
	} else {
		p = netdev_alloc_frag(trailer);
		if (!p)
			return -ENOMEM;
		page = virt_to_head_page(p);
		mrc_add_frag(skb, page, p - page_address(page), trailer);
	}
	mrc_put_trailer(p, d->hdr.pad, crc);
	return 0;
}

static void mrc_put_ip(const struct mrc_head *head, struct sk_buff *skb,
		       u32 udp_len)
{
	if (head->ipv6) {
		struct ipv6hdr *ip6 = skb_put(skb, sizeof(*ip6));

		ip6_flow_hdr(ip6, head->tos, htonl(head->entropy >> 16));
		ip6->payload_len = htons(udp_len);
		ip6->nexthdr = IPPROTO_UDP;
		ip6->hop_limit = MRC_HOP_LIMIT;
		ip6->saddr = *head->saddr;
		ip6->daddr = *head->daddr;
		skb->protocol = htons(ETH_P_IPV6);
	} else {
		struct iphdr *ip = skb_put(skb, sizeof(*ip));

		ip->version = 4;
		ip->ihl = 5;
		ip->tos = head->tos;
		ip->tot_len = htons(sizeof(*ip) + udp_len);
		ip->id = 0;
		ip->frag_off = htons(IP_DF);
		ip->ttl = MRC_HOP_LIMIT;
		ip->protocol = IPPROTO_UDP;
		ip->check = 0;	/* ip_local_out() */
		ip->saddr = head->saddr->s6_addr32[3];
		ip->daddr = head->daddr->s6_addr32[3];
		skb->protocol = htons(ETH_P_IP);
	}
}

/*
 * An skb with all headers. @udp_len: as on the wire; @room: bytes that will be
 * put behind the headers; @crc: the ICRC so far.
 */
static struct sk_buff *mrc_build_head(const struct mrc_head *head, u32 udp_len,
				      u32 room, u32 *crc)
{
	u32 ip_len = head->ipv6 ? sizeof(struct ipv6hdr) :
				  sizeof(struct iphdr);
	u32 front = LL_MAX_HEADER + (head->srv6 ? MRC_SRV6_ROOM : 0);
	u32 hdr_len = mrc_hdr_len(head->hdr);
	struct sk_buff *skb;
	struct udphdr *udp;
	void *bth;

	skb = alloc_skb(front + ip_len + sizeof(*udp) + hdr_len + room,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, front);
	skb_reset_network_header(skb);
	mrc_put_ip(head, skb, udp_len);
	skb_set_transport_header(skb, ip_len);
	udp = skb_put(skb, sizeof(*udp));
	udp->source = htons(head->entropy);
	udp->dest = htons(mrc_udp_port);
	udp->len = htons(udp_len);
	udp->check = 0;
	bth = skb_put(skb, hdr_len);
	mrc_hdr_build(head->hdr, bth, hdr_len);

	*crc = mrc_icrc_start(skb_network_header(skb));
	*crc = mrc_crc32(*crc, bth + MRC_BTH_LEN, hdr_len - MRC_BTH_LEN);
	return skb;
}

struct sk_buff *mrc_build_bare(const struct mrc_head *head)
{
	u32 trailer = head->hdr->pad + MRC_ICRC_LEN;
	struct sk_buff *skb;
	u32 crc;

	skb = mrc_build_head(head, sizeof(struct udphdr) +
			     mrc_hdr_len(head->hdr) + trailer, trailer, &crc);
	if (skb)
		mrc_put_trailer(skb_put(skb, trailer), head->hdr->pad, crc);
	return skb;
}

struct sk_buff *mrc_build_skb(struct mrc_qp *qp, const struct mrc_tx_desc *d)
{
	const struct mrc_head head = {
		.hdr = &d->hdr,
		.saddr = &qp->saddr,
		.daddr = &qp->daddr,
		.entropy = d->entropy,
		.ipv6 = qp->ipv6,
		.tos = mrc_tos(qp->dev, d),
		.srv6 = mrc_qp_srv6(qp),
	};
	u32 payload = d->data ? d->len : 0;
	struct sk_buff *skb;
	u32 tail, crc;
	int ret;

	if (payload) {
		const struct mrc_swqe *w = mrc_swqe_at(qp, d->slot);
		bool copy = payload <= MRC_TX_COPY || w->inl ||
			    mrc_count_segs(w, d->off, payload) >
			    MRC_TX_MAX_SEGS;

		tail = payload + d->hdr.pad + MRC_ICRC_LEN;
		skb = mrc_build_head(&head, sizeof(struct udphdr) +
				     mrc_hdr_len(&d->hdr) + tail,
				     copy ? tail : 0, &crc);
		if (!skb)
			return ERR_PTR(-ENOMEM);
		ret = mrc_put_payload(qp, d, skb, copy, crc);
		if (ret) {
			kfree_skb(skb);
			return ERR_PTR(ret);
		}
	} else {
		skb = mrc_build_bare(&head);
		if (!skb)
			return ERR_PTR(-ENOMEM);
	}
	skb->priority = d->tc == MRC_TC_CONTROL ? TC_PRIO_INTERACTIVE :
						  TC_PRIO_BESTEFFORT;
	mrc_tx_cb(skb)->port = d->port;
	mrc_tx_cb(skb)->srv6 = head.srv6;
	if (head.srv6)
		mrc_srv6_encap(qp, skb, d->ev, d->port);
	trace_mrc_send(qp->qpn, &d->hdr, d->port, d->entropy, payload);
	return skb;
}

/* Remember how much data the answer to the request in @d has to bring. */
static void mrc_req_begin(struct mrc_qp *qp, const struct mrc_tx_desc *d)
{
	struct mrc_rd_state *rd;

	if (!d->data || d->hdr.rtx ||
	    !(mrc_op_info(d->hdr.opcode)->flags & MRC_OPF_REQUEST))
		return;
	rd = &qp->tx->rd[d->hdr.rqmsn & (MRC_MAX_RD_ATOMIC - 1)];
	rd->slot = d->slot;
	rd->left = mrc_swqe_at(qp, d->slot)->len;
}

/*
 * How long a packet waits without word of its memory: half as long again as memory
 * has been missing. Making all the packets that wait, for nothing, can take longer
 * than they wait; the timer would come again at once, and no task would run that
 * could bring the memory.
 */
static u64 mrc_tx_page_wait(struct mrc_qp *qp, u64 now)
{
	if (!qp->tx_page_since)
		qp->tx_page_since = now;
	return clamp_t(u64, (now - qp->tx_page_since) / 2, MRC_TX_PAGE_NS,
		       MRC_TX_PAGE_MAX_NS);
}

/* Build up to MRC_TX_BATCH packets; true if there may be more. */
static bool mrc_req_batch(struct mrc_qp *qp, struct sk_buff_head *list,
			  u64 now)
{
	struct mrc_tx_desc d;
	struct sk_buff *skb;
	int i, ret;

	for (i = 0; i < MRC_TX_BATCH; i++) {
		switch (mrc_req_next(&qp->tx->req, now, &d)) {
		case MRC_TX_PACKET:
			break;
		case MRC_TX_LOCAL:
			ret = mrc_local_op(qp, mrc_swqe_at(qp, d.slot));
			if (ret == -EAGAIN) {
				qp->again = true;
				return false;
			}
			mrc_req_local_done(&qp->tx->req, d.slot,
					   ret ? MRC_WC_MW_BIND :
						 MRC_WC_SUCCESS, now);
			mrc_sq_reap(qp);
			continue;
		default:
			return false;
		}
		mrc_req_begin(qp, &d);
		skb = mrc_build_skb(qp, &d);
		if (PTR_ERR_OR_ZERO(skb) == -EAGAIN) {
			u64 at = mrc_now();

			mrc_req_put_back(&qp->tx->req, &d,
					 at + mrc_tx_page_wait(qp, at), at);
			qp->tx_page = true;
			continue;
		}
		if (IS_ERR(skb)) {
			mrc_ctr_add(&qp->dev->ctr, d.port, MRC_CTR_TX_ERROR, 1);
			if (PTR_ERR(skb) != -EFAULT)
				return false;	/* retransmitted later */
			if (qp->main) {
				/* Answers before it are to arrive still. */
				qp->ans_bad = true;
				qp->ans_bad_num =
					qp->tx->req.wqe[d.slot].wr.num;
				return false;
			}
			mrc_req_fail(&qp->tx->req, d.slot, MRC_WC_LOC_PROT);
			mrc_sq_reap(qp);
			return false;
		}
		if (d.data && d.len)
			qp->tx_page_since = 0;
		__skb_queue_tail(list, skb);
	}
	return true;
}

/* Memory for inline data, on first use. Process context, no lock held. */
static void mrc_alloc_inline(struct mrc_qp *qp)
{
	struct mem_cgroup *old = set_active_memcg(qp->memcg);
	void *buf = kvmalloc_array(qp->sq.depth, qp->max_inline,
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	set_active_memcg(old);
	spin_lock_bh(&qp->req_lock);
	if (qp->need_inline) {
		qp->need_inline = false;
		qp->no_inline = !buf;
		qp->inl_buf = buf;
		buf = NULL;
	}
	spin_unlock_bh(&qp->req_lock);
	kvfree(buf);
}

void mrc_req_run(struct mrc_qp *qp, bool sleep)
	__releases(&qp->req_lock)
{
	unsigned int round;

	for (round = 0;; round++) {
		bool more, take_more = false, need_inline, failed, fatal;
		bool drained = false, wait, bad;
		struct sk_buff_head list;
		u32 conn = qp->conn, acked, seq = mrc_odp_seq(&qp->dev->odp);
		u16 bad_num;

		__skb_queue_head_init(&list);
		mrc_peer_sync(qp);
		mrc_sq_reap(qp);
		failed = qp->fatal || qp->tx->req.state == MRC_REQ_ERROR;
		if (qp->sqd == MRC_SQD_DRAINING && !failed &&
		    mrc_req_drained(&qp->tx->req)) {
			WRITE_ONCE(qp->sqd, MRC_SQD_DRAINED);
			drained = qp->sqd_notify;
		}
		if (READ_ONCE(qp->page_woken)) {
			WRITE_ONCE(qp->page_woken, false);
			mrc_req_release(&qp->tx->req);
		}
		qp->tx_page = false;
		if (qp->sq_pending && !qp->need_inline && !qp->need_ans &&
		    !qp->sqd) {
			take_more = mrc_sq_take(qp);
			mrc_sq_reap(qp);
		}
		need_inline = qp->need_inline;
		qp->again = false;
		more = mrc_req_batch(qp, &list, mrc_now());
		wait = need_inline || qp->need_ans || qp->again;
		if (qp->tx_page)
			mrc_qp_wait_page(qp, seq);
		mrc_qp_arm_timer(qp);
		fatal = qp->fatal;
		qp->fatal = false;
		acked = qp->ans_acked;
		qp->ans_acked = 0;
		bad = qp->ans_bad;
		bad_num = qp->ans_bad_num;
		qp->ans_bad = false;
		failed = qp->tx->req.state == MRC_REQ_ERROR;
		/* Feedback goes on if the engine still has work. */
		more |= take_more && qp->tx->req.wq_send == qp->tx->req.wq_post;
		/*
		 * A softirq that runs in between would send what the engine
		 * chose after these before them: packets of one path would
		 * be overtaken on it.
		 */
		local_bh_disable();
		spin_unlock_bh(&qp->req_lock);

		mrc_xmit_list(qp, &list);
		local_bh_enable();
		if (drained)
			mrc_qp_report(qp->ibqp, IB_EVENT_SQ_DRAINED);
		/* Whatever this lets the responder execute is sent by this loop. */
		if (acked)
			more |= mrc_ans_acked(qp, conn, acked);
		if (bad)
			more |= mrc_ans_failed(qp, conn, bad_num);
		if (fatal || failed) {
			/* No completion tells of an answer that failed. */
			mrc_qp_error(qp, conn, fatal || qp->main ?
					       IB_EVENT_QP_FATAL :
					       MRC_NO_EVENT);
			return;
		}
		if (need_inline && sleep) {
			mrc_alloc_inline(qp);
			more = true;
		}
		if (!more && !wait)
			return;
		if (!more || round >= MRC_TX_ROUNDS) {
			mrc_qp_queue_work(qp, 0);
			return;
		}
		spin_lock_bh(&qp->req_lock);
		if (!qp->req_on || qp->state != IB_QPS_RTS) {
			spin_unlock_bh(&qp->req_lock);
			return;
		}
	}
}
