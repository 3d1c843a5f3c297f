// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What programs do by libMRC, beside what queue pairs of both libraries share.
 */
#include <cerrno>

#include "world.hpp"

namespace devfuzz
{
namespace
{
int create_context(World &w)
{
	if (w.mrc)
		return nothing_to_do;
	mrc_context_attr attr{};

	attr.mrc_api_version_used = MRC_API_VER(1, 0, 1);
	if (w.rng.chance(5))
		attr.mrc_api_version_used =
			static_cast<uint32_t>(w.rng.nasty());
	w.mrc = mrc_create_context(w.ctx, &attr);
	return w.mrc ? 0 : errno;
}

int create_cq(World &w)
{
	if (!w.mrc || w.mrc_cqs.size() > 6)
		return nothing_to_do;
	mrc_cq *cq = mrc_create_cq(w.mrc, static_cast<int>(w.rng.size(200)),
				   nullptr, nullptr, 0);

	return World::keep(w.mrc_cqs, cq);
}

int destroy_cq(World &w)
{
	return w.end_one(w.mrc_cqs, 2, [](mrc_cq *one) {
		return mrc_destroy_cq(one) ? errno : 0;
	});
}

int create_hint(World &w)
{
	mrc_qp_hint_init_attr init{};

	if (!w.mrc || w.hints.size() > 8)
		return nothing_to_do;
	init.attr.num_qps_per_peer = static_cast<int>(w.rng.nasty());
	init.attr.num_send_peers = static_cast<int>(w.rng.nasty());
	init.attr.num_remote_recv_peers = static_cast<int>(w.rng.nasty());
	mrc_qp_hint *h = mrc_create_qp_hint(w.mrc, &init);

	return World::keep(w.hints, h);
}

int modify_hint(World &w)
{
	mrc_qp_hint *h = w.some(w.hints);
	mrc_qp_hint_attr attr{};

	if (!h)
		return nothing_to_do;
	attr.num_qps_per_peer = static_cast<int>(w.rng.below(20));
	return mrc_modify_qp_hint(h, &attr, static_cast<int>(w.rng.bits(7)))
		       ? errno
		       : 0;
}

int destroy_hint(World &w)
{
	return w.end_one(w.hints, 1, [](mrc_qp_hint *one) {
		return mrc_destroy_qp_hint(one) ? errno : 0;
	});
}

constexpr Action actions[] = {
	{"mrc_create_context", 4, create_context},
	{"mrc_create_cq", 4, create_cq},
	{"mrc_destroy_cq", 1, destroy_cq},
	{"mrc_create_qp_hint", 1, create_hint},
	{"mrc_modify_qp_hint", 1, modify_hint},
	{"mrc_destroy_qp_hint", 1, destroy_hint},
};
} // namespace

std::span<const Action> mrc_actions()
{
	return actions;
}
} // namespace devfuzz
