// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The C engine as its tests see it.
#pragma once

#include "mrc_core.h"

#include "model/owner.hpp"

namespace mrc_test
{

using mrc_model::counter;
using mrc_model::Mem;

// One EV, by the engine's accessors.
struct EvView {
	EvView(const mrc_paths &p, int i)
		: entropy(mrc_paths_entropy(&p, static_cast<u16>(i))),
		  port(mrc_paths_port(&p, static_cast<u16>(i))),
		  state(mrc_paths_state(&p, static_cast<u16>(i))),
		  drops(mrc_paths_drops(&p, static_cast<u16>(i)))
	{
	}

	u32 entropy;
	u8 port, state;
	u16 drops;
};

} // namespace mrc_test
