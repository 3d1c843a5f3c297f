// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A program that fills its ring all the time, without a doorbell, keeps the
 * kernel busy once a datagram of it had to wait for a page: a work item goes on
 * with what is in the ring. The item must not hold up others, and not the queue
 * pair's own datagrams that were received and wait for their pages.
 */
#include <atomic>
#include <chrono>
#include <thread>

#include <pthread.h>
#include <sched.h>

#include <rdma/mrc-abi.h>

#include "../common/rings.hpp"
#include "datagrams.hpp"

namespace
{
using tap::Check;

constexpr unsigned depth = 16384; /* no other ring is as deep */
constexpr uint32_t datagram = 64;

/* The send ring of the first of the two queue pairs, by its fill level. */
class Ring
{
public:
	/* All of a's entries have been sent, and none of b's. */
	Ring()
	{
		for (const Mapping &m : find_rings()) {
			auto *hdr = reinterpret_cast<mrc_ring_hdr *>(m.start);

			if (hdr->depth == depth &&
			    std::atomic_ref(hdr->cons) == depth)
				hdr_ = hdr;
		}
		if (!hdr_)
			throw Failure("the send ring is not found");
	}

	uint32_t cons() const { return std::atomic_ref(hdr_->cons).load(); }
	uint32_t prod() const { return std::atomic_ref(hdr_->prod).load(); }
	void fill() { std::atomic_ref(hdr_->prod).store(cons() + depth); }

private:
	mrc_ring_hdr *hdr_ = nullptr;
};

/*
 * Fills the ring until the end of its life. It comes before all others, so that
 * the kernel never finds the ring empty, also with one processor.
 */
class Filler
{
public:
	explicit Filler(Ring &ring)
		: thread_([this, &ring] {
			  while (!stop_) {
				  ring.fill();
				  std::this_thread::sleep_for(
					  std::chrono::milliseconds(1));
			  }
		  })
	{
		sched_param param{};

		param.sched_priority = 1;
		if (const int err = pthread_setschedparam(
			    thread_.native_handle(), SCHED_FIFO, &param)) {
			stop_ = true;
			thread_.join();
			throw Failure("no priority: " + errno_text(err));
		}
	}
	Filler(const Filler &) = delete;
	Filler &operator=(const Filler &) = delete;
	~Filler()
	{
		stop_ = true;
		thread_.join();
	}

private:
	std::atomic<bool> stop_ = false;
	std::thread thread_;
};

void endless(Dev &d, Check &c)
{
	Region out(d.pd, IBV_ACCESS_LOCAL_WRITE, page);
	Region from(d.pd, paged, page), to(d.pd, paged, page);
	Faults late_from(from), late_to(to);
	Datagrams u(d, depth);
	ibv_wc wc{};

	/* Entries that can be sent again and again. */
	for (unsigned i = 0; i < depth; i++)
		u.post(out, datagram);
	Ring ring;

	u.receive(to, 0, grh + datagram, true);
	u.send(out, datagram, true);
	late_to.await("a datagram that is received");
	u.post(from, datagram);
	late_from.await("a datagram that is sent");
	const uint32_t begun = ring.cons();

	{
		const Filler filler(ring);

		if (!in_time([&] { return ring.prod() - begun == depth; }))
			throw Failure("the ring is not filled");
		late_from.serve();
		const bool goes_on = in_time(
			[&] { return ring.cons() - begun > 2 * depth; });

		c.that(goes_on, "the kernel goes on with the ring: " +
					std::to_string(ring.cons() - begun) +
					" datagrams");
		c.that(!u.received(wc), "nothing is received yet");
		late_to.serve();
		c.that(in_time([&] { return u.received(wc); }),
		       "a datagram is received while the ring is filled");
		c.eq(wc.status, IBV_WC_SUCCESS, "receive");
	}
	c.that(in_time([&] { return ring.cons() == ring.prod(); }),
	       "the ring is empty in the end");
}
} // namespace

void test_paging_endless(Dev &d, tap::Report &report, const std::string &part)
{
	run_served({d, report, part},
		   "paging: a program that fills its ring all the time",
		   endless);
}
