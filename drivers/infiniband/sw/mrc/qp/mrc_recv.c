// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receiving: nothing of a packet is believed before its lengths and its ICRC
 * have been checked; then it goes to the QP's responder or requester. Only the
 * number of the QP is looked at before that, because its device says which
 * codepoints are those of trimmed packets.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <net/udp.h>
#include <rdma/ib_addr.h>

#include "mrc_qp.h"
#include "mrc_peer.h"
#include "dev/mrc_trace.h"
#include "roce/mrc_uc_qp.h"
#include "net/mrc_net.h"

/**
 * struct mrc_pkt - what is known about a packet on its way to the QP
 * @skb: data points to the UDP header
 * @hdr: parsed headers
 * @rx: what the engine is told
 * @saddr: source, v4-mapped for IPv4
 * @daddr: destination
 * @qp: the QP that the packet names, a reference; NULL if there is none here
 * @octets: bytes of IP as it arrived, outer header included
 * @len: UDP payload bytes; of a trimmed packet, what is left of them
 * @tos: DSCP and ECN as the packet arrived, of the outermost header
 * @ipv6: family
 * @srv6: came in an outer header
 * @mr: memory that a WRITE is for, with a reference or ERR_PTR, if it was looked
 *	up already
 */
struct mrc_pkt {
	struct sk_buff *skb;
	struct mrc_hdr hdr;
	struct mrc_rx rx;
	struct in6_addr saddr;
	struct in6_addr daddr;
	struct mrc_qp *qp;
	u32 octets;
	u32 len;
	u8 tos;
	bool ipv6;
	bool srv6;
	struct mrc_mr *mr;
};

void mrc_count_drop(const struct sk_buff *skb, enum mrc_counter id, u32 octets)
{
	unsigned int port;
	struct ib_device *ib;
	struct mrc_dev *dev;

	ib = ib_device_get_by_netdev(skb->dev, MRC_RDMA_DRIVER_ID);
	if (!ib)	/* loopback */
		return;
	dev = to_mdev(ib);
	port = mrc_dev_port_of(dev, skb->dev);
	mrc_ctr_add(&dev->ctr, port, id, 1);
	if (octets)
		mrc_io_add(dev, port, MRC_IO_RX_PKTS, octets,
			   skb->pkt_type == PACKET_MULTICAST);
	ib_device_put(ib);
}

/* Continue the CRC over [off, off + len) of @skb. */
static u32 mrc_skb_crc(struct sk_buff *skb, u32 off, u32 len, u32 crc)
{
	struct skb_seq_state st;
	u32 done = 0, n;
	const u8 *p;

	if (off + len <= skb_headlen(skb))
		return mrc_crc32(crc, skb->data + off, len);

	skb_prepare_seq_read(skb, off, off + len, &st);
	while ((n = skb_seq_read(done, &p, &st))) {
		n = min(n, len - done);
		crc = mrc_crc32(crc, p, n);
		done += n;
		if (done == len) {
			skb_abort_seq_read(&st);
			break;
		}
	}
	return crc;
}

bool mrc_skb_icrc_ok(struct sk_buff *skb, u32 len)
{
	u32 end = MRC_UDP_HLEN + len - MRC_ICRC_LEN;
	u32 off = MRC_UDP_HLEN + MRC_BTH_LEN;
	u8 icrc[MRC_ICRC_LEN];
	u32 crc;

	if (skb_copy_bits(skb, end, icrc, sizeof(icrc)))
		return false;
	crc = mrc_icrc_start(skb_network_header(skb));
	crc = mrc_skb_crc(skb, off, end - off, crc);
	return mrc_icrc_finish(crc) == get_unaligned_le32(icrc);
}

/* enum mrc_trim: by the codepoints of the device that the packet is for. */
static u8 mrc_pkt_trim(const struct mrc_pkt *pkt)
{
	u8 dscp = pkt->tos >> 2, trim;
	struct ib_device *ib;

	if (pkt->qp)
		return mrc_tc_trim(&pkt->qp->dev->tc, dscp);
	ib = ib_device_get_by_netdev(pkt->skb->dev, MRC_RDMA_DRIVER_ID);
	if (!ib)
		return MRC_TRIM_NONE;
	trim = mrc_tc_trim(&to_mdev(ib)->tc, dscp);
	ib_device_put(ib);
	return trim;
}

