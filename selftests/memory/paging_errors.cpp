// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Paged regions whose memory is not there, comes late, or never; and devices
 * that do not page.
 */
#include <array>
#include <cerrno>
#include <chrono>
#include <list>
#include <thread>

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "faults.hpp"
#include "paging.hpp"

namespace
{
using tap::Check;

constexpr size_t span = 8 * page;

void refused(Dev &d, Check &c)
{
	std::array<uint8_t, page> bytes{};

	c.that(!ibv_reg_mr(d.pd, bytes.data(), bytes.size(), paged),
	       "a paged region");
	/* Where ib_core itself refuses, 6.1 says EINVAL. */
	c.err(errno == EINVAL ? EOPNOTSUPP : errno, EOPNOTSUPP,
	      "a paged region");
}

/* All of the address space as one region is not offered. */
void implicit(Dev &d, Check &c)
{
	c.that(!ibv_reg_mr(d.pd, nullptr, SIZE_MAX, paged), "implicit region");
	c.err(errno, EOPNOTSUPP, "implicit region");
}

/* The kernel's tables grow with the length, and not with what is there. */
void too_long(Dev &d, Check &c)
{
	struct sysinfo info;
	std::array<uint8_t, page> bytes{};

	sysinfo(&info);
	const size_t ram = info.totalram * info.mem_unit;

	c.that(!ibv_reg_mr(d.pd, bytes.data(), 2 * ram, paged),
	       "twice the memory of the machine");
	c.err(errno, ENOMEM, "twice the memory of the machine");
}

ibv_wc_status sender_error(Op op, bool local)
{
	if (local)
		return IBV_WC_LOC_PROT_ERR;
	return op == Op::send ? IBV_WC_REM_OP_ERR : IBV_WC_REM_ACCESS_ERR;
}

/* Memory that is unmapped, or, for writes, read-only; and then is there. */
void holes(Dev &d, Check &c)
{
	for (const bool local : { true, false }) {
		for (const Op op : all_ops) {
			Region hole(d.pd, paged, span), r(d.pd, paged, span);
			const std::string what = std::string(op_name(op)) +
						 (local ? ": own" : ": peer's");
			const ibv_mr *from = local ? hole.mr : r.mr;
			const ibv_mr *to = local ? r.mr : hole.mr;
			const uint64_t laddr = local ? hole.addr() : r.addr();
			const uint64_t raddr = local ? r.addr() : hole.addr();

			{
				/* Its own memory must not get there. */
				Pair p(d);

				munmap(hole.bytes, span);
				const Outcome o = transfer(p, op, from, laddr,
							   to, raddr, span);

				c.eq(o.sender, sender_error(op, local), what);
				if (op == Op::send)
					c.eq(o.receiver,
					     local ? IBV_WC_SUCCESS :
						     IBV_WC_LOC_PROT_ERR,
					     what + ", receiver");
				c.that(mmap(hole.bytes, span,
					    PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS |
						    MAP_FIXED,
					    -1, 0) == hole.bytes,
				       "mmap");
			}
			Pair p(d);
			const Outcome o = transfer(p, op, from, laddr, to,
						   raddr, span);

			c.eq(o.sender, IBV_WC_SUCCESS, what + ", mapped");
		}
	}
}

void read_only(Dev &d, Check &c)
{
	Region r(d.pd, paged, span), l(d.pd, paged, span);

	r.bytes[0] = 9;
	mprotect(r.bytes, span, PROT_READ);
	for (const Op op : all_ops) {
		Pair p(d);
		const Outcome o = transfer(p, op, l.mr, l.addr(), r.mr,
					   r.addr(), span);

		c.eq(o.sender, op == Op::read ? IBV_WC_SUCCESS :
					       sender_error(op, false),
		     op_name(op));
	}
	c.eq(l.bytes[0], 9, "what was read");
	/* Writable again: no trace of what failed. */
	mprotect(r.bytes, span, PROT_READ | PROT_WRITE);
	Pair p(d);

	c.eq(transfer(p, Op::write, l.mr, l.addr(), r.mr, r.addr(), span).sender,
	     IBV_WC_SUCCESS, "WRITE");
}

/* A page may take longer than all retries: that is no silence of the peer. */
void late(Dev &d, Check &c)
{
	for (const bool local : { true, false }) {
		for (const Op op : all_ops) {
			const std::string what = std::string(op_name(op)) +
						 (local ? ", own" : ", peer's");
			Region slow(d.pd, paged, span), r(d.pd, paged, span);
			Pair p(d);
			Faults faults(slow);

			if (local)
				post(p, op, slow.mr, slow.addr(), r.mr,
				     r.addr(), span);
			else
				post(p, op, r.mr, r.addr(), slow.mr,
				     slow.addr(), span);
			faults.await(what);
			/* Eight intervals of 67 ms are the whole budget. */
			std::this_thread::sleep_for(std::chrono::seconds(1));
			faults.serve();
			const Outcome o = finish(p, op);

			c.eq(o.sender, IBV_WC_SUCCESS, what);
			c.eq(o.receiver, IBV_WC_SUCCESS,
			     what + ", receiver");
		}
	}
}

/*
 * Nobody waits for a page that never comes: not the region, not the QPs. The
 * memory stays mapped to the end: when the program stops serving it, a fetch that
 * nobody needs any more may still come for a page at its address.
 */
void never(Dev &d, Check &c)
{
	std::list<Region> kept;

	for (const bool local : { true, false }) {
		for (const Op op : all_ops) {
			const std::string what = std::string(op_name(op)) +
						 (local ? ", own" : ", peer's");
			Region &slow = kept.emplace_back(d.pd, paged, span);
			Region r(d.pd, paged, span);
			Faults faults(slow);
			{
				Pair p(d);

				if (local)
					post(p, op, slow.mr, slow.addr(), r.mr,
					     r.addr(), span);
				else
					post(p, op, r.mr, r.addr(), slow.mr,
					     slow.addr(), span);
				faults.await(what);
			}
			c.err(slow.dereg(), 0, what + ": deregistration");
		}
	}
}

/* The region goes while packets come for it: any status, but an end. */
void deregistered(Dev &d, Check &c)
{
	Region l(d.pd, paged, 16 * span);

	for (int i = 0; i < 40; i++) {
		const Op op = all_ops[i % std::size(all_ops)];
		Region r(d.pd, paged, 16 * span);
		Pair p(d);

		post(p, op, l.mr, l.addr(), r.mr, r.addr(), 16 * span);
		std::this_thread::sleep_for(std::chrono::microseconds(i * 37));
		c.err(r.dereg(), 0, "deregistration");
		const ibv_wc_status st = finish(p, op).sender;

		c.that(st == IBV_WC_SUCCESS || st == IBV_WC_REM_ACCESS_ERR ||
			       st == IBV_WC_REM_OP_ERR,
		       std::string(op_name(op)) + ": " + ibv_wc_status_str(st));
	}
}
} // namespace

void test_paging_errors(Dev &d, tap::Report &report, const std::string &part)
{
	const Part run{d, report, part};

	if (!has_paging(d)) {
		run("paging: refused where the kernel cannot", refused);
		return;
	}
	run("paging: implicit regions are refused", implicit);
	run("paging: a region longer than the memory of the machine", too_long);
	run("paging: memory that is not there", holes);
	run("paging: memory that is read-only", read_only);
	run("paging: a region that goes meanwhile", deregistered);
	run_served(run, "paging: pages that never come", never);
	run_served(run, "paging: pages that come late", late);
}
