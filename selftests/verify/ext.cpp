// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: verified traffic of everything that verbs have, and receives that
 * come late.
 */
#include <algorithm>

#include <poll.h>

#include "common.h"
#include "ext_pair.h"

namespace
{
constexpr unsigned slots = 8; /* messages under way, receives */
constexpr uint32_t slot_size = 256 << 10;
constexpr uint32_t sizes[] = {0,    1,	  255,	 1023,	1024,  1025,
			      4096, 4097, 20000, 65536, 120000};

/* The peer's area: the pattern, four places for WRITE_IMM, words at the end. */
constexpr uint64_t pattern_part = 512 << 10;
constexpr uint64_t write_room = 128 << 10;
constexpr uint64_t sum_at = ExtPair::area_size - 64;
constexpr uint64_t swap_at = ExtPair::area_size - 56;
constexpr uint64_t word_at = ExtPair::area_size - 48;

/* What message @i of a sequence is; both sides know. */
struct Plan {
	std::vector<ibv_wr_opcode> ops;
	uint64_t count;
	uint64_t seed;
	uint32_t max_len;

	ibv_wr_opcode op(uint64_t i) const { return ops[i % ops.size()]; }
	bool received(uint64_t i) const
	{
		return op(i) == IBV_WR_SEND || op(i) == IBV_WR_SEND_WITH_IMM ||
		       op(i) == IBV_WR_RDMA_WRITE_WITH_IMM;
	}
	uint32_t len(uint64_t i) const
	{
		switch (op(i)) {
		case IBV_WR_ATOMIC_CMP_AND_SWP:
		case IBV_WR_ATOMIC_FETCH_AND_ADD:
		case IBV_WR_ATOMIC_WRITE:
			return 8;
		default:
			return std::min(sizes[mix(seed, i) % std::size(sizes)],
					max_len);
		}
	}
	/* WRITE_IMM: the place in the area; READ: what is read */
	uint64_t remote(uint64_t i) const
	{
		if (op(i) == IBV_WR_RDMA_READ)
			return mix(seed, i) % (pattern_part - slot_size);
		return pattern_part + i / ops.size() % 4 * write_room;
	}
	Pattern data(uint64_t i) const { return Pattern(mix(seed, i)); }
};

uint64_t load(const uint8_t *p)
{
	uint64_t v;

	std::memcpy(&v, p, sizeof(v));
	return v;
}

class Sender
{
public:
	Sender(Session &s, ExtPair &p, const Plan &plan)
		: s_(s), p_(p), plan_(plan)
	{
		uint8_t word[8];

		p.peers().fill(word, sum_at, 8);
		sum_ = load(word);
		p.peers().fill(word, swap_at, 8);
		swapped_ = load(word);
	}
	bool done() const { return ended_ == plan_.count; }

	bool step()
	{
		std::vector<Work> list;
		std::vector<Wc> wcs;

		while (posted_ < plan_.count && posted_ - ended_ < slots &&
		       list.size() < s_.t.post_list)
			list.push_back(work(posted_++));
		if (!list.empty())
			p_.post(list);
		p_.send_cq().poll(wcs);
		for (const Wc &w : wcs)
			check(w, ended_++);
		return !list.empty() || !wcs.empty();
	}

private:
	static uint64_t at(uint64_t i)
	{
		return ExtPair::own_size / 2 + i % slots * slot_size;
	}

	Work work(uint64_t i) const
	{
		Work w;

		w.op = plan_.op(i);
		w.id = i;
		w.at = at(i);
		w.len = plan_.len(i);
		w.pieces = 1 + i % 3;
		w.imm = static_cast<uint32_t>(i);
		if (i % 5 == 4)
			w.flags |= IBV_SEND_FENCE;
		w.remote = plan_.remote(i);
		switch (w.op) {
		case IBV_WR_RDMA_READ:
			std::memset(p_.own() + w.at, 0x5a, slot_size);
			break;
		case IBV_WR_ATOMIC_FETCH_AND_ADD:
			w.pieces = 1;
			w.remote = sum_at;
			w.compare_add = i;
			break;
		case IBV_WR_ATOMIC_CMP_AND_SWP:
			/* Every other one finds something else. */
			w.pieces = 1;
			w.remote = swap_at;
			w.compare_add = swap_next_;
			w.swap = i;
			break;
		case IBV_WR_ATOMIC_WRITE:
			w.pieces = 0;
			w.remote = word_at;
			w.swap = i;
			break;
		case IBV_WR_FLUSH:
			w.remote = 0;
			break;
		default:
			plan_.data(i).fill(p_.own() + w.at, 0, w.len);
			if (w.len <= p_.qp().cap().max_inline_data && i % 2)
				w.pieces = 0;
			break;
		}
		return w;
	}

