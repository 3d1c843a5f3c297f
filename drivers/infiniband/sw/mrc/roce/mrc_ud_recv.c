// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receiving datagrams: nothing is believed before lengths and ICRC have been
 * checked, nothing is answered, and what cannot be taken is dropped and
 * counted. A QP goes to ERROR for a local reason only.
 */
#include <linux/highmem.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/udp.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "mrc_uc_qp.h"

#define MRC_BTH_PAD(b)	((b) >> 4 & 3)
#define MRC_BTH_TVER	0x0f
#define MRC_BTH_SE	0x80

#define MRC_UD_MAX_LATE	64	/* datagrams that wait for memory, per QP */

int mrc_dgram_ip(struct mrc_dgram *dg, u32 hdr_len, u32 *len)
{
	struct sk_buff *skb = dg->skb;
	int ip_len = skb_transport_offset(skb) - skb_network_offset(skb);
	u32 ulen;

	if (ip_hdr(skb)->version == 4) {
		const struct iphdr *ip = ip_hdr(skb);

		if (ip->ihl != 5 || ip_len != sizeof(*ip))
			return MRC_CTR_DROP_LENGTH;
		ipv6_addr_set_v4mapped(ip->saddr, &dg->saddr);
		ipv6_addr_set_v4mapped(ip->daddr, &dg->daddr);
	} else {
		const struct ipv6hdr *ip6 = ipv6_hdr(skb);

		if (ip6->nexthdr != IPPROTO_UDP || ip_len != sizeof(*ip6))
			return MRC_CTR_DROP_LENGTH;
		dg->ipv6 = true;
		dg->saddr = ip6->saddr;
		dg->daddr = ip6->daddr;
	}
	ulen = get_unaligned_be16(skb->data + 4);
	if (ulen < MRC_UDP_HLEN + hdr_len + MRC_ICRC_LEN ||
	    ulen > skb->len || pskb_trim_rcsum(skb, ulen) ||
	    !pskb_may_pull(skb, MRC_UDP_HLEN + hdr_len))
		return MRC_CTR_DROP_SHORT;
	*len = ulen - MRC_UDP_HLEN;
	return -1;
}

/* Headers and ICRC, of a packet with @len bytes behind UDP. */
static int mrc_dgram_parse(struct mrc_dgram *dg, u32 len)
{
	u32 hdr_len = MRC_UD_HDR_LEN, pad;
	struct sk_buff *skb = dg->skb;
	const u8 *bth;

	bth = skb->data + MRC_UDP_HLEN;
	if (bth[1] & MRC_BTH_TVER)
		return MRC_CTR_DROP_TVER;
	if (bth[0] != MRC_UD_SEND && bth[0] != MRC_UD_SEND_IMM)
		return MRC_CTR_DROP_OPCODE;
	dg->with_imm = bth[0] == MRC_UD_SEND_IMM;
	if (dg->with_imm)
		hdr_len += MRC_UD_IMM_LEN;
	pad = MRC_BTH_PAD(bth[1]);
	if (len < hdr_len + pad + MRC_ICRC_LEN)
		return MRC_CTR_DROP_SHORT;
	/* skb->len covers it, so this fails for want of memory only. */
	if (!pskb_may_pull(skb, MRC_UDP_HLEN + hdr_len))
		return MRC_CTR_DROP_SHORT;
	if (!mrc_skb_icrc_ok(skb, len))
		return MRC_CTR_DROP_ICRC;

	bth = skb->data + MRC_UDP_HLEN;
	if (!mrc_pkey_ok(get_unaligned_be16(bth + 2)))
		return MRC_CTR_DROP_PKEY;
	dg->solicited = bth[1] & MRC_BTH_SE;
	dg->dqpn = get_unaligned_be32(bth + 4) & MRC_PSN_MASK;
	dg->qkey = get_unaligned_be32(bth + 12);
	dg->sqpn = get_unaligned_be32(bth + 16) & MRC_PSN_MASK;
	if (dg->with_imm)
		memcpy(&dg->imm, bth + MRC_UD_HDR_LEN, MRC_UD_IMM_LEN);
	dg->off = MRC_UDP_HLEN + hdr_len;
	dg->len = len - hdr_len - pad - MRC_ICRC_LEN;
	return -1;
}

