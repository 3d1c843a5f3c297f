// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "world.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>

#include "../common/check.hpp"
#include "netns.hpp"

namespace devfuzz
{
namespace
{
constexpr std::size_t guard_size = 16384;
constexpr uint8_t guard_byte = 0xa5;

ibv_context *open_device(const std::string &name)
{
	int n = 0;
	ibv_device **list = made(ibv_get_device_list(&n), "list of devices");
	ibv_context *ctx = nullptr;

	for (int i = 0; i < n && !ctx; i++)
		if (name == ibv_get_device_name(list[i]))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return ctx;
}

uint8_t *pages(std::size_t size)
{
	void *mem = mmap(nullptr, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		throw Failure("no memory");
	return static_cast<uint8_t *>(mem);
}

/* Destroys those that nothing uses any more; the number of these. */
template <typename T, typename F>
std::size_t destroy(std::vector<T> &all, F one)
{
	return std::erase_if(all, [&](T &object) { return one(object) == 0; });
}
} // namespace

World::World(Board &b, const Host &host, uint64_t seed) : board(b), rng(seed)
{
	arena = pages(arena_size);
	guard_ = pages(guard_size);
	std::memset(guard_, guard_byte, guard_size);
	ctx = open_device(host.device);
	if (!ctx)
		throw No_device(host.device + ": " + errno_text(errno));
	/* Actions ask for events, and do not wait for them. */
	fcntl(ctx->async_fd, F_SETFL,
	      fcntl(ctx->async_fd, F_GETFL) | O_NONBLOCK);

	ibv_device_attr attr{};

	if (!ibv_query_device(ctx, &attr))
		ports = attr.phys_port_cnt;
	for (int i = 0; i < 16; i++) {
		ibv_gid gid;

		if (!ibv_query_gid(ctx, 1, i, &gid) && gid.global.interface_id)
			gids.push_back(gid);
	}
	/* A region that peers cannot know the key of: nobody announces it. */
	guard_pd_ = ibv_alloc_pd(ctx);
	if (guard_pd_)
		guard_mr_ = ibv_reg_mr(guard_pd_, guard_, guard_size, 0);
}

World::~World()
{
	if (ctx)
		ibv_close_device(ctx);
}

bool World::guard_intact() const
{
	return std::all_of(guard_, guard_ + guard_size,
			   [](uint8_t b) { return b == guard_byte; });
}

void World::destroy_all()
{
	std::size_t n;

	do {
		n = destroy(ahs, ibv_destroy_ah);
		n += destroy(qps, [&](Queue_pair &q) {
			return destroy_qp(*this, q);
		});
		n += destroy(hints, mrc_destroy_qp_hint);
		n += destroy(srqs, ibv_destroy_srq);
		n += destroy(mrc_cqs, mrc_destroy_cq);
		n += destroy(event_cqs, mrc_destroy_cq);
		n += destroy(cqs, ibv_destroy_cq);
		n += destroy(channels, ibv_destroy_comp_channel);
		n += destroy(mws, ibv_dealloc_mw);
		n += destroy(mrs, [](Region &r) { return ibv_dereg_mr(r.mr); });
		n += destroy(pds, ibv_dealloc_pd);
	} while (n);
	if (mrc && !mrc_destroy_context(mrc))
		mrc = nullptr;
	if (guard_mr_)
		ibv_dereg_mr(guard_mr_);
	if (guard_pd_)
		ibv_dealloc_pd(guard_pd_);
}

std::span<uint8_t> World::some_memory(uint64_t longest)
{
	const uint64_t len = std::min<uint64_t>(
		1 + (rng.chance(50) ? rng.below(64) : rng.below(longest)),
		arena_size);
	const uint64_t most = arena_size - len;
	uint64_t at = rng.below(most + 1);

	if (rng.chance(40))
		at = at / 4096 * 4096;
	return {arena + at, len};
}

ibv_sge World::some_sge()
{
	ibv_sge s{};

	if (mrs.empty() || rng.chance(2)) {
		s.addr = rng.nasty();
		s.length = static_cast<uint32_t>(rng.nasty());
		s.lkey = static_cast<uint32_t>(rng.any());
		return s;
	}
	const Region &r = rng.pick(mrs);
	const uint64_t at = rng.below(r.len ? r.len : 1);
	uint64_t len = rng.below(r.len - at + (r.len ? 0 : 1) + 1);

	if (rng.chance(70))
		len = std::min<uint64_t>(len, 9000);
	s.addr = r.addr + at;
	s.length = static_cast<uint32_t>(len);
	s.lkey = r.mr->lkey;
	if (rng.chance(2))
		s.length += static_cast<uint32_t>(rng.below(100000));
	return s;
}

Queue_pair &World::busy_qp()
{
	for (unsigned tries = 0; tries < 10; tries++) {
		Queue_pair &q = rng.pick(qps);

		if (q.up)
			return q;
	}
	return rng.pick(qps);
}

ibv_gid World::some_gid(uint8_t &port, uint8_t &index)
{
	ibv_gid gid{};

	port = static_cast<uint8_t>(rng.range(1, ports));
	index = static_cast<uint8_t>(
		rng.below(std::max<std::size_t>(gids.size(), 1)));
	(void)ibv_query_gid(ctx, port, index, &gid);
	return gid;
}
} // namespace devfuzz
