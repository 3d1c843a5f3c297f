// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Several threads on one object, many objects one after the other, and a
 * program that leaves everything behind.
 */
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <unistd.h>

#include "pair.hpp"
#include "tests.hpp"

namespace
{
/*
 * One thread posts while another polls, on both sides: the sender's second
 * thread polls what the first has sent, the receiver's posts receives again.
 */
void post_and_poll(Check &c, const Devices &d)
{
	constexpr unsigned n = 600, window = 64;
	constexpr uint32_t len = 256;
	Node na(d.a), nb(d.b);
	Pair p(na, nb, {.send_wr = 32, .recv_wr = window, .mem = n * len});
	std::atomic<unsigned> sent{0}, got{0}, wrong{0};
	std::atomic<bool> stop{false};
	std::string trouble[3];

	p.connect();
	p.a.fill(11);
	p.b.fill(12);
	for (unsigned i = 0; i < window; i++)
		must(p.b.post_recv(i), "receive");

	const auto guarded = [&](std::string &why, const auto &work) {
		return std::thread([&stop, &why, work] {
			try {
				work();
			} catch (const Failure &e) {
				why = e.what();
				stop = true;
			}
		});
	};
	/* Never more on its way than there are receives for. */
	std::thread poster = guarded(trouble[0], [&] {
		for (unsigned i = 0; i < n; i++) {
			ibv_sge sge;
			ibv_send_wr wr = p.write(p.a, i, sge, i * len, len);
			int ret;

			eventually([&] { return stop || i < got + window; },
				   "receives");
			wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
			wr.imm_data = i;
			eventually(
				[&] {
					ret = p.a.post_send(&wr);
					return stop || ret != ENOMEM;
				},
				"room");
			if (stop)
				return;
			must(ret, "send");
		}
	});
	std::thread poller = guarded(trouble[1], [&] {
		while (sent < n && !stop) {
			const ibv_wc wc = wait(p.a.send_cq.get(), 1)[0];

			if (wc.wr_id != sent || wc.status)
				wrong++;
			sent++;
		}
	});
	std::thread receiver = guarded(trouble[2], [&] {
		while (got < n && !stop) {
			const ibv_wc wc = wait(p.b.recv_cq.get(), 1)[0];
			const unsigned i = got;

			if (wc.imm_data != i || wc.status ||
			    wc.byte_len != len ||
			    std::memcmp(p.a.mem.data() + i * len,
					p.b.mem.data() + i * len, len))
				wrong++;
			must(p.b.post_recv(i), "receive again");
			got++;
		}
	});

	poster.join();
	poller.join();
	receiver.join();
	for (const std::string &t : trouble)
		c.that(t.empty(), t);
	c.eq(sent.load(), n, "completions of the sender");
	c.eq(got.load(), n, "immediates");
	c.eq(wrong.load(), 0u, "wrong ones");
}

/* Threads that share a context make and free objects of every kind in it. */
void shared_context(Check &c, const Devices &d)
{
	constexpr unsigned threads = 4, rounds = 25;
	Node n(d.a);
	const Cq shared = make_cq(n, 64);
	const Hint hint = make_hint(n.ctx.get());
	std::atomic<unsigned> failures{0};
	std::vector<std::thread> t;

	for (unsigned k = 0; k < threads; k++)
		t.emplace_back([&] {
			try {
				for (unsigned i = 0; i < rounds; i++) {
					const Hint own = make_hint(n.ctx.get());
					const Channel ch = make_channel(n);
					const Cq cq = make_cq(n, 4, nullptr,
							      ch.get());
					const Qp qp = make_qp(
						n, qp_init(n, shared.get(),
							   cq.get()));
					ibv_qp_attr v = init_attr();
					mrc_qp_attr m{};

					m.qp_hint =
						i & 1 ? own.get() : hint.get();
					must(mrc_modify_qp(qp.get(), &v,
							   init_mask, &m,
							   MRC_QP_HINT),
					     "INIT");
					set_state(qp.get(), IBV_QPS_ERR);
				}
			} catch (const Failure &) {
				failures++;
			}
		});
	for (std::thread &thread : t)
		thread.join();
	c.eq(failures.load(), 0u, "threads that failed");
}

/* One queue pair that several threads ask and change. */
void shared_qp(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq cq = make_cq(n, 64);
	const Qp qp = make_qp(n, cq.get());
	std::atomic<unsigned> failures{0};
	std::vector<std::thread> t;

	bring(n, qp.get(), IBV_QPS_INIT);
	for (unsigned k = 0; k < 3; k++)
		t.emplace_back([&, k] {
			for (unsigned i = 0; i < 100; i++) {
				mrc_qp_attr set{}, got{};

				/* Two values that are only right together. */
				set.retry.linear_cnt =
					static_cast<uint8_t>(k + 1);
				set.retry.exp_cnt =
					static_cast<uint8_t>(8 * (k + 1));
				if (mrc_modify_qp(qp.get(), nullptr, 0, &set,
						  MRC_QP_RETRY_CNT) ||
				    mrc_query_qp(qp.get(), nullptr, 0, &got,
						 MRC_QP_RETRY_CNT, nullptr) ||
				    got.retry.exp_cnt !=
					    8 * got.retry.linear_cnt)
					failures++;
			}
		});
	for (std::thread &thread : t)
		thread.join();
	c.eq(failures.load(), 0u, "failures, or halves of two changes");
}

/* Everything that there is to make, used and freed. */
void cycle(Check &c, const Devices &d)
{
	Node na(d.a), nb(d.b);
	const Channel ch = make_channel(nb);
	const Hint hint = make_hint(na.ctx.get());
	PairOptions o;

	o.masks.mrc_init = MRC_QP_HINT | MRC_QP_VENDOR_CFG;
	Pair p(na, nb, o);
	const Cq cq = make_cq(nb, 4, nullptr, ch.get());
	ibv_sge sge;

	p.opt.masks.attr.qp_hint = hint.get();
	p.init(p.a);
	p.opt.masks.attr.qp_hint = nullptr;
	p.init(p.b);
	for (End *e : {&p.a, &p.b})
		p.rtr(*e);
	for (End *e : {&p.a, &p.b})
		p.rts(*e);
	ibv_send_wr wr = p.write(p.a, 1, sge, 0, 5000);

	must(p.a.post_send(&wr), "send");
	expect_wc(c, wait(p.a.send_cq.get(), 1)[0], 1, IBV_WC_SUCCESS, "write");
}
} // namespace