enum ib_wc_status mrc_ud_copy_rwqe(struct mrc_ud *ud, struct mrc_ud_rx *rx,
				   u64 *room)
{
	const struct mrc_recv_wqe *e = mrc_ring_entry(&ud->rq, ud->rq.idx);
	const struct mrc_sge *ring_sge = (const void *)(e + 1);
	struct mrc_recv_wqe h;
	u32 i;

	memcpy(&h, e, sizeof(h));
	barrier();	/* the copy is what counts from here on */
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

/* The bytes from @off on, of the GRH and what follows it, to @to. */
static int mrc_dgram_copy(const struct mrc_dgram *dg, const u8 *grh, u32 off,
			  void *to, u32 len)
{
	if (off < MRC_GRH_LEN) {
		u32 n = min(len, MRC_GRH_LEN - off);

		memcpy(to, grh + off, n);
		off += n;
		to += n;
		len -= n;
	}
	return len ? skb_copy_bits(dg->skb, dg->off + off - MRC_GRH_LEN, to,
				   len) : 0;
}

/*
 * The IP header stands where a GRH would: an IPv6 header is one, an IPv4
 * header takes the last 20 bytes.
 */
static void mrc_dgram_grh(const struct mrc_dgram *dg, u8 *grh)
{
	u32 n = dg->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);

	memset(grh, 0, MRC_GRH_LEN);
	memcpy(grh + MRC_GRH_LEN - n, skb_network_header(dg->skb), n);
}

