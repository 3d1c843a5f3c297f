/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: creating, changing and removing profiles, step by step. */
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

/* Lowers the state to @to step by step; does nothing if it is lower or equal.
 */
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

/* Creates a complete profile, or none. The profile must not exist. */
void make(Backend &dev, const Fmt &f);
void make(Backend &dev, const EvProfile &p);
void make(Backend &dev, const CcProfile &p);

/*
 * Changes an existing profile. A lower state is set before the other changes, a
 * higher state after them.
 */
void modify(Backend &dev, const FmtChange &c);
void modify(Backend &dev, const EvChange &c);
void modify(Backend &dev, const CcChange &c);

Definitions all_of(Backend &dev);
void apply(Backend &dev, const Definitions &d);
} // namespace mrcctl
