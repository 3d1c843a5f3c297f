// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues and channels: creation, who keeps them, events, waiting for
 * acknowledgement.
 */
#include <atomic>
#include <climits>
#include <fcntl.h>
#include <future>
#include <poll.h>
#include <sys/epoll.h>
#include <thread>
#include <unistd.h>

#include <mrc_ctl.h>

#include "pair.hpp"
#include "tests.hpp"
#include "waiter.hpp"

namespace
{
void creation(Check &c, const Devices &d)
{
	Node n(d.a), other(d.a);
	const Channel foreign = make_channel(other);
	const int vectors = n.verbs->num_comp_vectors;

	for (int cqe : {0, -1, INT_MIN, INT_MAX})
		c.null(EINVAL, std::to_string(cqe) + " entries", [&] {
			return mrc_create_cq(n.ctx.get(), cqe, nullptr, nullptr,
					     0);
		});
	for (int vector : {-1, vectors, INT_MAX, INT_MIN})
		c.null(EINVAL, "vector " + std::to_string(vector), [&] {
			return mrc_create_cq(n.ctx.get(), 4, nullptr, nullptr,
					     vector);
		});
	c.null(EINVAL, "channel of another context", [&] {
		return mrc_create_cq(n.ctx.get(), 4, nullptr, foreign.get(), 0);
	});
	for (int vector = 0; vector < vectors; vector++)
		c.that(Cq(mrc_create_cq(n.ctx.get(), 1, nullptr, nullptr,
					vector)) != nullptr,
		       "vector " + std::to_string(vector));
	for (int cqe : {1, 7, 256, 4096})
		c.that(make_cq(n, cqe) != nullptr,
		       std::to_string(cqe) + " entries");
}

/* Room for as many as were asked for, without one being lost. */
void room(Check &c, const Devices &d)
{
	constexpr unsigned asked = 5;
	Node na(d.a), nb(d.b);
	Pair p(na, nb, {.cqe = asked});

	p.connect();
	for (unsigned i = 0; i < asked; i++) {
		ibv_sge sge;
		ibv_send_wr wr = p.write(p.a, i, sge);

		must(p.a.post_send(&wr), "send");
	}
	/* All of them are there before the first is polled. */
	const auto wc = wait(p.a.send_cq.get(), asked);

	for (unsigned i = 0; i < asked; i++)
		expect_wc(c, wc[i], i, IBV_WC_SUCCESS, "write");
	expect_none(c, p.a.send_cq.get(), "after all");
}

void polling(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq cq = make_cq(n);
	const Cq ev(must(
		mrc_ctl_create_ev_event_cq(n.ctx.get(), 4, nullptr, nullptr, 0),
		"queue of EV events"));
	ibv_wc wc[4];

	c.eq(mrc_poll_cq(cq.get(), 4, wc), 0, "empty");
	c.eq(mrc_poll_cq(cq.get(), 0, wc), 0, "nothing wanted");
	c.eq(mrc_poll_cq(cq.get(), 0, nullptr), 0, "nothing wanted, nowhere");
	for (int num_entries : {-1, INT_MIN})
		c.minus1(EINVAL, "fewer than none", [&] {
			return mrc_poll_cq(cq.get(), num_entries, wc);
		});
	c.minus1(EINVAL, "queue of EV events",
		 [&] { return mrc_poll_cq(ev.get(), 1, wc); });
}

void busy(Check &c, const Devices &d)
{
	Node n(d.a);
	Channel ch = make_channel(n);
	Cq s = make_cq(n, 16, nullptr, ch.get()), r = make_cq(n);
	Qp qp = make_qp(n, qp_init(n, s.get(), r.get()));
	Qp both = make_qp(n, s.get());

	const auto is_busy = [&](const char *what, const Cq &cq) {
		c.err(EBUSY, what, [&] { return mrc_destroy_cq(cq.get()); });
	};

	is_busy("for sends", s);
	is_busy("for receives", r);
	c.err(EBUSY, "channel of a CQ",
	      [&] { return mrc_destroy_comp_channel(ch.get()); });
	qp.reset();
	is_busy("for both", s);
	c.err(0, "not any more", [&] { return mrc_destroy_cq(r.release()); });
	both.reset();
	c.err(0, "channel's CQ", [&] { return mrc_destroy_cq(s.release()); });
	c.err(0, "channel",
	      [&] { return mrc_destroy_comp_channel(ch.release()); });
}

/* What was not polled goes with the queue, or with the queue pair. */
void unpolled(Check &c, const Devices &d)
{
	Node na(d.a), nb(d.b);
	const Cq shared = make_cq(na, 64);
	const PairOptions o;
	Pair p(na, nb, o);
	mrc_qp_init_attr init = qp_init(na, shared.get(), shared.get());

	/* Two queue pairs in ERR, with flushed work of both in one queue. */
	Qp one = make_qp(na, init), two = make_qp(na, init);
	ibv_recv_wr wr{}, *bad;

	for (mrc_qp *qp : {one.get(), two.get()}) {
		bring(na, qp, IBV_QPS_INIT);
		for (wr.wr_id = 0; wr.wr_id < 3; wr.wr_id++)
			must(mrc_post_recv(qp, &wr, &bad), "receive");
	}
	set_state(one.get(), IBV_QPS_ERR);
	set_state(two.get(), IBV_QPS_ERR);
	const uint32_t qpn = num(two.get());

	c.err(0, "destroy", [&] { return mrc_destroy_qp(one.release()); });
	const auto got = wait(shared.get(), 3);

	for (unsigned i = 0; i < 3; i++) {
		expect_wc(c, got[i], i, IBV_WC_WR_FLUSH_ERR, "flushed");
		c.eq(got[i].qp_num, qpn, "qp_num");
	}
	expect_none(c, shared.get(), "of a QP that is gone");
	/* RESET takes them along as well. */
	set_state(two.get(), IBV_QPS_RESET);
	bring(na, two.get(), IBV_QPS_INIT);
	must(mrc_post_recv(two.get(), &wr, &bad), "receive");
	set_state(two.get(), IBV_QPS_ERR);
	set_state(two.get(), IBV_QPS_RESET);
	expect_none(c, shared.get(), "after RESET");

	p.connect();
	ibv_sge sge;
	ibv_send_wr send = p.write(p.a, 1, sge);

	must(p.a.post_send(&send), "send");
	p.a.qp.reset();
	c.err(0, "CQ with unpolled entries",
	      [&] { return mrc_destroy_cq(p.a.send_cq.release()); });
}

/* --- events ----------------------------------------------------------- */

bool readable(int fd, int timeout_ms)
{
	pollfd p{fd, POLLIN, 0};

	return ::poll(&p, 1, timeout_ms) == 1 && p.revents & POLLIN;
}

/* A pair of which the receiver gets events, and a program's epoll over them. */
struct Evented {
	Evented(const Devices &d) : na(d.a), nb(d.b), pair(na, nb, {})
	{
		ch = make_channel(nb);
		cq = make_cq(nb, 64, &mark, ch.get());
		/* The queue pair that reports there instead. */
		mrc_qp_init_attr init =
			qp_init(nb, pair.b.send_cq.get(), cq.get());

		pair.b.qp = make_qp(nb, init);
		pair.connect();
		must(mrc_get_comp_channel_fd(ch.get(), &fd), "fd");
		must(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK),
		     "O_NONBLOCK");
	}

