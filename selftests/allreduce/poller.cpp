// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_allreduce: the thread that polls.
 */
#include "poller.hpp"

#include <cerrno>
#include <cstring>
#include <sched.h>

void Patience::wait()
{
	idle_++;
	if (idle_ < 20)
		sched_yield();
	else
		std::this_thread::sleep_for(
			std::chrono::microseconds(idle_ < 200 ? 20 : 200));
}

Poller::Poller(Cq &cq, const std::vector<uint32_t> &next,
	       const std::vector<uint32_t> &prev)
	: cq_(cq), next_(next), prev_(prev)
{
	thread_ = std::thread(&Poller::run, this);
}

Poller::~Poller()
{
	stop_ = true;
	if (thread_.joinable())
		thread_.join();
}

void Poller::close()
{
	stop_ = true;
	thread_.join();
	check();
}

void Poller::check()
{
	if (!failed_)
		return;
	std::lock_guard guard(lock_);

	throw Failure(why_);
}

void Poller::run()
{
	Patience patience;
	ibv_wc wc[4];

	try {
		while (!stop_) {
			int n = mrc_poll_cq(cq_.get(), 4, wc);

			if (n < 0)
				fail("mrc_poll_cq: %s", std::strerror(errno));
			for (int i = 0; i < n; i++)
				completion(wc[i]);
			if (n)
				patience.reset();
			else
				patience.wait();
		}
	} catch (const std::exception &e) {
		std::lock_guard guard(lock_);

		why_ = e.what();
		failed_ = true;
	}
}

static void advance(std::atomic<uint64_t> &counter, uint64_t n, const char *of)
{
	uint64_t due = counter.load(std::memory_order_relaxed);

	if (n != due)
		fail("completion of %s %llu where %llu was due", of,
		     static_cast<unsigned long long>(n),
		     static_cast<unsigned long long>(due));
	counter.store(due + 1, std::memory_order_release);
}

void Poller::completion(const ibv_wc &wc)
{
	bool recv = wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
	unsigned k = wr_qp(wc.wr_id);
	uint64_t n = wr_seq(wc.wr_id);
	Work work = wr_work(wc.wr_id);

	if (wc.status != IBV_WC_SUCCESS)
		fail("completion error: %s, vendor %x, wr_id %llx",
		     ibv_wc_status_str(wc.status), wc.vendor_err,
		     static_cast<unsigned long long>(wc.wr_id));
	const auto &qpns = work == Work::data ? next_ : prev_;

	if (k >= qpns.size() || wc.qp_num != qpns[k])
		fail("completion %llx of the foreign queue pair %u",
		     static_cast<unsigned long long>(wc.wr_id), wc.qp_num);
	if (recv != (work == Work::recv) ||
	    (!recv && wc.opcode != IBV_WC_RDMA_WRITE))
		fail("completion %llx has opcode %d",
		     static_cast<unsigned long long>(wc.wr_id), wc.opcode);
	polled_++;
	switch (work) {
	case Work::fifo:
		advance(fifo_done_[k], n, "announcement batch");
		break;
	case Work::data:
		wrs_done_[k].store(
			wrs_at_[k][n % window].load(std::memory_order_relaxed),
			std::memory_order_release);
		advance(sent_[k], n, "request");
		break;
	case Work::recv:
		if (!(wc.wc_flags & IBV_WC_WITH_IMM))
			fail("a receive completed without an immediate");
		arrivals_[k][n % window] = {wc.imm_data, wc.byte_len};
		advance(arrived_[k], n, "receive");
		break;
	}
}