/*
 * IP and UDP headers; returns a counter to bump or -1 if all is well. pkt->tos
 * is there already for packets that came in an outer header.
 */
static int mrc_check_ip(struct mrc_pkt *pkt)
{
	struct sk_buff *skb = pkt->skb;
	int ip_len = skb_transport_offset(skb) - skb_network_offset(skb);
	u32 ulen, flow = 0, tail = MRC_ICRC_LEN;
	const u8 *udp;
	u8 tos;

	if (!pskb_may_pull(skb, MRC_UDP_HLEN + MRC_BTH_LEN))
		return MRC_CTR_DROP_SHORT;

	if (ip_hdr(skb)->version == 4) {
		const struct iphdr *ip = ip_hdr(skb);

		if (ip->ihl != 5 || ip_len != sizeof(*ip))
			return MRC_CTR_DROP_LENGTH;
		tos = ip->tos;
		ipv6_addr_set_v4mapped(ip->saddr, &pkt->saddr);
		ipv6_addr_set_v4mapped(ip->daddr, &pkt->daddr);
	} else {
		const struct ipv6hdr *ip6 = ipv6_hdr(skb);

		if (ip6->nexthdr != IPPROTO_UDP || ip_len != sizeof(*ip6))
			return MRC_CTR_DROP_LENGTH;
		pkt->ipv6 = true;
		tos = ipv6_get_dsfield(ip6);
		pkt->saddr = ip6->saddr;
		pkt->daddr = ip6->daddr;
		flow = ntohl(ip6_flowlabel(ip6));
	}
	if (!pkt->srv6)
		pkt->tos = tos;
	udp = skb->data;
	pkt->rx.entropy = mrc_entropy_from_wire(get_unaligned_be16(udp), flow);
	pkt->rx.ce = INET_ECN_is_ce(pkt->tos);

	pkt->qp = mrc_qp_get(get_unaligned_be32(udp + MRC_UDP_HLEN + 4) &
			     MRC_PSN_MASK);
	if (pkt->qp && pkt->qp->dev->net != dev_net(skb->dev)) {
		mrc_qp_put(pkt->qp);
		pkt->qp = NULL;
	}
	pkt->rx.trim = mrc_pkt_trim(pkt);

	ulen = get_unaligned_be16(udp + 4);
	if (pkt->rx.trim) {	/* §8.5: no ICRC, and the frame is the length */
		ulen = min(ulen, skb->len);
		tail = 0;
	}
	if (ulen < MRC_UDP_HLEN + MRC_BTH_LEN + tail || ulen > skb->len)
		return MRC_CTR_DROP_SHORT;
	if (pskb_trim_rcsum(skb, ulen) ||
	    !pskb_may_pull(skb, min_t(u32, ulen, MRC_UDP_HLEN + MRC_HDR_MAX)))
		return MRC_CTR_DROP_SHORT;
	pkt->len = ulen - MRC_UDP_HLEN;
	return -1;
}

/* Headers and ICRC; returns a counter to bump or -1. */
static int mrc_check_packet(struct mrc_pkt *pkt)
{
	const u8 *bth = pkt->skb->data + MRC_UDP_HLEN;
	u32 avail = min_t(u32, pkt->len,
			  skb_headlen(pkt->skb) - MRC_UDP_HLEN);

	if (pkt->rx.trim) {
		switch (mrc_hdr_parse_trimmed(bth, avail, &pkt->hdr)) {
		case MRC_DROP_NONE:
			return -1;
		case MRC_DROP_TVER:
			return MRC_CTR_DROP_TVER;
		case MRC_DROP_OPCODE:
			return MRC_CTR_DROP_OPCODE;
		case MRC_DROP_LENGTH:
			return MRC_CTR_DROP_LENGTH;
		default:
			return MRC_CTR_DROP_SHORT;
		}
	}
	switch (mrc_hdr_parse(bth, avail, pkt->len, &pkt->hdr)) {
	case MRC_DROP_SHORT:
		return MRC_CTR_DROP_SHORT;
	case MRC_DROP_TVER:
		return MRC_CTR_DROP_TVER;
	case MRC_DROP_LENGTH:
		return MRC_CTR_DROP_LENGTH;
	default:	/* undefined opcodes are the responder's business, OP-4 */
		break;
	}
	return mrc_skb_icrc_ok(pkt->skb, pkt->len) ? -1 : MRC_CTR_DROP_ICRC;
}