static enum ib_wc_status mrc_ud_scatter(struct mrc_ud *ud,
					const struct mrc_dgram *dg,
					const struct mrc_ud_rx *rx)
{
	u32 i, len, off = 0, left = MRC_GRH_LEN + dg->len;
	u8 grh[MRC_GRH_LEN];
	int ret = 0;

	mrc_dgram_grh(dg, grh);
	for (i = 0; i < rx->num_sge && left && !ret; i++) {
		struct mrc_sge sge = rx->sge[i];
		struct mrc_mr *mr;

		sge.length = min(sge.length, left);
		if (!sge.length)
			continue;
		mr = mrc_mr_get_local(ud->dev, ud->ibqp->pd, sge.lkey, sge.addr,
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
			ret = mrc_dgram_copy(dg, grh, off, map + poff, n);
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

/* Keep @dg until memory has come; false: no room. */
static bool mrc_ud_keep(struct mrc_ud *ud, const struct mrc_dgram *dg)
{
	struct mrc_ud_late *l;

	lockdep_assert_held(&ud->rq_lock);
	if (ud->n_late >= MRC_UD_MAX_LATE)
		return false;
	l = kmalloc(sizeof(*l), GFP_ATOMIC | __GFP_NOWARN);
	if (!l)
		return false;
	l->dg = *dg;
	l->dg.skb = skb_clone(dg->skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!l->dg.skb) {
		kfree(l);
		return false;
	}
	list_add_tail(&l->node, &ud->late);
	ud->n_late++;
	return true;
}

/* Why @ud does not take @dg, or -1. Under rq_lock. */
static int mrc_ud_refuses(struct mrc_ud *ud, const struct mrc_dgram *dg)
{
	if (ud->state < IB_QPS_RTR || ud->state == IB_QPS_ERR)
		return MRC_CTR_DROP_STATE;
	if (dg->qkey != ud->qkey)
		return MRC_CTR_DROP_QKEY;
	return -1;
}

/* What became of a datagram. */
enum mrc_ud_verdict {
	MRC_UD_DONE,
	MRC_UD_WAIT,	/* for memory */
	MRC_UD_FATAL,	/* done, and the QP must go to ERROR */
};

/* Write @dg to @rx. -EAGAIN: the memory is fetched; else 0 and the status. */
static int mrc_ud_place(struct mrc_ud *ud, const struct mrc_dgram *dg,
			const struct mrc_ud_rx *rx, enum ib_wc_status *st)
{
	struct mrc_dev *dev = ud->dev;
	int ret = 0;

	if (!mrc_odp_any(&dev->odp)) {
		*st = mrc_ud_scatter(ud, dg, rx);
		return 0;
	}
	read_lock_bh(&dev->odp.lock);
	ret = mrc_odp_ready(dev, ud->ibqp->pd, rx->sge, rx->num_sge, 0,
			    MRC_GRH_LEN + dg->len, true, ud->qpn, NULL);
	if (!ret)
		*st = mrc_ud_scatter(ud, dg, rx);
	read_unlock_bh(&dev->odp.lock);
	return ret;
}

/* Under rq_lock. */
static enum mrc_ud_verdict mrc_ud_take(struct mrc_ud *ud,
				       const struct mrc_dgram *dg)
{
	struct mrc_dev *dev = ud->dev;
	u8 port = dg->port ?: ud->port;
	struct mrc_cqe cqe = {
		.opcode = IB_WC_RECV,
		.wc_flags = IB_WC_GRH,
		.byte_len = MRC_GRH_LEN + dg->len,
		.qp_num = ud->qpn,
		.src_qp = dg->sqpn,
		.sl = dg->ipv6 ? MRC_CQE_SL_IPV6 : MRC_CQE_SL_IPV4,
	};
	struct mrc_ud_rx rx;
	int pending, drop;
	bool fatal;
	u64 room;

	if (dg->with_imm) {
		cqe.wc_flags |= IB_WC_WITH_IMM;
		cqe.imm_data = dg->imm;
	}
	if (!ud->user) {
		cqe.wc_flags |= IB_WC_WITH_NETWORK_HDR_TYPE;
		cqe.reserved = port;
	}
	fatal = false;
	drop = mrc_ud_refuses(ud, dg);
	if (drop >= 0)
		goto drop;
	pending = ud->rq.depth ? mrc_ring_pending(&ud->rq) : 0;
	if (!pending && ud->srq)
		pending = mrc_srq_take(ud->srq, &ud->rq, 1);
	fatal = pending < 0;
	drop = MRC_CTR_UD_NO_RECV;
	if (pending <= 0)
		goto drop;
	cqe.status = mrc_ud_copy_rwqe(ud, &rx, &room);
	/* Whoever knows the Q_Key could end the QP with an error here. */
	drop = MRC_CTR_DROP_LENGTH;
	if (cqe.status == IB_WC_SUCCESS && room < MRC_GRH_LEN + dg->len)
		goto drop;
	if (cqe.status == IB_WC_SUCCESS &&
	    mrc_ud_place(ud, dg, &rx, &cqe.status))
		return MRC_UD_WAIT;
	fatal = cqe.status != IB_WC_SUCCESS;
	cqe.wr_id = rx.wr_id;
	/* Room before the completion: a program may post again at once. */
	ud->rq.idx++;
	mrc_srq_used(ud->srq, &ud->rq);
	mrc_ring_consumed(&ud->rq);
	mrc_ctr_add(&dev->ctr, port, MRC_CTR_RX_UD, 1);
	if (mrc_cq_post(ud->rcq, ud->ibqp, &cqe, dg->solicited || fatal, port))
		fatal = true;
	return fatal ? MRC_UD_FATAL : MRC_UD_DONE;

drop:
	mrc_ctr_add(&dev->ctr, port, drop, 1);
	return fatal ? MRC_UD_FATAL : MRC_UD_DONE;
}

void mrc_ud_deliver(struct mrc_ud *ud, const struct mrc_dgram *dg)
{
	u32 seq = mrc_odp_seq(&ud->dev->odp);
	enum mrc_ud_verdict v = MRC_UD_WAIT;

	spin_lock_bh(&ud->rq_lock);
	/* In order, though nobody asked for it. */
	if (list_empty(&ud->late))
		v = mrc_ud_take(ud, dg);
	if (v == MRC_UD_WAIT) {
		mrc_ctr_add(&ud->dev->ctr, dg->port ?: ud->port,
			    mrc_ud_keep(ud, dg) ? MRC_CTR_UD_PAGE :
						  MRC_CTR_UD_NO_RECV, 1);
		mrc_ud_wait_page(ud, seq);
	}
	spin_unlock_bh(&ud->rq_lock);
	if (v == MRC_UD_FATAL)
		mrc_ud_error(ud, IB_EVENT_QP_FATAL);
}

void mrc_ud_deliver_late(struct mrc_ud *ud)
{
	u32 seq = mrc_odp_seq(&ud->dev->odp);
	enum mrc_ud_verdict v = MRC_UD_DONE;
	struct mrc_ud_late *l;

	spin_lock_bh(&ud->rq_lock);
	while (v == MRC_UD_DONE &&
	       (l = list_first_entry_or_null(&ud->late, struct mrc_ud_late,
					     node))) {
		v = mrc_ud_take(ud, &l->dg);
		if (v == MRC_UD_WAIT) {
			mrc_ud_wait_page(ud, seq);
			break;
		}
		list_del(&l->node);
		ud->n_late--;
		consume_skb(l->dg.skb);
		kfree(l);
	}
	spin_unlock_bh(&ud->rq_lock);
	if (v == MRC_UD_FATAL)
		mrc_ud_error(ud, IB_EVENT_QP_FATAL);
}

/* To the QP that it names. @dev: of arrival, NULL over loopback. */
static bool mrc_dgram_unicast(struct net *net, struct mrc_dev *dev,
			      const struct mrc_dgram *dg)
{
	struct mrc_ud *ud;
	bool ok;

	ud = dg->dqpn == MRC_QPN_GSI ? mrc_gsi_get(net, dev, dg) :
				       mrc_ud_get(net, dg->dqpn);
	if (!ud)
		return false;
	ok = !ud->uc && (!dev || ud->dev == dev);
	if (ok)
		mrc_ud_deliver(ud, dg);
	mrc_ud_put(ud);
	return ok;
}

void mrc_ud_rcv(struct sk_buff *skb)
{
	struct mrc_dgram dg = { .skb = skb };
	struct net_device *ndev = skb->dev;
	struct mrc_dev *dev = NULL;
	struct ib_device *ib;
	u32 len;
	int drop;

	dg.loop = ndev->flags & IFF_LOOPBACK;
	ib = ib_device_get_by_netdev(ndev, MRC_RDMA_DRIVER_ID);
	if (ib) {
		dev = to_mdev(ib);
		dg.port = mrc_dev_port_of(dev, ndev);
		/* Copies of our own multicast packets have not been outside. */
		if (skb->pkt_type != PACKET_LOOPBACK)
			mrc_io_add(dev, dg.port, MRC_IO_RX_PKTS,
				   mrc_skb_octets(skb),
				   skb->pkt_type == PACKET_MULTICAST);
	}
	drop = mrc_dgram_ip(&dg, MRC_UD_HDR_LEN, &len);
	if (drop < 0)
		drop = mrc_dgram_parse(&dg, len);
	if (drop < 0) {
		drop = MRC_CTR_DROP_QPN;
		if (!dev && !dg.loop)
			;	/* a netdev that is no plane */
		else if (rdma_is_multicast_addr(&dg.daddr)) {
			if (dev && dg.dqpn == MRC_QPN_MCAST) {
				mrc_mcast_rcv(dev, &dg);
				drop = -1;
			}
		} else if (dg.dqpn != MRC_QPN_MCAST &&
			   mrc_dgram_unicast(dev_net(ndev), dev, &dg)) {
			drop = -1;
		}
	}
	if (drop >= 0)
		mrc_count_drop(skb, drop, 0);
	if (ib)
		ib_device_put(ib);
}

int mrc_ud_post_recv(struct mrc_ud *ud)
{
	int ret = 0;

	spin_lock_bh(&ud->rq_lock);
	if (ud->state == IB_QPS_RESET)
		ret = -EINVAL;
	else if (ud->state == IB_QPS_ERR)
		mrc_ud_flush_rq(ud);
	spin_unlock_bh(&ud->rq_lock);
	return ret;
}

/*
 * Datagrams, and unreliable connections where the number is that of one. A QP that
 * speaks MRC does not define such opcodes, and says so (OP-4).
 */
bool mrc_roce_rcv(struct sk_buff *skb)
{
	const u8 *bth = skb->data + MRC_UDP_HLEN;

	if (mrc_ud_opcode(bth[0]))
		mrc_ud_rcv(skb);
	else if (mrc_uc_opcode(bth[0]) &&
		 mrc_qpn_ud(get_unaligned_be32(bth + 4) & MRC_PSN_MASK))
		mrc_uc_rcv(skb);
	else
		return false;
	return true;
}
