// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Data: every byte is looked at, those around it too.
 */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

#include "pair.hpp"
#include "tests.hpp"

namespace
{
/* What the tests have moved, for who compares it with the device's counters. */
struct Totals {
	uint64_t bytes = 0;
	uint64_t imms = 0;
} totals;

/* Both memories filled, @b's with what must not be there afterwards. */
void fill(Pair &p, uint64_t seed)
{
	p.a.fill(seed);
	p.b.fill(seed + 1000);
}

/*
 * @b has the bytes of @a from @offset on, @len of them, and its own before and
 * after.
 */
void expect_placed(Check &c, Pair &p, uint64_t seed, size_t offset, size_t len,
		   const std::string &what)
{
	Pages own(p.b.mem.size());

	pattern(own.data(), own.size(), seed + 1000);
	std::memcpy(own.data() + offset, p.a.mem.data() + offset, len);
	const auto [got, want] =
		std::mismatch(p.b.mem.data(), p.b.mem.end(), own.data());

	c.that(got == p.b.mem.end(),
	       what + ": byte " + std::to_string(got - p.b.mem.data()) +
		       " is wrong (from " + std::to_string(offset) + ", " +
		       std::to_string(len) + " long)");
	totals.bytes += len;
}

/* Sizes around those of packets, in the middle of the memory. */
std::vector<uint32_t> sizes(ibv_mtu mtu)
{
	const uint32_t m = 128u << mtu;

	return {0, 1, 8, 64, m - 1, m, m + 1, 2 * m, 2 * m + 1, 1u << 20};
}

void all_sizes(Check &c, Node &na, Node &nb, bool imm)
{
	Pair p(na, nb, {.mem = (1u << 20) + 8192});
	uint64_t seed = 1;

	p.connect();
	for (uint32_t len : sizes(std::min(na.mtu, nb.mtu))) {
		const uint32_t value = 0xa5000000u + len;
		const std::string what = std::to_string(len) + " bytes";
		const size_t offset = 4096 + len % 3;
		ibv_sge sge;
		ibv_send_wr wr = p.write(p.a, len, sge, offset, len);

		fill(p, ++seed);
		if (imm) {
			must(p.b.post_recv(len + 1), "receive");
			wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
			wr.imm_data = value;
		}
		c.err(0, what, [&] { return p.a.post_send(&wr); });
		if (imm) {
			expect_imm(c, wait(p.b.recv_cq.get(), 1)[0], len + 1,
				   len, value, num(p.b.qp.get()), what);
			totals.imms++;
			/* With its completion the data is there. */
			expect_placed(c, p, seed, offset, len, what);
			totals.bytes -= len;
		}
		const ibv_wc wc = wait(p.a.send_cq.get(), 1)[0];

		expect_wc(c, wc, len, IBV_WC_SUCCESS, what);
		c.eq(wc.opcode, IBV_WC_RDMA_WRITE, what + ": opcode");
		c.eq(wc.qp_num, num(p.a.qp.get()), what + ": qp_num");
		expect_placed(c, p, seed, offset, len, what);
	}
	expect_none(c, p.a.send_cq.get(), "sender");
	expect_none(c, p.b.recv_cq.get(), "receiver");
}

/* As the NCCL plugin sends: writes, and an immediate that announces them all.
 */
void chains(Check &c, Node &na, Node &nb)
{
	constexpr unsigned rounds = 20, n = 8;
	constexpr uint32_t len = 5000;
	Pair p(na, nb, {.mem = n * 8192});

	p.connect();
	for (unsigned round = 0; round < rounds; round++) {
		ibv_send_wr wr[n];
		ibv_sge sge[n];

		fill(p, 100 + round);
		must(p.b.post_recv(round), "receive");
		for (unsigned i = 0; i < n; i++) {
			wr[i] = p.write(p.a, i, sge[i], i * 8192, len);
			wr[i].send_flags = 0;
			wr[i].next = i + 1 < n ? &wr[i + 1] : nullptr;
		}
		/* The last carries nothing but its news, in every other round.
		 */
		wr[n - 1].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr[n - 1].imm_data = n * len;
		wr[n - 1].send_flags = IBV_SEND_SIGNALED;
		wr[n - 1].wr_id = 0x0807060504030201;
		if (round & 1) {
			wr[n - 1].num_sge = 0;
			wr[n - 1].sg_list = nullptr;
		}
		c.err(0, "chain", [&] { return p.a.post_send(wr); });
		const bool with = !(round & 1);

		expect_imm(c, wait(p.b.recv_cq.get(), 1)[0], round,
			   with ? len : 0, n * len, num(p.b.qp.get()),
			   "announcement");
		totals.imms++;
		for (unsigned i = 0; i < n; i++) {
			const bool wrote = i + 1 < n || with;

			c.that(!std::memcmp(p.b.mem.data() + i * 8192,
					    p.a.mem.data() + i * 8192,
					    len) == wrote,
			       "announced, part " + std::to_string(i));
			totals.bytes += wrote ? len : 0;
		}
		expect_wc(c, wait(p.a.send_cq.get(), 1)[0], 0x0807060504030201,
			  IBV_WC_SUCCESS, "chain");
	}
	expect_none(c, p.a.send_cq.get(), "sender");
}

/* Nothing, in all the ways in which programs say it. */
void nothing(Check &c, Node &na, Node &nb)
{
	Pair p(na, nb, {.sges = 3});
	ibv_sge sge[3];

	p.connect();
	fill(p, 7);
	for (unsigned how = 0; how < 5; how++)
		for (bool imm : {false, true}) {
			ibv_send_wr wr = p.write(p.a, how, sge[0]);
			const std::string what = "way " + std::to_string(how);

			sge[0].length = 0;
			switch (how) {
			case 0: /* as mscclpp does */
				sge[0] = {0, 0, 0};
				break;
			case 1:
				wr.num_sge = 0;
				wr.sg_list = nullptr;
				break;
			case 2:
				sge[0] = {~0ull, 0, 0xdeadbeef};
				break;
			case 3:
				sge[1] = sge[2] = {0, 0, 0};
				wr.num_sge = 3;
				break;
			case 4:
				wr.send_flags |= IBV_SEND_INLINE;
				sge[0] = {0, 0, 0};
				break;
			}
			if (imm) {
				wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
				wr.imm_data = 0x01020304;
				must(p.b.post_recv(how), "receive");
			}
			c.err(0, what, [&] { return p.a.post_send(&wr); });
			expect_wc(c, wait(p.a.send_cq.get(), 1)[0], how,
				  IBV_WC_SUCCESS, what);
			if (imm) {
				expect_imm(c, wait(p.b.recv_cq.get(), 1)[0],
					   how, 0, 0x01020304,
					   num(p.b.qp.get()), what);
				totals.imms++;
			}
		}
	expect_placed(c, p, 7, 0, 0, "nothing");

	/* Some of it nothing, some not. */
	ibv_send_wr wr = p.write(p.a, 9, sge[0], 100, 10);

	sge[1] = {0, 0, 0};
	sge[2] = p.a.sge(110, 20);
	wr.num_sge = 3;
	c.err(0, "in between", [&] { return p.a.post_send(&wr); });
	expect_wc(c, wait(p.a.send_cq.get(), 1)[0], 9, IBV_WC_SUCCESS, "mixed");
	expect_placed(c, p, 7, 100, 30, "mixed");
}

/* Long silences between signaled ones, in queues of just that length. */
void unsignaled(Check &c, Node &na, Node &nb)
{
	constexpr uint32_t len = 32;

	for (unsigned silent : {63u, 64u}) {
		const unsigned rounds = 5;
		Pair p(na, nb, {.send_wr = silent + 1});

		p.connect();
		for (unsigned round = 0; round < rounds; round++) {
			const std::string what = std::to_string(silent) +
						 " unsignaled, round " +
						 std::to_string(round);

			fill(p, 300 + round);
			for (unsigned i = 0; i <= silent; i++) {
				ibv_sge sge;
				ibv_send_wr wr =
					p.write(p.a, i, sge, i * len, len);

				if (i < silent)
					wr.send_flags = 0;
				c.err(0, what,
				      [&] { return p.a.post_send(&wr); });
			}
			expect_wc(c, wait(p.a.send_cq.get(), 1)[0], silent,
				  IBV_WC_SUCCESS, what);
			expect_placed(c, p, 300 + round, 0,
				      size_t{silent + 1} * len, what);
			expect_none(c, p.a.send_cq.get(), what);
		}
	}
	/* Where all of them are, without saying so. */
	Pair p(na, nb, {.sig_all = true});

	p.connect();
	fill(p, 333);
	for (unsigned i = 0; i < 10; i++) {
		ibv_sge sge;
		ibv_send_wr wr = p.write(p.a, i, sge, i * len, len);

		wr.send_flags = 0;
		must(p.a.post_send(&wr), "send");
	}
	const auto wc = wait(p.a.send_cq.get(), 10);

	for (unsigned i = 0; i < 10; i++)
		expect_wc(c, wc[i], i, IBV_WC_SUCCESS, "sq_sig_all");
	expect_placed(c, p, 333, 0, 10 * len, "sq_sig_all");
}

/* Inline data is taken at once: what the program does then is its own affair.
 */
void inlined(Check &c, Node &na, Node &nb)
{
	Pair p(na, nb, {.sges = 2, .inline_size = 64});
	const uint32_t most = p.a.cap.max_inline_data;

	p.connect();
	for (uint32_t len : {0u, 1u, 8u, 63u, 64u, 65u, 512u, most}) {
		std::vector<uint8_t> mine(len ? len : 1, 0x77);
		ibv_send_wr wr{}, *bad = nullptr;
		/* Not registered, and no key for it. */
		ibv_sge sge[2] = {
			{reinterpret_cast<uintptr_t>(mine.data()), len / 2, 0},
			{reinterpret_cast<uintptr_t>(mine.data()) + len / 2,
			 len - len / 2, 0}};

		fill(p, 400 + len);
		std::memcpy(mine.data(), p.a.mem.data() + 10, len);
		wr = p.write(p.a, len, sge[0], 10, len);
		sge[0] = {reinterpret_cast<uintptr_t>(mine.data()), len / 2, 0};
		wr.sg_list = sge;
		wr.num_sge = 2;
		wr.send_flags |= IBV_SEND_INLINE;
		c.err(0, std::to_string(len) + " bytes inline",
		      [&] { return p.a.post_send(&wr, &bad); });
		std::fill(mine.begin(), mine.end(), 0xee);
		expect_wc(c, wait(p.a.send_cq.get(), 1)[0], len, IBV_WC_SUCCESS,
			  "inline");
		expect_placed(c, p, 400 + len, 10, len, "inline");
	}
	ibv_send_wr *bad = nullptr;
	ibv_sge sge;
	ibv_send_wr wr = p.write(p.a, 1, sge, 0, most + 1);

	wr.send_flags |= IBV_SEND_INLINE;
	c.err(ENOMEM, "one byte more inline",
	      [&] { return p.a.post_send(&wr, &bad); });
	c.that(bad == &wr, "bad_wr");
}

/* Four bytes are four bytes. */
void immediates(Check &c, Node &na, Node &nb)
{
	Pair p(na, nb);
	const uint32_t values[] = {0,	       ~0u,	   1,
				   0x80000000, 0x01020304, 0x04030201,
				   0x000000ff, 0xff000000, 0xdeadbeef};
	unsigned id = 0;

	p.connect();
	/* Receives that are there before, with memory that nobody needs. */
	for (unsigned i = 0; i < std::size(values); i++) {
		ibv_sge sge = p.b.sge(0, 64);
		ibv_recv_wr wr{}, *bad;

		wr.wr_id = i;
		wr.sg_list = i & 1 ? &sge : nullptr;
		wr.num_sge = i & 1;
		must(mrc_post_recv(p.b.qp.get(), &wr, &bad), "receive");
	}
	for (uint32_t v : values) {
		ibv_sge sge;
		ibv_send_wr wr = p.write(p.a, id, sge, 0, id);

		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		std::memcpy(&wr.imm_data, &v, sizeof(v));
		must(p.a.post_send(&wr), "send");
		totals.bytes += id;
		expect_imm(c, wait(p.b.recv_cq.get(), 1)[0], id, id, v,
			   num(p.b.qp.get()), "imm " + std::to_string(v));
		expect_wc(c, wait(p.a.send_cq.get(), 1)[0], id, IBV_WC_SUCCESS,
			  "imm");
		totals.imms++;
		id++;
	}
}

/*
 * Whoever waits for a word in memory needs no call of the API: elements of 64
 * bytes with their number at byte 40, which is there no sooner than what comes
 * before it.
 */
void progress_alone(Check &c, Node &na, Node &nb)
{
	constexpr uint64_t n = 200, slots = 16;
	Pair p(na, nb);
	std::atomic<uint64_t> wrong{0}, seen{0};

	p.connect();
	std::memset(p.b.mem.data(), 0, p.b.mem.size());
	std::thread reader([&] {
		for (uint64_t i = 1; i <= n; i++) {
			uint8_t *const e = p.b.mem.data() + i % slots * 64;
			auto *const word = reinterpret_cast<uint64_t *>(e + 40);
			uint8_t want[40];

			pattern(want, sizeof(want), i);
			/* It may have been told to give up. */
			while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != i)
				if (seen == ~0ull)
					return;
				else
					std::this_thread::yield();
			if (std::memcmp(e, want, sizeof(want)))
				wrong++;
			seen = i;
		}
	});