bool mrc_pkey_ok(u16 pkey)
{
	/* Ours is the full member of the default partition. */
	return (pkey & 0x7FFF) == (MRC_PKEY_DEFAULT & 0x7FFF);
}

/*
 * Write the payload where RETH says, or where the receive or the request does
 * that it belongs to; 0 or the syndrome (MRC 1.0 §7.5).
 */
static u8 mrc_place(struct mrc_qp *qp, struct mrc_pkt *pkt, bool *kick)
{
	const struct mrc_reth *reth = &pkt->hdr.reth;
	int off = MRC_UDP_HLEN + pkt->hdr.hdr_len;
	struct mrc_mr *mr;
	u8 syn = 0;

	if (qp->main)
		return mrc_ext_take_answer(qp, &pkt->hdr, pkt->skb, off, kick);
	if (mrc_op_info(pkt->hdr.opcode)->flags & MRC_OPF_SEND)
		return mrc_rq_place(qp, &pkt->hdr, pkt->skb, off);
	mr = pkt->mr;
	pkt->mr = NULL;
	if (!mr)
		mr = mrc_mr_get(qp, reth->rkey, reth->va, pkt->hdr.payload_len,
				IB_ACCESS_REMOTE_WRITE);
	if (IS_ERR(mr))
		return MRC_SYN_NAK_ACCESS;
	/* The program has no such memory, if it is paged. */
	if (mrc_mr_copy_from_skb(mr, reth->va, pkt->skb, off,
				 pkt->hdr.payload_len))
		syn = mr->odp ? MRC_SYN_NAK_ACCESS : MRC_SYN_NAK_REM_OP;
	mrc_mr_put(mr);
	return syn;
}

static int mrc_resp_event(u8 syndrome)
{
	switch (syndrome) {
	case MRC_SYN_NAK_ACCESS:
		return IB_EVENT_QP_ACCESS_ERR;
	case MRC_SYN_NAK_INV_REQ:
		return IB_EVENT_QP_REQ_ERR;
	default:
		return IB_EVENT_QP_FATAL;
	}
}

/*
 * Whether @pkt belongs to the connection that @qp has now; if not, it is
 * counted. Under resp_lock or req_lock: a QP becomes another connection under
 * both, so the answer holds until the lock is released.
 */
static bool mrc_qp_wants(struct mrc_qp *qp, const struct mrc_pkt *pkt)
{
	u8 port = pkt->rx.port;
	enum mrc_counter id;

	if (qp->state < IB_QPS_RTR) {	/* the addresses are not settled */
		id = MRC_CTR_DROP_STATE;
	} else if (!ipv6_addr_equal(&pkt->saddr, &qp->daddr) ||
		   !ipv6_addr_equal(&pkt->daddr, &qp->saddr) ||
		   (qp->only_port && port && port != qp->only_port)) {
		id = MRC_CTR_DROP_ADDR;
	} else {
		trace_mrc_receive(qp->qpn, &pkt->hdr, port, pkt->rx.entropy,
				  pkt->len);
		if (qp->state != IB_QPS_ERR)
			return true;
		id = MRC_CTR_DROP_STATE;
	}
	mrc_ctr_add(&qp->dev->ctr, port, id, 1);
	return false;
}

/* Deliver messages and execute requests, in order; @n: how many requests. */
static void mrc_resp_execute_all(struct mrc_qp *qp, u8 port, u32 *n,
				 bool *fatal)
{
	u32 seq = mrc_odp_seq(&qp->dev->odp);
	struct mrc_imm imm;
	struct mrc_rd rd;

	for (;;) {
		if (mrc_resp_next_imm(&qp->resp, &imm)) {
			int ret = mrc_rq_deliver(qp, &imm, port, fatal);

			if (ret < 0) {
				WRITE_ONCE(qp->resume, true);
				mrc_qp_queue_work(qp, 0);
				return;
			}
			mrc_resp_imm_done(&qp->resp, ret);
		} else if (mrc_resp_next_req(&qp->resp, &rd)) {
			int ret = mrc_ext_execute(qp, &rd);

			if (ret < 0) {
				WRITE_ONCE(qp->resume, true);
				mrc_qp_wait_page(qp, seq);
				return;
			}
			mrc_resp_req_done(&qp->resp, ret);
			(*n)++;
		} else {
			return;
		}
	}
}

