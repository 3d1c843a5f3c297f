// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Data are right whatever the kernel does to the pages: not there yet, thrown
 * away, mapped anew, copied on write, taken away while packets come.
 */
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paging.hpp"

namespace
{
using tap::Check;

constexpr uint64_t send_id = 1, recv_id = 2;
constexpr size_t pages = 32;
constexpr size_t span = pages * page;

ibv_wr_opcode opcode(Op op)
{
	switch (op) {
	case Op::write:
		return IBV_WR_RDMA_WRITE;
	case Op::send:
		return IBV_WR_SEND;
	case Op::read:
		return IBV_WR_RDMA_READ;
	case Op::compare:
		return IBV_WR_ATOMIC_CMP_AND_SWP;
	default:
		return IBV_WR_ATOMIC_FETCH_AND_ADD;
	}
}

bool atomic_op(Op op)
{
	return op == Op::compare || op == Op::add;
}

void fill(uint8_t *to, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		to[i] = static_cast<uint8_t>(i * 7 + (i >> 8) + seed * 13 + 1);
}

uint64_t word(const uint8_t *p)
{
	uint64_t v;

	std::memcpy(&v, p, sizeof(v));
	return v;
}

void good(Check &c, const Outcome &o, const std::string &what)
{
	c.eq(o.sender, IBV_WC_SUCCESS, what + ": sender");
	c.eq(o.receiver, IBV_WC_SUCCESS, what + ": receiver");
}

/* One transfer of all of @len bytes, whose result is looked at. */
void check_transfer(Pair &p, Op op, Region &l, Region &r, size_t off,
		    uint32_t len, unsigned seed, Check &c)
{
	const std::string what = std::string(op_name(op)) + " " +
				 std::to_string(seed);
	uint8_t *from = (op == Op::read ? r.bytes : l.bytes) + off;
	const uint8_t *to = (op == Op::read ? l.bytes : r.bytes) + off;

	if (atomic_op(op)) {
		const uint64_t old = seed & 1 ? 0 : word(r.bytes + off);

		if (seed & 1)
			std::memset(r.bytes + off, 0, 8);
		good(c, transfer(p, op, l.mr, l.addr() + off, r.mr,
				 r.addr() + off, 8),
		     what);
		c.eq(word(l.bytes + off), old, what + ": value before");
		/* 0 becomes 5, or 3 more; see post(). */
		c.eq(word(r.bytes + off),
		     op == Op::add ? old + 3 : old ? old : 5, what);
		return;
	}
	fill(from, len, seed);
	good(c, transfer(p, op, l.mr, l.addr() + off, r.mr, r.addr() + off,
			 len),
	     what);
	c.that(!std::memcmp(from, to, len), what + ": data differ");
}

/* Each round begins with pages that are not there. */
void thrown_away(Dev &d, Check &c)
{
	Region l(d.pd, paged, span), r(d.pd, paged, span);
	Pair p(d);

	for (unsigned i = 0; i < 20; i++) {
		for (const Op op : all_ops) {
			madvise(l.bytes, span, MADV_DONTNEED);
			madvise(r.bytes, span, MADV_DONTNEED);
			check_transfer(p, op, l, r, 24 * i, span - 24 * i, i, c);
		}
	}
}

/* What was never written is zeros, at whichever end it is. */
void untouched(Dev &d, Check &c)
{
	Region l(d.pd, paged, span), r(d.pd, paged, span);
	Pair p(d);

	for (const Op op : { Op::write, Op::send, Op::read }) {
		Region &to = op == Op::read ? l : r;

		madvise(l.bytes, span, MADV_DONTNEED);
		madvise(r.bytes, span, MADV_DONTNEED);
		std::memset(to.bytes, 0xff, span);
		good(c, transfer(p, op, l.mr, l.addr(), r.mr, r.addr(), span),
		     op_name(op));
		for (size_t i = 0; i < span; i++)
			if (to.bytes[i])
				return c.that(false, "no zeros");
	}
}

void mapped_anew(Dev &d, Check &c)
{
	Region l(d.pd, paged, span), r(d.pd, paged, span);
	Pair p(d);

	for (unsigned i = 0; i < 10; i++) {
		for (const Op op : all_ops) {
			check_transfer(p, op, l, r, 0, span, 2 * i, c);
			for (Region *m : { &l, &r }) {
				munmap(m->bytes, m->size);
				c.that(mmap(m->bytes, m->size,
					    PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS |
						    MAP_FIXED,
					    -1, 0) == m->bytes,
				       "mmap");
			}
		}
	}
}

/* Pages that a child shares: it must go on seeing what was there. */
void copied_on_write(Dev &d, Check &c)
{
	Region l(d.pd, paged, span), r(d.pd, paged, span);
	Pair p(d);

	for (unsigned i = 0; i < 5; i++) {
		int go[2];
		char any = 0;
		int status = -1;

		check_transfer(p, Op::write, l, r, 0, span, i, c);
		if (pipe(go))
			throw Failure("no pipe");
		const pid_t child = fork();

		if (!child) {
			std::vector<uint8_t> want(span);

			fill(want.data(), span, i);
			close(go[1]);
			const bool ok = read(go[0], &any, 1) == 1 &&
					!std::memcmp(r.bytes, want.data(), span);
			_exit(ok ? 0 : 1);
		}
		close(go[0]);
		fill(l.bytes, span, i + 100);
		good(c, transfer(p, Op::write, l.mr, l.addr(), r.mr, r.addr(),
				 span),
		     "WRITE after fork");
		c.that(!std::memcmp(l.bytes, r.bytes, span), "data differ");
		c.that(write(go[1], &any, 1) == 1, "the child is gone");
		close(go[1]);
		c.that(waitpid(child, &status, 0) == child && !status,
		       "the child sees what it must not");
	}
}

/*
 * The pages of a shared mapping are taken away all the time while packets come
 * and go; the data stay.
 */
void taken_away(Dev &d, Check &c)
{
	const int fd = memfd_create("mrc_memory", 0);
	std::atomic<bool> stop{false};
	std::atomic<unsigned> rounds{0};
	Region l(d.pd, paged, span), r(d.pd, paged, span);
	Pair p(d);

	if (fd < 0 || ftruncate(fd, 2 * span))
		throw Failure("no memfd");
	for (Region *m : {&l, &r})
		if (mmap(m->bytes, span, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd,
			 m == &l ? 0 : static_cast<off_t>(span)) == MAP_FAILED)
			throw Failure("no mapping of the memfd");
	close(fd);
	std::thread thief([&] {
		for (unsigned i = 0; !stop; i++) {
			const size_t off = i * 5 % pages * page;
			const size_t n = i % 3 ? page : span - off;

			madvise(l.bytes + off, n, MADV_DONTNEED);
			madvise(r.bytes + off, n, MADV_DONTNEED);
			rounds++;
			std::this_thread::sleep_for(
				std::chrono::microseconds(200));
		}
	});
	for (unsigned i = 0; i < 60 || (rounds < 100 && i < 100000); i++)
		for (const Op op : all_ops)
			c.attempt([&] {
				check_transfer(p, op, l, r, 8 * (i % 16),
					       span - 128, i, c);
			});
	stop = true;
	thief.join();
	c.that(rounds >= 100, "little was taken away");
}

/*
 * Pages that nobody but the device has written are not given up as if they were
 * the file's: no page table says that they have changed.
 */
void written_by_device(Dev &d, Check &c)
{
	const int fd = memfd_create("mrc_memory", 0);
	Region l(d.pd, paged, span);
	uint64_t sum = 0;

	if (fd < 0 || ftruncate(fd, 2 * span))
		throw Failure("no memfd");
	for (const bool gone : { false, true }) {
		uint8_t *at = static_cast<uint8_t *>(
			mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_SHARED,
			     fd, gone ? static_cast<off_t>(span) : 0));
		Pair p(d);

		if (at == MAP_FAILED)
			throw Failure("mmap");
		/* There, and clean. */
		for (size_t i = 0; i < span; i += page)
			sum += *const_cast<volatile uint8_t *>(at + i);
		ibv_mr *mr = made(ibv_reg_mr(d.pd, at, span, paged), "region");

		fill(l.bytes, span, 77);
		good(c, transfer(p, Op::write, l.mr, l.addr(), mr,
				 reinterpret_cast<uintptr_t>(at), span),
		     "WRITE");
		/* By the kernel, or because the region is gone. */
		if (gone)
			c.err(ibv_dereg_mr(mr), 0, "deregistration");
		c.that(!madvise(at, span, MADV_PAGEOUT), "page out");
		c.that(!std::memcmp(at, l.bytes, span),
		       gone ? "data lost with the region" : "data lost");
		if (!gone)
			ibv_dereg_mr(mr);
		munmap(at, span);
	}
	c.eq(sum, 0u, "new memory");
	close(fd);
}

