// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: where each message goes and what it holds, and what to count.
 */
#include "layout.h"

#include <algorithm>

#include "common.h"

namespace
{
constexpr uint64_t memory_budget = 64u << 20; /* bytes, one direction */
}

void Totals::add(const Totals &o)
{
	msgs += o.msgs;
	bytes += o.bytes;
	imm += o.imm;
	seconds += o.seconds;
	max_gap = std::max(max_gap, o.max_gap);
}

void Totals::print_ok() const
{
	double mbps = seconds > 0
			      ? static_cast<double>(bytes) * 8 / seconds / 1e6
			      : 0;

	say("mrc_verify: OK msgs=%llu bytes=%llu imm=%llu sec=%.3f mbps=%.1f "
	    "max_gap_ms=%.1f",
	    static_cast<unsigned long long>(msgs),
	    static_cast<unsigned long long>(bytes),
	    static_cast<unsigned long long>(imm), seconds, mbps, max_gap * 1e3);
}

Layout::Layout(const TestOptions &t, unsigned dir, unsigned qp)
	: t_(t), key_(mix(mix(t.seed, dir), qp)),
	  background_(mix(key_, 0xbacc9801d))
{
	uint64_t depth =
		std::max({t.depth, 2 * t.post_list, 2 * t.unsignalled});

	stride_ = (t.max_size() + 2 * guard + 63) / 64 * 64;
	slots_ = static_cast<uint32_t>(
		std::clamp<uint64_t>(memory_budget / (t.qps * stride_), 2,
				     std::max<uint64_t>(depth, 2)));
	skew_ = t.unaligned ? 1 + key_ % 62 * 2 : 0;
}

uint32_t Layout::size(uint64_t msg) const
{
	return t_.sizes[msg % t_.sizes.size()];
}

bool Layout::imm(uint64_t msg) const
{
	if (t_.op == Op::mixed)
		return mix(key_ ^ 0x1111, msg) & 1;
	return t_.op == Op::write_imm;
}

uint32_t Layout::imm_value(uint64_t msg) const
{
	return static_cast<uint32_t>(mix(key_ ^ 0x2222, msg));
}

uint64_t Layout::target(uint64_t msg) const
{
	uint64_t off = guard / 2;

	if (t_.unaligned)
		off += mix(key_ ^ 0x3333, msg) % (guard / 2);
	return msg % slots_ * stride_ + off;
}