void mrc_resp_feedback(struct mrc_qp *qp, struct sk_buff_head *list, u64 now)
{
	struct mrc_tx_desc desc;

	if (mrc_resp_tells_recvs(&qp->resp))
		mrc_rq_tell(qp);
	for (;;) {
		struct sk_buff *skb;

		/* Placing the payload is part of the service time, OP-35. */
		if (qp->resp.cfg.svc_time)
			now = mrc_now();
		if (!mrc_resp_next_feedback(&qp->resp, now, &desc))
			break;
		skb = mrc_build_skb(qp, &desc);
		if (IS_ERR(skb))
			mrc_ctr_add(&qp->dev->ctr, desc.port,
				    MRC_CTR_TX_ERROR, 1);
		else
			__skb_queue_tail(list, skb);
	}
}

bool mrc_resp_run_once(struct mrc_qp *qp, u8 port, u64 now, bool fatal,
		       bool kick)
	__releases(&qp->resp_lock)
{
	u32 conn, executed = 0, answered = 0;
	struct sk_buff_head list;
	u8 failed;

	lockdep_assert_held(&qp->resp_lock);
	__skb_queue_head_init(&list);
	if (qp->main)
		answered = mrc_resp_take_done(&qp->resp);
	else
		mrc_resp_execute_all(qp, port, &executed, &fatal);
	/* If a task is to run, that may have to wait for the softirq's thread. */
	if (mrc_resp_may_wait(&qp->resp) && !need_resched()) {
		mrc_burst_wait(qp);
	} else {
		mrc_resp_feedback(qp, &list, now);
		mrc_ep_rev_probe(qp, &list, now);
	}
	failed = mrc_resp_failed(&qp->resp);
	conn = qp->conn;
	spin_unlock_bh(&qp->resp_lock);

	mrc_xmit_list(qp, &list);
	if (answered || kick)
		mrc_ans_answered(qp, conn, answered);
	if (fatal || failed)
		mrc_qp_error(qp, conn, fatal ? IB_EVENT_QP_FATAL :
					       mrc_resp_event(failed));
	/* Whom this woke is not to come before the ACKs of others. */
	if (need_resched())
		mrc_burst_flush();
	return executed;
}

void mrc_resp_run(struct mrc_qp *qp, u8 port, u64 now, bool fatal, bool kick)
	__releases(&qp->resp_lock)
{
	if (mrc_resp_run_once(qp, port, now, fatal, kick))
		mrc_ans_run(qp);
}

void mrc_qp_part(struct mrc_qp *qp)
{
	struct mrc_tx_desc desc;
	struct sk_buff_head list;
	u64 now = mrc_now();

	if (!qp->main)
		lockdep_assert_held(&qp->mutex);
	__skb_queue_head_init(&list);
	spin_lock_bh(&qp->resp_lock);
	/* An ACK that waits is due in ERROR, too, mrc_burst_qp_end(). */
	if (qp->resp_on && (qp->state != IB_QPS_ERR || qp->burst)) {
		mrc_resp_farewell(&qp->resp);
		while (mrc_resp_next_feedback(&qp->resp, now, &desc)) {
			struct sk_buff *skb = mrc_build_skb(qp, &desc);

			/* No more than a courtesy. */
			if (!IS_ERR(skb))
				__skb_queue_tail(&list, skb);
		}
	}
	spin_unlock_bh(&qp->resp_lock);
	mrc_xmit_list(qp, &list);
	if (qp->ans)
		mrc_qp_part(qp->ans);
}

/*
 * What a packet of the extension needs before it can be accepted: something to
 * answer with, or a receive. Return: whether it is there; if not, the packet
 * was refused.
 */
static bool mrc_rcv_ready(struct mrc_qp *qp, struct mrc_pkt *pkt, u64 now,
			  bool *fatal)
{
	u32 n, flags = mrc_op_info(pkt->hdr.opcode)->flags;

	if (!qp->ext || qp->main)
		return true;
	if (flags & MRC_OPF_REQUEST && !pkt->rx.trim && !qp->ans_tx &&
	    qp->resp.cfg.max_rd) {
		if (!qp->want_ans) {
			WRITE_ONCE(qp->want_ans, true);
			mrc_qp_queue_work(qp, 0);
		}
		mrc_resp_refuse(&qp->resp, &pkt->rx, MRC_NACK_NO_RESOURCE, now);
		return false;
	}
	if (!mrc_resp_wants_recv(&qp->resp, &pkt->rx, &n))
		return true;
	switch (mrc_rq_reserve(qp, n, flags & MRC_OPF_SEND)) {
	case 0:
		return true;
	case -EAGAIN:
		mrc_resp_refuse_rnr(&qp->resp, &pkt->rx, qp->rnr_timer, now);
		return false;
	case -EINVAL:
		*fatal = true;
		fallthrough;
	default:
		mrc_resp_refuse(&qp->resp, &pkt->rx, MRC_NACK_NO_RESOURCE, now);
		return false;
	}
}