/* Of a window the pages are those of its region. */
void through_window(Dev &d, Check &c)
{
	Region r(d.pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND |
			       IBV_ACCESS_ON_DEMAND, span);
	Window w(d.pd, IBV_MW_TYPE_2);
	Pair p(d);

	c.eq(p.bind(w.mw, r, r.addr() + page + 8, 2 * page,
		    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ),
	     IBV_WC_SUCCESS, "bind");
	for (int i = 0; i < 5; i++) {
		madvise(r.bytes, span, MADV_DONTNEED);
		c.eq(p.write(r.addr() + page + 8, w.mw->rkey, 2 * page),
		     IBV_WC_SUCCESS, "WRITE");
		c.that(r.bytes[page + 8] == 0x5a &&
			       r.bytes[3 * page + 7] == 0x5a &&
			       !r.bytes[page + 7] && !r.bytes[3 * page + 8],
		       "not there");
	}
}

void registered_anew(Dev &d, Check &c)
{
	Region r(d.pd, all_access, span), other(d.pd, paged, span);
	Pair p(d);
	ibv_mr *mr = r.mr;

	c.err(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			   paged) ? errno : 0,
	      EOPNOTSUPP, "paged from now on, the same memory");
	c.err(ibv_rereg_mr(other.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr,
			   nullptr, 0, all_access) ? errno : 0,
	      EOPNOTSUPP, "pinned from now on, the same memory");
	for (int i = 0; i < 6; i++) {
		c.err(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS |
					       IBV_REREG_MR_CHANGE_TRANSLATION,
				   nullptr, r.bytes, span,
				   i & 1 ? all_access : paged) ? errno : 0,
		      0, "paged and pinned in turn");
		madvise(r.bytes, i & 1 ? 0 : span, MADV_DONTNEED);
		c.eq(p.write(r.addr(), mr->rkey, 3 * page, 0x40 + i),
		     IBV_WC_SUCCESS, "WRITE");
		c.eq(r.bytes[3 * page - 1], 0x40 + i, "last byte");
	}
	c.err(ibv_rereg_mr(other.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr,
			   nullptr, 0, paged & ~IBV_ACCESS_REMOTE_ATOMIC) ?
		      errno : 0,
	      0, "less access");
	madvise(other.bytes, span, MADV_DONTNEED);
	c.eq(p.write(other.addr(), other.mr->rkey), IBV_WC_SUCCESS, "WRITE");
	c.eq(p.add(other.addr(), other.mr->rkey), IBV_WC_REM_ACCESS_ERR,
	     "atomic");
}

