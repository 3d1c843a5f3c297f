/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: from the EVs of profiles to those that go on the wire. */
#pragma once

#include <optional>

#include "model.hpp"

namespace mrcctl
{
/*
 * The expanded EV of a packed one, by the fields of its profile and the widths
 * of its format (Documentation/profiles.md). No value: the EV does not fit.
 */
std::optional<Ev> expand(const Fmt &fmt, const EvProfile &profile,
			 const Ev &packed);
} // namespace mrcctl