/*
 * IB's code for how long a peer waits for memory for which nothing has come since
 * then: half as long again. So who waits for long asks rarely, 20 times in the
 * first 300 ms and 13 times a second from then on, and waits no more than half as
 * long as it had to, 82 ms at most.
 */
static u8 mrc_page_timer(u64 since, u64 now)
{
	const u64 t = now > since ? (now - since) / 2 : 0;
	u8 code = 8;	/* 0.16 ms */

	while (code < 26 && mrc_rnr_time(code) < t)
		code++;
	return code;
}

/* The memory of an atomic operation: executed it is when its turn has come. */
static int mrc_rcv_atomic_ready(struct mrc_qp *qp, const struct mrc_hdr *h)
{
	struct mrc_mr *mr;
	int ret = 0;

	if (h->opcode == MRC_OP_READ_REQ || h->opcode == MRC_OP_FLUSH)
		return 0;
	mr = mrc_mr_get(qp, h->reth.rkey, h->reth.va, MRC_ATOMIC_LEN,
			h->opcode == MRC_OP_ATOMIC_WRITE ?
			IB_ACCESS_REMOTE_WRITE : IB_ACCESS_REMOTE_ATOMIC);
	if (IS_ERR(mr))
		return 0;
	if (mr->odp)
		ret = mrc_odp_check(mr, h->reth.va, MRC_ATOMIC_LEN, true,
				    qp->qpn, &qp->page_since);
	mrc_mr_put(mr);
	return ret;
}

/*
 * Is the memory there that the payload is for? If not, the packet was refused.
 * Under the lock of paged memory, until the payload is placed.
 */
static bool mrc_rcv_memory(struct mrc_qp *qp, struct mrc_pkt *pkt, u64 now)
{
	const struct mrc_reth *reth = &pkt->hdr.reth;
	u32 n, len = pkt->hdr.payload_len;
	u32 flags = mrc_op_info(pkt->hdr.opcode)->flags;
	int ret = 0;

	if (pkt->rx.trim || !(flags & MRC_OPF_DATA) ||
	    (!len && !(flags & MRC_OPF_REQUEST)))
		return true;
	qp->page_since = now;
	if (qp->main) {
		if (flags & MRC_OPF_ANSWER)
			ret = mrc_ext_answer_ready(qp, &pkt->hdr);
	} else if (flags & MRC_OPF_SEND) {
		if (mrc_resp_wants_recv(&qp->resp, &pkt->rx, &n))
			ret = mrc_rq_ready(qp, &pkt->hdr);
	} else if (flags & MRC_OPF_REQUEST) {
		ret = mrc_rcv_atomic_ready(qp, &pkt->hdr);
	} else if (!(flags & MRC_OPF_EXT)) {
		pkt->mr = mrc_mr_get(qp, reth->rkey, reth->va, len,
				     IB_ACCESS_REMOTE_WRITE);
		if (!IS_ERR(pkt->mr) && pkt->mr->odp)
			ret = mrc_odp_check(pkt->mr, reth->va, len, true,
					    qp->qpn, &qp->page_since);
	}
	if (ret != -EAGAIN)
		return true;
	mrc_resp_refuse_page(&qp->resp, &pkt->rx,
			     mrc_page_timer(qp->page_since, now), now);
	return false;
}

/* Hand a packet to the responder, and its payload to where it belongs. */
static void mrc_rcv_data(struct mrc_qp *qp, struct mrc_pkt *pkt, u64 now,
			 bool *kick)
{
	if (mrc_resp_on_data(&qp->resp, &pkt->rx, now) == MRC_RX_PLACE)
		mrc_resp_placed(&qp->resp, &pkt->rx, mrc_place(qp, pkt, kick));
}

