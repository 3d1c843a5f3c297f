// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: work requests that must fail, what they must fail with, and
 * what must not happen to memory and to the other work requests.
 */
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>

#include "common.h"
#include "pair.h"
#include "tests.h"

namespace
{
Placed placed_at(uint64_t msg, bool must)
{
	return {static_cast<int64_t>(Pair::msg_offset(msg)), Pair::msg_len, msg,
		must, 0};
}

void expect_wc(const Wc &w, uint64_t wr_id, ibv_wc_status status,
	       const char *what)
{
	if (w.wr_id != wr_id || w.status != status)
		fail("%s: completion %llu (%s) instead of %llu (%s)", what,
		     static_cast<unsigned long long>(w.wr_id),
		     ibv_wc_status_str(w.status),
		     static_cast<unsigned long long>(wr_id),
		     ibv_wc_status_str(status));
}

/*
 * The QP has failed: receives flush in order, and so does whatever is posted
 * from now on, each once.
 */
void expect_flushed(Session &s, Pair &p, unsigned recvs)
{
	ibv_send_wr *bad;
	ibv_sge sge;

	if (recvs) {
		auto r = p.wait(p.recv_cq(), recvs);

		for (unsigned i = 0; i < recvs; i++)
			expect_wc(r[i], i, IBV_WC_WR_FLUSH_ERR, "receive");
	}
	for (uint64_t i = 100; i < 103; i++) {
		ibv_send_wr wr = p.write(i, sge);
		int ret = ibv_post_send(p.qp().get(), &wr, &bad);

		if (ret)
			fail("posting to a QP in ERR: %s", std::strerror(ret));
		expect_wc(p.wait(p.send_cq(), 1)[0], i, IBV_WC_WR_FLUSH_ERR,
			  "send posted in ERR");
		/* rxe flushes receives only when something else happens. */
		if (!s.dev.is_mrc())
			continue;
		p.post_recv(i);
		expect_wc(p.wait(p.recv_cq(), 1)[0], i, IBV_WC_WR_FLUSH_ERR,
			  "receive posted in ERR");
	}
	p.expect_quiet(p.send_cq(), "send queue");
	p.expect_quiet(p.recv_cq(), "receive queue");
	if (p.qp().query_state() != IBV_QPS_ERR)
		fail("the QP is not in ERR");
}

struct BadCase {
	const char *name;
	ibv_wc_status status;
	/* Spoils the work request; it is message 2 of 8. */
	std::function<void(const PairInfo &, ibv_send_wr &)> spoil;
	/* What it may leave in registered memory before it fails. */
	std::function<std::vector<Placed>(const ibv_send_wr &)> may;
};

/*
 * A list of eight writes, the third of them bad: two succeed, one fails as it
 * should, the others are flushed, each exactly once and in order.
 */
void run_bad_case(Session &s, const BadCase &bc)
{
	constexpr uint64_t count = 8, bad_one = 2;
	PairConfig pc;
	Pair p(s.dev, s.oob, s.t, s.client, pc);
	std::vector<Placed> placed;

	if (s.client) {
		ibv_send_wr wrs[count], *bad;
		ibv_sge sges[count];

		for (uint64_t i = 0; i < count; i++) {
			wrs[i] = p.write(i, sges[i]);
			if (i == bad_one)
				bc.spoil(p.peer(), wrs[i]);
			if (i)
				wrs[i - 1].next = &wrs[i];
			if (i < bad_one)
				placed.push_back(placed_at(i, true));
			else if (i > bad_one)
				placed.push_back(placed_at(i, false));
		}
		if (bc.may)
			for (const Placed &m : bc.may(wrs[bad_one]))
				placed.push_back(m);
		int ret = ibv_post_send(p.qp().get(), wrs, &bad);

		if (ret)
			fail("%s: ibv_post_send: %s", bc.name,
			     std::strerror(ret));
		auto w = p.wait(p.send_cq(), count);

		for (uint64_t i = 0; i < count; i++)
			expect_wc(w[i], i,
				  i < bad_one	 ? IBV_WC_SUCCESS
				  : i == bad_one ? bc.status
						 : IBV_WC_WR_FLUSH_ERR,
				  bc.name);
		expect_flushed(s, p, pc.client_recvs);
	}
	p.settle(placed);
	if (!s.client) {
		/* The bad one must not have been announced by an immediate. */
		std::vector<Wc> w;

		p.recv_cq().poll(w, 32);
		for (const Wc &r : w)
			if (r.status == IBV_WC_SUCCESS)
				fail("%s: the receiver got an immediate",
				     bc.name);
	}
	drain_async(s.dev);
	s.oob.barrier(12);
}

/* The part of a write that lies inside of the registered memory. */
std::vector<Placed> inside(const PairInfo &peer, const ibv_send_wr &wr,
			   uint32_t len)
{
	uint64_t at = wr.wr.rdma.remote_addr;

	if (at < peer.addr || at >= peer.addr + part_size)
		return {};
	return {{static_cast<int64_t>(at - peer.addr),
		 std::min<uint64_t>(len, peer.addr + part_size - at), wr.wr_id,
		 0, 0}};
}

void test_bad_rkey(Session &s)
{
	constexpr auto st = IBV_WC_REM_ACCESS_ERR;

	run_bad_case(s, {"unknown rkey",
			 st,
			 [](const PairInfo &i, ibv_send_wr &wr) {
				 wr.wr.rdma.rkey = i.rkey ^ 0x5a5a5a00;
			 },
			 {}});
	run_bad_case(s, {"rkey with a wrong low byte",
			 st,
			 [](const PairInfo &i, ibv_send_wr &wr) {
				 wr.wr.rdma.rkey = i.rkey ^ 0xff;
				 wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
			 },
			 {}});
	run_bad_case(s, {"rkey of a deregistered region",
			 st,
			 [](const PairInfo &i, ibv_send_wr &wr) {
				 wr.wr.rdma.rkey = i.rkey_stale;
			 },
			 {}});
	run_bad_case(s, {"rkey of another protection domain",
			 st,
			 [](const PairInfo &i, ibv_send_wr &wr) {
				 wr.wr.rdma.rkey = i.rkey_other;
			 },
			 {}});
}

void test_oob(Session &s)
{
	constexpr auto st = IBV_WC_REM_ACCESS_ERR;
	PairInfo peer{};

	auto may = [&](const ibv_send_wr &wr) {
		return inside(peer, wr, wr.sg_list->length);
	};
	auto at = [&](uint64_t offset, uint32_t len, bool imm) {
		return [&peer, offset, len, imm](const PairInfo &i,
						 ibv_send_wr &wr) {
			peer = i;
			wr.sg_list->length = len;
			wr.wr.rdma.remote_addr = i.addr + offset;
			if (imm)
				wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		};
	};

	run_bad_case(s, {"one byte after the end", st, at(part_size, 1, false),
			 may});
	run_bad_case(s, {"last byte one too far", st,
			 at(part_size - 3000, 3001, true), may});
	run_bad_case(s, {"across the end, several packets", st,
			 at(part_size - 5000, 10000, true), may});
	run_bad_case(s, {"before the start", st, at(~0ull, 64, false), may});
	run_bad_case(s, {"address wraps around",
			 st,
			 [](const PairInfo &, ibv_send_wr &wr) {
				 wr.sg_list->length = 2048;
				 wr.wr.rdma.remote_addr = ~0ull - 100;
			 },
			 {}});
}

void test_no_permission(Session &s)
{
	constexpr auto st = IBV_WC_REM_ACCESS_ERR;

	for (bool imm : {false, true})
		run_bad_case(
			s,
			{"no remote write permission",
			 st,
			 [imm](const PairInfo &i, ibv_send_wr &wr) {
				 wr.wr.rdma.rkey = i.rkey_private;
				 wr.wr.rdma.remote_addr = i.addr_private + 64;
				 if (imm)
					 wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
			 },
			 {}});
}

/* The QP itself loses the permission, on its way to RTS or in it. */
void test_qp_access(Session &s)
{
	for (bool live : {false, true}) {
		PairConfig pc;

		if (!s.client && !live)
			pc.rts_access = 0;
		Pair p(s.dev, s.oob, s.t, s.client, pc);

		if (!s.client && live)
			p.qp().to_rts_again(0);
		s.oob.barrier(15);
		if (s.client) {
			ibv_send_wr *bad;
			ibv_sge sge;
			ibv_send_wr wr = p.write(1, sge);
			int ret = ibv_post_send(p.qp().get(), &wr, &bad);

			if (ret)
				fail("ibv_post_send: %s", std::strerror(ret));
			expect_wc(p.wait(p.send_cq(), 1)[0], 1,
				  IBV_WC_REM_INV_REQ_ERR,
				  live ? "permission taken in RTS"
				       : "permission taken at RTS");
			expect_flushed(s, p, pc.client_recvs);
		}
		p.settle({placed_at(1, false)});
		drain_async(s.dev);
		s.oob.barrier(12);
	}
}

void test_bad_lkey(Session &s)
{
	constexpr auto st = IBV_WC_LOC_PROT_ERR;

	run_bad_case(s, {"unknown lkey",
			 st,
			 [](const PairInfo &, ibv_send_wr &wr) {
				 wr.sg_list->lkey ^= 0x5a5a5a00;
			 },
			 {}});
	/* Further than the end of the source, which is four parts long. */
	run_bad_case(s, {"source beyond its region",
			 st,
			 [](const PairInfo &, ibv_send_wr &wr) {
				 wr.sg_list->addr += 4 * part_size;
			 },
			 {}});
	run_bad_case(s, {"source address wraps around",
			 st,
			 [](const PairInfo &, ibv_send_wr &wr) {
				 wr.sg_list->addr = ~0ull - 100;
			 },
			 {}});
}

void test_no_recv(Session &s, bool late)
{
	TestOptions t = s.t;
	PairConfig pc;
	bool refused = false;

	/* 7 means to wait for ever. */
	t.rnr_retry = late ? 7 : 3;
	pc.server_recvs = 0;
	Pair p(s.dev, s.oob, t, s.client, pc);
	std::vector<Placed> placed;

	if (!s.client && late) {
		/* It has been sent: long enough for it to come first. */
		s.oob.barrier(16);
		::poll(nullptr, 0, 300);
		p.post_recv(77);
	}
	if (s.client) {
		ibv_send_wr *bad;
		ibv_sge sge;
		ibv_send_wr wr = p.write(1, sge);

		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = 0x12345678;
		int ret = ibv_post_send(p.qp().get(), &wr, &bad);

		if (ret)
			fail("ibv_post_send: %s", std::strerror(ret));
		if (late)
			s.oob.barrier(16);
		Wc w = p.wait(p.send_cq(), 1, 60)[0];

		refused = w.status == IBV_WC_REM_INV_REQ_ERR;
		if (late && !refused)
			expect_wc(w, 1, IBV_WC_SUCCESS, "late receive");
		else if (!refused)
			expect_wc(w, 1, IBV_WC_RNR_RETRY_EXC_ERR, "no receive");
		/*
		 * The data may be there either way: MRC places it before it
		 * finds out.
		 */
		placed.push_back(placed_at(1, late && !refused));
		if (!late || refused)
			expect_flushed(s, p, pc.client_recvs);
	}
	p.settle(placed);
	if (!s.client && late) {
		Wc w = p.wait(p.recv_cq(), 1)[0];

		/* Flushed if the device does not wait for receives. */
		if (w.wr_id != 77 || (w.status != IBV_WC_SUCCESS &&
				      w.status != IBV_WC_WR_FLUSH_ERR))
			fail("late receive: %s", ibv_wc_status_str(w.status));
		refused = w.status != IBV_WC_SUCCESS;
	}
	drain_async(s.dev);
	s.oob.barrier(12);
	if (late && refused)
		throw Skip("the device does not wait for a receive");
}

struct BadPost {
	const char *name;
	bool any_device; /* whatever operations the device has */
	std::function<void(ibv_send_wr &)> spoil;
	bool strict = false; /* only where there is nothing but MRC 1.0 */
};

/*
 * Refused when posted: an error code, bad_wr at the right one, those before
 * it sent and those after it not.
 */
void test_bad_opcode(Session &s)
{
	auto op = [](int o) {
		return [o](ibv_send_wr &wr) {
			wr.opcode = static_cast<ibv_wr_opcode>(o);
		};
	};
	const BadPost all[] = {
		{"TSO", false, op(IBV_WR_TSO)},
		{"DRIVER1", false, op(IBV_WR_DRIVER1)},
		/* One entry of 8 bytes is what they take. */
		{"CMP_AND_SWP", false, op(IBV_WR_ATOMIC_CMP_AND_SWP)},
		{"FETCH_AND_ADD", false, op(IBV_WR_ATOMIC_FETCH_AND_ADD)},
		/* Only ibv_wr_flush() has room for what it needs. */
		{"FLUSH", false, op(IBV_WR_FLUSH)},
		{"SEND", false, op(IBV_WR_SEND), true},
		{"SEND_WITH_IMM", false, op(IBV_WR_SEND_WITH_IMM), true},
		{"SEND_WITH_INV", false, op(IBV_WR_SEND_WITH_INV), true},
		{"RDMA_READ", false, op(IBV_WR_RDMA_READ), true},
		{"LOCAL_INV", false, op(IBV_WR_LOCAL_INV), true},
		{"opcode 99", false, op(99)},
		{"opcode -1", false, op(-1)},
		{"unknown flag", false,
		 [](ibv_send_wr &wr) { wr.send_flags |= 1u << 20; }},
		{"too many SGEs", false,
		 [](ibv_send_wr &wr) { wr.num_sge = 1000; }},
		{"negative SGEs", false,
		 [](ibv_send_wr &wr) { wr.num_sge = -1; }},
		{"too much inline data", true,
		 [](ibv_send_wr &wr) {
			 wr.send_flags |= IBV_SEND_INLINE;
			 wr.sg_list->length = 0x7fffffff;
		 }},
	};
	PairConfig pc;

	pc.inline_size = 64;
	Pair p(s.dev, s.oob, s.t, s.client, pc);
	std::vector<Placed> placed;

	if (s.client) {
		bool strict = s.dev.attr().atomic_cap == IBV_ATOMIC_NONE;
		uint64_t done = 0;

		for (const BadPost &b : all) {
			ibv_send_wr wrs[3], *bad = nullptr;
			ibv_sge sges[3];

			if ((!b.any_device && !s.dev.is_mrc()) ||
			    (b.strict && !strict))
				continue;
			for (int i = 0; i < 3; i++)
				wrs[i] = p.write(static_cast<uint64_t>(i),
						 sges[i]);
			wrs[0].next = &wrs[1];
			wrs[1].next = &wrs[2];
			b.spoil(wrs[1]);
			int ret = ibv_post_send(p.qp().get(), wrs, &bad);

			if (ret != EOPNOTSUPP && ret != EINVAL && ret != ENOMEM)
				fail("%s: posting gave %d (%s)", b.name, ret,
				     std::strerror(ret));
			if (bad != &wrs[1])
				fail("%s: bad_wr is not the bad one", b.name);
			expect_wc(p.wait(p.send_cq(), 1)[0], 0, IBV_WC_SUCCESS,
				  b.name);
			p.expect_quiet(p.send_cq(), b.name, 10);
			done++;
		}
		placed.push_back(placed_at(0, done > 0));
		if (p.qp().query_state() != IBV_QPS_RTS)
			fail("the QP has left RTS");
	}
	p.settle(placed);
	s.oob.barrier(12);
}

/* A list longer than the queue: the queue's worth of it is sent. */
void test_sq_overflow(Session &s)
{
	Pair p(s.dev, s.oob, s.t, s.client);
	std::vector<Placed> placed;

	if (s.client) {
		unsigned cap = p.qp().cap().max_send_wr;
		size_t n = 4 * std::max(cap, 64u) + 1;
		std::vector<ibv_send_wr> wrs(n);
		std::vector<ibv_sge> sges(n);
		ibv_send_wr *bad = nullptr;

		for (size_t i = 0; i < n; i++) {
			wrs[i] = p.write(i % 15, sges[i]);
			wrs[i].wr_id = i;
			if (i)
				wrs[i - 1].next = &wrs[i];
		}
		int ret = ibv_post_send(p.qp().get(), wrs.data(), &bad);
		size_t posted = static_cast<size_t>(bad - wrs.data());

		if (ret != ENOMEM)
			fail("posting %zu to a queue of %u gave %d (%s)", n,
			     cap, ret, std::strerror(ret));
		if (!bad || posted >= n || posted < cap)
			fail("a queue of %u took %zu", cap, posted);
		auto w = p.wait(p.send_cq(), posted);

		for (size_t i = 0; i < posted; i++)
			expect_wc(w[i], i, IBV_WC_SUCCESS, "overflow");
		p.expect_quiet(p.send_cq(), "overflow");
		/* There is room again. */
		ret = ibv_post_send(p.qp().get(), &wrs[n - 1], &bad);
		if (ret)
			fail("posting after the overflow: %s",
			     std::strerror(ret));
		expect_wc(p.wait(p.send_cq(), 1)[0], n - 1, IBV_WC_SUCCESS,
			  "after the overflow");
		for (uint64_t i = 0; i < 15; i++)
			placed.push_back(placed_at(i, true));
	}
	p.settle(placed);
	s.oob.barrier(12);
}

/* Modify to ERR with work outstanding, then bring the same QP back. */
void test_flush(Session &s)
{
	constexpr uint64_t count = 12;
	PairConfig pc;
	Pair p(s.dev, s.oob, s.t, s.client, pc);
	std::vector<Placed> placed;

	for (int round = 0; round < 3; round++) {
		placed.clear();
		if (s.client) {
			ibv_send_wr wrs[count], *bad;
			ibv_sge sges[count];

			for (uint64_t i = 0; i < count; i++) {
				wrs[i] = p.write(i, sges[i]);
				if (i)
					wrs[i - 1].next = &wrs[i];
			}
			int ret = ibv_post_send(p.qp().get(), wrs, &bad);

			if (ret)
				fail("ibv_post_send: %s", std::strerror(ret));
			p.qp().to_error();
			auto w = p.wait(p.send_cq(), count);
			bool flushing = false;

			for (uint64_t i = 0; i < count; i++) {
				flushing |= w[i].status != IBV_WC_SUCCESS;
				expect_wc(w[i], i,
					  flushing ? IBV_WC_WR_FLUSH_ERR
						   : IBV_WC_SUCCESS,
					  "modify to ERR");
				placed.push_back(placed_at(i, !flushing));
			}
			expect_flushed(s, p, pc.client_recvs);
		}
		s.oob.barrier(13);
		if (!s.client) {
			p.qp().to_error();
			auto r = p.wait(p.recv_cq(), pc.server_recvs);

			for (unsigned i = 0; i < pc.server_recvs; i++)
				expect_wc(r[i], i, IBV_WC_WR_FLUSH_ERR,
					  "server's receive");
		}
		p.qp().to_reset();
		p.qp().new_psn();
		p.connect();
	}
	/* The QP works as it did when it was new. */
	if (s.client) {
		ibv_send_wr *bad;
		ibv_sge sge;
		ibv_send_wr wr = p.write(14, sge);
		int ret = ibv_post_send(p.qp().get(), &wr, &bad);

		if (ret)
			fail("posting after the reset: %s", std::strerror(ret));
		expect_wc(p.wait(p.send_cq(), 1)[0], 14, IBV_WC_SUCCESS,
			  "after the reset");
		placed.clear();
		for (uint64_t i = 0; i < count; i++)
			placed.push_back(placed_at(i, false));
		placed.push_back(placed_at(14, true));
	}
	p.settle(placed);
	drain_async(s.dev);
	s.oob.barrier(12);
}

struct ErrorTest {
	const char *name;
	void (*run)(Session &);
};

const ErrorTest error_tests[] = {
	{"bad-rkey", test_bad_rkey},
	{"oob", test_oob},
	{"no-permission", test_no_permission},
	{"qp-access", test_qp_access},
	{"no-recv", [](Session &s) { test_no_recv(s, false); }},
	{"late-recv", [](Session &s) { test_no_recv(s, true); }},
	{"bad-opcode", test_bad_opcode},
	{"bad-lkey", test_bad_lkey},
	{"sq-overflow", test_sq_overflow},
	{"modify-masks", test_modify_masks},
	{"objects", test_objects},
	{"flush", test_flush},
	{"flush-many", test_flush_many},
	{"sq-drain", test_sq_drain},
};
} // namespace

void run_error_tests(Session &s)
{
	unsigned ran = 0, skipped = 0;
	std::string why;

	for (const ErrorTest &e : error_tests) {
		if (s.t.error_test != "all" && s.t.error_test != e.name)
			continue;
		ran++;
		try {
			e.run(s);
			say("error-test %s: ok", e.name);
		} catch (const Skip &x) {
			skipped++;
			why = x.what();
			say("error-test %s: skip, %s", e.name, x.what());
		} catch (const Failure &x) {
			say("error-test %s: FAIL, %s", e.name, x.what());
			fail("error-test %s: %s", e.name, x.what());
		}
	}
	if (!ran)
		fail("there is no error test '%s'", s.t.error_test.c_str());
	if (skipped == ran)
		throw Skip(why);
}
