/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_allreduce: a thread that polls the completion queue while another posts
 * to the queue pairs.
 */
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "net.hpp"

/* wr_id: what it was, of which queue pair, and which request it belongs to */
enum class Work : uint8_t {
	fifo = 1, /* announcement of a buffer */
	data,	  /* the last piece of a message */
	recv,	  /* for an immediate */
};

constexpr uint64_t wr_id(Work w, unsigned qp, uint64_t n)
{
	return static_cast<uint64_t>(w) << 56 |
	       static_cast<uint64_t>(qp) << 48 | n;
}
constexpr Work wr_work(uint64_t id)
{
	return static_cast<Work>(id >> 56);
}
constexpr unsigned wr_qp(uint64_t id)
{
	return id >> 48 & 0xff;
}
constexpr uint64_t wr_seq(uint64_t id)
{
	return id & 0xffffffffffff;
}

constexpr unsigned max_qps = 8;
/* requests on their way at a time, a power of two */
constexpr unsigned window = 64;

class Poller
{
public:
	/* @next: queue pairs that send data; @prev: that receive it */
	Poller(Cq &cq, const std::vector<uint32_t> &next,
	       const std::vector<uint32_t> &prev);
	Poller(const Poller &) = delete;
	Poller &operator=(const Poller &) = delete;
	~Poller();

	/* Ends the thread; throws what went wrong. */
	void close();
	void check();

	/* An immediate, as the completion told it. */
	struct Arrival {
		uint32_t imm;
		uint32_t bytes;
	};

	/* QP @k sends request @n until it has used @wrs work requests. */
	void sending(unsigned k, uint64_t n, uint64_t wrs)
	{
		wrs_at_[k][n % window].store(wrs, std::memory_order_relaxed);
	}
	/* Requests of QP @k that are complete, from the first on. */
	uint64_t sent(unsigned k) const
	{
		return sent_[k].load(std::memory_order_acquire);
	}
	/* Work requests of QP @k that have left its queue. */
	uint64_t wrs_done(unsigned k) const
	{
		return wrs_done_[k].load(std::memory_order_acquire);
	}
	uint64_t arrived(unsigned k) const
	{
		return arrived_[k].load(std::memory_order_acquire);
	}
	/* Of a request that has arrived. */
	Arrival arrival(unsigned k, uint64_t n) const
	{
		return arrivals_[k][n % window];
	}
	uint64_t fifo_done(unsigned k) const
	{
		return fifo_done_[k].load(std::memory_order_acquire);
	}
	uint64_t polled() const { return polled_; }

private:
	void run();
	void completion(const ibv_wc &wc);

	template <typename T> using PerQp = std::array<T, max_qps>;
	template <typename T> using Window = std::array<T, window>;

	Cq &cq_;
	std::vector<uint32_t> next_, prev_;
	/*
	 * Written by the poller, except for the first; an arrival is read after
	 * the counter says that it is there, and its place is not used again
	 * before.
	 */
	PerQp<Window<std::atomic<uint64_t>>> wrs_at_{};
	PerQp<std::atomic<uint64_t>> sent_{}, wrs_done_{}, arrived_{},
		fifo_done_{};
	PerQp<Window<Arrival>> arrivals_{};
	std::atomic<uint64_t> polled_ = 0;

	std::atomic<bool> stop_ = false;
	std::atomic<bool> failed_ = false;
	std::mutex lock_;
	std::string why_;
	std::thread thread_;
};

/* Sleeps a little more the longer nothing has happened. */
class Patience
{
public:
	void reset() { idle_ = 0; }
	void wait();

private:
	unsigned idle_ = 0;
};