	try {
		for (uint64_t i = 1; i <= n; i++) {
			uint8_t *const e = p.a.mem.data() + i % slots * 64;
			ibv_sge sge;
			ibv_send_wr wr = p.write(p.a, i, sge, i % slots * 64);

			pattern(e, 40, i);
			std::memcpy(e + 40, &i, sizeof(i));
			std::memset(e + 48, 0, 16);
			must(p.a.post_send(&wr), "send");
			wait(p.a.send_cq.get(), 1);
			eventually([&] { return seen == i; },
				   "the reader of memory");
			totals.bytes += 64;
		}
	} catch (const Failure &) {
		seen = ~0ull;
		reader.join();
		throw;
	}
	reader.join();
	c.eq(wrong.load(), 0u, "elements seen before they were whole");
}

/* The mask sets of four programs, with what each of them passes beside them. */
std::vector<Masks> known_masks()
{
	std::vector<Masks> m(6);

	m[0].who = "NCCL plugin";
	m[0].init = 0x39;
	m[0].rtr = 0x101181;
	m[0].rts = 0x10e01;
	m[0].mrc_init = MRC_QP_HINT;
	m[0].mrc_rts = MRC_QP_TIMEOUT;
	m[0].attr.timeout = 20;
	m[1] = m[0];
	m[1].who = "NCCL plugin without hints";
	m[1].mrc_init = 0;
	m[2].who = "benchmark";
	m[2].init = 0x39;
	m[2].rtr = 0x101181;
	m[2].rts = 0x10e01;
	m[3].who = "verbs shim, mscclpp";
	m[3].init = 0x39;
	m[3].rtr = 0x129181;
	m[3].rts = 0x12e01;
	m[3].mrc_init = MRC_QP_HINT;
	m[4] = m[3];
	m[4].who = "perftest";
	m[4].mrc_rtr = MRC_QP_MPR_DEST; /* with 512, which wraps to 0 */
	/* The document's example: requester's attributes with RTR and RTS. */
	m[5].who = "the document's example";
	m[5].init = IBV_QP_STATE;
	m[5].rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	m[5].rts = IBV_QP_STATE | IBV_QP_SQ_PSN;
	m[5].mrc_rtr = MRC_QP_MPR | MRC_QP_MAX_WIMM | MRC_QP_MPR_DEST |
		       MRC_QP_MAX_WIMM_DEST;
	m[5].mrc_rts = MRC_QP_MPR | MRC_QP_MAX_WIMM | MRC_QP_RETRY_CNT |
		       MRC_QP_TIMEOUT;
	m[5].attr.mpr = {4, 4};
	m[5].attr.wimm = {16, 16};
	m[5].attr.timeout = 18;
	m[5].attr.retry = {7, 10};
	return m;
}

