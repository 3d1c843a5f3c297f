// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asynchronous events: of objects of libMRC on its context, of verbs objects on
 * the ibv_context, of ports on both.
 */
#include <cstdio>
#include <fcntl.h>

#include "pair.hpp"
#include "tests.hpp"
#include "waiter.hpp"

namespace
{
/* The next event of @ctx that is no news of ports or GIDs. */
mrc_async_event next(mrc_context *ctx)
{
	for (;;) {
		mrc_async_event ev{};

		must(mrc_get_async_event(ctx, &ev), "event");
		switch (ev.event_type) {
		case IBV_EVENT_PORT_ACTIVE:
		case IBV_EVENT_PORT_ERR:
		case IBV_EVENT_GID_CHANGE:
		case IBV_EVENT_CLIENT_REREGISTER:
			mrc_ack_async_event(&ev);
			break;
		default:
			return ev;
		}
	}
}

void nonblocking(ibv_context *verbs)
{
	must(fcntl(verbs->async_fd, F_SETFL,
		   fcntl(verbs->async_fd, F_GETFL) | O_NONBLOCK),
	     "O_NONBLOCK");
}

/* Events of verbs that have to do with queues and queue pairs, now. */
unsigned verbs_events(ibv_context *verbs)
{
	ibv_async_event ev;
	unsigned n = 0;

	while (!ibv_get_async_event(verbs, &ev)) {
		n += ev.event_type == IBV_EVENT_CQ_ERR ||
		     ev.event_type == IBV_EVENT_QP_FATAL ||
		     ev.event_type == IBV_EVENT_QP_REQ_ERR ||
		     ev.event_type == IBV_EVENT_QP_ACCESS_ERR;
		ibv_ack_async_event(&ev);
	}
	return n;
}

/* A write that the peer refuses. */
void bad_write(Pair &p)
{
	ibv_sge sge;
	ibv_send_wr wr = p.write(p.a, 1, sge);

	wr.wr.rdma.rkey ^= 0x5a5a5a00;
	must(p.a.post_send(&wr), "send");
	wait(p.a.send_cq.get(), 1);
}

void access_error(Check &c, const Devices &d)
{
	Node na(d.a), nb(d.b);
	Pair p(na, nb);

	nonblocking(nb.verbs.get());
	p.connect();
	bad_write(p);
	mrc_async_event ev = next(nb.ctx.get());

	c.eq(ev.event_type, IBV_EVENT_QP_ACCESS_ERR, "event");
	c.that(ev.element.qp == p.b.qp.get(), "not our QP");
	c.eq(state(p.b.qp.get()), IBV_QPS_ERR, "state");
	mrc_ack_async_event(&ev);
	c.eq(verbs_events(nb.verbs.get()), 0u, "events for the verbs program");
}

void request_error(Check &c, const Devices &d)
{
	Node na(d.a), nb(d.b);
	Pair p(na, nb);
	ibv_sge sge;

	p.connect();
	ibv_send_wr wr = p.write(p.a, 1, sge);

	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM; /* no receive is there */
	must(p.a.post_send(&wr), "send");
	wait(p.a.send_cq.get(), 1);
	mrc_async_event ev = next(nb.ctx.get());

	c.eq(ev.event_type, IBV_EVENT_QP_REQ_ERR, "event");
	c.that(ev.element.qp == p.b.qp.get(), "not our QP");
	mrc_ack_async_event(&ev);
}

/* A queue that is too small tells so, and so does who found it full. */
void cq_overflow(Check &c, const Devices &d)
{
	Node na(d.a), nb(d.b);
	Pair p(na, nb, {.send_wr = 64, .cqe = 4});
	bool cq_err = false, qp_fatal = false;

	p.connect();
	for (unsigned i = 0; i < 16; i++) {
		ibv_sge sge;
		ibv_send_wr wr = p.write(p.a, i, sge);

		must(p.a.post_send(&wr), "send");
	}
	for (int i = 0; i < 2; i++) {
		mrc_async_event ev = next(na.ctx.get());

		if (ev.event_type == IBV_EVENT_CQ_ERR) {
			cq_err = true;
			c.that(ev.element.cq == p.a.send_cq.get(),
			       "not our CQ");
		} else {
			qp_fatal = true;
			c.eq(ev.event_type, IBV_EVENT_QP_FATAL, "event");
			c.that(ev.element.qp == p.a.qp.get(), "not our QP");
		}
		mrc_ack_async_event(&ev);
	}
	c.that(cq_err, "no event of the CQ");
	c.that(qp_fatal, "no event of the QP");
}

/*
 * A program with verbs objects on the same ibv_context sees those, and none
 * that it did not make.
 */
void beside_verbs(Check &c, const Devices &d)
{
	Node na(d.a), nb(d.b);
	Pair p(na, nb);
	int mine = 0;
	const Owned<ibv_cq, ibv_destroy_cq> cq(must(
		ibv_create_cq(nb.verbs.get(), 4, nullptr, nullptr, 0), "CQ"));
	ibv_qp_init_attr init{};

	init.qp_context = &mine;
	init.send_cq = init.recv_cq = cq.get();
	init.qp_type = IBV_QPT_RC;
	init.cap = {1, 1, 1, 1, 0};
	const Owned<ibv_qp, ibv_destroy_qp> vqp(
		must(ibv_create_qp(nb.pd.get(), &init), "QP"));

	/* The peer of a's queue pair is the verbs one, with which a talks
	 * first. */
	Pair other(na, nb);
	const uint32_t psn = 77;
	ibv_qp_attr attr = init_attr();

	must(ibv_modify_qp(vqp.get(), &attr, init_mask), "INIT");
	attr = rtr_attr(nb, na.gid, num(other.a.qp.get()), other.a.psn);
	attr.path_mtu = std::min(na.mtu, nb.mtu);
	attr.min_rnr_timer = 12;
	must(ibv_modify_qp(vqp.get(), &attr,
			   rtr_mask | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	other.init(other.a);
	attr = rtr_attr(na, nb.gid, vqp->qp_num, psn);
	attr.path_mtu = std::min(na.mtu, nb.mtu);
	must(mrc_modify_qp(other.a.qp.get(), &attr, rtr_mask, nullptr, 0),
	     "RTR");
	other.rts(other.a);
	p.connect();

	bad_write(other);
	ibv_async_event vev{};

	/* The verbs program waits in its own call. */
	must(ibv_get_async_event(nb.verbs.get(), &vev), "event of verbs");
	while (vev.event_type == IBV_EVENT_GID_CHANGE ||
	       vev.event_type == IBV_EVENT_PORT_ACTIVE) {
		ibv_ack_async_event(&vev);
		must(ibv_get_async_event(nb.verbs.get(), &vev),
		     "event of verbs");
	}
	c.eq(vev.event_type, IBV_EVENT_QP_ACCESS_ERR, "event of verbs");
	c.that(vev.element.qp == vqp.get(), "not the verbs QP");
	c.that(vev.element.qp->qp_context == &mine, "its qp_context");
	ibv_ack_async_event(&vev);

	nonblocking(nb.verbs.get());
	bad_write(p);
	mrc_async_event ev = next(nb.ctx.get());

	c.eq(ev.event_type, IBV_EVENT_QP_ACCESS_ERR, "event");
	c.that(ev.element.qp == p.b.qp.get(), "an event of somebody else");
	mrc_ack_async_event(&ev);
	c.eq(verbs_events(nb.verbs.get()), 0u, "events for the verbs program");
}

/* Each context gets the events of its own objects. */
void two_contexts(Check &c, const Devices &d)
{
	Node na(d.a), nb(d.b);
	Pair p(na, nb), q(na, nb);
	const Context second = make_context(nb.verbs.get());
	const Cq cq(must(mrc_create_cq(second.get(), 4, nullptr, nullptr, 0),
			 "CQ"));
	mrc_qp_init_attr init = qp_init(nb, cq.get(), cq.get());

	/* The peer in q is a queue pair of the second context. */
	q.b.qp.reset(must(mrc_create_qp(second.get(), &init), "QP"));
	p.connect();
	q.connect();
	bad_write(q);
	bad_write(p);
	for (int i = 0; i < 2; i++) {
		mrc_async_event ev = next(i ? nb.ctx.get() : second.get());

		c.eq(ev.event_type, IBV_EVENT_QP_ACCESS_ERR, "event");
		c.that(ev.element.qp == (i ? p : q).b.qp.get(),
		       "an event of the other context");
		mrc_ack_async_event(&ev);
	}
	q.b.qp.reset();
}

/* A queue pair stays until its events are acknowledged. */
void waits_for_acks(Check &c, const Devices &d)
{
	Node na(d.a), nb(d.b);
	Pair p(na, nb);

	p.connect();
	bad_write(p);
	mrc_async_event ev = next(nb.ctx.get());
	mrc_qp *const qp = p.b.qp.release();
	int ret = -1;
	Waiter w([&] { ret = mrc_destroy_qp(qp); });

	w.sleeps();
	c.that(!w.done(), "it waits for no acknowledgement");
	mrc_ack_async_event(&ev);
	w.join();
	c.eq(ret, 0, "destroy");
}

/* An event that nobody got does not keep anything. */
void unread(Check &c, const Devices &d)
{
	Node na(d.a), nb(d.b);
	Pair p(na, nb);

	p.connect();
	bad_write(p);
	eventually([&] { return state(p.b.qp.get()) == IBV_QPS_ERR; }, "ERR");
	c.err(0, "QP with an unread event",
	      [&] { return mrc_destroy_qp(p.b.qp.release()); });
}

/* --- ports: somebody else moves them ---------------------------------- */

void await_port(Check &c, Node &n, ibv_event_type type, const char *what)
{
	mrc_async_event ev{};
	ibv_async_event vev{};

	for (;;) {
		must(mrc_get_async_event(n.ctx.get(), &ev), what);
		mrc_ack_async_event(&ev);
		if (ev.event_type == type)
			break;
	}
	c.eq(ev.element.port_num, 2, std::string(what) + ": port");
	for (;;) {
		must(ibv_get_async_event(n.verbs.get(), &vev), what);
		ibv_ack_async_event(&vev);
		if (vev.event_type == type)
			break;
	}
	c.eq(vev.element.port_num, 2, std::string(what) + ": verbs' port");
}

void ports(Check &c, const Devices &d)
{
	Node n(d.a);
	ibv_port_attr port{};

	std::printf("# waits for port 2 to go down\n");
	await_port(c, n, IBV_EVENT_PORT_ERR, "down");
	must(ibv_query_port(n.verbs.get(), 2, &port), "port");
	c.eq(port.state, IBV_PORT_DOWN, "state");
	std::printf("# waits for port 2 to come up\n");
	await_port(c, n, IBV_EVENT_PORT_ACTIVE, "up");
	must(ibv_query_port(n.verbs.get(), 2, &port), "port");
	c.eq(port.state, IBV_PORT_ACTIVE, "state");
}

/* --- the device goes: somebody else removes it ------------------------ */

/*
 * Objects of a device that is gone: no call hangs or crashes, and none says
 * that it has done something.
 */
void gone(Check &c, const Devices &d)
{
	auto *const n = new Node(d.a);
	mrc_cq *const cq = make_cq(*n).release();
	mrc_qp *const qp = make_qp(*n, cq).release();
	mrc_qp_hint_init_attr about{};
	mrc_qp_hint *const hint =
		must(mrc_create_qp_hint(n->ctx.get(), &about), "hint");
	mrc_async_event ev{};
	mrc_qp_attr with_hint{};
	ibv_qp_attr attr{};
	int supported = 7;

	with_hint.qp_hint = hint;
	must(mrc_modify_qp(qp, nullptr, 0, &with_hint, MRC_QP_HINT), "hint");
	bring(*n, qp, IBV_QPS_RTS);
	std::printf("# waits for the device to go\n");
	do {
		must(mrc_get_async_event(n->ctx.get(), &ev), "event");
		mrc_ack_async_event(&ev);
	} while (ev.event_type != IBV_EVENT_DEVICE_FATAL);

	ibv_send_wr send{}, *bad = nullptr;

	send.opcode = IBV_WR_RDMA_WRITE;
	c.err(EIO, "post", [&] { return mrc_post_send(qp, &send, &bad); });
	c.that(bad == &send, "bad_wr");
	c.err(EIO, "query", [&] {
		return mrc_query_qp(qp, &attr, IBV_QP_STATE, nullptr, 0,
				    nullptr);
	});
	c.err(EIO, "modify", [&] {
		attr.qp_state = IBV_QPS_ERR;
		return mrc_modify_qp(qp, &attr, IBV_QP_STATE, nullptr, 0);
	});
	c.minus1(EIO, "device query", [&] {
		return mrc_query_device(n->verbs.get(), &n->attr, &supported);
	});
	c.null(EIO, "context",
	       [&] { return mrc_create_context(n->verbs.get(), nullptr); });
	c.null(EIO, "CQ", [&] {
		return mrc_create_cq(n->ctx.get(), 4, nullptr, nullptr, 0);
	});
	/* What belonged to the kernel is gone already; the rest can go. */
	c.eq(mrc_destroy_qp(qp), 0, "destroy the QP");
	c.eq(mrc_destroy_qp_hint(hint), 0, "destroy its hint");
	c.eq(mrc_destroy_cq(cq), 0, "destroy its CQ");
	c.eq(mrc_destroy_context(n->ctx.release()), 0, "destroy the context");
}
} // namespace

void test_events(Suite &s, const Devices &d)
{
	s.run("remote access error", [&](Check &c) { access_error(c, d); });
	s.run("request error", [&](Check &c) { request_error(c, d); });
	s.run("completion queue overflow",
	      [&](Check &c) { cq_overflow(c, d); });
	s.run("beside events of verbs objects",
	      [&](Check &c) { beside_verbs(c, d); });
	s.run("two contexts, each its own",
	      [&](Check &c) { two_contexts(c, d); });
	s.run("destruction waits for acknowledgement",
	      [&](Check &c) { waits_for_acks(c, d); });
	s.run("an unread event keeps nothing", [&](Check &c) { unread(c, d); });
}

void test_port_events(Suite &s, const Devices &d)
{
	s.run("a port goes down and comes up", [&](Check &c) { ports(c, d); });
}

void test_gone(Suite &s, const Devices &d)
{
	s.run("the device goes away", [&](Check &c) { gone(c, d); });
}