	void check(const Wc &w, uint64_t i)
	{
		static const struct {
			ibv_wr_opcode op;
			ibv_wc_opcode wc;
		} codes[] = {
			{IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE},
			{IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE},
			{IBV_WR_SEND, IBV_WC_SEND},
			{IBV_WR_SEND_WITH_IMM, IBV_WC_SEND},
			{IBV_WR_RDMA_READ, IBV_WC_RDMA_READ},
			{IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP},
			{IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD},
			{IBV_WR_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE},
			{IBV_WR_FLUSH, IBV_WC_FLUSH},
		};
		const uint8_t *own = p_.own() + at(i);

		if (w.wr_id != i || w.status != IBV_WC_SUCCESS)
			fail("send %llu ended as %llu: %s",
			     static_cast<unsigned long long>(i),
			     static_cast<unsigned long long>(w.wr_id),
			     ibv_wc_status_str(w.status));
		for (auto &c : codes)
			if (c.op == plan_.op(i) && c.wc != w.opcode)
				fail("operation %d completes as %d",
				     static_cast<int>(c.op),
				     static_cast<int>(w.opcode));
		switch (plan_.op(i)) {
		case IBV_WR_RDMA_READ: {
			uint32_t len = plan_.len(i);
			size_t bad =
				p_.peers().check(own, plan_.remote(i), len);

			if (bad != len)
				fail("READ %llu of %u bytes: byte %zu is wrong",
				     static_cast<unsigned long long>(i), len,
				     bad);
			if (own[len] != 0x5a)
				fail("READ %llu wrote too much",
				     static_cast<unsigned long long>(i));
			break;
		}
		case IBV_WR_ATOMIC_FETCH_AND_ADD:
			if (load(own) != sum_)
				fail("FETCH_AND_ADD %llu found %llx, not %llx",
				     static_cast<unsigned long long>(i),
				     static_cast<unsigned long long>(load(own)),
				     static_cast<unsigned long long>(sum_));
			sum_ += i;
			break;
		case IBV_WR_ATOMIC_CMP_AND_SWP:
			if (load(own) != swapped_)
				fail("CMP_AND_SWP %llu found %llx, not %llx",
				     static_cast<unsigned long long>(i),
				     static_cast<unsigned long long>(load(own)),
				     static_cast<unsigned long long>(swapped_));
			if (swapped_ == swap_next_)
				swapped_ = i;
			swap_next_ = swapped_ + (i & 1);
			break;
		default:
			break;
		}
	}

	Session &s_;
	ExtPair &p_;
	const Plan &plan_;
	uint64_t posted_ = 0;
	uint64_t ended_ = 0;
	uint64_t sum_;
	uint64_t swapped_;
	uint64_t swap_next_ = 1;
};

class Receiver
{
public:
	Receiver(ExtPair &p, const Plan &plan) : p_(p), plan_(plan)
	{
		for (unsigned i = 0; i < slots; i++)
			repost(i);
		skip();
	}
	bool done() const { return next_ == plan_.count; }

	bool step()
	{
		std::vector<Wc> wcs;

		p_.recv_cq().poll(wcs);
		for (const Wc &w : wcs) {
			check(w, next_++);
			repost(taken_++ + slots);
			skip();
		}
		return !wcs.empty();
	}

private:
	void repost(uint64_t n)
	{
		uint64_t at = n % slots * slot_size;

		std::memset(p_.own() + at, 0xa5, 8);
		p_.post_recv(n, at, slot_size - 1, 1 + n % 4);
	}
	void skip()
	{
		while (next_ < plan_.count && !plan_.received(next_))
			next_++;
	}

	void check(const Wc &w, uint64_t i)
	{
		ibv_wr_opcode op = plan_.op(i);
		bool write = op == IBV_WR_RDMA_WRITE_WITH_IMM;
		uint32_t len = plan_.len(i);
		const uint8_t *data =
			write ? p_.area() + plan_.remote(i)
			      : p_.own() + taken_ % slots * slot_size;

		if (w.status != IBV_WC_SUCCESS || w.wr_id != taken_)
			fail("message %llu came as %llu: %s",
			     static_cast<unsigned long long>(i),
			     static_cast<unsigned long long>(w.wr_id),
			     ibv_wc_status_str(w.status));
		if (w.opcode !=
			    (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV) ||
		    w.byte_len != len)
			fail("message %llu: opcode %d, %u bytes instead of %u",
			     static_cast<unsigned long long>(i),
			     static_cast<int>(w.opcode), w.byte_len, len);
		if (!(w.flags & IBV_WC_WITH_IMM) != (op == IBV_WR_SEND) ||
		    (op != IBV_WR_SEND && w.imm != static_cast<uint32_t>(i)))
			fail("message %llu: immediate %u, flags %#x",
			     static_cast<unsigned long long>(i), w.imm,
			     w.flags);
		size_t bad = plan_.data(i).check(data, 0, len);

		if (bad != len)
			fail("message %llu of %u bytes: byte %zu is wrong",
			     static_cast<unsigned long long>(i), len, bad);
	}

