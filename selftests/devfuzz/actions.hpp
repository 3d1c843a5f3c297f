/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The table of all actions. */
#pragma once

#include <map>
#include <string>
#include <vector>

#include "options.hpp"
#include "world.hpp"

namespace devfuzz
{
/* In an order that does not depend on the kind of a program. */
const std::vector<Action> &all_actions();

/*
 * Chooses among those that a program of that kind does, and that are in @only,
 * so often, unless that is empty; an index of all_actions(). Throws Failure if
 * there is none, or a name is none of an action.
 */
class Choice
{
public:
	Choice(Kind kind, const std::map<std::string, unsigned> &only);

	unsigned next(Rng &rng) const;

private:
	std::vector<unsigned> upto_; /* sums of weights */
};
} // namespace devfuzz
