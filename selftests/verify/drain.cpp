// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: the state SQD. A queue pair in it finishes the messages that it
 * has begun and begins no other until it is back in RTS.
 */
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <string>

#include "common.h"
#include "pair.h"
#include "tests.h"

namespace
{
/* Several packets: three of a Pair's places without the gap at their end. */
constexpr uint32_t long_len = 3 * 4096 - 5;

/* How long nothing has to happen for it not to happen at all. */
constexpr int quiet_ms = 100;

constexpr int notify = IBV_QP_EN_SQD_ASYNC_NOTIFY;

/* What can be changed only when nothing is on its way any more. */
constexpr int drained_only = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
			     IBV_QP_MAX_DEST_RD_ATOMIC;

Placed placed_at(uint64_t msg, uint32_t len)
{
	return {static_cast<int64_t>(Pair::msg_offset(msg)), len, msg, 1, 0};
}

ibv_qp_attr query(Qp &qp)
{
	constexpr int mask = IBV_QP_STATE | IBV_QP_CUR_STATE |
			     IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ACCESS_FLAGS |
			     IBV_QP_MIN_RNR_TIMER | drained_only;
	ibv_qp_attr a{};
	ibv_qp_init_attr i{};
	int ret = ibv_query_qp(qp.get(), &a, mask, &i);

	if (ret)
		fail("ibv_query_qp: %s", std::strerror(ret));
	return a;
}

void modify(Qp &qp, ibv_qp_state to, ibv_qp_attr a, int mask, const char *what)
{
	a.qp_state = to;
	int ret = ibv_modify_qp(qp.get(), &a, mask);

	if (ret)
		fail("%s: %s", what, std::strerror(ret));
	if (qp.query_state() != to)
		fail("%s: the state is %d instead of %d", what,
		     qp.query_state(), to);
}

void refuse(Qp &qp, ibv_qp_state to, ibv_qp_attr a, int mask, const char *what)
{
	ibv_qp_attr before = query(qp), after;

	a.qp_state = to;
	int ret = ibv_modify_qp(qp.get(), &a, mask | IBV_QP_STATE);

	if (ret != EINVAL)
		fail("%s: %d (%s) instead of EINVAL", what, ret,
		     std::strerror(ret));
	after = query(qp);
	if (after.qp_state != before.qp_state ||
	    after.timeout != before.timeout ||
	    after.retry_cnt != before.retry_cnt ||
	    after.rnr_retry != before.rnr_retry ||
	    after.qp_access_flags != before.qp_access_flags)
		fail("%s was refused but changed something", what);
}

void to_sqd(Qp &qp, bool with_notify)
{
	ibv_qp_attr a{};

	a.en_sqd_async_notify = with_notify;
	modify(qp, IBV_QPS_SQD, a, IBV_QP_STATE | notify, "RTS to SQD");
}

void resume(Qp &qp)
{
	ibv_qp_attr a{};

	a.cur_qp_state = IBV_QPS_SQD;
	modify(qp, IBV_QPS_RTS, a, IBV_QP_STATE | IBV_QP_CUR_STATE,
	       "SQD to RTS");
}

/* An event SQ_DRAINED of this QP; a QP that has failed is a Failure. */
bool take_drained(Session &s, const Qp &qp, int timeout_ms)
{
	double end = now_s() + timeout_ms / 1e3;
	pollfd pfd = {s.dev.ctx()->async_fd, POLLIN, 0};

	do {
		ibv_async_event e;

		if (ibv_get_async_event(s.dev.ctx(), &e)) {
			::poll(&pfd, 1, 5);
			continue;
		}
		ibv_event_type type = e.event_type;
		bool mine = type == IBV_EVENT_SQ_DRAINED &&
			    e.element.qp == qp.get();

		ibv_ack_async_event(&e);
		if (mine)
			return true;
		if (type == IBV_EVENT_SQ_DRAINED ||
		    type == IBV_EVENT_QP_FATAL ||
		    type == IBV_EVENT_QP_REQ_ERR ||
		    type == IBV_EVENT_QP_ACCESS_ERR)
			fail("unexpected event: %s", ibv_event_type_str(type));
	} while (now_s() < end);
	return false;
}

void wait_drained(Session &s, Qp &qp, const char *what)
{
	if (!take_drained(s, qp, 30000))
		fail("%s: no event SQ_DRAINED", what);
	ibv_qp_attr a = query(qp);

	if (a.qp_state != IBV_QPS_SQD || a.sq_draining)
		fail("%s: state %d, draining %d after the event", what,
		     a.qp_state, a.sq_draining);
}

/* The same without an event. */
void poll_drained(Qp &qp)
{
	double end = now_s() + 30;

	for (;;) {
		ibv_qp_attr a = query(qp);

		if (a.qp_state != IBV_QPS_SQD)
			fail("the QP has left SQD for %d", a.qp_state);
		if (!a.sq_draining)
			return;
		if (now_s() > end)
			fail("the QP is draining for ever");
		::poll(nullptr, 0, 1);
	}
}

/*
 * A second event, and one that nobody has asked for, can only be ruled out by
 * giving it the time to come.
 */
void expect_no_event(Session &s, const Qp &qp, const char *what)
{
	if (take_drained(s, qp, quiet_ms))
		fail("%s: an event SQ_DRAINED too many", what);
}

void post(Pair &p, uint64_t wr_id, uint64_t msg, uint32_t len)
{
	ibv_send_wr *bad;
	ibv_sge sge;
	ibv_send_wr wr = p.write(msg, sge, len);

	wr.wr_id = wr_id;
	int ret = ibv_post_send(p.qp().get(), &wr, &bad);

	if (ret)
		fail("posting in state %d: %s", p.qp().query_state(),
		     std::strerror(ret));
}

/* Completions [@first, @first + n), all with this status. */
void expect_wcs(const std::vector<Wc> &w, uint64_t first, ibv_wc_status status,
		const char *what)
{
	for (size_t i = 0; i < w.size(); i++)
		if (w[i].wr_id != first + i || w[i].status != status)
			fail("%s: completion %s (%s) instead of %s (%s)", what,
			     std::to_string(w[i].wr_id).c_str(),
			     ibv_wc_status_str(w[i].status),
			     std::to_string(first + i).c_str(),
			     ibv_wc_status_str(status));
}

/*
 * Both ends back to RESET and connected again; what the server's memory holds
 * by now is right.
 */
void reconnect(Session &s, Pair &p)
{
	s.oob.barrier(14);
	p.qp().to_reset();
	p.qp().new_psn();
	p.forget_region();
	p.connect();
}

/*
 * The peer does not answer while its QP is in RESET, so that a message stays
 * under way for as long as the checks need.
 */
void drain_unanswered(Session &s)
{
	TestOptions t = s.t;
	PairConfig pc;

	/* Eight intervals of a second, of which the checks use a part of one */
	t.timeout = 18;
	t.retry = 7;
	pc.client_recvs = pc.server_recvs = 0;
	Pair p(s.dev, s.oob, t, s.client, pc);
	Qp &qp = p.qp();
	std::vector<Placed> placed;

	if (!s.client)
		qp.to_reset();
	s.oob.barrier(13);
	if (s.client) {
		double end = now_s() + 4;
		ibv_qp_attr a{};

		post(p, 0, 0, long_len);
		for (;;) {
			to_sqd(qp, true);
			if (query(qp).sq_draining)
				break;
			/* Not begun yet: let it, and stop again. */
			wait_drained(s, qp, "before the message was begun");
			if (now_s() > end)
				fail("a message on its way is not draining");
			resume(qp);
			::poll(nullptr, 0, 1);
		}
		post(p, 1, 3, long_len);

		a.timeout = a.retry_cnt = a.rnr_retry = 5;
		a.max_rd_atomic = a.max_dest_rd_atomic = 1;
		for (int bit = 1; bit <= drained_only; bit <<= 1)
			if (drained_only & bit)
				refuse(qp, IBV_QPS_SQD, a, bit,
				       "a change while draining");
		a.min_rnr_timer = 9;
		a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
		modify(qp, IBV_QPS_SQD, a,
		       IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER |
			       IBV_QP_ACCESS_FLAGS,
		       "access and RNR timer while draining");
		a = query(qp);
		if (a.min_rnr_timer != 9)
			fail("the RNR timer is %d after a change to 9",
			     a.min_rnr_timer);
		if (!a.sq_draining)
			fail("drained without an answer of the peer");
		expect_no_event(s, qp, "draining");
		p.expect_quiet(p.send_cq(), "draining", 0);
	}
	s.oob.barrier(15);
	if (!s.client) {
		qp.to_init();
		qp.to_rtr(p.peer().qp, t);
		qp.to_rts(t);
	} else {
		wait_drained(s, qp, "the peer is back");
		expect_wcs(p.wait(p.send_cq(), 1, 0), 0, IBV_WC_SUCCESS,
			   "begun before SQD");
		p.expect_quiet(p.send_cq(), "posted in SQD", quiet_ms);
		expect_no_event(s, qp, "drained");
	}
	/* The one that waits has not reached the server in part either. */
	placed.push_back(placed_at(0, long_len));
	p.settle(placed);
	if (s.client) {
		resume(qp);
		expect_wcs(p.wait(p.send_cq(), 1), 1, IBV_WC_SUCCESS,
			   "resumed");
	}
	placed.push_back(placed_at(3, long_len));
	p.settle(placed);
}

/* In SQD and drained: what can be changed, and what cannot. */
void change_attrs(Session &s, Pair &p)
{
	Qp &qp = p.qp();
	ibv_qp_attr a{}, now;
	int mask;

	a.timeout = 17;
	a.retry_cnt = 5;
	a.rnr_retry = 4;
	a.max_rd_atomic = 1;
	a.max_dest_rd_atomic = 1;
	a.min_rnr_timer = 7;
	a.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	modify(qp, IBV_QPS_SQD, a,
	       IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS |
		       drained_only,
	       "SQD to SQD");
	now = query(qp);
	if (now.timeout != 17 || now.retry_cnt != 5 || now.rnr_retry != 4 ||
	    now.min_rnr_timer != 7)
		fail("SQD to SQD: timeout %d, retries %d and %d, RNR timer %d",
		     now.timeout, now.retry_cnt, now.rnr_retry,
		     now.min_rnr_timer);
	/* Without naming the state it stays. */
	a.timeout = 16;
	modify(qp, IBV_QPS_SQD, a, IBV_QP_TIMEOUT, "a timeout in SQD");
	if (query(qp).timeout != 16)
		fail("the timeout has not changed in SQD");
	modify(qp, IBV_QPS_SQD, qp.rtr_attr(p.peer().qp, s.t, mask),
	       IBV_QP_STATE | IBV_QP_AV, "the same address in SQD");

	a.cur_qp_state = IBV_QPS_RTS;
	refuse(qp, IBV_QPS_RTS, a, IBV_QP_CUR_STATE,
	       "SQD to RTS with cur_qp_state RTS");
	refuse(qp, IBV_QPS_RTS, a, IBV_QP_SQ_PSN, "SQD to RTS with a PSN");
	refuse(qp, IBV_QPS_RTS, a, IBV_QP_TIMEOUT, "SQD to RTS with a timeout");
	refuse(qp, IBV_QPS_SQD, a, IBV_QP_PATH_MTU, "a path MTU in SQD");
}

/* Stopped in the middle of many messages, and resumed. */
void drain_busy(Session &s, Pair &p, std::vector<Placed> &placed)
{
	constexpr uint64_t count = 200, more = 4;
	/* Places that nothing else is written to. */
	constexpr uint64_t extra[more] = {9, 12, 13, 14};
	Qp &qp = p.qp();

	if (!s.client) {
		p.settle({});
		p.settle({});
		return;
	}
	std::vector<ibv_send_wr> wrs(count);
	std::vector<ibv_sge> sges(count);
	std::vector<Wc> w;
	ibv_send_wr *bad;
	size_t done;

	/*
	 * More messages than fit next to each other: the same three again and
	 * again. The order in which they arrive is nobody's business then.
	 */
	for (uint64_t i = 0; i < count; i++) {
		wrs[i] = p.write(i % 3 * 3, sges[i], long_len);
		wrs[i].wr_id = i;
		if (i)
			wrs[i - 1].next = &wrs[i];
	}
	int ret = ibv_post_send(qp.get(), wrs.data(), &bad);

	if (ret)
		fail("ibv_post_send: %s", std::strerror(ret));
	to_sqd(qp, true);
	wait_drained(s, qp, "with messages under way");
	while (p.send_cq().poll(w))
		;
	done = w.size();
	expect_wcs(w, 0, IBV_WC_SUCCESS, "begun before SQD");
	say("sq-drain: %zu of %llu messages were sent before the drain", done,
	    static_cast<unsigned long long>(count));
	for (uint64_t i = 0; i < more; i++)
		post(p, count + i, extra[i], i ? Pair::msg_len : long_len);
	/* That nothing is sent shows in nothing but time. */
	p.expect_quiet(p.send_cq(), "drained", quiet_ms);
	expect_no_event(s, qp, "drained");
	for (uint64_t i = 0; i < 3 && i < done; i++)
		placed.push_back(placed_at(i * 3, long_len));
	p.settle(placed);

	change_attrs(s, p);
	resume(qp);
	expect_wcs(p.wait(p.send_cq(), count + more - done), done,
		   IBV_WC_SUCCESS, "resumed");
	p.expect_quiet(p.send_cq(), "resumed");
	placed.clear();
	for (uint64_t i = 0; i < 3; i++)
		placed.push_back(placed_at(i * 3, long_len));
	for (uint64_t i = 0; i < more; i++)
		placed.push_back(
			placed_at(extra[i], i ? Pair::msg_len : long_len));
	p.settle(placed);
}

/* From SQD with work requests waiting to ERR and to RESET. */
void leave_sqd(Session &s, Pair &p, const std::vector<Placed> &placed)
{
	constexpr uint64_t waiting = 6;
	Qp &qp = p.qp();

	if (s.client) {
		to_sqd(qp, true);
		wait_drained(s, qp, "idle");
		expect_no_event(s, qp, "idle");
		for (uint64_t i = 0; i < waiting; i++)
			post(p, i, i, Pair::msg_len);
		p.expect_quiet(p.send_cq(), "waiting for ERR", quiet_ms);
		qp.to_error();
		expect_wcs(p.wait(p.send_cq(), waiting), 0, IBV_WC_WR_FLUSH_ERR,
			   "SQD to ERR");
		p.expect_quiet(p.send_cq(), "SQD to ERR");
		refuse(qp, IBV_QPS_SQD, {}, 0, "ERR to SQD");
	}
	p.settle(placed);
	reconnect(s, p);
	if (s.client) {
		drain_async(s.dev);
		to_sqd(qp, false);
		poll_drained(qp);
		expect_no_event(s, qp, "SQD without notification");
		for (uint64_t i = 0; i < waiting; i++)
			post(p, i, i, Pair::msg_len);
		p.expect_quiet(p.send_cq(), "waiting for RESET", quiet_ms);
		qp.to_reset();
		if (qp.query_state() != IBV_QPS_RESET)
			fail("the QP is not in RESET");
		p.expect_quiet(p.send_cq(), "SQD to RESET");
	}
	p.settle({});
	reconnect(s, p);
	if (s.client) {
		post(p, 77, 11, long_len);
		expect_wcs(p.wait(p.send_cq(), 1), 77, IBV_WC_SUCCESS,
			   "after the reset");
	}
	p.settle({placed_at(11, long_len)});
}

/* Transitions to and from SQD that there are not. */
void refuse_jumps(Session &s)
{
	Cq send_cq(s.dev, {}), recv_cq(s.dev, {});
	Qp qp(s.dev, send_cq, recv_cq, {});
	QpAddress self = qp.address();
	int mi, mr;
	ibv_qp_attr init = qp.init_attr(IBV_ACCESS_REMOTE_WRITE, mi);
	ibv_qp_attr rtr = qp.rtr_attr(self, s.t, mr);

	refuse(qp, IBV_QPS_SQD, {}, 0, "RESET to SQD");
	qp.to_init();
	refuse(qp, IBV_QPS_SQD, {}, 0, "INIT to SQD");
	qp.to_rtr(self, s.t);
	refuse(qp, IBV_QPS_SQD, {}, 0, "RTR to SQD");
	refuse(qp, IBV_QPS_SQD, {}, notify, "RTR to SQD with notification");
	qp.to_rts(s.t);
	refuse(qp, IBV_QPS_RTS, {}, notify, "RTS to RTS with notification");
	refuse(qp, IBV_QPS_SQD, rtr, IBV_QP_AV, "RTS to SQD with an address");
	to_sqd(qp, false);
	poll_drained(qp);
	refuse(qp, IBV_QPS_INIT, init, mi, "SQD to INIT");
	refuse(qp, IBV_QPS_RTR, rtr, mr, "SQD to RTR");
	resume(qp);
	to_sqd(qp, true);
	wait_drained(s, qp, "nothing ever sent");
	qp.to_error();
}
} // namespace

void test_sq_drain(Session &s)
{
	if (!s.dev.is_mrc())
		throw Skip("only mrc devices keep to the notification asked "
			   "for in SQD");
	drain_async(s.dev);
	drain_unanswered(s);
	{
		PairConfig pc;

		pc.max_send = 256;
		pc.client_recvs = pc.server_recvs = 0;
		Pair p(s.dev, s.oob, s.t, s.client, pc);
		std::vector<Placed> placed;

		drain_busy(s, p, placed);
		leave_sqd(s, p, placed);
	}
	if (s.client)
		refuse_jumps(s);
	drain_async(s.dev);
	s.oob.barrier(12);
}