	ExtPair &p_;
	const Plan &plan_;
	uint64_t next_ = 0;
	uint64_t taken_ = 0;
};

/* Both directions if @both; the client's otherwise. */
void exchange(Session &s, const std::vector<ibv_wr_opcode> &ops, bool both)
{
	ExtPair p(s);
	uint64_t count = s.t.iters ? s.t.iters : 200;
	uint64_t toward = mix(s.t.seed, 1), back = mix(s.t.seed, 2);
	Plan mine{ops, both || s.client ? count : 0, s.client ? toward : back,
		  s.t.ext_max};
	Plan peers{ops, both || !s.client ? count : 0, s.client ? back : toward,
		   s.t.ext_max};
	Receiver r(p, peers);

	s.oob.barrier(21);
	Sender w(s, p, mine);
	double last = now_s();

	while (!w.done() || !r.done()) {
		bool moved = w.step();

		moved |= r.step();
		if (moved)
			last = now_s();
		else if (now_s() - last > s.t.watchdog)
			fail("nothing moves");
		else
			::poll(nullptr, 0, 1);
	}
	s.oob.barrier(22);
}
} // namespace

void test_ext_send(Session &s)
{
	exchange(s,
		 {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
		  IBV_WR_SEND},
		 s.t.bidir);
}

void test_ext_mixed(Session &s)
{
	exchange(s,
		 {IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
		  IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND_WITH_IMM,
		  IBV_WR_RDMA_READ,
		  s.dev.has_flush() ? IBV_WR_FLUSH : IBV_WR_RDMA_READ,
		  IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
		  IBV_WR_ATOMIC_WRITE},
		 true);
}

/* Receives that come late are waited for; those that never come are not. */
void test_ext_rnr(Session &s)
{
	constexpr unsigned n = 6;

	for (int never = 0; never < 2; never++) {
		ExtConfig c;

		c.rnr_retry = never ? 2 : 7;
		c.min_rnr = never ? 14 : 20; /* 1 ms, 10.24 ms */
		ExtPair p(s, c);

		if (s.client) {
			double start = now_s();

			for (unsigned i = 0; i < n; i++) {
				Work w;

				w.op = i & 1 ? IBV_WR_SEND_WITH_IMM
					     : IBV_WR_SEND;
				w.id = i;
				w.imm = i;
				w.at = i * 8192;
				w.len = 5000;
				Pattern(mix(s.t.seed, i))
					.fill(p.own() + w.at, 0, w.len);
				p.post(w);
			}
			if (never) {
				p.expect(p.send_cq(), 0,
					 IBV_WC_RNR_RETRY_EXC_ERR,
					 "no receive");
				for (unsigned i = 1; i < n; i++)
					p.expect(p.send_cq(), i,
						 IBV_WC_WR_FLUSH_ERR,
						 "no receive");
			} else {
				s.oob.barrier(24);
				for (unsigned i = 0; i < n; i++)
					p.expect_send(i, IBV_WC_SEND);
				if (now_s() - start < 0.2)
					fail("the late receives were early");
			}
		} else if (!never) {
			/* From when the peer looked at the clock and sent. */
			s.oob.barrier(24);
			::poll(nullptr, 0, 250);
			for (unsigned i = 0; i < n; i++) {
				p.post_recv(i, i * 8192, 8000);
				Wc w = p.expect(p.recv_cq(), i, IBV_WC_SUCCESS,
						"late receive");
				size_t bad = Pattern(mix(s.t.seed, i))
						     .check(p.own() + i * 8192,
							    0, 5000);

				if (w.byte_len != 5000 || bad != 5000)
					fail("late message %u is wrong", i);
				::poll(nullptr, 0, 20);
			}
		}
		s.oob.barrier(23);
	}
	drain_async(s.dev);
}

namespace
{
struct ExtTest {
	const char *name;
	void (*run)(Session &);
};

const ExtTest ext_tests[] = {
	{"send", test_ext_send},       {"read", test_ext_read},
	{"atomic", test_ext_atomic},   {"fence", test_ext_fence},
	{"mixed", test_ext_mixed},     {"rnr", test_ext_rnr},
	{"refused", test_ext_refused}, {"windows", test_ext_windows},
	{"srq", test_ext_srq},	       {"datagrams", test_ext_datagrams},
	{"groups", test_ext_groups},   {"gone", test_ext_gone},
	{"strict", test_ext_strict},   {"strict-peer", test_ext_strict_peer},
};
} // namespace

void run_ext_tests(Session &s)
{
	unsigned ran = 0, skipped = 0;
	std::string why;

	for (const ExtTest &e : ext_tests) {
		if (s.t.ext_test != "all" && s.t.ext_test != e.name)
			continue;
		ran++;
		try {
			e.run(s);
			say("ext-test %s: ok", e.name);
		} catch (const Skip &x) {
			skipped++;
			why = x.what();
			say("ext-test %s: skip, %s", e.name, x.what());
		} catch (const Failure &x) {
			say("ext-test %s: FAIL, %s", e.name, x.what());
			fail("ext-test %s: %s", e.name, x.what());
		}
	}
	if (!ran)
		fail("there is no test '%s'", s.t.ext_test.c_str());
	if (skipped == ran)
		throw Skip(why);
}
