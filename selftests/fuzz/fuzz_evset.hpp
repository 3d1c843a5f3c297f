// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// EV sets of a profile, made from a few input bits, in versions as a controller
// makes them: other values, other denials, as many EVs.
#pragma once

#include <array>
#include <vector>

#include "fuzz_check.hpp"
#include "fuzz_input.hpp"

namespace fuzz
{

class EvSets
{
public:
	// One byte; 0: the QP makes its own EVs, get() is NULL.
	void init(Input &in, u16 n, u8 n_ports, bool ipv6)
	{
		static const u8 modes[] = {MRC_EV_FMT_UDP, MRC_EV_FMT_STEV,
					   MRC_EV_FMT_SRV6};
		const u8 v = in.byte();

		if (!v)
			return;
		n_ = n;
		n_ports_ = n_ports;
		mode_ = modes[v % 3];
		if (mode_ == MRC_EV_FMT_STEV && !ipv6)
			mode_ = MRC_EV_FMT_UDP;
		copies_ = v & 0x10 ? 2 : 1;
		srh_ = v & 0x20;
		for (Version &w : version_)
			w.mem = mrc_model::Mem(mrc_evset_mem(n_, mode_));
		build(v);
	}

	bool used() const { return n_; }
	const mrc_evset *get() const
	{
		return n_ ? &version_[at_].set : nullptr;
	}

	// The next version; the one before it stays until the one after it.
	const mrc_evset *next(u8 how)
	{
		at_ ^= 1;
		build(how);
		return get();
	}

private:
	struct Version {
		mrc_model::Mem mem;
		mrc_evset set;
	};

	void build(u8 how)
	{
		std::vector<mrc_evset_src> src(n_);

		for (u32 i = 0; i < n_; i++) {
			const u32 id = i / copies_;
			// Some entries move to a value of their own.
			const bool moved = how & 0x40 && id % 5 == how % 5u;
			const u32 value = id + 1 + (moved ? 0x1000 : 0);

			// Now and then to a port that the device does not have.
			src[i].port = (u8)(id % n_ports_ + 1);
			if (how & 8 && id % 7 == 3)
				src[i].port = (u8)(n_ports_ + 1);
			src[i].denied = how & 4 && (id + how) % 3 == 0;
			src[i].val[0] = (u8)(value >> 8);
			src[i].val[1] = (u8)value;
			src[i].val[3] = (u8)(id * 3);
		}
		require(!mrc_evset_init(&version_[at_].set, n_, mode_,
					srh_ && mode_ == MRC_EV_FMT_SRV6,
					(u16)(how % (n_ + 1)), src.data(), 77,
					version_[at_].mem.get()),
			"set refused");
	}

	std::array<Version, 2> version_{};
	u16 n_ = 0;
	u8 n_ports_ = 0;
	u8 mode_ = 0;
	u8 at_ = 0;
	u32 copies_ = 1;
	bool srh_ = false;
};

} // namespace fuzz