void masks_of_programs(Check &c, Node &na, Node &nb)
{
	uint64_t seed = 500;

	for (const Masks &m : known_masks()) {
		/* With a hint for each side, as they have one each. */
		const Hint ha = make_hint(na.ctx.get());
		const Hint hb = make_hint(nb.ctx.get());
		Pair p(na, nb, {.masks = m});

		p.opt.masks.attr.qp_hint = ha.get();
		p.init(p.a);
		p.opt.masks.attr.qp_hint = hb.get();
		p.init(p.b);
		for (End *e : {&p.a, &p.b})
			p.rtr(*e);
		for (End *e : {&p.a, &p.b})
			p.rts(*e);
		fill(p, ++seed);
		for (uint32_t len : {1u, 4097u, 60000u}) {
			ibv_sge sge;
			ibv_send_wr wr = p.write(p.a, len, sge, 64, len);

			must(p.b.post_recv(len), "receive");
			wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
			wr.imm_data = len;
			must(p.a.post_send(&wr), m.who);
			expect_imm(c, wait(p.b.recv_cq.get(), 1)[0], len, len,
				   len, num(p.b.qp.get()), m.who);
			expect_wc(c, wait(p.a.send_cq.get(), 1)[0], len,
				  IBV_WC_SUCCESS, m.who);
			expect_placed(c, p, seed, 64, len, m.who);
			totals.imms++;
		}
	}
}

