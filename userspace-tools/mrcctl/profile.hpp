/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: profiles made, changed and forgotten, step by step. */
#pragma once

#include <vector>

#include "backend.hpp"
#include "json.hpp"

namespace mrcctl
{
inline State state_now(Backend &dev, const FmtChange &c)
{
	return dev.fmt_state(c.id);
}

inline State state_now(Backend &dev, const EvChange &c)
{
	return dev.ev_state(c.id);
}

inline State state_now(Backend &dev, const CcChange &c)
{
	return dev.cc_state(c.id);
}

/* Down to @to by the only way there is; nothing if it is there. */
template <typename Change> void lower(Backend &dev, uint64_t id, State to)
{
	Change c;

	c.id = id;
	for (State now = state_now(dev, c); now > to;) {
		now = static_cast<State>(static_cast<uint32_t>(now) - 1);
		c.state = now;
		dev.change(c);
	}
}

/* Makes a profile as it shall be, or none. It must not be there. */
void make(Backend &dev, const Fmt &f);
void make(Backend &dev, const EvProfile &p);
void make(Backend &dev, const CcProfile &p);

/*
 * Changes a profile that is there. A state below the one of now comes before
 * the other changes, a state above it after them.
 */
void modify(Backend &dev, const FmtChange &c);
void modify(Backend &dev, const EvChange &c);
void modify(Backend &dev, const CcChange &c);

Definitions all_of(Backend &dev);
void apply(Backend &dev, const Definitions &d);
} // namespace mrcctl
