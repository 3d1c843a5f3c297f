// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "settings.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "error.hpp"
#include "link.hpp"
#include "roce.hpp"

namespace mrcsim
{
using mrclab::UsageError;

const char *column_name(Column c)
{
	switch (c) {
	case Column::ecmp:
		return "ecmp";
	case Column::oblivious:
		return "oblivious";
	case Column::roce:
		return "roce";
	case Column::roce_pfc:
		return "roce-pfc";
	default:
		return "mrc";
	}
}

Column column_of(const std::string &word)
{
	for (const Column c :
	     {Column::mrc, Column::ecmp, Column::oblivious, Column::roce,
	      Column::roce_pfc})
		if (word == column_name(c))
			return c;
	throw UsageError(
		fmt::format("\"{}\" is none of mrc, ecmp, oblivious, roce, roce-pfc",
			    word));
}

namespace
{
u32 nominal_of(u32 pmtu)
{
	mrc_hdr h{};

	h.opcode = MRC_OP_WRITE_MIDDLE;
	h.ts = true;
	return mrc_nominal_size(mrc_hdr_len(&h), pmtu);
}

u32 control_size(s32 extra)
{
	mrc_hdr h{};

	h.opcode = MRC_OP_SACK;
	return static_cast<u32>(
		static_cast<s32>(mrc_nominal_size(mrc_hdr_len(&h), 0)) + extra);
}

/* The smallest range of PSNs whose window holds 1.5 BDP. */
u32 range_for(u64 window, u32 nominal)
{
	u32 mpr = 4;

	while (mpr < 128 &&
	       u64{MRC_CC_WINDOW_PKTS(mpr * 128)} * nominal < window)
		mpr *= 2;
	return mpr;
}
} // namespace

Derived derive(const Shape &shape, const Settings &s)
{
	Derived d;

	if (s.pmtu < 256 || s.pmtu > 4096 || (s.pmtu & (s.pmtu - 1)))
		throw UsageError(fmt::format(
			"a path MTU of {} bytes; 256, 512, 1024, 2048 and 4096 "
			"are possible",
			s.pmtu));
	if (s.extra < -36 || s.extra > 256)
		throw UsageError(fmt::format(
			"{} bytes beyond the nominal size; -36 to 256 are "
			"possible",
			s.extra));
	if (s.evs < 1 || s.evs > MRC_EV_MAX)
		throw UsageError(fmt::format("{} EVs; 1 to {} are possible",
					     s.evs, MRC_EV_MAX));
	if (s.mpr > 255)
		throw UsageError("a range of PSNs is 1 to 255 times 128");
	d.nominal = nominal_of(s.pmtu);
	d.packet = static_cast<u32>(static_cast<s32>(d.nominal) + s.extra);
	check_shape(shape, d.packet);
	d.nic_rate = shape.of(Kind::host_up).rate * shape.planes;
	d.base_rtt = s.base_rtt ? s.base_rtt
				: (2 * shape.path_delay() +
				   shape.path_sending(d.packet) +
				   shape.path_sending(control_size(s.extra))) /
					  1000;
	for (std::size_t k = 0; k < kinds; k++)
		d.trim |=
			shape.count(static_cast<Kind>(k)) && shape.spec[k].trim;

	/* A path needs no two EVs where senders choose it. */
	const u32 per_plane = std::max(s.evs / shape.planes, 1u);

	d.evs = shape.planes * (s.column == Column::ecmp ? 1
				: shape.srv6
					? std::min(per_plane, shape.paths())
					: per_plane);
	/* bit/s * ns / 8 / 1e9 * 1.5 */
	const u64 bdp =
		static_cast<u64>(static_cast<unsigned __int128>(d.nic_rate) *
				 d.base_rtt / 8'000'000'000);

	d.mpr = s.mpr ? s.mpr : range_for(bdp + bdp / 2, d.nominal);
	d.nic_depth = s.nic_depth ? s.nic_depth : shape.planes > 1 ? 4 : 1;
	d.link_memory = shape.links() * (sizeof(Link) + sizeof(LinkLoss));
	d.qp_memory = is_roce(s.column)
			      ? sizeof(RoceQp)
			      : QpMaker(shape, s, d).qp_memory();
	return d;
}
} // namespace mrcsim