/* Both directions at once, on one queue pair each. */
void both_ways(Check &c, Node &na, Node &nb)
{
	constexpr unsigned n = 16;
	constexpr uint32_t len = 2000;
	Pair p(na, nb);

	p.connect();
	/* a's first half goes to b, b's second half to a. */
	fill(p, 600);
	for (unsigned i = 0; i < n; i++) {
		ibv_sge sge;
		ibv_send_wr wr = p.write(p.a, i, sge, i * len, len);

		must(p.a.post_send(&wr), "send");
		wr = p.write(p.b, i, sge, 32768 + i * len, len);
		must(p.b.post_send(&wr), "send");
	}
	for (End *e : {&p.a, &p.b}) {
		const auto wc = wait(e->send_cq.get(), n);

		for (unsigned i = 0; i < n; i++)
			expect_wc(c, wc[i], i, IBV_WC_SUCCESS, "both ways");
	}
	c.that(!std::memcmp(p.a.mem.data(), p.b.mem.data(), n * len), "to b");
	c.that(!std::memcmp(p.a.mem.data() + 32768, p.b.mem.data() + 32768,
			    n * len),
	       "to a");
	totals.bytes += n * len; /* of one direction, as of all the others */
}

/* After an error or RESET the same objects connect again, as new ones would. */
void again(Check &c, Node &na, Node &nb)
{
	Pair p(na, nb);

	for (unsigned round = 0; round < 4; round++) {
		p.connect();
		fill(p, 700 + round);
		ibv_sge sge;
		ibv_send_wr wr = p.write(p.a, round, sge, 0, 9000);

		must(p.b.post_recv(round), "receive");
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = round;
		must(p.a.post_send(&wr), "send");
		expect_imm(c, wait(p.b.recv_cq.get(), 1)[0], round, 9000, round,
			   num(p.b.qp.get()), "again");
		expect_wc(c, wait(p.a.send_cq.get(), 1)[0], round,
			  IBV_WC_SUCCESS, "again");
		expect_placed(c, p, 700 + round, 0, 9000, "again");
		totals.imms++;
		for (End *e : {&p.a, &p.b}) {
			if (round & 1)
				set_state(e->qp.get(), IBV_QPS_ERR);
			set_state(e->qp.get(), IBV_QPS_RESET);
		}
	}
}

