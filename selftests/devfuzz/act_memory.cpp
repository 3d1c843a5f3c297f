// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Protection domains, regions, windows, and the pages below them. */
#include <array>
#include <cerrno>
#include <sys/mman.h>

#include "world.hpp"

namespace devfuzz
{
namespace
{
constexpr int all_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

int alloc_pd(World &w)
{
	ibv_pd *pd = ibv_alloc_pd(w.ctx);

	return World::keep(w.pds, pd);
}

int dealloc_pd(World &w)
{
	return w.end_one(w.pds, 2, ibv_dealloc_pd);
}

int keep(World &w, ibv_mr *mr, uint64_t addr, uint64_t len)
{
	if (!mr)
		return errno;
	w.mrs.push_back({mr, addr, len});
	return 0;
}

int reg_mr(World &w, int extra)
{
	ibv_pd *pd = w.some(w.pds);
	const auto mem = w.some_memory(w.rng.chance(20) ? 1 << 20 : 65536);
	int access = all_access;

	if (!pd || w.mrs.size() > 40)
		return nothing_to_do;
	if (w.rng.chance(30))
		access = static_cast<int>(w.rng.bits(
			all_access | IBV_ACCESS_MW_BIND |
			IBV_ACCESS_ZERO_BASED | IBV_ACCESS_FLUSH_GLOBAL));
	if (w.rng.chance(30))
		access |= IBV_ACCESS_MW_BIND;
	access |= extra;
	const uint64_t addr = access & IBV_ACCESS_ZERO_BASED
				      ? 0
				      : reinterpret_cast<uintptr_t>(mem.data());

	return keep(w, ibv_reg_mr(pd, mem.data(), mem.size(), access), addr,
		    mem.size());
}

int reg(World &w)
{
	return reg_mr(w, 0);
}

int reg_paged(World &w)
{
	return reg_mr(w, IBV_ACCESS_ON_DEMAND);
}

/* Addresses chosen by the program. */
int reg_iova(World &w)
{
	ibv_pd *pd = w.some(w.pds);
	const auto mem = w.some_memory(65536);
	uint64_t iova = w.rng.chance(50) ? w.rng.nasty() : w.rng.any();

	/* They begin in a page where the memory does. */
	if (w.rng.chance(90))
		iova = (iova & ~4095ull) |
		       (reinterpret_cast<uintptr_t>(mem.data()) & 4095);

	if (!pd || w.mrs.size() > 40)
		return nothing_to_do;
	return keep(
		w,
		ibv_reg_mr_iova(pd, mem.data(), mem.size(), iova, all_access),
		iova, mem.size());
}

/* What cannot be registered, mostly. */
int reg_odd(World &w)
{
	ibv_pd *pd = w.some(w.pds);

	if (!pd || w.mrs.size() > 40)
		return nothing_to_do;
	const uint64_t addr = w.rng.nasty(), len = w.rng.nasty();

	return keep(w,
		    ibv_reg_mr(pd, reinterpret_cast<void *>(addr), len,
			       static_cast<int>(w.rng.bits(0xff))),
		    addr, len);
}

/* All that there is and will be of the program's memory. */
int reg_implicit(World &w)
{
	ibv_pd *pd = w.some(w.pds);

	if (!pd || w.mrs.size() > 40)
		return nothing_to_do;
	ibv_mr *mr = ibv_reg_mr(pd, nullptr, SIZE_MAX,
				IBV_ACCESS_ON_DEMAND | all_access);

	return keep(w, mr, reinterpret_cast<uintptr_t>(w.arena),
		    World::arena_size);
}

int rereg(World &w)
{
	if (w.mrs.empty())
		return nothing_to_do;
	Region &r = w.rng.pick(w.mrs);
	const auto mem = w.some_memory(65536);
	const int flags = static_cast<int>(w.rng.range(1, 7));
	const int err = ibv_rereg_mr(
		r.mr, flags, w.some(w.pds), mem.data(), mem.size(),
		w.rng.chance(50) ? all_access
				 : static_cast<int>(w.rng.bits(0xff)));

	if (!err && flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		r.addr = reinterpret_cast<uintptr_t>(mem.data());
		r.len = mem.size();
	}
	return err ? errno : 0;
}

int dereg(World &w)
{
	return w.end_one(w.mrs, 1,
			 [](const Region &r) { return ibv_dereg_mr(r.mr); });
}

int advise(World &w)
{
	ibv_pd *pd = w.some(w.pds);
	std::array<ibv_sge, 3> sge;

	if (!pd)
		return nothing_to_do;
	for (ibv_sge &s : sge)
		s = w.some_sge();
	/* All of one domain, mostly. */
	if (!w.mrs.empty() && w.rng.chance(80)) {
		const Region &r = w.rng.pick(w.mrs);

		pd = r.mr->pd;
		for (ibv_sge &s : sge)
			s = {r.addr, static_cast<uint32_t>(r.len), r.mr->lkey};
	}
	return ibv_advise_mr(pd,
			     static_cast<ibv_advise_mr_advice>(w.rng.below(4)),
			     static_cast<uint32_t>(w.rng.below(3)), sge.data(),
			     static_cast<uint32_t>(w.rng.range(1, 3)));
}

/* Pages that regions are made of go, are new, or cannot be written. */
int change_pages(World &w)
{
	const auto mem = w.some_memory(1 << 18);
	uint8_t *at = w.arena + (mem.data() - w.arena) / 4096 * 4096;
	const std::size_t len = (mem.size() + 4095) / 4096 * 4096;

	if (at + len > w.arena + World::arena_size)
		return nothing_to_do;
	switch (w.rng.below(4)) {
	case 0:
		return madvise(at, len, MADV_DONTNEED) ? errno : 0;
	case 1:
		return mprotect(at, len, PROT_READ) ? errno : 0;
	case 2:
		return mprotect(at, len, PROT_READ | PROT_WRITE) ? errno : 0;
	default:
		return mmap(at, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			    0) == MAP_FAILED
			       ? errno
			       : 0;
	}
}

int alloc_mw(World &w)
{
	ibv_pd *pd = w.some(w.pds);

	if (!pd || w.mws.size() > 20)
		return nothing_to_do;
	ibv_mw *mw =
		ibv_alloc_mw(pd, w.rng.one_of(IBV_MW_TYPE_1, IBV_MW_TYPE_2));

	return World::keep(w.mws, mw);
}

int dealloc_mw(World &w)
{
	return w.end_one(w.mws, 1, ibv_dealloc_mw);
}

int bind_mw(World &w)
{
	if (w.qps.empty() || w.mws.empty() || w.mrs.empty())
		return nothing_to_do;
	const Queue_pair &q = w.rng.pick(w.qps);
	ibv_mw *mw = w.rng.pick(w.mws);
	const ibv_sge s = w.some_sge();
	ibv_mw_bind bind{};

	if (!q.qp || mw->type != IBV_MW_TYPE_1)
		return nothing_to_do;
	bind.wr_id = w.rng.any();
	bind.send_flags = w.rng.chance(50) ? IBV_SEND_SIGNALED : 0;
	bind.bind_info.mr = w.rng.pick(w.mrs).mr;
	bind.bind_info.addr = s.addr;
	bind.bind_info.length = s.length;
	bind.bind_info.mw_access_flags =
		static_cast<unsigned>(w.rng.bits(all_access));
	return ibv_bind_mw(q.qp, mw, &bind);
}

constexpr Action actions[] = {
	{"alloc_pd", 4, alloc_pd},
	{"dealloc_pd", 1, dealloc_pd},
	{"reg_mr", 10, reg},
	{"reg_paged_mr", 5, reg_paged},
	{"reg_mr_iova", 2, reg_iova},
	{"reg_odd_mr", 2, reg_odd},
	{"reg_implicit_mr", 1, reg_implicit},
	{"rereg_mr", 3, rereg},
	{"dereg_mr", 5, dereg},
	{"advise_mr", 2, advise},
	{"change_pages", 5, change_pages},
	{"alloc_mw", 3, alloc_mw},
	{"dealloc_mw", 2, dealloc_mw},
	{"bind_mw", 3, bind_mw},
};
} // namespace

std::span<const Action> memory_actions()
{
	return actions;
}
} // namespace devfuzz
