// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A program whose pages never come: what it can have of the kernel's workers,
 * and who pays for the datagrams that wait.
 */
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.hpp"
#include "paging.hpp"

namespace
{
using tap::Check;

bool within_20_s(const std::function<bool()> &done)
{
	using clock = std::chrono::steady_clock;
	const auto limit = clock::now() + std::chrono::seconds(20);

	while (!done()) {
		if (clock::now() > limit)
			return false;
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	}
	return true;
}

/* --- workers ------------------------------------------------------------- */

constexpr unsigned workers = 16; /* of one program: bounds.md */
constexpr unsigned regions = 64;

/* A pipe by which one process tells another to go on. */
class Signal
{
public:
	Signal()
	{
		if (pipe(fd_))
			throw Failure("pipe: " + errno_text(errno));
	}
	Signal(const Signal &) = delete;
	Signal &operator=(const Signal &) = delete;
	~Signal()
	{
		close(fd_[0]);
		close(fd_[1]);
	}

	void give()
	{
		if (::write(fd_[1], "", 1) != 1)
			throw Failure("a signal is not given");
	}
	/* False: the other process has ended. */
	bool take()
	{
		char c;

		close(fd_[1]);
		fd_[1] = -1;
		return ::read(fd_[0], &c, 1) == 1;
	}

private:
	int fd_[2];
};

/* Asks for the pages of many regions, serves none until @go, and then one by
 * one. */
void hold(const std::string &device, Signal &ready, Signal &go)
{
	Dev d(device);
	Region all(d.pd, paged, regions * page);
	Faults faults(all);
	std::vector<uint64_t> asked;

	for (unsigned i = 0; i < regions; i++) {
		uint8_t *at = all.bytes + i * page;
		ibv_mr *mr = made(ibv_reg_mr(d.pd, at, page, paged), "region");
		ibv_sge sge{reinterpret_cast<uintptr_t>(at), page, mr->lkey};

		if (int ret = ibv_advise_mr(d.pd,
					    IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
					    0, &sge, 1))
			throw Failure("advice: " + errno_text(ret));
	}
	while (asked.size() < workers)
		asked.push_back(faults.await("a region"));
	ready.give();
	if (!go.take())
		throw Failure("the other program has ended");
	if (faults.any())
		throw Failure("more than " + std::to_string(workers) +
			      " regions are fetched at a time");
	/* All get their turn. */
	for (size_t i = 0; i < regions; i++) {
		if (i == asked.size())
			asked.push_back(
				faults.await("region " + std::to_string(i)));
		faults.serve(asked[i], page);
	}
}

/* Another program's pages are fetched, whatever one waits for. */
void neighbours(Dev &d, Check &c)
{
	Signal ready, go;
	const std::string device = ibv_get_device_name(d.ctx->device);
	const pid_t pid = fork();
	int status = -1;

	if (pid < 0)
		throw Failure("fork: " + errno_text(errno));
	if (!pid) {
		try {
			hold(device, ready, go);
			_exit(0);
		} catch (const std::exception &e) {
			std::fprintf(stderr, "# %s\n", e.what());
			_exit(1);
		}
	}
	if (ready.take()) {
		Region l(d.pd, paged, page), r(d.pd, paged, page);
		Pair p(d);

		c.eq(transfer(p, Op::write, l.mr, l.addr(), r.mr, r.addr(),
			      page)
			     .sender,
		     IBV_WC_SUCCESS, "WRITE to paged memory");
		go.give();
	}
	const bool waited = waitpid(pid, &status, 0) == pid;

	c.that(waited && WIFEXITED(status) && !WEXITSTATUS(status),
	       "the program with many regions: status " +
		       std::to_string(status));
}

/* --- datagrams ----------------------------------------------------------- */

constexpr unsigned datagrams = 64;
constexpr uint32_t datagram = 4096, grh = 40, slot = 2 * page;

/* Two datagram queue pairs: a sends to b. */
class Datagrams
{
public:
	explicit Datagrams(Dev &d)
		: d_(d), scq_(make_cq()), rcq_(make_cq()), a_(make()),
		  b_(make())
	{
		ibv_ah_attr attr{};

		attr.is_global = 1;
		attr.port_num = 1;
		attr.grh.hop_limit = 64;
		attr.grh.sgid_index = d.gid_index;
		attr.grh.dgid = d.gid;
		ah_ = made(ibv_create_ah(d.pd, &attr), "AH");
	}
	Datagrams(const Datagrams &) = delete;
	Datagrams &operator=(const Datagrams &) = delete;
	~Datagrams()
	{
		ibv_destroy_ah(ah_);
		ibv_destroy_qp(a_);
		ibv_destroy_qp(b_);
		ibv_destroy_cq(scq_);
		ibv_destroy_cq(rcq_);
	}