/* The same where memory may be paged: what is there stays until it is written. */
static void mrc_rcv_paged(struct mrc_qp *qp, struct mrc_pkt *pkt, u64 now,
			  bool *kick)
{
	read_lock_bh(&qp->dev->odp.lock);
	if (mrc_rcv_memory(qp, pkt, now))
		mrc_rcv_data(qp, pkt, now, kick);
	if (!IS_ERR_OR_NULL(pkt->mr))
		mrc_mr_put(pkt->mr);
	pkt->mr = NULL;
	read_unlock_bh(&qp->dev->odp.lock);
}

/* Packets for the responder role: data, probes, undefined opcodes. */
static void mrc_rcv_responder(struct mrc_qp *qp, struct mrc_pkt *pkt)
{
	bool fatal = false, kick = false;
	u64 now = mrc_now();

	spin_lock_bh(&qp->resp_lock);
	if (!mrc_qp_wants(qp, pkt)) {
		spin_unlock_bh(&qp->resp_lock);
		return;
	}
	if (!qp->resp_on) {	/* a companion that expects no answers */
		mrc_ctr_add(&qp->dev->ctr, pkt->rx.port, MRC_CTR_DROP_STATE, 1);
		spin_unlock_bh(&qp->resp_lock);
		return;
	}
	if (mrc_resp_wants_stash(&qp->resp, &pkt->rx))
		mrc_qp_make_stash(qp);
	if (pkt->hdr.opcode == MRC_OP_PROBE && !pkt->rx.trim)
		mrc_resp_on_probe(&qp->resp, &pkt->rx, now);
	else if (!mrc_rcv_ready(qp, pkt, now, &fatal))
		;	/* refused */
	else if (mrc_odp_any(&qp->dev->odp))
		mrc_rcv_paged(qp, pkt, now, &kick);
	else
		mrc_rcv_data(qp, pkt, now, &kick);
	mrc_resp_run(qp, pkt->rx.port, now, fatal, kick);
}

/* Packets for the requester role: feedback. */
static void mrc_rcv_requester(struct mrc_qp *qp, struct mrc_pkt *pkt)
{
	const struct mrc_hdr *h = &pkt->hdr;
	u64 now;

	spin_lock_bh(&qp->req_lock);
	if (!mrc_qp_wants(qp, pkt)) {
		spin_unlock_bh(&qp->req_lock);
		return;
	}
	if (!qp->req_on) {
		/* Made at the first send: until then no PSN has been sent. */
		mrc_ctr_add(&qp->dev->ctr, pkt->rx.port,
			    qp->state == IB_QPS_RTS ? MRC_CTR_DROP_STALE :
						      MRC_CTR_DROP_STATE, 1);
		spin_unlock_bh(&qp->req_lock);
		return;
	}
	now = mrc_now();	/* never older than what the engine has seen */
	switch (h->opcode) {
	case MRC_OP_SACK:
		trace_mrc_sack(qp->qpn, h, pkt->rx.port);
		mrc_req_on_sack(&qp->tx->req, h, pkt->rx.port, now);
		break;
	case MRC_OP_NACK:
		mrc_req_on_nack(&qp->tx->req, h, pkt->rx.port, now);
		break;
	default:
		mrc_req_on_ack(&qp->tx->req, h, pkt->rx.port, now);
		break;
	}
	mrc_req_run(qp, false);
}

static void mrc_rcv_qp(struct mrc_pkt *pkt)
{
	const struct mrc_op_info *op = mrc_op_info(pkt->hdr.opcode);
	struct mrc_qp *qp = pkt->qp, *ans = NULL;

	if (!qp) {
		mrc_count_drop(pkt->skb, MRC_CTR_DROP_QPN, pkt->octets);
		return;
	}
	/* 0 over loopback and from netdevs that are no plane of the device. */
	pkt->rx.port = mrc_dev_port_of(qp->dev, pkt->skb->dev);
	mrc_io_add(qp->dev, pkt->rx.port, MRC_IO_RX_PKTS, pkt->octets, false);
	if (pkt->srv6)
		mrc_ctr_add(&qp->dev->ctr, pkt->rx.port, MRC_CTR_RX_SRV6, 1);
	if (!mrc_pkey_ok(pkt->hdr.pkey)) {
		mrc_ctr_add(&qp->dev->ctr, pkt->rx.port, MRC_CTR_DROP_PKEY, 1);
		return;
	}
	/* The bit is reserved where there is no extension. */
	if (pkt->hdr.chan && qp->ext) {
		ans = mrc_ans_get(qp);
		if (!ans) {
			mrc_ctr_add(&qp->dev->ctr, pkt->rx.port,
				    MRC_CTR_DROP_STATE, 1);
			return;
		}
		qp = ans;
	}
	if (op->flags & MRC_OPF_TO_REQ && !pkt->rx.trim)
		mrc_rcv_requester(qp, pkt);
	else
		mrc_rcv_responder(qp, pkt);
	if (ans)
		mrc_qp_put(ans);
}

