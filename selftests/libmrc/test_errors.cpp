// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What fails: at once, with an errno and bad_wr, or later, with a status and
 * everything behind it flushed. And peers that are not there yet.
 */
#include <chrono>
#include <cstring>

#include "pair.hpp"
#include "tests.hpp"

namespace
{
/* A list of writes of 64 bytes each, signaled, linked. */
struct List {
	List(Pair &p, unsigned n, uint64_t first = 0) : wr(n), sge(n)
	{
		for (unsigned i = 0; i < n; i++) {
			wr[i] = p.write(p.a, first + i, sge[i],
					(first + i) * 64);
			if (i)
				wr[i - 1].next = &wr[i];
		}
	}

	std::vector<ibv_send_wr> wr;
	std::vector<ibv_sge> sge;
};

void expect_all(Check &c, mrc_cq *cq, unsigned n, ibv_wc_status status,
		const std::string &what, uint64_t first = 0)
{
	const auto wc = wait(cq, n);

	for (unsigned i = 0; i < n; i++)
		expect_wc(c, wc[i], first + i, status, what);
}

/* --- at once ---------------------------------------------------------- */

struct BadWr {
	const char *what;
	int err;
	std::function<void(ibv_send_wr &)> spoil;
};

std::vector<BadWr> bad_wrs()
{
	std::vector<BadWr> v = {
		{"two SGEs", EINVAL, [](auto &w) { w.num_sge = 2; }},
		{"-1 SGEs", EINVAL, [](auto &w) { w.num_sge = -1; }},
		{"very many SGEs", EINVAL,
		 [](auto &w) { w.num_sge = 1 << 30; }},
		{"flag IP_CSUM", EINVAL,
		 [](auto &w) { w.send_flags |= IBV_SEND_IP_CSUM; }},
		{"flag 0x80", EINVAL, [](auto &w) { w.send_flags |= 0x80; }},
		{"flag 0x80000000", EINVAL,
		 [](auto &w) { w.send_flags |= 0x80000000; }},
		/* Its memory is not read: the length alone says no. */
		{"inline data of 1 MiB", ENOMEM,
		 [](auto &w) {
			 w.send_flags |= IBV_SEND_INLINE;
			 w.sg_list->length = 1 << 20;
		 }},
	};

	for (int op :
	     {IBV_WR_SEND + 0, IBV_WR_SEND_WITH_IMM + 0, IBV_WR_RDMA_READ + 0,
	      IBV_WR_ATOMIC_CMP_AND_SWP + 0, IBV_WR_ATOMIC_FETCH_AND_ADD + 0,
	      IBV_WR_LOCAL_INV + 0, IBV_WR_BIND_MW + 0,
	      IBV_WR_SEND_WITH_INV + 0, IBV_WR_TSO + 0, 99, -1})
		v.push_back({"operation that is none of MRC", EINVAL,
			     [op](auto &w) {
				     w.opcode = static_cast<ibv_wr_opcode>(op);
			     }});
	return v;
}

/* The ones before it are sent, the ones after it are not. */
void bad_wr(Check &c, Node &na, Node &nb)
{
	for (const BadWr &b : bad_wrs()) {
		Pair p(na, nb);

		p.connect();
		p.a.fill(1);
		std::memset(p.b.mem.data(), 0, p.b.mem.size());
		for (unsigned at : {0u, 2u}) {
			List l(p, 5);
			ibv_send_wr *bad = nullptr;

			b.spoil(l.wr[at]);
			c.err(b.err, b.what,
			      [&] { return p.a.post_send(l.wr.data(), &bad); });
			c.that(bad == &l.wr[at],
			       std::string(b.what) + ": bad_wr");
			expect_all(c, p.a.send_cq.get(), at, IBV_WC_SUCCESS,
				   b.what);
		}
		expect_none(c, p.a.send_cq.get(), b.what);
		c.that(!std::memcmp(p.a.mem.data(), p.b.mem.data(), 128),
		       std::string(b.what) + ": those before it");
		for (size_t i = 128; i < 5 * 64; i++)
			c.that(!p.b.mem.data()[i],
			       std::string(b.what) + ": one after it was sent");
		/* The queue pair is as good as before. */
		List l(p, 1, 7);

		must(p.a.post_send(l.wr.data()), "send");
		expect_all(c, p.a.send_cq.get(), 1, IBV_WC_SUCCESS, b.what, 7);
	}
}

/* Room for what was asked for, to the entry, while nothing can leave. */
void send_queue_full(Check &c, Node &na, Node &nb)
{
	Pair p(na, nb, {.send_wr = 16});
	const unsigned n = p.a.cap.max_send_wr;
	ibv_send_wr *bad = nullptr;

	/* The peer does not listen yet. */
	p.init(p.a);
	p.init(p.b);
	p.rtr(p.a);
	p.rts(p.a);
	p.a.fill(2);
	List l(p, n + 3);

	c.err(ENOMEM, "three too many",
	      [&] { return p.a.post_send(l.wr.data(), &bad); });
	c.that(bad == &l.wr[n], "bad_wr");
	c.err(ENOMEM, "one more",
	      [&] { return p.a.post_send(&l.wr[n], &bad); });
	c.that(bad == &l.wr[n], "bad_wr");
	p.rtr(p.b);
	p.rts(p.b);
	expect_all(c, p.a.send_cq.get(), n, IBV_WC_SUCCESS, "those that fit");
	c.err(0, "room again", [&] { return p.a.post_send(&l.wr[n], &bad); });
	expect_all(c, p.a.send_cq.get(), 3, IBV_WC_SUCCESS, "the others", n);
	c.that(!std::memcmp(p.a.mem.data(), p.b.mem.data(), (n + 3) * 64),
	       "data");
}

void recv_queue_full(Check &c, Node &na, Node &nb)
{
	Pair p(na, nb);
	const unsigned n = p.b.cap.max_recv_wr;
	std::vector<ibv_recv_wr> wr(n + 2);
	ibv_recv_wr *bad = nullptr;
	ibv_sge sge[3] = {};

	p.init(p.b);
	for (unsigned i = 0; i < n + 2; i++) {
		wr[i] = {};
		wr[i].wr_id = i;
		wr[i].next = i < n + 1 ? &wr[i + 1] : nullptr;
	}
	/* A bad one in the middle: those before it stay. */
	wr[2].num_sge = 3;
	wr[2].sg_list = sge;
	c.minus1(EINVAL, "too many SGEs",
		 [&] { return mrc_post_recv(p.b.qp.get(), wr.data(), &bad); });
	c.that(bad == &wr[2], "bad_wr, SGEs");
	wr[2].num_sge = -1;
	c.minus1(EINVAL, "-1 SGEs",
		 [&] { return mrc_post_recv(p.b.qp.get(), &wr[2], &bad); });
	wr[2].num_sge = 0;
	wr[2].sg_list = nullptr;
	c.minus1(ENOMEM, "two too many",
		 [&] { return mrc_post_recv(p.b.qp.get(), &wr[2], &bad); });
	c.that(bad == &wr[n], "bad_wr, full");
	set_state(p.b.qp.get(), IBV_QPS_ERR);
	expect_all(c, p.b.recv_cq.get(), n, IBV_WC_WR_FLUSH_ERR, "receives");
	expect_none(c, p.b.recv_cq.get(), "receives");
}

/* --- later ------------------------------------------------------------ */

/*
 * Of eight writes the third fails: two succeed, the others are flushed, also
 * those that would say nothing when they succeed.
 */
void later(Check &c, Node &na, Node &nb, ibv_wc_status status, int event,
	   const std::function<void(Pair &, ibv_send_wr &)> &spoil)
{
	constexpr unsigned n = 8, at = 2, recvs = 3;
	Pair p(na, nb);

	p.connect();
	p.a.fill(3);
	p.b.fill(4);
	for (unsigned i = 0; i < recvs; i++)
		must(p.a.post_recv(i), "receive");
	List l(p, n);

	for (unsigned i = at + 1; i < n; i += 2)
		l.wr[i].send_flags = 0;
	spoil(p, l.wr[at]);
	c.err(0, "post", [&] { return p.a.post_send(l.wr.data()); });
	const auto wc = wait(p.a.send_cq.get(), n);

	for (unsigned i = 0; i < n; i++)
		expect_wc(c, wc[i], i,
			  i < at    ? IBV_WC_SUCCESS
			  : i == at ? status
				    : IBV_WC_WR_FLUSH_ERR,
			  "write");
	expect_all(c, p.a.recv_cq.get(), recvs, IBV_WC_WR_FLUSH_ERR, "receive");
	c.eq(state(p.a.qp.get()), IBV_QPS_ERR, "state");
	/* What comes now is flushed too. */
	List more(p, 3, 20);

	more.wr[1].send_flags = 0;
	c.err(0, "post in ERR", [&] { return p.a.post_send(more.wr.data()); });
	expect_all(c, p.a.send_cq.get(), 3, IBV_WC_WR_FLUSH_ERR, "in ERR", 20);
	must(p.a.post_recv(9), "receive in ERR");
	expect_all(c, p.a.recv_cq.get(), 1, IBV_WC_WR_FLUSH_ERR, "in ERR", 9);
	expect_none(c, p.a.send_cq.get(), "sends");
	expect_none(c, p.a.recv_cq.get(), "receives");
	c.that(!std::memcmp(p.b.mem.data(), p.a.mem.data(), at * 64),
	       "those that succeeded");
	if (!event)
		return;
	mrc_async_event ev{};

	do
		must(mrc_get_async_event(nb.ctx.get(), &ev), "event");
	while (ev.event_type != event && (mrc_ack_async_event(&ev), true));
	c.that(ev.element.qp == p.b.qp.get(), "event of another QP");
	mrc_ack_async_event(&ev);
	c.eq(state(p.b.qp.get()), IBV_QPS_ERR, "the peer's state");
}

/* Nobody answers: the retries that were set, and no more. */
void retries(Check &c, Node &na, Node &nb)
{
	PairOptions o;

	o.masks.mrc_rts = MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT;
	o.masks.attr.timeout = 12; /* 4.19 ms: 2 times, doubled 3 times */
	o.masks.attr.retry = {2, 3};
	const std::chrono::microseconds least(2 * 4194 + (2 + 4 + 8 + 8) * 4194);
	Pair p(na, nb, o);

	p.init(p.a);
	p.init(p.b); /* where it stays */
	p.rtr(p.a);
	p.rts(p.a);
	List l(p, 3);

	l.wr[1].send_flags = 0;
	const auto start = std::chrono::steady_clock::now();

	must(p.a.post_send(l.wr.data()), "send");
	const auto wc = wait(p.a.send_cq.get(), 3);

	c.that(std::chrono::steady_clock::now() - start >= least,
	       "the peer was given up too early");
	for (unsigned i = 0; i < 3; i++)
		expect_wc(c, wc[i], i,
			  i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR,
			  "write");
	c.eq(state(p.a.qp.get()), IBV_QPS_ERR, "state");
}

/* Flushed by the program, with work that the peer never got. */
void flushed(Check &c, Node &na, Node &nb)
{
	Pair p(na, nb);
	constexpr unsigned n = 10, recvs = 5;

	p.init(p.a);
	p.init(p.b);
	p.rtr(p.a);
	p.rts(p.a);
	for (unsigned i = 0; i < recvs; i++)
		must(p.a.post_recv(i), "receive");
	List l(p, n);

	for (unsigned i = 0; i < n; i += 2)
		l.wr[i].send_flags = 0;
	must(p.a.post_send(l.wr.data()), "send");
	expect_none(c, p.a.send_cq.get(), "before ERR");
	set_state(p.a.qp.get(), IBV_QPS_ERR);
	expect_all(c, p.a.send_cq.get(), n, IBV_WC_WR_FLUSH_ERR, "send");
	expect_all(c, p.a.recv_cq.get(), recvs, IBV_WC_WR_FLUSH_ERR, "receive");
	expect_none(c, p.a.send_cq.get(), "sends");
	expect_none(c, p.a.recv_cq.get(), "receives");
}

/* The first write meets a peer in RESET, or in INIT: it waits. */
void before_rtr(Check &c, Node &na, Node &nb)
{
	for (ibv_qp_state early : {IBV_QPS_RESET, IBV_QPS_INIT}) {
		Pair p(na, nb);
		ibv_sge sge;

		p.init(p.a);
		if (early == IBV_QPS_INIT)
			p.init(p.b);
		p.rtr(p.a);
		p.rts(p.a);
		p.a.fill(5);
		p.b.fill(6);
		ibv_send_wr wr = p.write(p.a, 1, sge, 0, 9000);

		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = 55;
		must(p.a.post_send(&wr), "send");
		expect_none(c, p.a.send_cq.get(), "nobody is there");
		if (early == IBV_QPS_RESET)
			p.init(p.b);
		must(p.b.post_recv(3), "receive");
		p.rtr(p.b);
		/* It needs not be in RTS to be written to. */
		expect_imm(c, wait(p.b.recv_cq.get(), 1)[0], 3, 9000, 55,
			   num(p.b.qp.get()), "the first write");
		expect_wc(c, wait(p.a.send_cq.get(), 1)[0], 1, IBV_WC_SUCCESS,
			  "the first write");
		c.that(!std::memcmp(p.a.mem.data(), p.b.mem.data(), 9000),
		       "data");
		c.eq(state(p.b.qp.get()), IBV_QPS_RTR, "the peer's state");
	}
}
} // namespace