	void immediate(bool solicited)
	{
		ibv_sge sge;
		ibv_send_wr wr = pair.write(pair.a, 1, sge);

		must(pair.b.post_recv(7), "receive");
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		if (solicited)
			wr.send_flags |= IBV_SEND_SOLICITED;
		must(pair.a.post_send(&wr), "send");
		wait(pair.a.send_cq.get(), 1);
	}

	/* An event is there: take and acknowledge it. */
	void take(Check &c, const char *what)
	{
		mrc_cq *which = nullptr;
		void *arg = nullptr;

		c.that(readable(fd, 60000), std::string(what) + ": no event");
		c.minus1(0, what, [&] {
			return mrc_get_cq_event(ch.get(), &which, &arg);
		});
		c.that(which == cq.get(), std::string(what) + ": cq");
		c.that(arg == &mark, std::string(what) + ": cq_context");
		if (which)
			mrc_ack_cq_events(which, 1);
	}

	void none(Check &c, const char *what)
	{
		mrc_cq *which;
		void *arg;

		c.that(!readable(fd, 0), std::string(what) + ": readable");
		c.minus1(EAGAIN, what, [&] {
			return mrc_get_cq_event(ch.get(), &which, &arg);
		});
	}

	Node na, nb;
	Channel ch;
	Cq cq;
	int mark = 0;
	int fd = -1;
	Pair pair;
};