size_t resident(const Region &r)
{
	std::vector<unsigned char> in(r.size / page);
	size_t n = 0;

	if (mincore(r.bytes, r.size, in.data()))
		throw Failure("mincore");
	for (const unsigned char i : in)
		n += i & 1;
	return n;
}

int advise(Dev &d, ibv_advise_mr_advice what, bool now, const Region &r,
	   uint32_t lkey)
{
	ibv_sge sge{r.addr(), static_cast<uint32_t>(r.size), lkey};

	return ibv_advise_mr(d.pd, what, now ? IBV_ADVISE_MR_FLAG_FLUSH : 0,
			     &sge, 1);
}

void advice(Dev &d, Check &c)
{
	Region r(d.pd, paged, span), pinned(d.pd, all_access, span);
	Region ro(d.pd, IBV_ACCESS_ON_DEMAND, span);
	/* Of what is fetched some time nobody knows when: not the others. */
	Region later(d.pd, paged, span), quiet(d.pd, paged, span);

	for (const auto what : { IBV_ADVISE_MR_ADVICE_PREFETCH,
				 IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE }) {
		madvise(r.bytes, span, MADV_DONTNEED);
		c.eq(resident(r), 0u, "pages before");
		c.err(advise(d, what, true, r, r.mr->lkey), 0, "prefetch");
		c.eq(resident(r), pages, "pages fetched");
		c.err(advise(d, what, false, later, later.mr->lkey), 0,
		      "some time");
	}
	c.err(advise(d, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, true, quiet,
		     quiet.mr->lkey),
	      0, "no fault");
	c.eq(resident(quiet), 0u, "pages fetched without a fault");
	c.err(advise(d, IBV_ADVISE_MR_ADVICE_PREFETCH, true, r,
		     r.mr->lkey ^ 0x5500),
	      ENOENT, "no such key");
	c.err(advise(d, IBV_ADVISE_MR_ADVICE_PREFETCH, true, pinned,
		     pinned.mr->lkey),
	      EINVAL, "pinned");
	c.err(advise(d, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, true, ro,
		     ro.mr->lkey),
	      EPERM, "not for writing");
}
} // namespace