	void receive(const Region &to, uint64_t at, uint32_t len)
	{
		ibv_sge sge{to.addr() + at, len, to.mr->lkey};
		ibv_recv_wr wr{}, *bad;

		wr.sg_list = &sge;
		wr.num_sge = 1;
		if (int ret = ibv_post_recv(b_, &wr, &bad))
			throw Failure("receive: " + errno_text(ret));
	}
	/* Returns when it has been sent. */
	void send(const Region &from, uint32_t len)
	{
		ibv_sge sge{from.addr(), len, from.mr->lkey};
		ibv_send_wr wr{}, *bad;
		ibv_wc wc{};

		wr.opcode = IBV_WR_SEND;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.wr.ud = {ah_, b_->qp_num, qkey};
		if (int ret = ibv_post_send(a_, &wr, &bad))
			throw Failure("send: " + errno_text(ret));
		if (!within_20_s(
			    [&] { return ibv_poll_cq(scq_, 1, &wc) == 1; }) ||
		    wc.status != IBV_WC_SUCCESS)
			throw Failure("a datagram is not sent");
	}
	/* False: there is none. */
	bool received(ibv_wc &wc) { return ibv_poll_cq(rcq_, 1, &wc) == 1; }

private:
	static constexpr uint32_t qkey = 0x1234;

	ibv_cq *make_cq()
	{
		return made(
			ibv_create_cq(d_.ctx, datagrams, nullptr, nullptr, 0),
			"CQ");
	}
	ibv_qp *make()
	{
		ibv_qp_init_attr init{};
		ibv_qp_attr attr{};

		init.send_cq = scq_;
		init.recv_cq = rcq_;
		init.cap = {datagrams, datagrams, 1, 1, 0};
		init.qp_type = IBV_QPT_UD;
		ibv_qp *qp = made(ibv_create_qp(d_.pd, &init), "UD QP");

		attr.port_num = 1;
		attr.qkey = qkey;
		for (const auto &[state, mask] :
		     {std::pair(IBV_QPS_INIT,
				IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		      std::pair(IBV_QPS_RTR, 0),
		      std::pair(IBV_QPS_RTS, int{IBV_QP_SQ_PSN})}) {
			attr.qp_state = state;
			if (int ret = ibv_modify_qp(qp, &attr,
						    IBV_QP_STATE | mask))
				throw Failure("UD QP: " + errno_text(ret));
		}
		return qp;
	}

	Dev &d_;
	ibv_cq *scq_, *rcq_;
	ibv_qp *a_, *b_;
	ibv_ah *ah_;
};

/* Bytes that the kernel has for the programs of a memory cgroup. */
uint64_t kernel_memory(const std::string &cgroup)
{
	std::ifstream f(cgroup + "/memory.stat");
	std::string name;
	uint64_t bytes;

	while (f >> name >> bytes)
		if (name == "kernel")
			return bytes;
	throw Failure("no kernel memory in " + cgroup + "/memory.stat");
}

void charged(Dev &d, Check &c, const std::string &cgroup)
{
	Region out(d.pd, IBV_ACCESS_LOCAL_WRITE, datagram);
	Region in(d.pd, paged, datagrams * slot);
	Datagrams u(d);
	Faults faults(in);
	ibv_wc wc{};

	for (unsigned i = 0; i < datagrams; i++)
		u.receive(in, i * slot, grh + datagram);
	const uint64_t before = kernel_memory(cgroup);
	const uint64_t full = before + datagrams * datagram;

	for (unsigned i = 0; i < datagrams; i++)
		u.send(out, datagram);
	const bool charges =
		within_20_s([&] { return kernel_memory(cgroup) >= full; });

	c.that(charges, "waiting datagrams: kernel memory was " +
				std::to_string(before) + " bytes and is " +
				std::to_string(kernel_memory(cgroup)) +
				", expected at least " + std::to_string(full));
	c.that(!u.received(wc), "no datagram has come");
	faults.serve();
	for (unsigned i = 0; i < datagrams; i++) {
		if (!within_20_s([&] { return u.received(wc); }))
			throw Failure(std::to_string(i) + " datagrams came");
		c.eq(wc.status, IBV_WC_SUCCESS, "receive");
		c.eq(wc.byte_len, grh + datagram, "length");
	}
	const bool returned = within_20_s(
		[&] { return kernel_memory(cgroup) < (before + full) / 2; });

	c.that(returned,
	       "afterwards it is " + std::to_string(kernel_memory(cgroup)));
}
} // namespace

void test_paging_tenants(Dev &d, tap::Report &report, const std::string &part)
{
	run_served({d, report, part},
		   "paging: many regions whose pages never come", neighbours);
}

void take_away_for_ever(Dev &d, bool region)
{
	constexpr size_t size = size_t{4} << 20;
	/* Nobody has written there: it has no pages. */
	Region hole(d.pd, paged, size);

	if (!region)
		hole.dereg();
	std::printf("begun\n");
	std::fflush(stdout);
	for (;;)
		madvise(hole.bytes, size, MADV_DONTNEED);
}

void test_charged_datagrams(Dev &d, tap::Report &report,
			    const std::string &cgroup)
{
	if (!has_userfaultfd())
		std::printf("ok waiting datagrams # SKIP no userfaultfd\n");
	else
		report.run("waiting datagrams are charged to the program",
			   [&](Check &c) { charged(d, c, cgroup); });
}
