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

	if (!cq)
		return errno;
	w.mrc_cqs.push_back(cq);
	return 0;
}

int destroy_cq(World &w)
{
	if (w.mrc_cqs.size() < 2)
		return nothing_to_do;
	mrc_cq *cq = w.take(w.mrc_cqs);

	if (!mrc_destroy_cq(cq))
		return 0;
	w.mrc_cqs.push_back(cq);
	return errno;
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

	if (!h)
		return errno;
	w.hints.push_back(h);
	return 0;
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
	if (w.hints.empty())
		return nothing_to_do;
	mrc_qp_hint *h = w.take(w.hints);

	if (!mrc_destroy_qp_hint(h))
		return 0;
	w.hints.push_back(h);
	return errno;
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
