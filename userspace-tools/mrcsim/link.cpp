// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "link.hpp"

#include <fmt/format.h>

#include "cut.hpp"
#include "error.hpp"
#include "packet.hpp"

namespace mrcsim
{
namespace
{
constexpr u64 never = ~0ull;

u64 room(u64 bytes, u64 byte)
{
	return bytes ? bytes * byte >> byte_time_shift : never;
}
} // namespace

LinkClass::LinkClass(const LinkSpec &s, u32 packet_bytes)
	: byte(byte_time(s.rate)), delay(s.delay),
	  packet(packet_bytes * byte >> byte_time_shift),
	  drop(room(s.queue, byte)), trim(room(s.trim, byte)),
	  mark_min(s.mark_max ? s.mark_min * byte >> byte_time_shift : never),
	  mark_max(s.mark_max * byte >> byte_time_shift),
	  loss(static_cast<u64>(s.loss * 4294967296.0)),
	  trim_len(static_cast<u16>(s.trim_len))
{
}

Links::Links(const Shape &shape, u32 packet)
	: packet_bytes_(packet), links_(shape.links()), losses_(shape.links())
{
	for (const LinkSpec &s : shape.spec) {
		specs_.push_back(s);
		/* Kinds without links have no rate. */
		classes_.emplace_back(s.rate ? s : LinkSpec{.rate = 1'000'000},
				      packet);
	}

	u32 id = 0;

	for (u32 plane = 0; plane < shape.planes; plane++)
		for (std::size_t k = 0; k < kinds; k++) {
			const auto kind = static_cast<Kind>(k);
			const u64 n = shape.count(kind);

			for (u64 i = 0; i < n; i++, id++) {
				Link &l = links_[id];

				l.head[0] = l.head[1] = no_packet;
				l.cls = static_cast<u16>(k);
				l.kind = static_cast<u8>(k);
				switch (kind) {
				case Kind::host_up:
					l.to = static_cast<u32>(i) /
					       shape.hosts;
					break;
				case Kind::host_down:
					l.to = static_cast<u32>(i);
					break;
				case Kind::t0_up: {
					const u32 t0 = static_cast<u32>(
						i / shape.uplinks());

					l.to = t0 / shape.t0 * shape.t1 +
					       static_cast<u32>(
						       i % shape.uplinks()) /
						       shape.bundle;
					break;
				}
				case Kind::t1_down:
					l.to = static_cast<u32>(
						i / shape.uplinks());
					break;
				case Kind::t1_up:
				case Kind::t2_down:
					l.to = static_cast<u32>(
						i / shape.t1_uplinks);
					break;
				}
			}
		}
	for (const LinkException &e : shape.exceptions)
		set(e.link, e.spec, 0);
}

void Links::set_partitions(const Shape &shape, const Cut &cut)
{
	u32 id = 0;

	for (u32 plane = 0; plane < shape.planes; plane++)
		for (std::size_t k = 0; k < kinds; k++) {
			const auto kind = static_cast<Kind>(k);

			for (u64 i = 0; i < shape.count(kind); i++)
				links_[id++].behind =
					static_cast<u16>(cut.behind(kind, i));
		}
}

void Links::set_down(u32 id, bool down, u64 now)
{
	Link &l = links_[id];

	if (is_down(id) == down)
		return;
	l.epoch++;
	if (!down)
		l.data_free = l.control_free = now;
}

LinkSpec Links::spec(u32 id) const
{
	return specs_[links_[id].cls];
}

void Links::set(u32 id, const LinkSpec &spec, u64 now)
{
	Link &l = links_[id];
	std::size_t n = 0;

	while (n < specs_.size() && !(specs_[n] == spec))
		n++;
	if (n == specs_.size()) {
		if (n > 0xffff)
			throw mrclab::UsageError("links have more than 65536 "
						 "different settings");
		specs_.push_back(spec);
		classes_.emplace_back(spec, packet_bytes_);
	}
	/* What is queued takes as much longer as the link is slower. */
	if (l.data_free > now) {
		const unsigned __int128 rest = l.data_free - now;

		l.data_free = now + static_cast<u64>(rest * classes_[n].byte /
						     classes_[l.cls].byte);
	}
	l.cls = static_cast<u16>(n);
}
} // namespace mrcsim
