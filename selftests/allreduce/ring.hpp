/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_allreduce: the algorithm. Ranks stand in a ring; each sends to the next.
 * A buffer is cut into as many chunks as there are ranks. First every chunk
 * goes round once and gathers a summand at each rank (reduce-scatter), then
 * once more to tell the sum (all-gather).
 *
 * Each step of that is a request, counted from 0 for the life of the ring: the
 * receiver has posted its receives, and tells the sender where the data is to
 * go by an entry that it writes to the sender's memory. The sender sees the
 * entry there and writes the data.
 */
#pragma once

#include <cstddef>
#include <memory>

#include "events.hpp"
#include "net.hpp"
#include "poller.hpp"
#include "star.hpp"

/* Written by the receiver of data to its sender's memory. */
struct Announcement {
	uint64_t addr;
	uint64_t size;
	uint32_t rkey;
	uint32_t flag_index;
	uint64_t flag_addr; /* 0: tell by an immediate */
	uint32_t requests;
	uint32_t tag; /* the same at both ends */
	uint64_t seq; /* request + 1; it becomes visible when all above is */
	uint8_t unused[16];
};
static_assert(sizeof(Announcement) == 64 && offsetof(Announcement, seq) == 40,
	      "as collective libraries have it");

struct Totals {
	uint64_t rounds = 0;
	uint64_t elements = 0;	    /* verified */
	uint64_t immediates = 0;    /* received */
	uint64_t flags = 0;	    /* received */
	uint64_t announcements = 0; /* written */
	uint64_t quiet = 0; /* most announcements in a row without a signal */
	uint64_t chain = 0; /* likewise WRITEs of data */
};

class Ring
{
public:
	Ring(const Options &o, Star &star);

	/* Until the rounds are over or @stop becomes true at rank 0. */
	void run(const std::atomic<bool> &stop);
	/* Ends everything, in the order of collective libraries. */
	void close();

	const Totals &totals() const { return totals_; }
	const Events &events() const { return *events_; }

private:
	/* A step of a round. */
	struct Step {
		uint64_t request;
		bool gather;
		unsigned send, receive; /* chunks */
		uint64_t round;
		unsigned index; /* in the round */
	};

	/* A chunk in bytes. */
	struct Span {
		size_t at, len;
	};

	unsigned steps() const { return 2 * (o_.ranks - 1); }
	size_t total(uint64_t round) const;
	bool by_flag(uint64_t round) const;
	Step step_of(uint64_t round, unsigned index) const;
	Span chunk(uint64_t round, unsigned c) const;
	Span part(size_t len, unsigned k) const;
	uint8_t *target(const Step &s) const;
	const uint8_t *source(const Step &s) const;
	uint32_t tag(const Step &s) const;

	void connect();
	void announce_round(uint64_t round);
	void announce(const Step &s);
	void send(const Step &s);
	void send_part(const Step &s, unsigned k, const Announcement &a);
	void send_flag(const Step &s, const Announcement &a);
	void receive(const Step &s);
	void check_arrival(const Step &s, unsigned k) const;
	void exchange(uint64_t n);
	void exchange_timed(uint64_t n);
	bool round(uint64_t n, bool stop);

	template <typename T> void fill(uint64_t n, bool stop);
	template <typename T> void reduce(const Step &s);
	template <typename T> bool verify(uint64_t n);

	template <typename F> void wait(const Step &s, const char *what, F f);
	void post(Qp &qp, ibv_send_wr *wr, const Step &s);

	const Options &o_;
	Star &star_;
	std::unique_ptr<Device> dev_;
	std::unique_ptr<Events> events_;
	std::unique_ptr<Memory> mem_;
	std::unique_ptr<Cq> cq_;
	std::vector<std::unique_ptr<Qp>> next_, prev_;
	std::unique_ptr<Poller> poller_;

	/* Two of each: a round uses one, the next round's are announced. */
	size_t buffer_ = 0; /* bytes of the largest */
	uint8_t *work_[2]{};
	uint8_t *out_[2]{};
	std::vector<uint8_t *> scratch_[2]; /* by step */
	Announcement *fifo_ = nullptr;	    /* the next rank writes it */
	Announcement *fifo_src_ = nullptr;
	uint64_t *flags_ = nullptr; /* the previous rank writes them */
	uint64_t *flag_src_ = nullptr;

	uint64_t peer_fifo_ = 0; /* of the previous rank */
	uint32_t peer_fifo_rkey_ = 0;
	uint64_t posted_wrs_[max_qps]{};
	uint64_t posted_fifo_[max_qps]{};
	uint64_t posted_recvs_ = 0; /* to each */
	Totals totals_;
};
