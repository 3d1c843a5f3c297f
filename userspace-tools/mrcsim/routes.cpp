// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "routes.hpp"

#include <algorithm>

#include "random.hpp"

namespace mrcsim
{
namespace
{
u64 magic_of(u32 divisor)
{
	return ((u64{1} << 40) + divisor - 1) / divisor;
}
} // namespace

Routes::Routes(const Shape &shape, const Settings &s, const Derived &d)
	: seed_(s.seed), t0_magic_(magic_of(shape.hosts)),
	  pod_magic_(magic_of(shape.t0)),
	  plane_links_(static_cast<u32>(shape.links_of_plane())),
	  all_hosts_(shape.all_hosts()), planes_(shape.planes),
	  bundle_(shape.bundle), uplinks_(std::max(shape.uplinks(), 1u)),
	  t1_of_pod_(shape.t1), t1_uplinks_(std::max(shape.t1_uplinks, 1u)),
	  path_count_(shape.paths()), evs_(d.evs), srv6_(shape.srv6),
	  three_(shape.tiers == 3), blind_(s.column == Column::oblivious)
{
	for (std::size_t k = 0; k < kinds; k++)
		at_[k] = shape.id(0, static_cast<Kind>(k), 0);
}

/*
 * Without looking at EVs: all paths, or all EVs where switches hash, once in a
 * round, and in another order in each. @walk counts packets.
 */
u32 Routes::step(const PathMap &map, u32 src, u32 walk) const
{
	const u32 all = srv6_ ? path_count_ : evs_;
	const u32 at = walk % all;
	const u32 turn = below(draw(seed_, Draws::walk,
				    u64{map.start} << 32 | src, walk / all),
			       all);

	return all & (all - 1) ? (at + turn) % all : at ^ turn;
}

void Routes::choose(u32 src, u32 dst, const mrc_tx_desc &d, const PathMap &map,
		    u32 &walk, Packet &k) const
{
	const u32 t0 = t0_of(src);
	u32 n;

	k.dst = dst;
	if (t0 == t0_of(dst)) {
		k.up0 = k.up1 = 0;
		return;
	}
	if (blind_)
		n = step(map, src, walk++);
	else if (srv6_ && d.ev >= 0)
		n = (map.start + static_cast<u32>(d.ev) / planes_ * map.stride +
		     d.port - 1u) %
		    path_count_;
	else if (srv6_)
		n = below(draw(seed_, Draws::hash, d.entropy, src),
			  path_count_);
	else
		n = d.entropy;
	if (!srv6_) {
		/* Each switch has its own hash. */
		const u64 flow =
			(u64{src} << 44 ^ u64{dst} << 24 ^ u64{d.port} << 20) +
			scatter(n);
		const u64 t1 = u64{pod_of(t0)} * t1_of_pod_;

		k.up0 = static_cast<u16>(
			below(draw(seed_, Draws::hash, flow, t0), uplinks_));
		k.up1 = three_ ? static_cast<u16>(
					 below(draw(seed_, Draws::hash, flow,
						    (u64{1} << 32) + t1 +
							    k.up0 / bundle_),
					       t1_uplinks_))
			       : 0;
		return;
	}
	k.up0 = static_cast<u16>(n % uplinks_);
	k.up1 = static_cast<u16>(three_ ? n / uplinks_ : 0);
}
} // namespace mrcsim