void events(Check &c, const Devices &d)
{
	Evented e(d);

	e.none(c, "nothing has happened");
	/* Not armed: a completion is no event. */
	e.immediate(true);
	wait(e.cq.get(), 1);
	e.none(c, "not armed");

	c.err(0, "arm", [&] { return mrc_req_notify_cq(e.cq.get(), 0); });
	e.none(c, "armed");
	e.immediate(false);
	e.take(c, "first");
	wait(e.cq.get(), 1);
	/* Once means once. */
	e.immediate(true);
	wait(e.cq.get(), 1);
	e.none(c, "after the first");
}

void solicited(Check &c, const Devices &d)
{
	Evented e(d);

	c.err(0, "arm", [&] { return mrc_req_notify_cq(e.cq.get(), 1); });
	e.immediate(false);
	wait(e.cq.get(), 1);
	e.none(c, "not solicited");
	e.immediate(true);
	wait(e.cq.get(), 1);
	e.take(c, "solicited");

	/* An error is as good as solicited. */
	c.err(0, "arm", [&] { return mrc_req_notify_cq(e.cq.get(), 1); });
	must(e.pair.b.post_recv(8), "receive");
	set_state(e.pair.b.qp.get(), IBV_QPS_ERR);
	expect_wc(c, wait(e.cq.get(), 1)[0], 8, IBV_WC_WR_FLUSH_ERR, "flushed");
	e.take(c, "error");
}

/* Whatever a program watches its descriptors with. */
void descriptors(Check &c, const Devices &d)
{
	Evented e(d);
	const int ep = epoll_create1(EPOLL_CLOEXEC);
	epoll_event ev{EPOLLIN, {}}, got{};

	ev.data.u32 = 42;
	must(ep < 0, "epoll");
	must(epoll_ctl(ep, EPOLL_CTL_ADD, e.fd, &ev), "epoll_ctl");
	c.eq(epoll_wait(ep, &got, 1, 0), 0, "epoll, nothing there");
	must(mrc_req_notify_cq(e.cq.get(), 0), "arm");
	e.immediate(false);
	c.eq(epoll_wait(ep, &got, 1, 60000), 1, "epoll, an event");
	c.eq(uint32_t{got.data.u32}, 42u, "its data");
	c.that(readable(e.fd, 0), "poll does not see what epoll saw");
	e.take(c, "event");
	c.eq(epoll_wait(ep, &got, 1, 0), 0, "epoll, taken");
	close(ep);
	wait(e.cq.get(), 1);

	/* A program that waits in the call itself. */
	must(fcntl(e.fd, F_SETFL, fcntl(e.fd, F_GETFL) & ~O_NONBLOCK),
	     "blocking");
	must(mrc_req_notify_cq(e.cq.get(), 0), "arm");
	mrc_cq *which = nullptr;
	void *arg = nullptr;
	int ret = -1;
	Waiter w([&] { ret = mrc_get_cq_event(e.ch.get(), &which, &arg); });

	w.sleeps();
	c.that(!w.done(), "it does not wait");
	e.immediate(false);
	w.join();
	c.eq(ret, 0, "waiting");
	c.that(which == e.cq.get(), "cq");
	mrc_ack_cq_events(e.cq.get(), 1);
}