void large(Check &c, Node &na, Node &nb)
{
	constexpr uint32_t len = 64u << 20;
	Pair p(na, nb, {.mem = size_t{len} + 8192});
	ibv_sge sge;

	p.connect();
	fill(p, 800);
	ibv_send_wr wr = p.write(p.a, 1, sge, 4097, len);

	must(p.b.post_recv(2), "receive");
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.imm_data = 64;
	c.err(0, "64 MiB", [&] { return p.a.post_send(&wr); });
	expect_imm(c, wait(p.b.recv_cq.get(), 1)[0], 2, len, 64,
		   num(p.b.qp.get()), "64 MiB");
	expect_wc(c, wait(p.a.send_cq.get(), 1)[0], 1, IBV_WC_SUCCESS,
		  "64 MiB");
	expect_placed(c, p, 800, 4097, len, "64 MiB");
}
} // namespace

void test_data(Suite &s, const Devices &d)
{
	Node na(d.a), nb(d.b);

	s.run("WRITE of all sizes",
	      [&](Check &c) { all_sizes(c, na, nb, false); });
	s.run("WRITE with immediate of all sizes",
	      [&](Check &c) { all_sizes(c, na, nb, true); });
	s.run("chains that end in an immediate",
	      [&](Check &c) { chains(c, na, nb); });
	s.run("messages of no bytes", [&](Check &c) { nothing(c, na, nb); });
	s.run("63 and 64 unsignaled writes",
	      [&](Check &c) { unsignaled(c, na, nb); });
	s.run("inline data", [&](Check &c) { inlined(c, na, nb); });
	s.run("immediates, bit by bit",
	      [&](Check &c) { immediates(c, na, nb); });
	s.run("progress without a call",
	      [&](Check &c) { progress_alone(c, na, nb); });
	s.run("masks of known programs",
	      [&](Check &c) { masks_of_programs(c, na, nb); });
	s.run("both ways at once", [&](Check &c) { both_ways(c, na, nb); });
	s.run("the same queue pairs again",
	      [&](Check &c) { again(c, na, nb); });
	std::printf("# totals: bytes=%llu imms=%llu\n",
		    static_cast<unsigned long long>(totals.bytes),
		    static_cast<unsigned long long>(totals.imms));
}

void test_large(Suite &s, const Devices &d)
{
	Node na(d.a), nb(d.b);

	s.run("64 MiB in one message", [&](Check &c) { large(c, na, nb); });
}
