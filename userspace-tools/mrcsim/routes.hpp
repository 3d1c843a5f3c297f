/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: the way of a packet. It is known as soon as the packet is sent: by
 * the EV where senders choose paths, else by the hashes of the switches.
 */
#pragma once

#include "link.hpp"
#include "packet.hpp"
#include "qp.hpp"
#include "settings.hpp"

namespace mrcsim
{
class Routes
{
public:
	Routes(const Shape &shape, const Settings &s, const Derived &d);

	/* The direction from @host into plane @port, which counts from 1. */
	u32 host_up(u32 host, u32 port) const
	{
		return (port - 1) * plane_links_ + host;
	}
	u32 host_of(u32 host_link) const
	{
		return host_link % plane_links_ % all_hosts_;
	}

	/* The link that @k takes after @l, which does not lead to a host. */
	u32 next_link(const Link &l, const Packet &k) const
	{
		const u32 plane = (k.port - 1u) * plane_links_;
		const u32 t0 = t0_of(k.dst);
		const auto first = [this, plane](Kind of) {
			return plane + at_[static_cast<std::size_t>(of)];
		};

		switch (static_cast<Kind>(l.kind)) {
		case Kind::host_up:
			return l.to == t0 ? first(Kind::host_down) + k.dst
					  : first(Kind::t0_up) +
						    l.to * uplinks_ + k.up0;
		case Kind::t0_up:
			if (three_ && l.to / t1_of_pod_ != pod_of(t0))
				return first(Kind::t1_up) + l.to * t1_uplinks_ +
				       k.up1;
			[[fallthrough]];
		case Kind::t2_down:
			return first(Kind::t1_down) + t0 * uplinks_ + k.up0;
		case Kind::t1_up:
			return first(Kind::t2_down) +
			       (pod_of(t0) * t1_of_pod_ + k.up0 / bundle_) *
				       t1_uplinks_ +
			       k.up1;
		default: /* t1_down */
			return first(Kind::host_down) + k.dst;
		}
	}

	/*
	 * Sets the way of packet @k from @src to @dst, which the engine has
	 * described by @d. @walk counts the packets of this end of the queue
	 * pair that look at no EV.
	 */
	void choose(u32 src, u32 dst, const mrc_tx_desc &d, const PathMap &map,
		    u32 &walk, Packet &k) const;

private:
	u32 t0_of(u32 host) const
	{
		return static_cast<u32>(host * t0_magic_ >> 40);
	}
	u32 pod_of(u32 t0) const
	{
		return static_cast<u32>(t0 * pod_magic_ >> 40);
	}
	u32 step(const PathMap &map, u32 src, u32 walk) const;

	u64 seed_;
	u64 t0_magic_, pod_magic_;
	u32 at_[kinds]; /* first direction of each kind in a plane */
	u32 plane_links_, all_hosts_;
	u32 planes_, bundle_;
	u32 uplinks_, t1_of_pod_, t1_uplinks_, path_count_;
	u32 evs_;
	bool srv6_, three_, blind_;
};
} // namespace mrcsim