void test_threads(Suite &s, const Devices &d)
{
	s.run("one thread posts, another polls",
	      [&](Check &c) { post_and_poll(c, d); });
	s.run("four threads make and free objects",
	      [&](Check &c) { shared_context(c, d); });
	s.run("three threads change one queue pair",
	      [&](Check &c) { shared_qp(c, d); });
}

void test_cycle(Suite &s, const Devices &d)
{
	s.run("100 times all objects", [&](Check &c) {
		for (unsigned i = 0; i < 100; i++)
			cycle(c, d);
	});
}

/* As the NCCL plugin does: its context is never destroyed. Nor the rest here.
 */
void test_abandon(Suite &s, const Devices &d)
{
	s.run("a program that leaves everything", [&](Check &c) {
		auto *const na = new Node(d.a);
		auto *const nb = new Node(d.b);
		auto *const p = new Pair(*na, *nb);
		ibv_sge sge;

		c.that(make_hint(na->ctx.get()).release(), "hint");
		c.that(make_channel(*na).release(), "channel");
		p->connect();
		ibv_send_wr wr = p->write(p->a, 1, sge, 0, 50000);

		c.err(0, "send", [&] { return p->a.post_send(&wr); });
		/* On its way, or there: it is the kernel's now. */
	});
	std::printf("# abandon: end\n");
	std::fflush(stdout);
	_exit(s.good() ? 0 : 1);
}
