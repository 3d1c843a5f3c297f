// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pass verified packets to the responder or the requester of their QP.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "dev/mrc_trace.h"
#include "mrc_qp_priv.h"

/*
 * Place the payload: a WRITE at the address in RETH, a SEND into its receive, an answer
 * into the memory of its request. Return: 0 or the syndrome of the NAK (MRC 1.0 §7.5).
 */
static u8 mrc_place(struct mrc_qp *qp, struct mrc_pkt *pkt, bool *kick)
{
	const struct mrc_reth *reth = &pkt->hdr.reth;
	int off = mrc_pkt_payload(pkt);
	struct mrc_mr *mr;
	u8 syn = 0;

	if (qp->ans_of)
		return mrc_ext_take_answer(qp, &pkt->hdr, pkt->skb, off, kick);
	if (mrc_op_info(pkt->hdr.opcode)->flags & MRC_OPF_SEND)
		return mrc_rq_place(qp, &pkt->hdr, pkt->skb, off);
	mr = pkt->mr;
	pkt->mr = NULL;
	if (!mr)
		mr = mrc_mr_get(qp->base.ibqp, reth->rkey, reth->va, pkt->hdr.payload_len,
				IB_ACCESS_REMOTE_WRITE);
	if (IS_ERR(mr))
		return MRC_SYN_NAK_ACCESS;
	/* Paged memory: the program has no such memory. */
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
 * Filters see only the outer header, so what is inside must not get anywhere else. @port is
 * 0 if the netdev of arrival is not one of the device.
 */
static bool mrc_qp_takes_srv6(const struct mrc_qp *qp, u8 port)
{
	return port && mrc_flow_srv6(&qp->flow);
}

/*
 * Does @pkt belong to the current connection of @qp? If not, it is counted as dropped.
 * Under rx.lock or tx.lock. A new connection requires both locks, so the result stays
 * valid until the lock is released.
 */
static bool mrc_qp_wants(struct mrc_qp *qp, const struct mrc_pkt *pkt)
{
	u8 port = pkt->rx.port;
	enum mrc_counter id;

	if (qp->base.state < IB_QPS_RTR) {	/* the addresses are not final */
		id = MRC_CTR_DROP_STATE;
	} else if (!ipv6_addr_equal(&pkt->saddr, &qp->flow.daddr) ||
		   !ipv6_addr_equal(&pkt->daddr, &qp->flow.saddr) ||
		   (qp->bound_port && port && port != qp->bound_port) ||
		   (pkt->srv6 && !mrc_qp_takes_srv6(qp, port))) {
		id = MRC_CTR_DROP_ADDR;
	} else {
		trace_mrc_receive(qp->base.qpn, &pkt->hdr, port, pkt->rx.entropy,
				  pkt->len);
		if (qp->base.state != IB_QPS_ERR)
			return true;
		id = MRC_CTR_DROP_STATE;
	}
	mrc_ctr_add(&qp->base.dev->ctr, port, id, 1);
	return false;
}

/* Deliver messages and execute requests, in order. *@n counts the requests. */
static void mrc_resp_execute_all(struct mrc_qp *qp, u8 port, u32 *n,
				 bool *fatal)
{
	u32 seq = mrc_odp_seq(&qp->base.dev->odp);
	struct mrc_recv_msg imm;
	struct mrc_rd rd;

	for (;;) {
		if (mrc_resp_next_recv(&qp->rx.resp, &imm)) {
			int ret = mrc_rq_deliver(qp, &imm, port, fatal);

			if (ret < 0) {
				mrc_qp_set_todo(qp, MRC_TODO_RESP);
				mrc_qp_queue_work(qp, 0);
				return;
			}
			mrc_resp_recv_done(&qp->rx.resp, ret);
		} else if (mrc_resp_next_req(&qp->rx.resp, &rd)) {
			int ret = mrc_ext_execute(qp, &rd);

			if (ret < 0) {
				mrc_qp_set_todo(qp, MRC_TODO_RESP);
				mrc_qp_wait_page(qp, seq);
				return;
			}
			mrc_resp_req_done(&qp->rx.resp, ret);
			(*n)++;
		} else {
			return;
		}
	}
}

void mrc_resp_feedback(struct mrc_qp *qp, struct sk_buff_head *list, u64 now)
{
	struct mrc_tx_desc desc;

	if (mrc_resp_tells_recvs(&qp->rx.resp))
		mrc_rq_report_recvs(qp);
	for (;;) {
		struct sk_buff *skb;

		/* The service time includes the placement of payload, OP-35. */
		if (mrc_resp_timed(&qp->rx.resp))
			now = mrc_now();
		if (!mrc_resp_next_feedback(&qp->rx.resp, now, &desc))
			break;
		skb = mrc_build_skb(qp, &desc);
		if (IS_ERR(skb))
			mrc_ctr_add(&qp->base.dev->ctr, desc.port,
				    MRC_CTR_TX_ERROR, 1);
		else
			__skb_queue_tail(list, skb);
	}
}

bool mrc_resp_run_once(struct mrc_qp *qp, u8 port, u64 now, bool fatal,
		       bool kick)
	__releases(&qp->rx.lock)
{
	u32 conn, executed = 0, answered = 0;
	struct sk_buff_head list;
	u8 failed;

	lockdep_assert_held(&qp->rx.lock);
	__skb_queue_head_init(&list);
	if (qp->ans_of)
		answered = mrc_resp_take_done(&qp->rx.resp);
	else
		mrc_resp_execute_all(qp, port, &executed, &fatal);
	/*
	 * If a task needs the CPU, the remaining softirq work may be left to ksoftirqd.
	 * Then a delayed ACK would wait too long.
	 */
	if (mrc_resp_may_wait(&qp->rx.resp) && !need_resched()) {
		mrc_delayed_ack_wait(qp);
	} else {
		mrc_resp_feedback(qp, &list, now);
		mrc_rev_probe(qp, &list, now);
	}
	failed = mrc_resp_failed(&qp->rx.resp);
	conn = qp->conn;
	spin_unlock_bh(&qp->rx.lock);

	mrc_qp_xmit(qp, &list);
	if (answered || kick)
		mrc_ans_answered(qp, conn, answered);
	if (fatal || failed)
		mrc_qp_error(qp, conn, fatal ? IB_EVENT_QP_FATAL :
					       mrc_resp_event(failed));
	/* Send the delayed ACKs of other QPs before the woken task gets the CPU. */
	if (need_resched())
		mrc_delayed_ack_flush();
	return executed;
}

void mrc_resp_run(struct mrc_qp *qp, u8 port, u64 now, bool fatal, bool kick)
	__releases(&qp->rx.lock)
{
	if (mrc_resp_run_once(qp, port, now, fatal, kick))
		mrc_ans_run(qp);
}

void mrc_qp_send_final_ack(struct mrc_qp *qp)
{
	struct mrc_tx_desc desc;
	struct sk_buff_head list;
	u64 now = mrc_now();

	if (!qp->ans_of)
		lockdep_assert_held(&qp->mutex);
	__skb_queue_head_init(&list);
	spin_lock_bh(&qp->rx.lock);
	/* A delayed ACK is also sent in ERROR, see mrc_delayed_ack_qp_end(). */
	if (qp->rx.on && (qp->base.state != IB_QPS_ERR ||
			  mrc_qp_has_todo(qp, MRC_TODO_DELAYED_ACK))) {
		mrc_resp_repeat_ack(&qp->rx.resp);
		while (mrc_resp_next_feedback(&qp->rx.resp, now, &desc)) {
			struct sk_buff *skb = mrc_build_skb(qp, &desc);

			/* Best effort: ignore errors. */
			if (!IS_ERR(skb))
				__skb_queue_tail(&list, skb);
		}
	}
	spin_unlock_bh(&qp->rx.lock);
	mrc_qp_xmit(qp, &list);
	if (qp->ans)
		mrc_qp_send_final_ack(qp->ans);
}

/*
 * Allocate the WRITE_IMM stash of the responder, for the first WRITE_IMM. Without memory
 * the engine refuses the packet. The stash is charged to the memory cgroup of the
 * program. Like every allocation in interrupt context, it is not refused at the limit of
 * the cgroup. The excess is at most 4 KiB for each QP that the limit allowed.
 */
static void mrc_qp_make_stash(struct mrc_qp *qp)
{
	struct mem_cgroup *old;

	lockdep_assert_held(&qp->rx.lock);
	old = set_active_memcg(qp->ans_of ? qp->ans_of->memcg : qp->memcg);
	qp->rx.mem.stash = kzalloc(mrc_resp_stash_size(&qp->rx.resp),
				   GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	set_active_memcg(old);
	mrc_resp_set_stash(&qp->rx.resp, qp->rx.mem.stash);
}

/*
 * Check the resources that a packet needs before it can be accepted (extension): a
 * request needs the answer channel, a SEND or WRITE_IMM needs a receive. Return: false if
 * they are missing; then the packet has been refused.
 */
static bool mrc_rcv_ready(struct mrc_qp *qp, struct mrc_pkt *pkt, u64 now,
			  bool *fatal)
{
	u32 n, flags = mrc_op_info(pkt->hdr.opcode)->flags;

	if (!qp->ext || qp->ans_of)
		return true;
	if (flags & MRC_OPF_REQUEST && !pkt->rx.trim && !qp->rx.ans_ready &&
	    mrc_resp_takes_requests(&qp->rx.resp)) {
		if (!mrc_qp_has_todo(qp, MRC_TODO_ANS_TX)) {
			mrc_qp_set_todo(qp, MRC_TODO_ANS_TX);
			mrc_qp_queue_work(qp, 0);
		}
		mrc_resp_refuse(&qp->rx.resp, &pkt->rx, MRC_NACK_NO_RESOURCE, now);
		return false;
	}
	if (!mrc_resp_wants_recv(&qp->rx.resp, &pkt->rx, &n))
		return true;
	switch (mrc_rq_reserve(qp, n, flags & MRC_OPF_SEND)) {
	case 0:
		return true;
	case -EAGAIN:
		mrc_resp_refuse_rnr(&qp->rx.resp, &pkt->rx, qp->rx.rnr_timer, now);
		return false;
	case -EINVAL:
		*fatal = true;
		fallthrough;
	default:
		mrc_resp_refuse(&qp->rx.resp, &pkt->rx, MRC_NACK_NO_RESOURCE, now);
		return false;
	}
}

/*
 * RNR timer code of IB for a packet whose memory is being fetched, when the last page
 * arrived at @since. The peer waits half of the time that has passed since then. So a
 * packet that waits long is sent again rarely: 20 times in the first 300 ms and 13 times
 * a second from then on. The additional delay is at most half of the time that the fetch
 * takes, and at most 82 ms.
 */
static u8 mrc_page_timer(u64 since, u64 now)
{
	const u64 t = now > since ? (now - since) / 2 : 0;
	u8 code = 8;	/* 0.16 ms */

	while (code < 26 && mrc_rnr_time(code) < t)
		code++;
	return code;
}

/*
 * Check that the memory of an atomic operation is present. The operation is executed
 * later, in PSN order.
 */
static int mrc_rcv_atomic_ready(struct mrc_qp *qp, const struct mrc_hdr *h,
				struct mrc_odp_hold *hold)
{
	struct mrc_mr *mr;
	int ret = 0;

	if (h->opcode == MRC_OP_READ_REQ || h->opcode == MRC_OP_FLUSH)
		return 0;
	mr = mrc_mr_get(qp->base.ibqp, h->reth.rkey, h->reth.va, MRC_ATOMIC_LEN,
			h->opcode == MRC_OP_ATOMIC_WRITE ?
			IB_ACCESS_REMOTE_WRITE : IB_ACCESS_REMOTE_ATOMIC);
	if (IS_ERR(mr))
		return 0;
	if (mr->odp)
		ret = mrc_odp_check(mr, h->reth.va, MRC_ATOMIC_LEN, true,
				    qp->base.qpn, &qp->rx.page_fetched_at, hold);
	mrc_mr_put(mr);
	return ret;
}

/*
 * Check that the memory for the payload is present. Return: false if not; then the packet
 * has been refused. The caller releases @hold when the payload is placed.
 */
static bool mrc_rcv_memory(struct mrc_qp *qp, struct mrc_pkt *pkt,
			   struct mrc_odp_hold *hold, u64 now)
{
	const struct mrc_reth *reth = &pkt->hdr.reth;
	u32 n, len = pkt->hdr.payload_len;
	u32 flags = mrc_op_info(pkt->hdr.opcode)->flags;
	int ret = 0;

	if (pkt->rx.trim || !(flags & MRC_OPF_DATA) ||
	    (!len && !(flags & MRC_OPF_REQUEST)))
		return true;
	qp->rx.page_fetched_at = now;
	if (qp->ans_of) {
		if (flags & MRC_OPF_ANSWER)
			ret = mrc_ext_answer_ready(qp, &pkt->hdr, hold);
	} else if (flags & MRC_OPF_SEND) {
		if (mrc_resp_wants_recv(&qp->rx.resp, &pkt->rx, &n))
			ret = mrc_rq_ready(qp, &pkt->hdr, hold);
	} else if (flags & MRC_OPF_REQUEST) {
		ret = mrc_rcv_atomic_ready(qp, &pkt->hdr, hold);
	} else if (!(flags & MRC_OPF_EXT)) {
		pkt->mr = mrc_mr_get(qp->base.ibqp, reth->rkey, reth->va, len,
				     IB_ACCESS_REMOTE_WRITE);
		if (!IS_ERR(pkt->mr) && pkt->mr->odp)
			ret = mrc_odp_check(pkt->mr, reth->va, len, true,
					    qp->base.qpn, &qp->rx.page_fetched_at,
					    hold);
	}
	if (ret != -EAGAIN)
		return true;
	mrc_resp_refuse_page(&qp->rx.resp, &pkt->rx,
			     mrc_page_timer(qp->rx.page_fetched_at, now), now);
	return false;
}

/* Pass a packet to the responder and place its payload. */
static void mrc_rcv_data(struct mrc_qp *qp, struct mrc_pkt *pkt, u64 now,
			 bool *kick)
{
	if (mrc_resp_on_data(&qp->rx.resp, &pkt->rx, now) == MRC_RX_PLACE)
		mrc_resp_placed(&qp->rx.resp, &pkt->rx, mrc_place(qp, pkt, kick), now);
}

/* The same if memory may be paged. Present pages stay until they are released. */
static void mrc_rcv_paged(struct mrc_qp *qp, struct mrc_pkt *pkt, u64 now,
			  bool *kick)
{
	struct mrc_odp_hold hold;

	mrc_odp_hold_init(&hold);
	if (mrc_rcv_memory(qp, pkt, &hold, now))
		mrc_rcv_data(qp, pkt, now, kick);
	if (!IS_ERR_OR_NULL(pkt->mr))
		mrc_mr_put(pkt->mr);
	pkt->mr = NULL;
	mrc_odp_release(&hold);
}

/* Packets for the responder: data, reliability probes, undefined opcodes. */
static void mrc_rcv_responder(struct mrc_qp *qp, struct mrc_pkt *pkt)
{
	bool fatal = false, kick = false;
	u64 now = mrc_now();

	spin_lock_bh(&qp->rx.lock);
	if (!mrc_qp_wants(qp, pkt)) {
		spin_unlock_bh(&qp->rx.lock);
		return;
	}
	if (!qp->rx.on) {	/* an answer channel whose responder has not started */
		mrc_ctr_add(&qp->base.dev->ctr, pkt->rx.port, MRC_CTR_DROP_STATE, 1);
		spin_unlock_bh(&qp->rx.lock);
		return;
	}
	if (mrc_resp_wants_stash(&qp->rx.resp, &pkt->rx))
		mrc_qp_make_stash(qp);
	if (pkt->hdr.opcode == MRC_OP_PROBE && !pkt->rx.trim)
		mrc_resp_on_probe(&qp->rx.resp, &pkt->rx, now);
	else if (!mrc_rcv_ready(qp, pkt, now, &fatal))
		;	/* refused */
	else if (mrc_odp_any(&qp->base.dev->odp))
		mrc_rcv_paged(qp, pkt, now, &kick);
	else
		mrc_rcv_data(qp, pkt, now, &kick);
	mrc_resp_run(qp, pkt->rx.port, now, fatal, kick);
}

/* Packets for the requester: feedback. */
static void mrc_rcv_requester(struct mrc_qp *qp, struct mrc_pkt *pkt)
{
	const struct mrc_hdr *h = &pkt->hdr;
	u64 now;

	spin_lock_bh(&qp->tx.lock);
	if (!mrc_qp_wants(qp, pkt)) {
		spin_unlock_bh(&qp->tx.lock);
		return;
	}
	if (!qp->tx.on) {
		/* The requester is created at the first send: no PSN has been sent. */
		mrc_ctr_add(&qp->base.dev->ctr, pkt->rx.port,
			    qp->base.state == IB_QPS_RTS ? MRC_CTR_DROP_STALE :
						      MRC_CTR_DROP_STATE, 1);
		spin_unlock_bh(&qp->tx.lock);
		return;
	}
	now = mrc_now();	/* under the lock: time of the engine must not go back */
	switch (h->opcode) {
	case MRC_OP_SACK:
		trace_mrc_sack(qp->base.qpn, h, pkt->rx.port);
		mrc_req_on_sack(mrc_qp_req(qp), h, pkt->rx.port, now);
		break;
	case MRC_OP_NACK:
		mrc_req_on_nack(mrc_qp_req(qp), h, pkt->rx.port, now);
		break;
	default:
		mrc_req_on_ack(mrc_qp_req(qp), h, pkt->rx.port, now);
		break;
	}
	mrc_req_run(qp, false);
}

void mrc_qp_pkt_find(struct mrc_pkt *pkt, u32 qpn)
{
	struct mrc_qp *qp = mrc_qp_get(qpn);

	if (!qp)
		return;
	if (qp->base.dev->net != dev_net(pkt->skb->dev)) {
		mrc_qp_put(qp);
		return;
	}
	pkt->qp = qp;
	pkt->dev = qp->base.dev;
	/*
	 * A hint, read without the lock under which mrc_resp_init() copies the
	 * configuration. If the arrival time is missing, the engine uses the time of the
	 * call.
	 */
	pkt->timed = data_race(mrc_resp_timed(&qp->rx.resp));
}

void mrc_qp_pkt_rcv(struct mrc_pkt *pkt)
{
	const struct mrc_op_info *op = mrc_op_info(pkt->hdr.opcode);
	struct mrc_qp *qp = pkt->qp, *ans = NULL;

	/* Without the extension the bit is reserved and ignored. */
	if (pkt->hdr.ans && qp->ext) {
		ans = mrc_ans_get(qp);
		if (!ans) {
			mrc_ctr_add(&qp->base.dev->ctr, pkt->rx.port,
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
