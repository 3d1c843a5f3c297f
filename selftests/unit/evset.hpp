// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// EV sets of profiles, as a controller would describe them.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "engine.hpp"

namespace mrc_test
{

// An entry: what makes it distinct, where it goes out.
struct SetEv {
	unsigned value, port;
	bool denied = false;
};

class EvSet
{
public:
	// STEV and UDP: the value is the entropy; SRv6: part of the address.
	EvSet(std::vector<SetEv> evs, unsigned min_active = 0,
	      u8 mode = MRC_EV_FMT_UDP)
		: mem_(mrc_evset_mem(static_cast<u32>(evs.size()), mode), 0x5A)
	{
		std::vector<mrc_evset_src> src(evs.size());

		for (std::size_t i = 0; i < evs.size(); i++) {
			u32 v = evs[i].value;

			src[i].port = static_cast<u8>(evs[i].port);
			src[i].denied = evs[i].denied;
			if (mode == MRC_EV_FMT_UDP)
				v <<= 16;
			for (int b = 0; b < 4; b++)
				src[i].val[b] =
					static_cast<u8>(v >> (24 - 8 * b));
		}
		EXPECT_EQ(mrc_evset_init(&set_, static_cast<u32>(evs.size()),
					 mode, false,
					 static_cast<u16>(min_active),
					 src.data(), 77, mem_.get()),
			  0);
	}

	const mrc_evset *get() const { return &set_; }

private:
	Mem mem_;
	mrc_evset set_{};
};

// @per[k] EVs on port k + 1, in blocks, values counting from 1.
inline std::vector<SetEv> spread(std::vector<unsigned> per)
{
	std::vector<SetEv> evs;

	for (unsigned k = 0; k < per.size(); k++)
		for (unsigned i = 0; i < per[k]; i++)
			evs.push_back(
				{static_cast<unsigned>(evs.size() + 1), k + 1});
	return evs;
}

} // namespace mrc_test
