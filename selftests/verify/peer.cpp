// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: peers that go away, and many connections one after the other.
 */
#include <algorithm>
#include <cmath>
#include <poll.h>

#include "common.h"
#include "ext_pair.h"
#include "pair.h"
#include "tests.h"

namespace
{
/*
 * InfiniBand lets a device take up to four times the timeout asked for. The
 * constant covers a machine that is busy with other things; for @held_up seconds
 * it stood still.
 */
void check_time(const Session &s, double ms, double held_up)
{
	double timeout_ms = 4.096e-3 * std::pow(2.0, s.t.timeout);
	double least = s.t.expect_min_ms >= 0 ? s.t.expect_min_ms
					      : 0.9 * s.t.retry * timeout_ms;
	double most = s.t.expect_max_ms >= 0
			      ? s.t.expect_max_ms
			      : 4 * (s.t.retry + 1) * timeout_ms + 3000;

	most += held_up * 1e3;
	if (ms < least || ms > most)
		fail("RETRY_EXC_ERR after %.1f ms, expected %.1f to %.1f", ms,
		     least, most);
}

double longest_wait_s(const Session &s)
{
	return 60 + std::max(s.t.expect_max_ms, 0.0) / 1e3 +
	       4 * (s.t.retry + 1) * 4.096e-6 * std::pow(2.0, s.t.timeout);
}

void write_one(Pair &p, uint64_t msg)
{
	ibv_send_wr *bad;
	ibv_sge sge;
	ibv_send_wr wr = p.write(msg, sge);
	int ret = ibv_post_send(p.qp().get(), &wr, &bad);

	if (ret)
		fail("ibv_post_send: %s", std::strerror(ret));
}
} // namespace

void test_peer_gone(Session &s)
{
	Pair p(s.dev, s.oob, s.t, s.client);
	std::vector<Placed> placed;

	for (uint64_t i = 0; i < 3; i++) {
		if (s.client) {
			write_one(p, i);
			Wc w = p.wait(p.send_cq(), 1)[0];

			if (w.status != IBV_WC_SUCCESS)
				fail("write before the peer went: %s",
				     ibv_wc_status_str(w.status));
		}
		placed.push_back({static_cast<int64_t>(Pair::msg_offset(i)),
				  Pair::msg_len, i, 1, 0});
	}
	p.settle(placed);
	if (!s.client)
		p.destroy_qp();
	s.oob.barrier(20);
	if (s.client) {
		double start = now_s();

		for (uint64_t i = 3; i < 6; i++)
			write_one(p, i);
		double posting = now_s() - start;
		auto w = p.wait(p.send_cq(), 3, longest_wait_s(s));
		double ms = (now_s() - start) * 1e3;

		say("peer_gone_ms=%.1f", ms);
		for (size_t i = 0; i < 3; i++) {
			ibv_wc_status want =
				i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR;

			if (w[i].wr_id != 3 + i || w[i].status != want)
				fail("completion %llu (%s) instead of %zu (%s)",
				     static_cast<unsigned long long>(
					     w[i].wr_id),
				     ibv_wc_status_str(w[i].status), 3 + i,
				     ibv_wc_status_str(want));
		}
		if (p.qp().query_state() != IBV_QPS_ERR)
			fail("the QP is not in ERR");
		check_time(s, ms, posting + p.held_up());
	}
	s.oob.barrier(21, longest_wait_s(s) + 30);
}

/* A peer that is gone, for operations that MRC 1.0 does not have. */
void test_ext_gone(Session &s)
{
	for (ibv_wr_opcode op : {IBV_WR_SEND, IBV_WR_RDMA_READ,
				 IBV_WR_ATOMIC_FETCH_AND_ADD}) {
		auto p = std::make_unique<ExtPair>(s);

		s.oob.barrier(44);
		if (!s.client)
			p.reset();
		s.oob.barrier(45);
		if (s.client) {
			Work w, after;
			double start = now_s();

			w.op = op;
			w.len = 8;
			after.id = 1;
			p->post({w, after});
			double posting = now_s() - start;
			auto c = p->wait(p->send_cq(), 2, longest_wait_s(s));
			double ms = (now_s() - start) * 1e3;

			say("gone: opcode %d, %.1f ms", op, ms);
			if (c[0].wr_id != 0 || c[1].wr_id != 1 ||
			    c[0].status != IBV_WC_RETRY_EXC_ERR ||
			    c[1].status != IBV_WC_WR_FLUSH_ERR)
				fail("%s, %s", ibv_wc_status_str(c[0].status),
				     ibv_wc_status_str(c[1].status));
			check_time(s, ms, posting);
		}
		s.oob.barrier(46, longest_wait_s(s) + 30);
		drain_async(s.dev);
	}
}

/*
 * The network is cut by the caller, and the TCP connection may be cut with
 * it: after the line for the caller each side looks after itself.
 */
void test_blackhole(Session &s)
{
	Pair p(s.dev, s.oob, s.t, s.client);

	s.oob.barrier(20);
	if (!s.client) {
		try {
			s.oob.expect(Msg::fin, 600);
		} catch (const Failure &e) {
			say("connection to the client lost, as may be: %s",
			    e.what());
		}
		return;
	}

	double limit = now_s() + 120;
	double last = now_s();

	say("BLACKHOLE-READY");
	for (uint64_t i = 0;; i++) {
		double start = now_s();

		write_one(p, i);
		double posting = now_s() - start;
		Wc w = p.wait(p.send_cq(), 1, longest_wait_s(s))[0];

		if (w.status == IBV_WC_RETRY_EXC_ERR) {
			double ms = (now_s() - start) * 1e3;

			say("blackhole_ms=%.1f after_ms=%.1f", ms,
			    (start - last) * 1e3);
			check_time(s, ms, posting + p.held_up());
			break;
		}
		if (w.status != IBV_WC_SUCCESS)
			fail("write: %s", ibv_wc_status_str(w.status));
		if (now_s() > limit)
			fail("nobody cut the network within 120 s");
		last = now_s();
		::poll(nullptr, 0, 1);
	}
	try {
		s.oob.send(Msg::fin);
	} catch (const Failure &) {
		/* Cut too; the server finds out by itself. */
	}
}

Totals test_churn(Session &s)
{
	Totals all;

	for (unsigned i = 0; i < s.t.churn; i++) {
		TestOptions t = s.t;

		/* Other bytes in each round, but the same on both sides. */
		t.seed = mix(t.seed, i);
		Stream stream(s.dev, s.oob, t, s.client, true);
		all.add(stream.run());
		if (!s.quiet && (i + 1) % 100 == 0)
			say("churn: %u of %u", i + 1, s.t.churn);
	}
	return all;
}
