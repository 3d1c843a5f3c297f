// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lists of as many SGEs as a queue pair takes, each in a paged region of its own. One
 * packet then needs the pages of all of them at the same time.
 */
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include "paging.hpp"

namespace
{
using tap::Check;

constexpr uint32_t part = 32; /* bytes of each SGE: the list is one packet */
constexpr uint32_t total = most_sges * part;

/* Regions over the pages of a file, which keep their data when they are taken away. */
class Pages
{
public:
	explicit Pages(ibv_pd *pd)
	{
		const int fd = memfd_create("mrc_memory", 0);

		if (fd < 0 || ftruncate(fd, most_sges * page))
			throw Failure("no memfd");
		at = static_cast<uint8_t *>(mmap(nullptr, most_sges * page,
						 PROT_READ | PROT_WRITE,
						 MAP_SHARED, fd, 0));
		close(fd);
		if (at == MAP_FAILED)
			throw Failure("no mapping of the memfd");
		for (uint32_t i = 0; i < most_sges; i++) {
			mr[i] = made(ibv_reg_mr(pd, at + i * page, page, paged),
				     "region");
			sge[i] = {reinterpret_cast<uintptr_t>(at + i * page + 8 * i),
				  part, mr[i]->lkey};
		}
	}
	Pages(const Pages &) = delete;
	Pages &operator=(const Pages &) = delete;
	~Pages()
	{
		for (ibv_mr *m : mr)
			ibv_dereg_mr(m);
		munmap(at, most_sges * page);
	}

	uint8_t *bytes(uint32_t i) { return at + i * page + 8 * i; }
	void take_away() { madvise(at, most_sges * page, MADV_DONTNEED); }
	void take_away(uint32_t i) { madvise(at + i * page, page, MADV_DONTNEED); }

	uint8_t *at;
	ibv_mr *mr[most_sges];
	ibv_sge sge[most_sges];
};

void wait_all(Pair &p, int left, const std::string &what, Check &c)
{
	const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
	ibv_wc wc;

	while (left) {
		if (std::chrono::steady_clock::now() > limit)
			throw Failure("no completion of " + what);
		if (ibv_poll_cq(p.cq, 1, &wc) != 1) {
			std::this_thread::yield();
			continue;
		}
		c.eq(wc.status, IBV_WC_SUCCESS, what);
		left--;
	}
}

void post_list(Pair &p, ibv_wr_opcode op, Pages &l, const Region *remote)
{
	ibv_send_wr wr{}, *bad;

	wr.opcode = op;
	wr.sg_list = l.sge;
	wr.num_sge = most_sges;
	if (remote) {
		wr.wr.rdma.remote_addr = remote->addr();
		wr.wr.rdma.rkey = remote->mr->rkey;
	}
	if (ibv_post_send(p.a, &wr, &bad))
		throw Failure("post");
}

/* SEND from @l to a list that is @r, then READ to @r of what WRITE has left at @flat. */
void round_of(Pair &p, Pages &l, Pages &r, Region &flat, unsigned seed, Check &c)
{
	ibv_recv_wr rwr{}, *rbad;
	ibv_send_wr wr{}, *bad;

	for (uint32_t i = 0; i < most_sges; i++)
		std::memset(l.bytes(i), static_cast<int>(i + seed), part);
	rwr.sg_list = r.sge;
	rwr.num_sge = most_sges;
	if (ibv_post_recv(p.b, &rwr, &rbad))
		throw Failure("receive");
	post_list(p, IBV_WR_SEND, l, nullptr);
	wait_all(p, 2, "SEND", c);
	for (uint32_t i = 0; i < most_sges; i++)
		c.that(!std::memcmp(l.bytes(i), r.bytes(i), part),
		       "SEND: data differ at " + std::to_string(i));

	post_list(p, IBV_WR_RDMA_WRITE, l, &flat);
	wait_all(p, 1, "WRITE", c);
	for (uint32_t i = 0; i < most_sges; i++)
		std::memset(r.bytes(i), 0xff, part);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.sg_list = r.sge;
	wr.num_sge = most_sges;
	wr.wr.rdma.remote_addr = flat.addr();
	wr.wr.rdma.rkey = flat.mr->rkey;
	if (ibv_post_send(p.a, &wr, &bad))
		throw Failure("post");
	wait_all(p, 1, "READ", c);
	for (uint32_t i = 0; i < most_sges; i++)
		c.that(!std::memcmp(l.bytes(i), r.bytes(i), part),
		       "READ: data differ at " + std::to_string(i));
}

void thrown_away(Dev &d, Check &c)
{
	Region flat(d.pd, paged, total);
	Pages l(d.pd), r(d.pd);
	Pair p(d);

	for (unsigned i = 0; i < 20; i++) {
		l.take_away();
		r.take_away();
		round_of(p, l, r, flat, i, c);
	}
}

void taken_away(Dev &d, Check &c)
{
	std::atomic<bool> stop{false};
	std::atomic<unsigned> rounds{0};
	Region flat(d.pd, paged, total);
	Pages l(d.pd), r(d.pd);
	Pair p(d);

	std::thread thief([&] {
		for (unsigned i = 0; !stop; i++) {
			l.take_away(i * 5 % most_sges);
			r.take_away(i * 7 % most_sges);
			rounds++;
			std::this_thread::sleep_for(std::chrono::microseconds(200));
		}
	});
	for (unsigned i = 0; i < 40 || (rounds < 100 && i < 100000); i++)
		c.attempt([&] { round_of(p, l, r, flat, i, c); });
	stop = true;
	thief.join();
	c.that(rounds >= 100, "little was taken away");
}

/*
 * A region is deregistered while others of the list wait for their pages. The work request
 * fails with an error of its memory, or was over before.
 */
void deregistered(Dev &d, Check &c)
{
	for (unsigned i = 0; i < 20; i++) {
		Pages l(d.pd);
		Region flat(d.pd, paged, total);
		Pair p(d);
		ibv_wc wc;

		l.take_away();
		post_list(p, i & 1 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, l, &flat);
		c.err(ibv_dereg_mr(l.mr[i]), 0, "deregistration");
		l.mr[i] = made(ibv_reg_mr(d.pd, l.at, page, paged), "region");
		while (!ibv_poll_cq(p.cq, 1, &wc))
			std::this_thread::yield();
		c.that(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_LOC_PROT_ERR,
		       std::string("status: ") + ibv_wc_status_str(wc.status));
	}
}
} // namespace

void test_paging_lists(Dev &d, tap::Report &report, const std::string &names)
{
	const Part run{d, report, names};

	if (!has_paging(d))
		return;
	run("paging: lists of regions whose pages were thrown away", thrown_away);
	run("paging: lists of regions whose pages are taken away under traffic", taken_away);
	run("paging: a region of a list that goes meanwhile", deregistered);
}
