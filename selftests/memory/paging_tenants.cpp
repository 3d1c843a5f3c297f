// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A program whose pages never come: what it can have of the kernel's workers.
 */
#include <csignal>
#include <cstdio>
#include <functional>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.hpp"
#include "paging.hpp"

namespace
{
using tap::Check;

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
	/* False: all other processes that could give it have ended. */
	bool take()
	{
		char c;

		if (fd_[1] >= 0)
			close(fd_[1]);
		fd_[1] = -1;
		return ::read(fd_[0], &c, 1) == 1;
	}

private:
	int fd_[2];
};

/* Asks for pages, and does not wait for them. */
void advise(Dev &d, const ibv_mr *mr, uint64_t at, size_t len)
{
	ibv_sge sge{at, static_cast<uint32_t>(len), mr->lkey};

	if (int ret = ibv_advise_mr(d.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				    0, &sge, 1))
		throw Failure("advice: " + errno_text(ret));
}

/* Makes a region of each page of @all, and asks for these pages. */
std::vector<ibv_mr *> ask(Dev &d, const Region &all)
{
	std::vector<ibv_mr *> mrs;

	for (uint8_t *at = all.bytes; at < all.bytes + all.size; at += page) {
		mrs.push_back(
			made(ibv_reg_mr(d.pd, at, page, paged), "region"));
		advise(d, mrs.back(), reinterpret_cast<uintptr_t>(at), page);
	}
	return mrs;
}

/* The addresses of the pages that are fetched at a time. */
std::vector<uint64_t> first_asked(const Faults &faults)
{
	std::vector<uint64_t> asked;

	while (asked.size() < workers)
		asked.push_back(faults.await("a region"));
	return asked;
}

/* Runs @fn in a process of its own, which ends after it. */
pid_t in_child(const std::function<void()> &fn)
{
	const pid_t pid = fork();

	if (pid < 0)
		throw Failure("fork: " + errno_text(errno));
	if (pid)
		return pid;
	try {
		fn();
		_exit(0);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "# %s\n", e.what());
		_exit(1);
	}
}

/* Asks for the pages of many regions, serves none until @go, and then one by
 * one. */
void hold(const std::string &device, Signal &ready, Signal &go)
{
	Dev d(device);
	Region all(d.pd, paged, regions * page);
	Faults faults(all);

	ask(d, all);
	std::vector<uint64_t> asked = first_asked(faults);

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
	const pid_t pid = in_child([&] { hold(device, ready, go); });
	int status = -1;

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

/* A region that wants many pages lets another one have its turn after so many.
 */
constexpr unsigned turn = 1024; /* pages: bounds.md */

void turns(Dev &d, Check &c)
{
	Region others(d.pd, paged, (workers - 1) * page);
	Region big(d.pd, paged, 3 * turn * page), last(d.pd, paged, page);
	Faults held(others), many(big), one(last);
	unsigned served = 0;

	/* One worker is left. */
	const std::vector<ibv_mr *> mrs = ask(d, others);

	for (unsigned i = 0; i < workers - 1; i++)
		held.await("a region");
	advise(d, big.mr, big.addr(), big.size);
	uint64_t at = many.await("the long region");

	advise(d, last.mr, last.addr(), page);
	for (;;) {
		many.serve(at, page);
		served++;
		if (served == 3 * turn || Faults::first_of(many, one) == &one)
			break;
		at = many.await("the long region");
	}
	c.eq(served, turn, "pages before the turn of the other region");
	one.await("the other region");
	one.serve();
	for (; served < 3 * turn; served++)
		many.serve(many.await("the long region"), page);
	held.serve();
	for (ibv_mr *mr : mrs)
		c.err(ibv_dereg_mr(mr), 0, "the end of a region");
}

/* Occupies as many workers as a program can have, until it is killed. */
void occupy(const std::string &device, Signal &ready)
{
	Dev d(device);
	Region all(d.pd, paged, workers * page);
	Faults faults(all);

	ask(d, all);
	first_asked(faults);
	ready.give();
	for (;;)
		pause();
}
} // namespace

void test_paging_tenants(Dev &d, tap::Report &report, const std::string &part)
{
	run_served({d, report, part},
		   "paging: many regions whose pages never come", neighbours);
	run_served({d, report, part}, "paging: a long region beside others",
		   turns);
}

void occupy_workers(const std::string &device, unsigned programs)
{
	Signal ready;

	/* If one of them fails, nobody waits for it. */
	std::signal(SIGCHLD, [](int) { _exit(1); });
	for (unsigned i = 0; i < programs; i++)
		in_child([&] { occupy(device, ready); });
	for (unsigned i = 0; i < programs; i++)
		if (!ready.take())
			throw Failure("a program does not get all its workers");
	std::printf("occupied\n");
	std::fflush(stdout);
	for (;;)
		pause();
}

void take_away_for_ever(Dev &d, bool region, bool pages)
{
	constexpr size_t size = size_t{4} << 20;
	Region mem(d.pd, paged, size);

	if (!region)
		mem.dereg();
	std::printf("begun\n");
	std::fflush(stdout);
	for (;;) {
		if (pages && region) {
			ibv_sge all{mem.addr(), size, mem.mr->lkey};

			if (const int ret = ibv_advise_mr(
				    d.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				    IBV_ADVISE_MR_FLAG_FLUSH, &all, 1))
				throw Failure("advice: " + errno_text(ret));
		}
		for (size_t at = 0; pages && !region && at < size; at += page)
			mem.bytes[at] = 1;
		madvise(mem.bytes, size, MADV_DONTNEED);
	}
}