/* Several queues report to one channel, each with its own context. */
void shared_channel(Check &c, const Devices &d)
{
	Node n(d.a);
	const Channel ch = make_channel(n);
	int mark[3], fd = -1;
	std::vector<Cq> cqs;
	std::vector<Qp> qps;
	unsigned seen[3] = {};

	must(mrc_get_comp_channel_fd(ch.get(), &fd), "fd");
	must(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), "O_NONBLOCK");
	for (int &m : mark) {
		ibv_recv_wr wr{}, *bad;

		cqs.push_back(make_cq(n, 4, &m, ch.get()));
		qps.push_back(make_qp(n, cqs.back().get()));
		must(mrc_req_notify_cq(cqs.back().get(), 0), "arm");
		bring(n, qps.back().get(), IBV_QPS_INIT);
		must(mrc_post_recv(qps.back().get(), &wr, &bad), "receive");
		set_state(qps.back().get(), IBV_QPS_ERR);
	}
	for (unsigned i = 0; i < 3; i++) {
		mrc_cq *which = nullptr;
		void *arg = nullptr;

		c.that(readable(fd, 60000), "an event is missing");
		c.minus1(0, "event", [&] {
			return mrc_get_cq_event(ch.get(), &which, &arg);
		});
		for (unsigned k = 0; k < 3; k++)
			if (which == cqs[k].get() && arg == &mark[k])
				seen[k]++;
		mrc_ack_cq_events(which, 1);
	}
	for (unsigned k = 0; k < 3; k++)
		c.eq(seen[k], 1u, "events of queue " + std::to_string(k));
	c.that(!readable(fd, 0), "one event more");
}

/* destroy_cq waits until all events that were got are acknowledged. */
void waits_for_acks(Check &c, const Devices &d)
{
	Evented e(d);
	constexpr unsigned n = 3;

	for (unsigned i = 0; i < n; i++) {
		mrc_cq *which;
		void *arg;

		must(mrc_req_notify_cq(e.cq.get(), 0), "arm");
		e.immediate(false);
		c.that(readable(e.fd, 60000), "no event");
		must(mrc_get_cq_event(e.ch.get(), &which, &arg), "event");
	}
	e.pair.b.qp.reset();
	mrc_cq *const cq = e.cq.release();
	int ret = -1;
	Waiter w([&] { ret = mrc_destroy_cq(cq); });

	w.sleeps();
	c.that(!w.done(), "it waits for no acknowledgement");
	mrc_ack_cq_events(cq, 1);
	w.sleeps();
	c.that(!w.done(), "it waits for the first one only");
	mrc_ack_cq_events(cq, n - 1);
	w.join();
	c.eq(ret, 0, "destroy");
}
} // namespace

void test_cq(Suite &s, const Devices &d)
{
	s.run("creation, and what it refuses",
	      [&](Check &c) { creation(c, d); });
	s.run("room for what was asked for", [&](Check &c) { room(c, d); });
	s.run("polling what is empty or no CQ",
	      [&](Check &c) { polling(c, d); });
	s.run("busy with queue pairs and queues",
	      [&](Check &c) { busy(c, d); });
	s.run("completions that nobody polled",
	      [&](Check &c) { unpolled(c, d); });
	s.run("an event for each request, O_NONBLOCK",
	      [&](Check &c) { events(c, d); });
	s.run("solicited events", [&](Check &c) { solicited(c, d); });
	s.run("poll, epoll and waiting", [&](Check &c) { descriptors(c, d); });
	s.run("three queues on one channel",
	      [&](Check &c) { shared_channel(c, d); });
	s.run("destruction waits for acknowledgements",
	      [&](Check &c) { waits_for_acks(c, d); });
}
