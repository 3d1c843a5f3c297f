// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: a program gone wild on the rings that it shares with the
 * kernel. It may harm itself: errors, wrong completions, a dead QP. It may not
 * harm the kernel, hang, or touch memory that it has no key for.
 */
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <random>
#include <thread>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mrc-abi.h>

#include "../common/rings.hpp"
#include "common.h"
#include "pair.h"
#include "tests.h"

namespace
{
/* A doorbell that no library has a say in: @Post is the command's structure. */
template <typename Post>
void doorbell(Device &dev, uint32_t qp_handle, uint32_t command,
	      size_t wqe_size, uint32_t garbage)
{
	struct {
		ib_uverbs_cmd_hdr hdr;
		Post cmd;
	} m{};
	/* As long as the other queue's. */
	ib_uverbs_post_send_resp resp{};

	m.hdr.command = command;
	m.hdr.in_words = sizeof(m) / 4;
	m.hdr.out_words = sizeof(resp) / 4;
	m.cmd.response = reinterpret_cast<uintptr_t>(&resp);
	m.cmd.qp_handle = qp_handle;
	m.cmd.wr_count = garbage;
	m.cmd.wqe_size = wqe_size;
	/* Whatever the answer is: it has to be an answer. */
	if (write(dev.ctx()->cmd_fd, &m, sizeof(m)) < 0 && errno == EFAULT)
		fail("doorbell gave EFAULT");
}

class Wild
{
public:
	explicit Wild(uint64_t seed) : rng_(seed) {}

	uint32_t word()
	{
		static const uint32_t nasty[] = {
			0,	    1,	2,  0x7fffffff, 0x80000000, 0xffffffff,
			0xfffffff0, 64, 65, 63,		0x100};

		switch (rng_() % 4) {
		case 0:
			return nasty[rng_() % std::size(nasty)];
		case 1:
			return static_cast<uint32_t>(rng_() % 40);
		default:
			return static_cast<uint32_t>(rng_());
		}
	}

	void scribble(const Mapping &m)
	{
		size_t at;

		switch (rng_() % 12) {
		case 0:
			at = offsetof(mrc_ring_hdr, prod) / 4;
			break;
		case 1:
			at = offsetof(mrc_ring_hdr, cons) / 4;
			break;
		case 2:
			at = rng_() % (MRC_RING_HDR_SIZE / 4);
			break;
		case 3:
			at = rng_() % (m.size / 4);
			break;
		default:
			entry(m);
			return;
		}
		poke(m, at);
	}

	/* Somewhere in the first entries, which are the ones in use. */
	void entry(const Mapping &m)
	{
		poke(m, (MRC_RING_HDR_SIZE + rng_() % 1024) / 4);
	}

	uint64_t next() { return rng_(); }

private:
	/*
	 * Atomic, because the kernel and the other thread use it at the same
	 * time, and the compiler must not drop it.
	 */
	void poke(const Mapping &m, size_t at)
	{
		__atomic_store_n(reinterpret_cast<uint32_t *>(m.start) + at,
				 word(), __ATOMIC_RELAXED);
	}

	std::mt19937_64 rng_;
};

/*
 * Changes entries while the kernel copies them. It pauses half of the time,
 * so that the other half has something that works to break.
 */
class Racer
{
public:
	Racer(const std::vector<Mapping> &rings, uint64_t seed)
		: thread_([this, rings, seed] {
			  Wild wild(seed);

			  while (!stop_) {
				  double until = now_s() + 0.05;

				  while (!stop_ && now_s() < until)
					  wild.entry(rings[wild.next() %
							   rings.size()]);
				  ::poll(nullptr, 0, 50);
			  }
		  })
	{
	}