const char *op_name(Op op)
{
	switch (op) {
	case Op::write:
		return "WRITE";
	case Op::send:
		return "SEND";
	case Op::read:
		return "READ";
	case Op::compare:
		return "compare and swap";
	default:
		return "fetch and add";
	}
}

bool has_paging(Dev &d)
{
	ibv_device_attr_ex attr{};

	if (ibv_query_device_ex(d.ctx, nullptr, &attr))
		throw Failure("query_device_ex");
	return attr.odp_caps.general_caps & IBV_ODP_SUPPORT;
}

void post(Pair &p, Op op, const ibv_mr *local, uint64_t laddr,
	  const ibv_mr *remote, uint64_t raddr, uint32_t len)
{
	const uint32_t n = atomic_op(op) ? 8 : len;
	ibv_sge sge{laddr, n, local->lkey}, rsge{raddr, n, remote->lkey};
	ibv_send_wr wr{}, *bad;
	ibv_recv_wr rwr{}, *rbad;

	wr.wr_id = send_id;
	wr.opcode = opcode(op);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = raddr;
	wr.wr.rdma.rkey = remote->rkey;
	if (atomic_op(op)) {
		wr.wr.atomic.remote_addr = raddr;
		wr.wr.atomic.rkey = remote->rkey;
		wr.wr.atomic.compare_add = op == Op::add ? 3 : 0;
		wr.wr.atomic.swap = 5;
	}
	rwr.wr_id = recv_id;
	rwr.sg_list = &rsge;
	rwr.num_sge = 1;
	if (op == Op::send && ibv_post_recv(p.b, &rwr, &rbad))
		throw Failure("receive");
	if (ibv_post_send(p.a, &wr, &bad))
		throw Failure("post");
}

Outcome finish(Pair &p, Op op)
{
	using clock = std::chrono::steady_clock;
	const auto limit = clock::now() + std::chrono::seconds(60);
	Outcome o{IBV_WC_SUCCESS, IBV_WC_SUCCESS};
	int left = op == Op::send ? 2 : 1;
	ibv_wc wc;

	while (left) {
		if (clock::now() > limit)
			throw Failure(std::string("no completion of ") +
				      op_name(op));
		if (ibv_poll_cq(p.cq, 1, &wc) != 1) {
			std::this_thread::yield();
			continue;
		}
		(wc.wr_id == send_id ? o.sender : o.receiver) = wc.status;
		left--;
		/* Nothing was sent, so nothing is received. */
		if (o.sender == IBV_WC_LOC_PROT_ERR)
			break;
	}
	return o;
}

Outcome transfer(Pair &p, Op op, const ibv_mr *local, uint64_t laddr,
		 const ibv_mr *remote, uint64_t raddr, uint32_t len)
{
	post(p, op, local, laddr, remote, raddr, len);
	return finish(p, op);
}

void test_paging(Dev &d, tap::Report &report, const std::string &part)
{
	const Part run{d, report, part};

	if (!has_paging(d))
		return;
	run("paging: pages that were thrown away", thrown_away);
	run("paging: pages that were never touched", untouched);
	run("paging: memory mapped anew", mapped_anew);
	run("paging: copies on write", copied_on_write);
	run("paging: pages taken away under traffic", taken_away);
	run("paging: pages that only the device has written",
	    written_by_device);
	run("paging: through a window", through_window);
	run("paging: registered anew", registered_anew);
	run("paging: advice", advice);
}