void test_errors(Suite &s, const Devices &d)
{
	Node na(d.a), nb(d.b);

	const auto rkey = [](Pair &, ibv_send_wr &w) {
		w.wr.rdma.rkey ^= 0x5a5a5a00;
	};
	const auto bounds = [](Pair &p, ibv_send_wr &w) {
		w.wr.rdma.remote_addr =
			reinterpret_cast<uintptr_t>(p.b.mem.end()) - 63;
	};
	const auto lkey = [](Pair &, ibv_send_wr &w) {
		w.sg_list->lkey ^= 0x5a5a5a00;
	};
	const auto lbounds = [](Pair &p, ibv_send_wr &w) {
		w.sg_list->addr =
			reinterpret_cast<uintptr_t>(p.a.mem.end()) - 63;
	};
	const auto no_recv = [](Pair &, ibv_send_wr &w) {
		w.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	};

	s.run("a bad work request in a list",
	      [&](Check &c) { bad_wr(c, na, nb); });
	s.run("send queue full", [&](Check &c) { send_queue_full(c, na, nb); });
	s.run("receive queue full",
	      [&](Check &c) { recv_queue_full(c, na, nb); });
	s.run("unknown rkey", [&](Check &c) {
		later(c, na, nb, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR,
		      rkey);
	});
	s.run("remote memory out of bounds", [&](Check &c) {
		later(c, na, nb, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR,
		      bounds);
	});
	s.run("unknown lkey", [&](Check &c) {
		later(c, na, nb, IBV_WC_LOC_PROT_ERR, 0, lkey);
	});
	s.run("local memory out of bounds", [&](Check &c) {
		later(c, na, nb, IBV_WC_LOC_PROT_ERR, 0, lbounds);
	});
	s.run("an immediate without a receive", [&](Check &c) {
		later(c, na, nb, IBV_WC_REM_OP_ERR, IBV_EVENT_QP_REQ_ERR,
		      no_recv);
	});
	s.run("retries exceeded", [&](Check &c) { retries(c, na, nb); });
	s.run("flushed in ERR, unsignaled too",
	      [&](Check &c) { flushed(c, na, nb); });
	s.run("the first write before the peer is in RTR",
	      [&](Check &c) { before_rtr(c, na, nb); });
}
