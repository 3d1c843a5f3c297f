/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The table of all actions. */
#pragma once

#include <vector>

#include "options.hpp"
#include "world.hpp"

namespace devfuzz
{
/* In an order that does not depend on the kind of a program. */
const std::vector<Action> &all_actions();

/* Chooses among those that a program of that kind does; an index of
 * all_actions(). */
class Choice
{
public:
	explicit Choice(Kind kind);

	unsigned next(Rng &rng) const;

private:
	std::vector<unsigned> upto_; /* sums of weights */
};
} // namespace devfuzz