static void mrc_rcv_endpoint(struct mrc_pkt *pkt)
{
	struct ib_device *ib;
	struct mrc_dev *dev;
	u8 port;

	/* Never answer a broadcast or multicast, nor nobody. */
	if (pkt->hdr.dqp != MRC_QPN_ENDPOINT || pkt->rx.trim ||
	    pkt->skb->pkt_type != PACKET_HOST ||
	    rdma_is_multicast_addr(&pkt->daddr) ||
	    ipv6_addr_any(&pkt->saddr)) {
		mrc_count_drop(pkt->skb, MRC_CTR_DROP_ENDPOINT, pkt->octets);
		return;
	}
	if (!mrc_pkey_ok(pkt->hdr.pkey)) {
		mrc_count_drop(pkt->skb, MRC_CTR_DROP_PKEY, pkt->octets);
		return;
	}
	ib = ib_device_get_by_netdev(pkt->skb->dev, MRC_RDMA_DRIVER_ID);
	if (!ib)
		return;
	dev = to_mdev(ib);
	port = mrc_dev_port_of(dev, pkt->skb->dev);
	mrc_io_add(dev, port, MRC_IO_RX_PKTS, pkt->octets, false);
	if (pkt->srv6)
		mrc_ctr_add(&dev->ctr, port, MRC_CTR_RX_SRV6, 1);
	mrc_endpoint_rcv(dev, pkt->skb->dev, &pkt->hdr, pkt->ipv6, &pkt->saddr,
			 &pkt->daddr);
	ib_device_put(ib);
}

static void mrc_rcv(struct mrc_pkt *pkt)
{
	int drop;

	pkt->rx.hdr = &pkt->hdr;
	drop = mrc_check_ip(pkt);
	if (drop < 0) {
		/*
		 * Only for those who are told how long it stayed, OP-35. A hint,
		 * without the lock under which mrc_resp_init() copies the whole
		 * configuration: without a time the engine takes the later one.
		 */
		if (pkt->qp && data_race(READ_ONCE(pkt->qp->resp.cfg.svc_time)))
			pkt->rx.at = mrc_now();
		drop = mrc_check_packet(pkt);
	}
	if (drop >= 0)
		mrc_count_drop(pkt->skb, drop, pkt->octets);
	else if (mrc_op_info(pkt->hdr.opcode)->flags & MRC_OPF_ENDPOINT)
		mrc_rcv_endpoint(pkt);
	else
		mrc_rcv_qp(pkt);
	if (pkt->qp)
		mrc_qp_put(pkt->qp);
	consume_skb(pkt->skb);
}

/*
 * Plain RoCE v2: datagrams, and unreliable connections where the number is that
 * of one. A QP that speaks MRC does not define such opcodes, and says so (OP-4).
 */
static bool mrc_rcv_plain(struct sk_buff *skb)
{
	const u8 *bth;

	if (!pskb_may_pull(skb, MRC_UDP_HLEN + MRC_BTH_LEN))
		return false;
	bth = skb->data + MRC_UDP_HLEN;
	if (mrc_ud_opcode(bth[0]))
		mrc_ud_rcv(skb);
	else if (mrc_uc_opcode(bth[0]) &&
		 mrc_qpn_ud(get_unaligned_be32(bth + 4) & MRC_PSN_MASK))
		mrc_uc_rcv(skb);
	else
		return false;
	return true;
}

int mrc_udp_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct mrc_pkt pkt = { .skb = skb, .octets = mrc_skb_octets(skb) };

	if (mrc_rcv_plain(skb))
		consume_skb(skb);
	else
		mrc_rcv(&pkt);
	return 0;
}

void mrc_inner_rcv(struct sk_buff *skb, u8 tos, u32 outer)
{
	struct mrc_pkt pkt = {
		.skb = skb,
		.octets = mrc_skb_octets(skb) + outer,
		.tos = tos,
		.srv6 = true,
	};

	mrc_rcv(&pkt);
}