	~Racer()
	{
		stop_ = true;
		thread_.join();
	}

private:
	std::atomic<bool> stop_{false};
	std::thread thread_;
};

/* A proper work request first, so that the engine is busy when hit. */
void post_something(Pair &p, Wild &wild)
{
	ibv_send_wr *bad;
	ibv_sge sge;
	ibv_send_wr wr = p.write(wild.next() % 15, sge);

	if (wild.next() & 1)
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	/* May fail: the ring says that it is full, or the QP is in ERR. */
	(void)ibv_post_send(p.qp().get(), &wr, &bad);
}

struct Harm {
	uint64_t rounds = 0;
	uint64_t resets = 0; /* a QP was brought back to work */
	uint64_t lives = 0;  /* new objects were made */
	uint64_t cq_errors = 0;
};

/* Until the CQ is dead, for which there is no cure, or the time is over. */
void client_goes_wild(Session &s, Pair &p, Wild &wild, double end, Harm &harm)
{
	auto rings = find_rings();
	std::vector<Wc> wcs;
	bool cq_dead = false;

	if (rings.size() < 4)
		fail("only %zu mapped rings found", rings.size());
	Racer racer(rings, wild.next());

	for (uint64_t n = 1; !cq_dead && now_s() < end; n++) {
		harm.rounds++;
		post_something(p, wild);
		if (wild.next() & 1)
			wild.scribble(rings[wild.next() % rings.size()]);

		const uint32_t qp = p.qp().get()->handle;
		const uint32_t garbage = wild.next() % 64 ? 0 : wild.word();

		if (wild.next() & 1)
			doorbell<ib_uverbs_post_send>(
				s.dev, qp, IB_USER_VERBS_CMD_POST_SEND,
				sizeof(ib_uverbs_send_wr), garbage);
		else
			doorbell<ib_uverbs_post_recv>(
				s.dev, qp, IB_USER_VERBS_CMD_POST_RECV,
				sizeof(ib_uverbs_recv_wr), garbage);
		wcs.clear();
		p.send_cq().poll(wcs, 8);
		p.recv_cq().poll(wcs, 8);
		for (ibv_event_type e : drain_async(s.dev))
			cq_dead |= e == IBV_EVENT_CQ_ERR;
		if (n % 256 && p.qp().query_state() == IBV_QPS_RTS)
			continue;
		/* Dead, or long enough alive: start over. */
		harm.resets++;
		p.qp().to_reset();
		p.qp().new_psn();
		s.oob.send(Msg::reset);
		p.connect();
	}
	harm.cq_errors += cq_dead;
}

void server_keeps_up(Session &s, Pair &p)
{
	double end = now_s() + s.t.duration + s.t.watchdog;

	for (;;) {
		std::vector<Wc> wcs;
		auto f = s.oob.poll();

		if (f && f->type == Msg::over)
			return;
		if (f && f->type == Msg::reset) {
			p.qp().to_reset();
			while (p.recv_cq().poll(wcs))
				wcs.clear();
			p.qp().new_psn();
			p.connect();
		}
		p.recv_cq().poll(wcs);
		for (const Wc &w : wcs)
			if (w.status == IBV_WC_SUCCESS)
				p.post_recv(w.wr_id);
		if (now_s() > end)
			fail("the client hangs");
		if (!f && wcs.empty())
			::poll(nullptr, 0, 1);
		drain_async(s.dev);
	}
}

/*
 * Scribbled work requests may have carried a good key and any address inside
 * of the server's region: all of that may have changed, and nothing else.
 */
void end_life(Session &s, Pair &p)
{
	s.oob.barrier(14);
	if (!s.client)
		p.forget_region();
	p.settle({});
}

void client_lives(Session &s)
{
	double end = now_s() + s.t.duration;
	Wild wild(s.t.seed);
	Harm harm;

	while (now_s() < end) {
		s.oob.send(Msg::life);
		Pair p(s.dev, s.oob, s.t, true);

		harm.lives++;
		client_goes_wild(s, p, wild, std::min(end, now_s() + 2), harm);
		s.oob.send(Msg::over);
		end_life(s, p);
	}
	s.oob.send(Msg::fin);
	say("hostile: %llu rounds, %llu QP resets, %llu lives, %llu CQ errors",
	    static_cast<unsigned long long>(harm.rounds),
	    static_cast<unsigned long long>(harm.resets),
	    static_cast<unsigned long long>(harm.lives),
	    static_cast<unsigned long long>(harm.cq_errors));
	if (harm.resets < 2)
		fail("the rings took no harm: the test hit nothing");
}

void server_lives(Session &s)
{
	for (;;) {
		Oob::Frame f = s.oob.next();

		if (f.type == Msg::fin)
			return;
		if (f.type != Msg::life)
			fail("peer's message %u makes no sense",
			     static_cast<unsigned>(f.type));
		Pair p(s.dev, s.oob, s.t, false);

		server_keeps_up(s, p);
		end_life(s, p);
	}
}
} // namespace

Totals test_hostile(Session &s)
{
	if (!s.dev.is_mrc())
		throw Skip("the rings of this device are not MRC's");
	if (s.client)
		client_lives(s);
	else
		server_lives(s);
	drain_async(s.dev);

	/* And the device still works, for this process too. */
	TestOptions t = s.t;

	t.duration = 0;
	Stream stream(s.dev, s.oob, t, s.client, true);
	return stream.run();
}
