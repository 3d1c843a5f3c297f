// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues, shared receive queues, and events. */
#include <array>
#include <cerrno>
#include <fcntl.h>

#include "world.hpp"

namespace devfuzz
{
namespace
{
int create_channel(World &w)
{
	if (w.channels.size() > 6)
		return nothing_to_do;
	ibv_comp_channel *c = ibv_create_comp_channel(w.ctx);

	if (!c)
		return errno;
	fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
	w.channels.push_back(c);
	return 0;
}

int destroy_channel(World &w)
{
	return w.end_one(w.channels, 1, ibv_destroy_comp_channel);
}

int create_cq(World &w)
{
	if (w.cqs.size() > 12)
		return nothing_to_do;
	const int size = static_cast<int>(w.rng.size(300));
	ibv_cq *cq = ibv_create_cq(
		w.ctx, size, nullptr,
		w.rng.chance(60) ? w.some(w.channels) : nullptr,
		static_cast<int>(w.rng.chance(90) ? 0 : w.rng.nasty()));

	return World::keep(w.cqs, cq);
}

int resize_cq(World &w)
{
	ibv_cq *cq = w.some(w.cqs);

	if (!cq)
		return nothing_to_do;
	return ibv_resize_cq(cq, static_cast<int>(w.rng.size(400)));
}

int destroy_cq(World &w)
{
	return w.end_one(w.cqs, 2, ibv_destroy_cq);
}

int notify(World &w)
{
	ibv_cq *cq = w.some(w.cqs);

	return cq ? ibv_req_notify_cq(cq, static_cast<int>(w.rng.below(2)))
		  : nothing_to_do;
}

int get_event(World &w)
{
	ibv_comp_channel *c = w.some(w.channels);
	ibv_cq *cq = nullptr;
	void *context;

	if (!c)
		return nothing_to_do;
	if (ibv_get_cq_event(c, &cq, &context))
		return errno;
	ibv_ack_cq_events(cq, 1);
	return 0;
}

int get_async_event(World &w)
{
	ibv_async_event e;

	if (ibv_get_async_event(w.ctx, &e))
		return errno;
	ibv_ack_async_event(&e);
	return 0;
}

int create_srq(World &w)
{
	ibv_pd *pd = w.some(w.pds);
	ibv_srq_init_attr init{};

	if (!pd || w.srqs.size() > 6)
		return nothing_to_do;
	init.attr.max_wr = static_cast<uint32_t>(w.rng.size(128));
	init.attr.max_sge = static_cast<uint32_t>(w.rng.size(4));
	ibv_srq *srq = ibv_create_srq(pd, &init);

	return World::keep(w.srqs, srq);
}

int modify_srq(World &w)
{
	ibv_srq *srq = w.some(w.srqs);
	ibv_srq_attr attr{};

	if (!srq)
		return nothing_to_do;
	attr.max_wr = static_cast<uint32_t>(w.rng.size(200));
	attr.srq_limit = static_cast<uint32_t>(w.rng.below(20));
	return ibv_modify_srq(srq, &attr, static_cast<int>(w.rng.range(1, 3)));
}

int query_srq(World &w)
{
	ibv_srq *srq = w.some(w.srqs);
	ibv_srq_attr attr;

	return srq ? ibv_query_srq(srq, &attr) : nothing_to_do;
}

int destroy_srq(World &w)
{
	return w.end_one(w.srqs, 1, ibv_destroy_srq);
}

int post_srq_recv(World &w)
{
	ibv_srq *srq = w.some(w.srqs);
	std::array<ibv_sge, 4> sge;
	ibv_recv_wr wr{}, *bad;

	if (!srq)
		return nothing_to_do;
	wr.wr_id = w.rng.any();
	wr.sg_list = sge.data();
	wr.num_sge = static_cast<int>(w.rng.below(4));
	for (ibv_sge &s : sge)
		s = w.some_sge();
	int err = 0;

	for (uint64_t n = w.rng.below(16); !err && n; n--)
		err = ibv_post_srq_recv(srq, &wr, &bad);
	return err;
}

constexpr Action actions[] = {
	{"create_comp_channel", 2, create_channel},
	{"destroy_comp_channel", 1, destroy_channel},
	{"create_cq", 6, create_cq},
	{"resize_cq", 3, resize_cq},
	{"destroy_cq", 2, destroy_cq},
	{"req_notify_cq", 3, notify},
	{"get_cq_event", 3, get_event},
	{"get_async_event", 3, get_async_event},
	{"create_srq", 3, create_srq},
	{"modify_srq", 3, modify_srq},
	{"query_srq", 1, query_srq},
	{"destroy_srq", 1, destroy_srq},
	{"post_srq_recv", 6, post_srq_recv},
};
} // namespace

std::span<const Action> queue_actions()
{
	return actions;
}
} // namespace devfuzz
